/* SPDX-License-Identifier: BSD-2-Clause */
/* eh_frame.c - see eh_frame.h. */
#include "unwind/eh_frame.h"
#include "base/array.h"
#include "base/large.h"
#include "unwind/dwarf_cfi.h"
#include "unwind/arch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_IS_64_BIT 0xffffffff
#define AUGMENTATION_MAX 16
#define CODE_ALIGN_MAX 255
#define FDE_BYTES_FEW 32 /* most files have more a function */

static uint32_t offset_of(const struct eh_frame *frame, const struct cursor *cursor)
{
	return (uint32_t)(cursor->at - frame->bytes);
}

static struct pointer_base base_of(const struct eh_frame *frame)
{
	return (struct pointer_base){frame->bytes, frame->address};
}

/* What the letters after "z" say; their data is in `data`. An unknown letter hides those after it. */
static bool read_letters(const struct eh_frame *frame, struct cie *cie, const char *letters,
			 struct cursor *data)
{
	struct pointer_base base = base_of(frame);
	uint8_t encoding;

	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			if (!cursor_u8(data, &cie->encoding))
				return false;
			break;
		case 'P':
			if (!cursor_u8(data, &encoding) || !pointer_skip(data, encoding, &base))
				return false;
			break;
		case 'L':
			if (!cursor_u8(data, &encoding))
				return false;
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B':
			break;
		default:
			return true;
		}
	}
	return true;
}

/* NUL-terminated, of which `text` keeps what fits. */
static bool read_augmentation(struct cursor *cursor, char text[AUGMENTATION_MAX])
{
	size_t used = 0;
	uint8_t byte;

	do {
		if (!cursor_u8(cursor, &byte))
			return false;
		if (used < AUGMENTATION_MAX - 1)
			text[used++] = (char)byte;
	} while (byte);
	text[used] = '\0';
	return true;
}

static bool read_alignments(struct cursor *cursor, struct cie *cie, uint8_t version)
{
	uint8_t column;

	if (!cursor_uleb(cursor, &cie->code_align) || cie->code_align > CODE_ALIGN_MAX ||
	    !cursor_sleb(cursor, &cie->data_align))
		return false;
	if (version != 1)
		return cursor_uleb(cursor, &cie->ra_column);
	if (!cursor_u8(cursor, &column))
		return false;
	cie->ra_column = column;
	return true;
}

/* `body` begins after the record's id and becomes the program. */
static bool read_cie(const struct eh_frame *frame, struct cie *cie, struct cursor *body)
{
	char letters[AUGMENTATION_MAX];
	struct cursor data;
	uint8_t version;
	uint64_t length;

	if (!cursor_u8(body, &version) || (version != 1 && version != 3 && version != 4) ||
	    !read_augmentation(body, letters))
		return false;
	if (!strcmp(letters, "eh") && !cursor_skip(body, MACHINE_ADDRESS_BYTES))
		return false;
	/* Version 4: sizes of an address and of a segment selector. */
	if (version == 4 && !cursor_skip(body, 2))
		return false;
	if (!read_alignments(body, cie, version))
		return false;
	cie->has_lengths = letters[0] == 'z';
	if (!cie->has_lengths)
		return !letters[0] || !strcmp(letters, "eh");
	return cursor_uleb(body, &length) && cursor_split(body, length, &data) &&
	       read_letters(frame, cie, letters + 1, &data);
}

static int add_cie(struct eh_frame *frame, uint32_t offset, struct cursor body)
{
	struct cie cie = {.offset = offset};
	int err;

	err = array_reserve((void **)&frame->cies, &frame->cie_capacity, frame->cie_count + 1,
			    sizeof(cie));
	if (err)
		return err;
	cie.is_bad = !read_cie(frame, &cie, &body);
	cie.program = offset_of(frame, &body);
	cie.program_bytes = (uint32_t)cursor_left(&body);
	frame->cies[frame->cie_count++] = cie;
	return 0;
}

