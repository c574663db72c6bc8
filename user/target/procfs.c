/* SPDX-License-Identifier: BSD-2-Clause */
/* procfs.c - see procfs.h. */
#include "target/procfs.h"
#include "base/fd.h"
#include "base/shared_text.h"
#include "elf/elf_open.h"
#include "target/process.h"
#include "target/address_space.h"
#include "target/object.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* 65530 mappings are what the kernel allows one process, as a rule. */
#define MAPS_MAX_BYTES ((size_t)32 << 20)

/* The kernel numbers its first namespaces so (PROC_PID_INIT_INO, PROC_USER_INIT_INO). */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCU
#define INITIAL_USER_NAMESPACE 0xEFFFFFFDU

/* The rest of the line that starts with `key` in a "Key:\tvalue" file, or NULL. */
static const char *find_field(const char *text, const char *key)
{
	size_t length = strlen(key);
	const char *line = text;

	while (line && *line) {
		if (!strncmp(line, key, length) && line[length] == ':')
			return line + length + 1;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

static unsigned long field_number(const char *text, const char *key)
{
	const char *value = find_field(text, key);

	return value ? strtoul(value, NULL, 10) : 0;
}

static void copy_name(const char *status, char name[16])
{
	const char *value = find_field(status, "Name");
	size_t length;

	name[0] = '\0';
	if (!value)
		return;
	value += *value == '\t';
	length = strcspn(value, "\n");
	if (length > 15)
		length = 15;
	memcpy(name, value, length);
	name[length] = '\0';
}

static char state_letter(const char *status)
{
	const char *value = find_field(status, "State");

	while (value && isspace((unsigned char)*value))
		value++;
	return value ? *value : '?';
}

static enum pid_state classify(pid_t pid, const char *status, const struct pid_info *info)
{
	char letter = state_letter(status);

	if (letter == 'Z' || letter == 'X')
		return PID_ZOMBIE;
	if (info->tgid != (uint32_t)pid)
		return PID_THREAD;
	/* Kernel threads have no memory, and so no such line; kthreadd is 2, the others are its children. */
	if (!find_field(status, "VmSize") && (pid == 2 || field_number(status, "PPid") == 2))
		return PID_KERNEL;
	return PID_RUNS;
}

int procfs_pid(pid_t pid, struct pid_info *out)
{
	char path[64], *status;
	int err;

	*out = (struct pid_info){.state = PID_MISSING};
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	err = fd_read_file(path, &status, NULL);
	if (err == -ENOENT || err == -ESRCH)
		return 0;
	if (err)
		return err;
	copy_name(status, out->name);
	out->tgid = (uint32_t)field_number(status, "Tgid");
	out->thread_count = (uint32_t)field_number(status, "Threads");
	out->parent = (uint32_t)field_number(status, "PPid");
	out->state = classify(pid, status, out);
	free(status);
	return 0;
}

/* "NSpid: 4242 17 1": the pid in each namespace, ours first, its own last. */
static bool has_inner_pid(const char *status, unsigned long inner)
{
	const char *value = find_field(status, "NSpid");
	unsigned long last = 0;
	int count = 0;

	while (value && (*value == '\t' || *value == ' ')) {
		char *end;

		last = strtoul(value, &end, 10);
		if (end == value)
			break;
		count++;
		value = end;
	}
	return count > 1 && last == inner;
}

pid_t procfs_find_inner_pid(pid_t inner)
{
	struct dirent *entry;
	pid_t found = 0;
	DIR *proc;

	proc = opendir("/proc");
	if (!proc)
		return 0;
	while (!found && (entry = readdir(proc))) {
		char path[300], *status;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
		if (fd_read_file(path, &status, NULL))
			continue;
		if (has_inner_pid(status, (unsigned long)inner))
			found = (pid_t)strtol(entry->d_name, NULL, 10);
		free(status);
	}
	closedir(proc);
	return found;
}

bool procfs_has_child(pid_t pid)
{
	struct dirent *entry;
	struct pid_info info;
	bool has = false;
	DIR *proc;

	proc = opendir("/proc");
	if (!proc)
		return false;
	while (!has && (entry = readdir(proc))) {
		pid_t child = (pid_t)strtol(entry->d_name, NULL, 10);

		has = child && !procfs_pid(child, &info) && info.state == PID_RUNS &&
		      info.parent == (uint32_t)pid;
	}
	closedir(proc);
	return has;
}

static bool is_namespace(const char *path, ino_t number)
{
	struct stat stat_buf;

	return !stat(path, &stat_buf) && stat_buf.st_ino == number;
}

bool procfs_in_initial_pid_namespace(void)
{
	return is_namespace("/proc/self/ns/pid", INITIAL_PID_NAMESPACE);
}

bool procfs_in_initial_user_namespace(void)
{
	return is_namespace("/proc/self/ns/user", INITIAL_USER_NAMESPACE);
}

static bool parse_hex(const char **text, char after, uint64_t *out)
{
	char *end;

	if (!isxdigit((unsigned char)**text))
		return false;
	errno = 0;
	*out = strtoull(*text, &end, 16);
	if (errno || *end != after)
		return false;
	*text = end + 1;
	return true;
}

/* 7f12a000-7f12b000 r-xp 00001000 fe:01 1234      /usr/lib/libx.so */
bool procfs_parse_maps_line(const char *line, struct maps_line *out)
{
	uint64_t major_number, minor_number;
	char *end;

	if (!parse_hex(&line, '-', &out->start) || !parse_hex(&line, ' ', &out->end) ||
	    strnlen(line, 5) < 5 || line[4] != ' ')
		return false;
	out->is_executable = line[2] == 'x';
	line += 5;
	if (!parse_hex(&line, ' ', &out->offset) || !parse_hex(&line, ':', &major_number) ||
	    !parse_hex(&line, ' ', &minor_number) || !isdigit((unsigned char)*line))
		return false;
	out->device = makedev((unsigned int)major_number, (unsigned int)minor_number);
	out->inode = strtoull(line, &end, 10);
	if (*end != ' ' && *end != '\0')
		return false;
	out->path = end + strspn(end, " ");
	return out->start < out->end;
}

static int add_mapping(pid_t pid, const struct maps_line *line, struct objects *objects,
		       struct address_space *space)
{
	const struct object_sighting sighting = {
		.pid = pid,
		.start = line->start,
		.end = line->end,
		.device = line->device,
		.inode = line->inode,
		.path = *line->path ? line->path : "//anon",
	};
	struct mapping mapping = {.start = line->start, .end = line->end, .offset = line->offset};
	int err;

	err = objects_get(objects, &sighting, &mapping.object);
	if (err)
		return err;
	return address_space_add(space, &mapping);
}

int procfs_mappings(pid_t pid, struct objects *objects, struct address_space *space)
{
	char *text, *line, *rest;
	struct maps_line parsed;
	size_t length;
	int err;

	err = elf_read_proc(pid, "maps", MAPS_MAX_BYTES, &text, &length);
	if (err)
		return err;
	rest = text;
	while (!err && (line = strsep(&rest, "\n"))) {
		if (procfs_parse_maps_line(line, &parsed) && parsed.is_executable)
			err = add_mapping(pid, &parsed, objects, space);
	}
	free(text);
	return err;
}

char *procfs_cmdline(pid_t pid)
{
	char *text, *shared = NULL;
	size_t length, i;

	if (elf_read_proc(pid, "cmdline", PROCESS_CMDLINE_BYTES, &text, &length))
		return NULL;
	if (length == PROCESS_CMDLINE_BYTES)
		memcpy(text + length - 3, "...", 3);
	while (length && text[length - 1] == '\0')
		length--;
	for (i = 0; i < length; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	if (length)
		shared = shared_text_new(text, length);
	free(text);
	return shared;
}
