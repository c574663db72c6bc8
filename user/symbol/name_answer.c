/* SPDX-License-Identifier: BSD-2-Clause */
/* name_answer.c - see name_answer.h. */
#include "symbol/name_answer.h"

#include "base/array.h"
#include "base/u64_map.h"
#include "elf/elf_file.h"
#include "symbol/demangle.h"
#include "symbol/name_question.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A name, and "@plt". */
#define TEXT_MAX_BYTES (DEMANGLE_MAX_BYTES + 8)

/* All of it is a multiple of 8 bytes, without holes. */
struct head {
	int32_t layout_error;
	uint32_t trouble;
	uint64_t base;
	uint8_t build_id[ELF_BUILD_ID_MAX_BYTES], other_id[ELF_BUILD_ID_MAX_BYTES];
	uint32_t build_id_bytes, other_id_bytes, has_other, segment_count, span_count, text_bytes;
};

struct name_writer {
	struct head head;
	const struct elf_segment *segments;
	struct {
		struct name_span *items;
		size_t count, capacity;
	} spans;
	struct {
		char *items;
		size_t count, capacity;
	} texts;
	struct u64_map places; /* of texts, by where they were */
};

/* ---- reading ------------------------------------------------------------------------- */

static bool is_head(const struct head *head, size_t size)
{
	const uint64_t wanted =
		sizeof(*head) + (uint64_t)head->segment_count * sizeof(struct elf_segment) +
		(uint64_t)head->span_count * sizeof(struct name_span) + head->text_bytes;

	return wanted == size && head->segment_count <= NAME_MAX_SEGMENTS &&
	       head->build_id_bytes <= ELF_BUILD_ID_MAX_BYTES &&
	       head->other_id_bytes <= ELF_BUILD_ID_MAX_BYTES && head->has_other <= 1 &&
	       head->trouble < SYMBOL_TROUBLE_COUNT && head->layout_error <= 0;
}

static void take_head(struct name_answer *answer, const struct head *head)
{
	answer->layout_error = head->layout_error;
	answer->trouble = (enum symbol_trouble)head->trouble;
	answer->layout = (struct elf_layout){
		.segment_count = head->segment_count,
		.base = head->base,
		.build_id_bytes = head->build_id_bytes,
	};
	memcpy(answer->layout.build_id, head->build_id, sizeof(head->build_id));
	answer->other = (struct other_file){
		.build_id_bytes = head->other_id_bytes,
		.is_there = head->has_other,
	};
	memcpy(answer->other.build_id, head->other_id, sizeof(head->other_id));
	answer->span_count = head->span_count;
	answer->text_bytes = head->text_bytes;
}

/* It has a NUL, and not too late. */
static bool is_text(const struct name_answer *answer, uint32_t at)
{
	const size_t left = at < answer->text_bytes ? answer->text_bytes - at : 0;

	return at == NAME_TEXT_NONE ||
	       memchr(answer->texts + at, '\0', left < TEXT_MAX_BYTES ? left : TEXT_MAX_BYTES);
}

static bool are_spans(const struct name_answer *answer)
{
	uint64_t end = 0;
	size_t i;

	if (!answer->text_bytes || answer->texts[answer->text_bytes - 1])
		return false;
	for (i = 0; i < answer->span_count; i++) {
		const struct name_span *span = &answer->spans[i];

		if (span->first < end || span->end <= span->first || span->is_function > 1 ||
		    !is_text(answer, span->name) || !is_text(answer, span->source))
			return false;
		end = span->end;
	}
	return true;
}

/* Nothing is there that was not asked for. */
static bool are_answers(const struct name_answer *answer, const struct name_question *question)
{
	size_t i, at = 0;

	for (i = 0; i < answer->span_count; i++) {
		const struct name_span *span = &answer->spans[i];
		const size_t before = at;

		while (at < question->count && question->offsets[at] >= span->first &&
		       question->offsets[at] < span->end)
			at++;
		if (at == before)
			return false;
	}
	return at == question->count;
}

