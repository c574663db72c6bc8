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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct build_id;
struct elf_copy_limit;
struct elf_digest;
struct elf_digest_key;

/* A file by where it lies. 0, 0: not known. */
struct elf_place {
	uint64_t device, inode;
};

/* Which file it is, as is known without asking a server: that may take for ever. */
struct file_status {
	uint64_t device, inode;
	uint64_t bytes;
	uint64_t written_ns,
		changed_ns; /* the content, or anything of it; of the file system's clock */
	uint64_t mount; /* number of the mount that a descriptor of it holds; 0: not known */
	uint32_t owner, links;
	bool is_guarded; /* only its owner may write to it */
	bool is_copy; /* the descriptor is of a copy in memory (elf_parts.h): its file system may hang in close(2) */
};

/*
 * A descriptor to read the regular file at `path`, the caller's. The path, and symbolic links in
 * it, are resolved as by a process with the root directory `root`; NULL: as by us. -ENOEXEC: it is
 * no regular file; -errno.
 */
int elf_open_path(const char *root, const char *path);

/*
 * The same for the file that was seen at `place`, if that is known: what is there in its stead by now is not opened, for that is
 * somebody's choice. -ENOENT: another file. *status: which file it is.
 */
int elf_open_place(const char *root, const char *path, const struct elf_place *place,
		   struct file_status *status);

/* Of what is open, or is on the way to be. False: that is not known. */
bool file_status_read(int fd, struct file_status *status);

/* elf_open_path() for the very file that `pid` maps at [start, end), whatever became of its name. */
int elf_open_mapped(pid_t pid, uint64_t start, uint64_t end, struct file_status *status);

/* elf_open_place() for `path` as `pid` sees it. */
int elf_open_as_seen(pid_t pid, const char *path, const struct elf_place *place,
		     struct file_status *status);

/*
 * The text of /proc/PID/NAME, at most `max_bytes` of it, with a NUL behind, the caller's to free. To read it can take as
 * long as the process likes, for some of it lies in its memory. 0; -ENOMEM; -errno.
 */
int elf_read_proc(pid_t pid, const char *name, size_t max_bytes, char **text, size_t *length);

/*
 * Who opens and reads for this process from now on: not itself, but what does as elf_open_place(), build_id_read(),
 * elf_digest_read(), elf_copy_make() and elf_read_proc(). What is NULL it does itself. -ETIMEDOUT: whoever it is hangs.
 */
struct elf_door {
	int (*open)(void *context, const char *root, const char *path,
		    const struct elf_place *place, struct file_status *status);
	/*
	 * Where this process opens files itself: whether that one may be opened, which `found` has no rights to read. 0, or
	 * what to answer in its place.
	 */
	int (*may_open)(void *context, int found, const struct file_status *status);
	int (*build_id)(void *context, int fd, struct build_id *out);
	int (*digest)(void *context, int fd, const struct elf_digest_key *key,
		      struct elf_digest *out);
	int (*copy)(void *context, int fd, const struct elf_copy_limit *limit);
	int (*read_proc)(void *context, pid_t pid, const char *name, size_t max_bytes, char **text,
			 size_t *length);
	void *context;
};
/* Borrowed; NULL: by itself again. */
void elf_open_through(const struct elf_door *door);
/* Never NULL. */
const struct elf_door *elf_door(void);

#endif
