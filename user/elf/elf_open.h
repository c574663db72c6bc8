/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_open.h - the one door to files that are not ours: what the profiled processes map, and the debug files of it.
 *
 * What lies at such a path may be anything, so it is looked at without being opened, for that can
 * have effects on a device or a FIFO, and opened only if it is a regular file. The parsers of files
 * in elf, target, unwind and symbol work on what comes out of here. Another process may stand behind
 * it: elf_open_through().
 */
#ifndef GECKOBPF_ELF_ELF_OPEN_H
#define GECKOBPF_ELF_ELF_OPEN_H

#include <stdint.h>
#include <sys/types.h>

/*
 * A descriptor to read the regular file at `path`, the caller's. The path, and symbolic links in
 * it, are resolved as by a process with the root directory `root`; NULL: as by us. -ENOEXEC: it is
 * no regular file; -errno.
 */
int elf_open_path(const char *root, const char *path);

/* The same for the very file that `pid` maps at [start, end), whatever became of its name. */
int elf_open_mapped(pid_t pid, uint64_t start, uint64_t end);

/* The same for `path` as `pid` sees it. */
int elf_open_as_seen(pid_t pid, const char *path);

/*
 * How this process opens files from now on: not by itself, but by `open`, which is as elf_open_path(). Borrowed; NULL: by
 * itself.
 */
struct elf_door {
	int (*open)(void *context, const char *root, const char *path);
	void *context;
};
void elf_open_through(const struct elf_door *door);

#endif
