/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arch_x86_64_decode.c - see arch_x86_64_decode.h.
 *
 *   prefixes │ REX, VEX, EVEX or XOP │ opcode, of one of several maps │ ModRM, SIB, displacement │ immediate
 *
 * A table a map says what comes after an opcode and which registers it writes; a few opcodes are looked at closer. Where
 * one writes a register only under some prefix, it counts as written under all.
 */
#include "unwind/arch_x86_64_decode.h"

#define TWO(x) x, x
#define FOUR(x) x, x, x, x
#define EIGHT(x) FOUR(x), FOUR(x)
#define SIXTEEN(x) EIGHT(x), EIGHT(x)
/* add, or, ...: r/m8 r8, r/m r, r8 r/m8, r r/m, al imm8, eax imm32, and two that are gone */
#define ARITHMETIC M | E | B, M | E, M | R | B, M | R, I1 | A, I4 | A, BAD, BAD

/* clang-format off */
static const uint16_t one_byte[256] = {
	/* 00 */ ARITHMETIC, ARITHMETIC,
	/* 10 */ ARITHMETIC, ARITHMETIC,
	/* 20 */ ARITHMETIC, ARITHMETIC,
	/* 30 */ ARITHMETIC, /* cmp */ M, M, M, M, I1, I4, BAD, BAD,
	/* 40 */ SIXTEEN(BAD),
	/* 50 */ EIGHT(0), EIGHT(0),
	/* 60 */ BAD, BAD, BAD, M | R, FOUR(BAD), I4, M | I4 | R, I1, M | I1 | R, FOUR(S | C),
	/* 70 */ SIXTEEN(I1),
	/* 80 */ M | I1 | E | B, M | I4 | E, BAD, M | I1 | E, M, M, M | R | E | B, M | R | E,
	         M | E | B, M | E, M | R | B, M | R, M | E, M | R, M, M,
	/* 90 */ O | A, O | A, O | A, O | A, FOUR(O | A), A, D, BAD, 0, 0, 0, 0, A,
	/* a0 */ A, A, 0, 0, FOUR(S | C), I1, I4, FOUR(S | C | A), TWO(S | C),
	/* b0 */ EIGHT(O | B | I1), EIGHT(O),
	/* c0 */ M | I1 | E | B, M | I1 | E, I2, 0, BAD, BAD, M | I1 | E | B, M | I4 | E, I2 | I1, 0, I2, 0,
	         0, I1, BAD, 0,
	/* d0 */ M | E | B, M | E, M | E | B, M | E, BAD, BAD, BAD, A, EIGHT(M | A),
	/* e0 */ FOUR(I1 | C), TWO(I1 | A), TWO(I1), I4, I4, BAD, I1, TWO(A), TWO(0),
	/* f0 */ BAD, 0, BAD, BAD, 0, 0, M | E | B | A, M | E | A | D, 0, 0, 0, 0, 0, 0, M | E | B, M | E,
};

/* 0f xx */
static const uint16_t two_bytes[256] = {
	/* 00 */ M | E, M | A | D | C, M | R, M | R, BAD, A | C, 0, 0, 0, 0, BAD, 0, BAD, M, 0, M | I1,
	/* 10 */ EIGHT(M), EIGHT(M),
	/* 20 */ M | E, M | E, M, M, FOUR(BAD), FOUR(M), M | R, M | R, M, M,
	/* 30 */ 0, A | D, A | D, A | D, 0, 0, BAD, A, BAD, BAD, BAD, BAD, FOUR(BAD),
	/* 40 */ SIXTEEN(M | R),
	/* 50 */ M | R, M, M, M, FOUR(M), EIGHT(M),
	/* 60 */ SIXTEEN(M),
	/* 70 */ FOUR(M | I1), M, M, M, 0, M | E, M, BAD, BAD, M, M, M | E, M,
	/* 80 */ SIXTEEN(I4),
	/* 90 */ SIXTEEN(M | E | B),
	/* a0 */ 0, 0, A | D | C, M, M | I1 | E, M | E, M | A | C | S, M | A | C | S, 0, 0, BAD, M | E, M | I1 | E, M | E, M, M | R,
	/* b0 */ M | E | B | A, M | E | A, M | R, M | E, M | R, M | R, M | R, M | R, M | R, M, M | I1 | E, M | E, FOUR(M | R),
	/* c0 */ M | R | E | B, M | R | E, M | I1, M, M | I1, M | I1 | R, M | I1, M | E | A | D, EIGHT(O),
	/* d0 */ FOUR(M), M, M, M, M | R, EIGHT(M),
	/* e0 */ SIXTEEN(M),
	/* f0 */ EIGHT(M), FOUR(M), M, M, M, M,
};
/* clang-format on */

