/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_request.c - see open_request.h.
 *
 *   request:  place | path | root, if there is one        answer: the descriptor, and its struct file_status
 *   asked back:  struct file_status        answer: 0, or what to answer in its place
 */
#include "service/open_request.h"

#include "base/clock.h"
#include "base/fd.h"
#include "service/copy_request.h"
#include "service/service.h"

#include <elf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/vfs.h>

/* Of a file that is not handed on itself. */
#define COPY_MAX_BYTES (64u << 20)
/* Whoever waits for this does not wait so long. */
#define COPY_NS (10 * NS_PER_SEC)

#ifndef CIFS_SUPER_MAGIC
#define CIFS_SUPER_MAGIC 0xff534d42
#endif
#ifndef SMB2_SUPER_MAGIC
#define SMB2_SUPER_MAGIC 0xfe534d42
#endif
#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

static bool write_request(struct reader_message *request, enum service_kind kind, const char *root,
			  const char *path, const struct elf_place *place)
{
	reader_message_begin(request, kind);
	return reader_message_add(request, place, sizeof(*place)) &&
	       reader_message_add_text(request, path) &&
	       (!root || reader_message_add_text(request, root));
}

static bool read_request(const struct reader_message *request, const char **root, const char **path,
			 struct elf_place *place)
{
	size_t at = sizeof(*place);

	if (request->bytes < at)
		return false;
	memcpy(place, request->data, sizeof(*place));
	*path = reader_message_text(request, &at);
	*root = *path ? reader_message_text(request, &at) : NULL;
	return *path && at == request->bytes;
}

/* What came as an answer: a descriptor if it says so. */
static int read_answer(struct reader_message *answer, struct file_status *status)
{
	int fd = reader_message_take_fd(answer);

	if (answer->status < 0)
		fd_close(&fd);
	if (fd < 0)
		return answer->status < 0 ? answer->status : -EBADMSG;
	*status = (struct file_status){0};
	if (answer->bytes == sizeof(*status))
		memcpy(status, answer->data, sizeof(*status));
	return fd;
}

int open_ask(struct reader *opener, const struct reader_wait *wait, const char *root,
	     const char *path, const struct elf_place *place, struct file_status *status)
{
	struct reader_message request, answer;
	int err;

	if (!write_request(&request, SERVICE_OPEN, root, path, place))
		return -ENAMETOOLONG;
	err = reader_call(opener, &request, wait, &answer);
	return err ? err : read_answer(&answer, status);
}

bool open_read_leave(const struct reader_message *ask, struct file_status *status)
{
	if (ask->kind != SERVICE_MAY_OPEN || ask->bytes != sizeof(*status))
		return false;
	memcpy(status, ask->data, sizeof(*status));
	return true;
}

void open_pass_on(struct reader *opener, const struct reader_wait *wait,
		  const struct reader_message *ask, struct reader_message *answer)
{
	struct elf_place place;
	const char *root, *path;
	int err = read_request(ask, &root, &path, &place) ? 0 : -EBADMSG;

	if (!err)
		err = reader_call(opener, ask, wait, answer);
	if (err)
		reader_message_begin(answer, ask->kind);
	if (err)
		answer->status = err;
}

/* ---- in the reader ------------------------------------------------------------------- */

/* Those whose close(2) may wait for a server. */
static bool hangs_in_close(int fd)
{
	struct statfs system;

	if (fstatfs(fd, &system))
		return true; /* a server was asked, and does not know */
	switch ((uint32_t)system.f_type) {
	case FUSE_SUPER_MAGIC:
	case V9FS_MAGIC:
	case CIFS_SUPER_MAGIC:
	case SMB2_SUPER_MAGIC:
	case CODA_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/*
 * Who copies a file that hangs in close(2). It is started before the file is opened, for it would close what it inherits,
 * and who starts it waits for that.
 */
static struct reader *copier;

/* The file stays open until this process ends. */
static int copy_file(int fd)
{
	const struct reader_wait wait = {.deadline_ns = clock_now_ns() + COPY_NS};
	const struct elf_copy_limit limit = {COPY_MAX_BYTES, true};
	int copy = copy_ask(copier, &wait, fd, &limit);

	service_end();
	reader_end(copier);
	return copy;
}

int32_t open_answer(const struct reader_message *request, struct reader_message *answer)
{
	const char *root, *path;
	struct file_status status;
	struct elf_place place;
	int fd;

	if (!read_request(request, &root, &path, &place))
		return -EBADMSG;
	fd = elf_open_place(root, path, &place, &status);
	if (fd >= 0 && copier) {
		status.is_copy = true;
		fd = copy_file(fd);
	}
	if (fd >= 0) {
		answer->fds[answer->fd_count++] = fd;
		(void)reader_message_add(answer, &status, sizeof(status));
	}
	return fd < 0 ? fd : 0;
}

int32_t open_elf_answer(const struct reader_message *request, struct reader_message *answer)
{
	const int32_t status = open_answer(request, answer);
	char magic[SELFMAG];

	if (!status && !fd_pread_all(answer->fds[0], magic, sizeof(magic), 0) &&
	    !memcmp(magic, ELFMAG, SELFMAG))
		return 0;
	reader_message_close(answer);
	return status ? status : -ENOEXEC;
}

static struct reader_message asked, answered;

static int prepare_copier(void)
{
	int err = reader_open(&copier, &(struct reader_config){.role = READER_PARSER});

	if (!err)
		reader_prepare(copier);
	return err;
}

static int ask_leave(void *context, int found, const struct file_status *status)
{
	int err;

	reader_message_begin(&asked, SERVICE_MAY_OPEN);
	(void)reader_message_add(&asked, status, sizeof(*status));
	err = service_ask(&asked, &answered);
	if (err)
		return err;
	reader_message_close(&answered);
	err = answered.status < 0 ? answered.status : 0;
	return !err && !copier && hangs_in_close(found) ? prepare_copier() : err;
}

void open_with_leave(void)
{
	static const struct elf_door door = {.may_open = ask_leave};

	reader_enable();
	elf_open_through(&door);
}

static int ask_client(void *context, const char *root, const char *path,
		      const struct elf_place *place, struct file_status *status)
{
	int err;

	if (!write_request(&asked, SERVICE_OPEN_ELF, root, path, place))
		return -ENAMETOOLONG;
	err = service_ask(&asked, &answered);
	return err ? err : read_answer(&answered, status);
}

void open_through_client(void)
{
	static const struct elf_door door = {.open = ask_client};

	elf_open_through(&door);
}
