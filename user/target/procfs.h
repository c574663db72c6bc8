/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * procfs.h - what /proc says of a process. Its text is hostile: names hold any bytes, processes
 * vanish between reads.
 */
#ifndef GECKOBPF_TARGET_PROCFS_H
#define GECKOBPF_TARGET_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct address_space;
struct objects;

enum pid_state {
	PID_RUNS,
	PID_MISSING,
	PID_ZOMBIE, /* has exited, waits for its parent */
	PID_KERNEL, /* a kernel thread */
	PID_THREAD, /* a thread, but not the first one of its process */
};

struct pid_info {
	enum pid_state state;
	char name[16];
	uint32_t tgid; /* the process that it is a thread of */
	uint32_t thread_count;
	uint32_t parent; /* 0: it has none here */
};

/* Looks `pid` up. 0, or -errno if /proc cannot be read; a missing process is not an error. */
int procfs_pid(pid_t pid, struct pid_info *out);

/* The pid, in our namespace, of a process that is `inner` in a pid namespace of its own. 0: there is none. */
pid_t procfs_find_inner_pid(pid_t inner);

/* Whether it has a child that is not a zombie. */
bool procfs_has_child(pid_t pid);

/* Whether we are in the initial pid namespace, whose pids the kernel side reports. */
bool procfs_in_initial_pid_namespace(void);

/* Whether we are in the initial user namespace, in which capabilities allow to load BPF programs. */
bool procfs_in_initial_user_namespace(void);

/* Adds the executable mappings of /proc/PID/maps, as of before the recording. 0 or -errno. */
int procfs_mappings(pid_t pid, struct objects *objects, struct address_space *space);

/* One line of a maps file. */
struct maps_line {
	uint64_t start, end, offset, device, inode;
	bool is_executable;
	const char *path; /* within the line; "" if there is none */
};

/* Parses `line` (NUL-terminated, without the newline). False: not a line of a maps file. */
bool procfs_parse_maps_line(const char *line, struct maps_line *out);

/*
 * The arguments of `pid` joined by blanks, PROCESS_CMDLINE_BYTES at most: the caller's first share of the text; NULL: none,
 * or not readable.
 */
char *procfs_cmdline(pid_t pid);

#endif
