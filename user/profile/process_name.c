/* SPDX-License-Identifier: BSD-2-Clause */
/* process_name.c - see process_name.h. */
#include "profile/process_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/process.h"

/*
 * Where the arguments after the first `count` begin to be too many. Arguments are joined by
 * blanks.
 */
static size_t arguments_length(const char *arguments, size_t count)
{
	size_t length = 0;

	for (; count && arguments[length]; count--) {
		length += strspn(arguments + length, " ");
		length += strcspn(arguments + length, " ");
	}
	return length;
}

int process_name_make(const struct process *process, size_t argument_count, char **text,
		      size_t *length)
{
	size_t name_length = strnlen(process->name, sizeof(process->name)), more = 0;
	const char *arguments = process->cmdline ? strchr(process->cmdline, ' ') : NULL;
	char *made;

	if (arguments)
		more = arguments_length(arguments, argument_count);
	made = calloc(1, name_length + more + 1);
	if (!made)
		return -ENOMEM;
	memcpy(made, process->name, name_length);
	if (more)
		memcpy(made + name_length, arguments, more);
	*text = made;
	*length = name_length + more;
	return 0;
}