static const uint16_t other_writes[MAP_COUNT][256] = {
	[MAP_0F38] = {[0xf0] = R, [0xf1] = R, [0xf6] = R},
	[MAP_0F3A] = {[0x14] = E, [0x15] = E, [0x16] = E, [0x17] = E, [0x61] = C, [0x63] = C},
};

/* With VEX, EVEX or XOP. */
static const uint16_t vector_writes[MAP_COUNT][256] = {
	[MAP_0F] = {[0x2c] = R,
		    [0x2d] = R,
		    [0x50] = R,
		    [0x78] = R,
		    [0x79] = R,
		    [0x7e] = E,
		    [0x93] = R,
		    [0xc5] = R,
		    [0xd7] = R},
	[MAP_0F38] = {[0xf2] = R, [0xf3] = V, [0xf5] = R, [0xf6] = R | V, [0xf7] = R},
	[MAP_0F3A] = {[0x14] = E,
		      [0x15] = E,
		      [0x16] = E,
		      [0x17] = E,
		      [0x61] = C,
		      [0x63] = C,
		      [0xf0] = R},
	[MAP_EVEX5] = {[0x2c] = R, [0x2d] = R, [0x78] = R, [0x79] = R, [0x7e] = E},
	[MAP_XOP9] = {[0x01] = V, [0x02] = V, [0x12] = E},
	[MAP_XOPA] = {[0x10] = R},
};

static bool next_byte(struct decoding *d, uint8_t *byte)
{
	if (d->at >= d->size)
		return false;
	*byte = d->code[d->at++];
	return true;
}

/* Of so many bytes, sign-extended. */
static bool next_number(struct decoding *d, size_t bytes, int64_t *number)
{
	uint64_t value = 0;
	size_t i;

	if (d->size - d->at < bytes)
		return false;
	for (i = 0; i < bytes; i++)
		value |= (uint64_t)d->code[d->at + i] << 8 * i;
	d->at += bytes;
	if (bytes && bytes < 8 && value >> (8 * bytes - 1))
		value |= ~0ULL << 8 * bytes;
	*number = (int64_t)value;
	return true;
}

/* REX, and the byte after it; prefixes after it do not occur. */
static bool read_rex(struct decoding *d, uint8_t *byte)
{
	d->has_rex = true;
	d->wide = *byte >> 3 & 1;
	d->reg_high = (uint8_t)((*byte & 4) << 1);
	d->index_high = (uint8_t)((*byte & 2) << 2);
	d->base_high = (uint8_t)((*byte & 1) << 3);
	return next_byte(d, byte);
}

/* All prefixes, and the byte after them. */
static bool read_prefixes(struct decoding *d, uint8_t *byte)
{
	while (next_byte(d, byte)) {
		switch (*byte) {
		case 0x66:
			d->has_66 = true;
			break;
		case 0x67:
			d->has_67 = true;
			break;
		case 0xf2:
		case 0xf3:
			d->rep = *byte;
			break;
		case 0x64:
		case 0x65:
			d->has_segment = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
			break;
		default:
			return (*byte & 0xf0) != 0x40 || read_rex(d, byte);
		}
	}
	return false;
}

