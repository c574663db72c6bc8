/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * name_request.c - see name_request.h.
 *
 *   request:  | head | offsets | texts: path, root, directory of debug files, directories |    and the file, if it is open
 *   answer:   name_answer.h
 *
 * What is longer than a message is in a sealed file.
 */
#include "service/name_request.h"

#include "base/fd.h"
#include "reader/sealed.h"
#include "service/fetch_request.h"
#include "symbol/answering.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_MAX_BYTES ((size_t)16 << 20)
#define TEXTS 3 /* those that are not in a list */

struct head {
	uint64_t asker, code_offset, code_bytes;
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes, number, offset_count, dir_count, text_bytes;
	uint8_t has_text[TEXTS], wants_layout, has_file, has_fetch, is_long, unused;
};

static const char *text_of(const struct name_question *question, size_t index)
{
	const char *const texts[TEXTS] = {question->source.path, question->source.root,
					  question->debug_dir};

	return index < TEXTS ? texts[index] : question->search->dirs[index - TEXTS];
}

static size_t text_count(const struct name_question *question)
{
	return TEXTS + question->search->dir_count;
}

/* ---- asking -------------------------------------------------------------------------- */

static struct head make_head(const struct name_question *question)
{
	const struct symbol_source *source = &question->source;
	struct head head = {
		.asker = question->asker,
		.code_offset = source->code_offset,
		.code_bytes = source->code_bytes,
		.number = question->number,
		.offset_count = (uint32_t)question->count,
		.dir_count = (uint32_t)question->search->dir_count,
		.wants_layout = question->wants_layout,
		.has_file = source->fd >= 0,
		.has_fetch = question->search->fetch != NULL,
	};
	size_t i;

	if (source->build_id_bytes <= ELF_BUILD_ID_MAX_BYTES)
		head.build_id_bytes = (uint32_t)source->build_id_bytes;
	if (head.build_id_bytes)
		memcpy(head.build_id, source->build_id, head.build_id_bytes);
	for (i = 0; i < text_count(question); i++) {
		const char *text = text_of(question, i);

		if (i < TEXTS)
			head.has_text[i] = text != NULL;
		head.text_bytes += text ? (uint32_t)strlen(text) + 1 : 0;
	}
	return head;
}

/* All of it, behind the head. NULL: there is no memory. */
static char *make_body(const struct name_question *question, size_t bytes)
{
	const size_t offsets = question->count * sizeof(*question->offsets);
	char *body = malloc(bytes + 1), *at = body;
	size_t i;

	if (!body)
		return NULL;
	if (offsets)
		memcpy(at, question->offsets, offsets);
	at += offsets;
	for (i = 0; i < text_count(question); i++)
		if (text_of(question, i))
			at = stpcpy(at, text_of(question, i)) + 1;
	return body;
}

/* The file is the first descriptor, a long body the last. 0 or -errno. */
static int make_request(const struct name_question *question, struct reader_message *request)
{
	struct head head = make_head(question);
	const size_t bytes = head.offset_count * sizeof(uint64_t) + head.text_bytes;
	char *body = make_body(question, bytes);
	int fd = 0;

	if (!body)
		return -ENOMEM;
	reader_message_begin(request, SERVICE_NAMES);
	if (head.has_file)
		request->fds[request->fd_count++] = question->source.fd;
	head.is_long = sizeof(head) + bytes > READER_MESSAGE_BYTES;
	(void)reader_message_add(request, &head, sizeof(head));
	if (head.is_long)
		fd = sealed_make(&(struct sealed_part){body, bytes}, 1);
	else
		(void)reader_message_add(request, body, bytes);
	if (head.is_long && fd >= 0)
		request->fds[request->fd_count++] = fd;
	free(body);
	return fd < 0 ? fd : 0;
}

static int copy_answer(const void *data, size_t size, struct name_answer *out)
{
	out->bytes = malloc(size + 1);
	out->size = size;
	if (!out->bytes)
		return -ENOMEM;
	memcpy(out->bytes, data, size);
	return 0;
}

static int take_long(int fd, struct name_answer *out)
{
	const void *data;
	size_t size;
	int err = sealed_map(fd, NAME_ANSWER_MAX_BYTES + 8, &data, &size);

	if (err)
		return -EBADMSG;
	err = copy_answer(data, size, out);
	sealed_unmap(data, size);
	return err;
}

static int take_answer(struct reader_message *answer, const struct name_question *question,
		       struct name_answer *out)
{
	int fd = reader_message_take_fd(answer), err = answer->status;

	if (!err)
		err = fd < 0 ? copy_answer(answer->data, answer->bytes, out) : take_long(fd, out);
	fd_close(&fd);
	if (answer->status)
		return answer->status == -ENOMEM ? -E2BIG : err > 0 ? -EBADMSG : err;
	return err ? err : name_answer_read(out, question);
}