/* The CIE that begins at `offset`; NULL: none does. Mostly it is the last one. */
static const struct cie *find_cie(const struct eh_frame *frame, uint32_t offset)
{
	size_t low = 0, high = frame->cie_count;

	if (high && frame->cies[high - 1].offset == offset)
		return &frame->cies[high - 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frame->cies[middle].offset == offset)
			return &frame->cies[middle];
		if (frame->cies[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Its range as offsets in the text, cut off at the text's end. */
static bool place_fde(const struct eh_frame *frame, struct fde *fde, uint64_t start, uint64_t size)
{
	uint64_t left;

	start -= frame->text;
	if (start >= frame->text_bytes || !size)
		return false;
	left = frame->text_bytes - start;
	fde->start = (uint32_t)start;
	fde->size = (uint32_t)(size < left ? size : left);
	return true;
}

/* Where a function starts, and its size. Nearly all are encoded in one way. */
static inline bool read_range(const struct eh_frame *frame, uint8_t encoding, struct cursor *body,
			      uint64_t *start, uint64_t *size)
{
	struct pointer_base base = base_of(frame);
	uint32_t words[2];

	if (encoding != (PTR_PCREL | PTR_SDATA4))
		return pointer_read(body, encoding, &base, start) &&
		       pointer_read_length(body, encoding, size);
	*start = frame->address + offset_of(frame, body);
	if (!cursor_raw(body, words, sizeof(words)))
		return false;
	*start += (uint64_t)(int64_t)(int32_t)words[0];
	*size = words[1];
	return true;
}

static inline bool skip_augmentation(struct cursor *body)
{
	uint64_t length;

	if (cursor_left(body) && !*body->at)
		return cursor_skip(body, 1);
	return cursor_uleb(body, &length) && cursor_skip(body, length);
}

/* `body` begins after the record's id and becomes the program. */
static bool read_fde(const struct eh_frame *frame, const struct cie *cie, struct fde *fde,
		     struct cursor *body)
{
	uint64_t start, size;

	if (!read_range(frame, cie->encoding, body, &start, &size))
		return false;
	if (cie->has_lengths && !skip_augmentation(body))
		return false;
	return place_fde(frame, fde, start, size);
}

/* `back` is how far before `id_offset` the CIE begins. */
static int add_fde(struct eh_frame *frame, uint32_t id_offset, uint32_t back, struct cursor body)
{
	const struct cie *cie = back <= id_offset ? find_cie(frame, id_offset - back) : NULL;
	struct fde fde = {0};
	int err;

	frame->seen++;
	if (!cie || cie->is_bad || !read_fde(frame, cie, &fde, &body)) {
		frame->bad++;
		return 0;
	}
	err = array_reserve((void **)&frame->fdes, &frame->fde_capacity, frame->fde_count + 1,
			    sizeof(fde));
	if (err)
		return err;
	fde.cie = (uint32_t)(cie - frame->cies);
	fde.program = offset_of(frame, &body);
	fde.program_bytes = (uint32_t)cursor_left(&body);
	frame->fdes[frame->fde_count++] = fde;
	return 0;
}

/* The next record, `offset` where it begins, `body` what follows its length; false at the end. */
static bool next_record(const struct eh_frame *frame, struct cursor *cursor, uint32_t *offset,
			struct cursor *body)
{
	uint64_t length;
	uint32_t word;

	do {
		*offset = offset_of(frame, cursor);
		if (!cursor_u32(cursor, &word))
			return false;
	} while (!word && !frame->is_open_ended);
	length = word;
	if (!word || (word == LENGTH_IS_64_BIT && !cursor_u64(cursor, &length)))
		return false;
	return cursor_split(cursor, length, body);
}

/* So that they are rarely moved. */
static int make_room(struct eh_frame *frame)
{
	size_t count = frame->size / FDE_BYTES_FEW + 1;

	if (count > UNWIND_FUNCTIONS_MAX)
		count = UNWIND_FUNCTIONS_MAX;
	frame->fdes = large_alloc(count * sizeof(*frame->fdes));
	if (!frame->fdes)
		return -ENOMEM;
	frame->fde_capacity = count;
	return 0;
}

static bool is_full(const struct eh_frame *frame)
{
	return frame->fde_count == UNWIND_FUNCTIONS_MAX || frame->cie_count == UNWIND_CIES_MAX;
}

int eh_frame_scan(struct eh_frame *frame)
{
	struct cursor cursor = cursor_over(frame->bytes, frame->size);
	uint32_t offset, id_offset, id;
	struct cursor body;
	int err = make_room(frame);

	while (!err && !frame->is_cut && next_record(frame, &cursor, &offset, &body)) {
		id_offset = offset_of(frame, &body);
		if (!cursor_u32(&body, &id))
			continue;
		if (id)
			err = add_fde(frame, id_offset, id, body);
		else
			err = add_cie(frame, offset, body);
		frame->is_cut = is_full(frame);
	}
	return err;
}

void eh_frame_close(struct eh_frame *frame)
{
	free(frame->cies);
	free(frame->fdes);
	*frame = (struct eh_frame){0};
}