static bool has_vector_immediate(const struct decoding *d)
{
	return d->map == MAP_0F3A || d->map == MAP_XOP8 ||
	       (d->map == MAP_0F && ((d->opcode & 0xfc) == 0x70 || d->opcode == 0xc2 ||
				     (d->opcode >= 0xc4 && d->opcode <= 0xc6)));
}

/* Some write a register only under this prefix. */
static bool is_vector_write(const struct decoding *d)
{
	if (d->map != MAP_0F && d->map != MAP_EVEX5)
		return true;
	switch (d->opcode) {
	case 0x2c:
	case 0x2d:
	case 0x78:
	case 0x79:
		return d->rep;
	case 0x7e:
		return d->has_66;
	default:
		return true;
	}
}

/* Of map 4, which APX fills with instructions of its own (push2), and 7 we do not know what comes after opcodes. */
#define VECTOR_MAPS                                                                                \
	(1u << MAP_0F | 1u << MAP_0F38 | 1u << MAP_0F3A | 1u << MAP_EVEX5 | 1u << MAP_EVEX6 |      \
	 1u << MAP_XOP8 | 1u << MAP_XOP9 | 1u << MAP_XOPA)

/* VEX, EVEX and XOP: registers' bits are inverted in all of them. */
static bool read_vector_opcode(struct decoding *d, uint8_t first)
{
	static const uint8_t reps[] = {0, 0, 0xf3, 0xf2};
	uint8_t a, b, c;

	if (!next_byte(d, &a))
		return false;
	d->map = MAP_0F;
	d->reg_high = a & 0x80 ? 0 : 8;
	b = a & 0x7f;
	if (first != 0xc5) {
		if (!next_byte(d, &b))
			return false;
		d->index_high = a & 0x40 ? 0 : 8;
		d->base_high = a & 0x20 ? 0 : 8;
		d->map = a & (first == 0x62 ? 7 : 0x1f);
	}
	if (first == 0x62 && (!(b & 4) || a & 8 || !next_byte(d, &c)))
		return false;
	if (!(VECTOR_MAPS >> d->map & 1) || !next_byte(d, &d->opcode))
		return false;
	d->is_vector = d->has_rex = true;
	d->vector = ~b >> 3 & 15;
	d->has_66 = (b & 3) == 1;
	d->rep = reps[b & 3];
	d->what = M | (is_vector_write(d) ? vector_writes[d->map][d->opcode] : 0) |
		  (has_vector_immediate(d) ? I1 : 0);
	if (d->map == MAP_XOPA) {
		d->what |= I4;
		d->has_66 = false;
	}
	if (d->map == MAP_0F && d->opcode == 0x77)
		d->what = 0;
	return true;
}

static bool read_opcode(struct decoding *d, uint8_t byte)
{
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62 ||
	    (byte == 0x8f && d->at < d->size && (d->code[d->at] & 0x1f) >= MAP_XOP8))
		return read_vector_opcode(d, byte);
	d->opcode = byte;
	d->what = one_byte[byte];
	if (byte != 0x0f)
		return !(d->what & BAD);
	if (!next_byte(d, &d->opcode))
		return false;
	d->map = MAP_0F;
	d->what = two_bytes[d->opcode];
	if (d->opcode == 0x38 || d->opcode == 0x3a) {
		d->map = d->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
		if (!next_byte(d, &d->opcode))
			return false;
		d->what = M | (d->map == MAP_0F3A ? I1 : 0) | other_writes[d->map][d->opcode];
	}
	return !(d->what & BAD);
}

