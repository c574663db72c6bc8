/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_request.c - see open_request.h.
 *
 *   request:  place | path | root, if there is one        answer: the descriptor
 */
#include "service/open_request.h"

#include "base/fd.h"
#include "elf/elf_open.h"
#include "service/service.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

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
static int read_answer(struct reader_message *answer)
{
	int fd = reader_message_take_fd(answer);

	if (answer->status < 0)
		fd_close(&fd);
	if (fd < 0)
		return answer->status < 0 ? answer->status : -EBADMSG;
	return fd;
}

int open_ask(struct reader *opener, const struct reader_wait *wait, const char *root,
	     const char *path, const struct elf_place *place)
{
	struct reader_message request, answer;
	int err;

	if (!write_request(&request, SERVICE_OPEN, root, path, place))
		return -ENAMETOOLONG;
	err = reader_call(opener, &request, wait, &answer);
	return err ? err : read_answer(&answer);
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

int32_t open_answer(const struct reader_message *request, struct reader_message *answer)
{
	struct elf_place place;
	const char *root, *path;
	int fd;

	if (!read_request(request, &root, &path, &place))
		return -EBADMSG;
	fd = elf_open_place(root, path, &place);
	if (fd >= 0)
		answer->fds[answer->fd_count++] = fd;
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

static int ask_client(void *context, const char *root, const char *path,
		      const struct elf_place *place)
{
	static struct reader_message ask, answer;
	int err;

	if (!write_request(&ask, SERVICE_OPEN_ELF, root, path, place))
		return -ENAMETOOLONG;
	err = service_ask(&ask, &answer);
	return err ? err : read_answer(&answer);
}

void open_through_client(void)
{
	static const struct elf_door door = {.open = ask_client};

	elf_open_through(&door);
}