int name_answer_read(struct name_answer *answer, const struct name_question *question)
{
	struct head head;
	char *at = answer->bytes + sizeof(head);

	if (answer->size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, answer->bytes, sizeof(head));
	if (!is_head(&head, answer->size))
		return -EBADMSG;
	take_head(answer, &head);
	answer->layout.segments = (void *)at;
	at += head.segment_count * sizeof(struct elf_segment);
	answer->spans = (void *)at;
	answer->texts = at + head.span_count * sizeof(struct name_span);
	return are_spans(answer) && are_answers(answer, question) ? 0 : -EBADMSG;
}

/* ---- making one ------------------------------------------------------------------------ */

int name_writer_open(struct name_writer **out)
{
	struct name_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return -ENOMEM;
	writer->head.trouble = SYMBOL_TROUBLE_STRIPPED;
	*out = writer;
	return 0;
}

void name_writer_close(struct name_writer *writer)
{
	if (!writer)
		return;
	free(writer->spans.items);
	free(writer->texts.items);
	u64_map_clear(&writer->places);
	free(writer);
}

void name_writer_layout(struct name_writer *writer, int error, const struct elf_layout *layout)
{
	struct head *head = &writer->head;

	head->layout_error = error;
	if (error)
		return;
	head->base = layout->base;
	head->build_id_bytes = (uint32_t)layout->build_id_bytes;
	memcpy(head->build_id, layout->build_id, sizeof(head->build_id));
	head->segment_count = (uint32_t)layout->segment_count;
	writer->segments = layout->segments;
}

void name_writer_trouble(struct name_writer *writer, enum symbol_trouble trouble,
			 const struct other_file *other)
{
	struct head *head = &writer->head;

	head->trouble = trouble;
	head->has_other = other->is_there;
	head->other_id_bytes = (uint32_t)other->build_id_bytes;
	memcpy(head->other_id, other->build_id, sizeof(head->other_id));
}

/* *place: where a text is, that is added if it is new. */
static int add_text(struct name_writer *writer, const char *text, uint32_t *place)
{
	const size_t at = writer->texts.count, bytes = text ? strlen(text) + 1 : 0;
	int err;

	*place = text ? u64_map_get(&writer->places, (uintptr_t)text) : NAME_TEXT_NONE;
	if (!text || *place != U64_MAP_NONE)
		return 0;
	if (at + bytes > NAME_ANSWER_MAX_BYTES)
		return -E2BIG;
	err = array_reserve((void **)&writer->texts.items, &writer->texts.capacity, at + bytes, 1);
	if (!err)
		err = u64_map_put(&writer->places, (uintptr_t)text, (uint32_t)at);
	if (err)
		return err;
	memcpy(writer->texts.items + at, text, bytes);
	writer->texts.count += bytes;
	*place = (uint32_t)at;
	return 0;
}

int name_writer_add(struct name_writer *writer, struct name_span *span, const char *name,
		    const char *source)
{
	int err = ARRAY_ROOM(&writer->spans);

	if (!err)
		err = add_text(writer, name, &span->name);
	if (!err)
		err = add_text(writer, source, &span->source);
	if (!err)
		writer->spans.items[writer->spans.count++] = *span;
	return err;
}

static char *put(char *at, const void *data, size_t bytes)
{
	if (bytes)
		memcpy(at, data, bytes);
	return at + bytes;
}

int name_writer_finish(struct name_writer *writer, char **bytes, size_t *size)
{
	struct head *head = &writer->head;
	const size_t segments = head->segment_count * sizeof(*writer->segments);
	const size_t spans = writer->spans.count * sizeof(*writer->spans.items);
	const size_t texts = writer->texts.count, padding = 8 - texts % 8; /* so there are some */
	char *at;

	*size = sizeof(*head) + segments + spans + texts + padding;
	if (*size > NAME_ANSWER_MAX_BYTES || head->segment_count > NAME_MAX_SEGMENTS)
		return -E2BIG;
	*bytes = malloc(*size);
	if (!*bytes)
		return -ENOMEM;
	head->span_count = (uint32_t)writer->spans.count;
	head->text_bytes = (uint32_t)(texts + padding);
	at = put(*bytes, head, sizeof(*head));
	at = put(at, writer->segments, segments);
	at = put(at, writer->spans.items, spans);
	memset(put(at, writer->texts.items, texts), 0, padding);
	return 0;
}