int names_ask(struct reader *parser, const struct reader_wait *wait,
	      const struct name_question *question, struct name_answer *out)
{
	static struct reader_message request, answer;
	int err = make_request(question, &request);

	*out = (struct name_answer){0};
	if (!err)
		err = reader_call(parser, &request, wait, &answer);
	if (request.fd_count > (question->source.fd >= 0))
		fd_close(&request.fds[request.fd_count - 1]);
	if (err)
		return err;
	err = take_answer(&answer, question, out);
	if (!err)
		return 0;
	free(out->bytes);
	out->bytes = NULL;
	if (err == -EBADMSG)
		reader_distrust(parser);
	return err;
}

/* ---- in the reader ------------------------------------------------------------------- */

/* A question, and what it points into. */
struct received {
	struct name_question question;
	struct file_search search;
	const char **dirs;
	uint64_t *offsets;
	struct head head;
};

static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	if (nul)
		*at = nul + 1;
	return nul ? text : NULL;
}

static int take_texts(struct received *received, const char *at, const char *end)
{
	const struct head *head = &received->head;
	struct name_question *question = &received->question;
	const char **const texts[TEXTS] = {&question->source.path, &question->source.root,
					   &question->debug_dir};
	size_t i;

	for (i = 0; i < TEXTS; i++) {
		*texts[i] = head->has_text[i] ? take_text(&at, end) : NULL;
		if (head->has_text[i] && !*texts[i])
			return -EBADMSG;
	}
	received->dirs = calloc(head->dir_count + 1, sizeof(*received->dirs));
	if (!received->dirs)
		return -ENOMEM;
	for (i = 0; i < head->dir_count; i++) {
		received->dirs[i] = take_text(&at, end);
		if (!received->dirs[i])
			return -EBADMSG;
	}
	return 0;
}

static int take_body(struct received *received, const char *body, size_t bytes)
{
	const struct head *head = &received->head;
	const size_t offsets = head->offset_count * sizeof(uint64_t);

	if (bytes < offsets + head->text_bytes || head->dir_count > head->text_bytes)
		return -EBADMSG;
	received->offsets = malloc(offsets + 1);
	if (!received->offsets)
		return -ENOMEM;
	memcpy(received->offsets, body, offsets);
	return take_texts(received, body + offsets, body + offsets + head->text_bytes);
}

static void take_head(struct received *received, const struct reader_message *request)
{
	const struct head *head = &received->head;

	received->search.dir_count = head->dir_count;
	received->search.fetch = head->has_fetch ? fetch_through_client : NULL;
	received->question.asker = head->asker;
	received->question.number = head->number;
	received->question.wants_layout = head->wants_layout;
	received->question.count = head->offset_count;
	received->question.source.fd = head->has_file ? request->fds[0] : -1;
	received->question.source.build_id = head->build_id;
	received->question.source.build_id_bytes = head->build_id_bytes;
	received->question.source.code_offset = head->code_offset;
	received->question.source.code_bytes = head->code_bytes;
}

static bool is_request(const struct head *head, const struct reader_message *request)
{
	return request->fd_count == (uint32_t)head->has_file + head->is_long &&
	       head->build_id_bytes <= ELF_BUILD_ID_MAX_BYTES;
}

static int32_t answer_question(struct received *received, struct reader_message *answer)
{
	static struct answering *answering;
	char *bytes;
	size_t size;
	int err = answering ? 0 : answering_open(&answering), fd;

	received->search.dirs = received->dirs;
	received->question.search = &received->search;
	received->question.offsets = received->offsets;
	if (!err)
		err = answering_answer(answering, &received->question, &bytes, &size);
	if (err)
		return err;
	if (!reader_message_add(answer, bytes, size)) {
		fd = sealed_make(&(struct sealed_part){bytes, size}, 1);
		err = fd < 0 ? fd : 0;
		if (!err)
			answer->fds[answer->fd_count++] = fd;
	}
	free(bytes);
	return err;
}

int32_t names_answer(const struct reader_message *request, struct reader_message *answer)
{
	struct received received = {0};
	const void *mapped = NULL;
	const char *body = (const char *)request->data + sizeof(received.head);
	size_t bytes = request->bytes - sizeof(received.head);
	int err = 0;

	if (request->bytes < sizeof(received.head))
		return -EBADMSG;
	memcpy(&received.head, request->data, sizeof(received.head));
	if (!is_request(&received.head, request))
		return -EBADMSG;
	if (received.head.is_long) {
		err = sealed_map(request->fds[request->fd_count - 1], REQUEST_MAX_BYTES, &mapped,
				 &bytes);
		body = mapped;
	}
	take_head(&received, request);
	if (!err)
		err = take_body(&received, body, bytes);
	if (!err)
		err = answer_question(&received, answer);
	sealed_unmap(mapped, bytes);
	free(received.dirs);
	free(received.offsets);
	return err;
}
