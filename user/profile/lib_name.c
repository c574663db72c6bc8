/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lib_name.c - see lib_name.h.
 *
 * The kernel tells the file that was found in the end, not the link to it. Both the arguments and the main thread's name
 * begin as what was asked for, and either may be changed: where they agree, that is it. (They do not where the file is a
 * script: then one is the script, the other its interpreter.)
 */
#include "profile/lib_name.h"

#include <stdbool.h>
#include <string.h>

#include "target/object.h"
#include "target/process.h"

/* The last part of a path; what is nowhere has another name. */
static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return *name ? name : "[anon]";
}

/* The program is mapped first, before what it is linked with. */
static bool is_program(const struct process *process, const struct object *object)
{
	return process->space.program == object;
}

/* The last part of the first argument, and how long it is. */
static const char *invoked_name(const char *cmdline, size_t *length)
{
	size_t end = strcspn(cmdline, " "), start = end;

	while (start && cmdline[start - 1] != '/')
		start--;
	*length = end - start;
	return cmdline + start;
}

/* The kernel keeps what fits of a thread's name. */
static bool is_thread_name(const char *name, size_t length, const char *thread)
{
	size_t kept = length < THREAD_NAME_BYTES ? length : THREAD_NAME_BYTES - 1;

	return length && strlen(thread) == kept && !memcmp(name, thread, kept);
}

const char *lib_name(const struct process *process, const struct object *object, char *text,
		     size_t size)
{
	const char *name;
	size_t length;

	if (!is_program(process, object) || !process->cmdline)
		return base_name(object->path);
	name = invoked_name(process->cmdline, &length);
	if (length >= size || !is_thread_name(name, length, process->name))
		return base_name(object->path);
	memcpy(text, name, length);
	text[length] = '\0';
	return text;
}
