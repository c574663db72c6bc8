/* SPDX-License-Identifier: BSD-2-Clause */
/* object_file.c - see object_file.h. */
#include "target/object_file.h"

#include "base/fd.h"
#include "elf/elf_parts.h"
#include "target/object.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what it is called ----------------------------------------------------------------- */

enum object_kind object_kind_of(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return OBJECT_VDSO;
	/* Files have absolute paths; "//anon", "[heap]", "anon_inode:..." and the empty name are memory. */
	return path[0] == '/' && path[1] != '/' ? OBJECT_FILE : OBJECT_ANONYMOUS;
}

char *object_clean_path(const char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path), mark_length = sizeof(mark) - 1;

	if (length > mark_length && !strcmp(path + length - mark_length, mark))
		length -= mark_length;
	return strndup(path, length);
}

/* ---- finding ------------------------------------------------------------------------- */

/*
 * `fd` if it is open and of the file that was seen, else it is closed: by now another file may have the name, or the place
 * in the address space. -ENOENT: it is another; -ETIMEDOUT: it hangs; -ENOMEM.
 */
static int if_seen(const struct object_sighting *sighting, int fd)
{
	const bool has_id = sighting->build_id && sighting->build_id->size;
	struct build_id found = {0};
	int err = 0;

	if (fd < 0)
		return fd == -ETIMEDOUT ? fd : -ENOENT;
	if (has_id)
		err = build_id_read(fd, &found);
	if (!err && (!has_id || build_id_equal(sighting->build_id, &found)))
		return fd;
	fd_close(&fd);
	return err == -ENOMEM || err == -ETIMEDOUT ? err : -ENOENT;
}

/*
 * The mapping itself leads to the very file, whatever became of its name; else there is the name as
 * the process sees it, and as we see it, for a process that is gone.
 */
static int open_seen(const struct object_sighting *sighting, struct file_status *status)
{
	const struct elf_place place = {sighting->device, sighting->inode};
	int fd = elf_open_mapped(sighting->pid, sighting->start, sighting->end, status);

	fd = if_seen(sighting, fd);
	if (fd != -ENOENT)
		return fd;
	fd = elf_open_as_seen(sighting->pid, sighting->path, &place, status);
	fd = if_seen(sighting, fd);
	if (fd != -ENOENT)
		return fd;
	fd = elf_open_place(NULL, sighting->path, &place, status);
	return if_seen(sighting, fd);
}

/* ---- what it is ------------------------------------------------------------------------ */

static uint64_t our_mount(void)
{
	static uint64_t mount;
	struct statx root;

	if (!mount &&
	    !statx(AT_FDCWD, "/", AT_STATX_DONT_SYNC, STATX_BASIC_STATS | STATX_MNT_ID, &root) &&
	    root.stx_mask & STATX_MNT_ID)
		mount = root.stx_mnt_id;
	return mount;
}

static bool is_on_our_mount(const struct file_status *status)
{
	return status->mount && status->mount == our_mount() && !status->is_copy;
}

static bool is_same_file(const struct file_status *a, const struct file_status *b)
{
	return a->device == b->device && a->inode == b->inode;
}

/* Another way to it, through our own mounts: what is open of that keeps nothing that we do not keep anyway. */
static bool open_our_way(struct object *object)
{
	const struct elf_place place = {object->file.device, object->file.inode};
	struct file_status status;
	int fd = elf_open_place(NULL, object->path, &place, &status);

	if (fd < 0 || !is_same_file(&status, &object->file)) {
		fd_close(&fd);
		return false;
	}
	fd_close(&object->work_fd);
	object->work_fd = fd;
	object->file = status;
	return true;
}

/* What root alone can write to, where we see it, too, is as good as what we run ourselves. */
static void look_whose(struct object *object)
{
	object->is_ours = (is_on_our_mount(&object->file) || open_our_way(object)) &&
			  !object->file.owner && object->file.is_guarded;
}

int object_file_meet(struct object *object, const struct object_sighting *sighting)
{
	int fd = open_seen(sighting, &object->file), err = 0;

	object->is_shut = fd < 0;
	if (fd < 0) {
		object->file = (struct file_status){0};
		return fd == -ENOMEM || fd == -ETIMEDOUT ? fd : 0;
	}
	object->work_fd = fd;
	if (!object->build_id.size)
		err = build_id_read(fd, &object->build_id);
	if (err == -ENOMEM || err == -ETIMEDOUT)
		return err;
	look_whose(object);
	return 0;
}

/* ---- keeping ----------------------------------------------------------------------------- */

static void take_copy(struct object *object, int fd)
{
	const struct elf_copy_limit limit = {OBJECT_COPY_MAX_BYTES, false};
	int copy = elf_copy_make(fd, &limit);
	struct stat status;

	if (copy < 0)
		return;
	object->fd = copy;
	object->copy_bytes = !fstat(copy, &status) ? (uint64_t)status.st_blocks * 512 : 0;
}

void object_file_keep(struct object *object, bool may_keep)
{
	if (object->work_fd < 0 || !may_keep)
		return;
	if (is_on_our_mount(&object->file) && object->file.links)
		object->fd = fcntl(object->work_fd, F_DUPFD_CLOEXEC, 0);
	else
		take_copy(object, object->work_fd);
}

void object_file_end_work(struct object *object)
{
	fd_close(&object->work_fd);
}

bool object_file_let_go(struct object *object)
{
	struct file_status now;
	int fd = object->fd;

	if (fd < 0 || object->copy_bytes || !file_status_read(fd, &now) || now.links)
		return false;
	object->fd = -1;
	take_copy(object, fd);
	fd_close(&fd);
	return true;
}

void object_file_close(struct object *object)
{
	fd_close(&object->work_fd);
	fd_close(&object->fd);
	object->copy_bytes = 0;
}

/* ---- again ---------------------------------------------------------------------------------- */

/*
 * To unlink a file, or to give it rights, changes the time of its last change, too; then its owner could have written to it
 * and put back the time of that. So others are not shown what it says now.
 */
static bool is_unchanged(const struct object *object, const struct file_status *now)
{
	const struct file_status *then = &object->file;

	if (!is_same_file(now, then) || now->bytes != then->bytes)
		return false;
	return now->changed_ns == then->changed_ns ||
	       (now->written_ns == then->written_ns && (!object->is_shared || !then->owner));
}

static int if_unchanged(const struct object *object, int fd, const struct file_status *status)
{
	if (fd < 0)
		return fd == -ETIMEDOUT ? fd : -ENOENT;
	if (!is_unchanged(object, status))
		fd_close(&fd);
	return fd < 0 ? -ENOENT : fd;
}

int object_file_open(const struct object *object)
{
	const struct elf_place place = {object->file.device, object->file.inode};
	struct file_status status;
	int fd = object->work_fd >= 0 ? object->work_fd : object->copy_bytes ? -1 : object->fd;

	if (fd >= 0)
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!object->file.inode)
		return -ENOENT;
	fd = elf_open_mapped(object->seen.pid, object->seen.start, object->seen.end, &status);
	fd = if_unchanged(object, fd, &status);
	if (fd != -ENOENT)
		return fd;
	fd = elf_open_as_seen(object->seen.pid, object->path, &place, &status);
	fd = if_unchanged(object, fd, &status);
	if (fd != -ENOENT)
		return fd;
	fd = elf_open_place(NULL, object->path, &place, &status);
	return if_unchanged(object, fd, &status);
}