/* ModRM and what comes with it. */
static bool read_operand(struct decoding *d)
{
	uint8_t mode, sib = 0;
	bool has_index = false;

	if (!next_byte(d, &d->modrm))
		return false;
	mode = d->modrm >> 6;
	d->reg = d->reg_high | (d->modrm >> 3 & 7);
	d->rm = d->modrm & 7;
	d->is_register = mode == 3;
	if (d->is_register) {
		d->rm |= d->base_high;
		return true;
	}
	if (d->rm == 4) {
		if (!next_byte(d, &sib))
			return false;
		has_index = (d->index_high | (sib >> 3 & 7)) != 4;
		d->rm = sib & 7;
		d->is_fixed = !mode && d->rm == 5 && !has_index;
	} else {
		d->is_fixed = d->is_relative = !mode && d->rm == 5;
	}
	d->is_simple = !has_index && !d->has_segment && !d->has_67 && !(!mode && d->rm == 5);
	if (!next_number(d,
			 mode == 1                            ? 1
			 : mode == 2 || (!mode && d->rm == 5) ? 4
							      : 0,
			 &d->displacement))
		return false;
	d->rm |= d->base_high;
	return true;
}

/* Where the table does not say all: groups, whose opcode goes on in ModRM, and prefixes that change an opcode's meaning. */
static void amend_one_byte(struct decoding *d)
{
	uint8_t group = d->modrm >> 3 & 7;

	switch (d->opcode) {
	case 0x80:
	case 0x81:
	case 0x83:
		if (group == 7) /* cmp */
			d->what &= ~E;
		break;
	case 0xf6:
	case 0xf7:
		if (group < 2) /* test */
			d->what = M | (d->opcode == 0xf6 ? I1 : I4);
		else if (group < 4)
			d->what &= ~(A | D);
		else
			d->what &= ~E;
		break;
	case 0xff:
		if (group > 1)
			d->what &= ~E;
		break;
	case 0x8f: /* pop, which has a kind of its own */
		d->what |= E;
		break;
	}
}

static void amend_two_bytes(struct decoding *d)
{
	uint8_t group = d->modrm >> 3 & 7;

	switch (d->opcode) {
	case 0x00:
		if (group > 1)
			d->what &= ~E;
		break;
	case 0x01:
		if (group == 4) /* smsw */
			d->what |= E;
		break;
	case 0x1e: /* rdssp; else endbr64 or a no-op */
		if (d->rep == 0xf3 && group == 1)
			d->what |= E;
		break;
	case 0x2c:
	case 0x2d:
		if (d->rep)
			d->what |= R;
		else
			d->what &= ~R;
		break;
	case 0x78:
		if (d->has_66 || d->rep)
			d->what = M | I2;
		break;
	case 0x7e:
		if (d->rep)
			d->what &= ~E;
		break;
	case 0xae: /* rdfsbase, rdgsbase */
		if (d->rep == 0xf3 && group < 2)
			d->what |= E;
		break;
	case 0xba:
		if (group == 4) /* bt */
			d->what &= ~E;
		break;
	}
}

static void amend(struct decoding *d)
{
	if (d->is_vector)
		return;
	if (d->map == MAP_ONE_BYTE)
		amend_one_byte(d);
	else if (d->map == MAP_0F)
		amend_two_bytes(d);
	else if (d->map == MAP_0F38 && d->opcode == 0xf1 && d->rep != 0xf2)
		d->what &= ~R; /* movbe to memory */
}

static size_t immediate_bytes(const struct decoding *d)
{
	size_t bytes = (d->what & I1 ? 1 : 0) + (d->what & I2 ? 2 : 0);

	if (d->map == MAP_ONE_BYTE && !d->is_vector) {
		if (d->opcode >= 0xb8 && d->opcode <= 0xbf)
			return d->wide ? 8 : d->has_66 ? 2 : 4;
		if (d->opcode >= 0xa0 && d->opcode <= 0xa3)
			return d->has_67 ? 4 : 8;
		if (d->opcode == 0xe8 || d->opcode == 0xe9)
			return 4;
	}
	if (!(d->what & I4))
		return bytes;
	if (d->map == MAP_0F && !d->is_vector)
		return 4; /* branches */
	return bytes + (d->has_66 && !d->wide ? 2 : 4);
}

bool x86_64_decode(struct decoding *d)
{
	uint8_t byte;

	if (!read_prefixes(d, &byte) || !read_opcode(d, byte) || (d->what & M && !read_operand(d)))
		return false;
	amend(d);
	return next_number(d, immediate_bytes(d), &d->immediate);
}
