/* SPDX-License-Identifier: BSD-2-Clause */
/* go_fixture.h - tables of Go code, made by hand, and the rows that come of them. After cmocka.h. */
#ifndef GECKOBPF_TESTS_GO_FIXTURE_H
#define GECKOBPF_TESTS_GO_FIXTURE_H

#include <elf.h>
#include <string.h>

#include "elf/elf_file.h"
#include "unwind/go_code.h"
#include "unwind/table.h"

/*
 *   file:  0        .gopclntab: header │ names │ values │ functions
 *          CODE_AT  code, mapped at TEXT; Go's begins BASE bytes further on
 */
#define CODE_AT 0x1000
#define TEXT 0x401000ULL
#define TEXT_BYTES 0x3000
#define BASE 0x40
#define NAMES 0x80
#define VALUES 0x400
#define FUNCTIONS 0x800
#define FUNCTIONS_MAX 16
#define NOT_THERE 0xffffffff

enum { TOPFRAME = 1, SPWRITE = 2, ASM = 4 };

static struct {
	uint8_t bytes[CODE_AT + TEXT_BYTES];
	uint32_t names, values, described; /* where the next one goes */
	uint32_t count, end;
	bool has_lines;
} file;

static struct unwind_segment segment = {
	.address = TEXT, .offset = CODE_AT, .bytes = TEXT_BYTES, .is_code = true};
static struct elf_file elf = {
	.fd = -1, .image = (const char *)file.bytes, .size = sizeof(file.bytes)};
static struct elf_code code = {
	.file = &elf, .segments = &segment, .segment_count = 1, .go_functions = {.bytes = CODE_AT}};

static struct go_code go;

/* ---- making tables ------------------------------------------------------------------------ */

static void put(size_t at, const void *bytes, size_t size)
{
	assert_true(at + size <= sizeof(file.bytes));
	memcpy(file.bytes + at, bytes, size);
}

static void put_u32(size_t at, uint32_t value)
{
	put(at, &value, sizeof(value));
}

static void put_u64(size_t at, uint64_t value)
{
	put(at, &value, sizeof(value));
}

static void begin(bool has_lines)
{
	memset(&file, 0, sizeof(file));
	file.has_lines = has_lines;
	file.described = (FUNCTIONS_MAX + 1) * 8;
	put_u32(0, has_lines ? 0xfffffff1 : 0xfffffff0);
	put(4, "\0\0\1\10", 4);
	put_u64(24, TEXT + BASE);
	put_u64(32, NAMES);
	put_u64(40, NOT_THERE);
	put_u64(48, NOT_THERE);
	put_u64(56, VALUES);
	put_u64(64, FUNCTIONS);
}

/* A function of `size` bytes after the one before, with depths: see put_depths(). */
static uint32_t add(const char *name, uint8_t flags, uint32_t size, const char *depths,
		    size_t depths_size)
{
	size_t at = FUNCTIONS + file.described;
	uint32_t start = file.end;

	assert_true(file.count < FUNCTIONS_MAX);
	put_u32(FUNCTIONS + 8 * file.count, start);
	put_u32(FUNCTIONS + 8 * file.count + 4, file.described);
	put_u32(at, start);
	put_u32(at + 4, file.names);
	put_u32(at + 16, file.values);
	file.bytes[at + 37 + (file.has_lines ? 4 : 0)] = flags;
	put(NAMES + file.names, name, strlen(name) + 1);
	put(VALUES + file.values, depths, depths_size);
	file.described += 64;
	file.names += (uint32_t)strlen(name) + 1;
	file.values += (uint32_t)depths_size;
	file.end += size;
	file.count++;
	put_u32(FUNCTIONS + 8 * file.count, file.end);
	put_u64(8, file.count);
	return BASE + start;
}

#define ADD(name, flags, size, depths) add(name, flags, size, depths, sizeof(depths))

/* From -1: 0 for 4 bytes; 24 for 20; 0 for 8. (Zigzag: 2 n, or -2 n - 1.) */
#define FRAME_OF_24 "\x02\x04\x30\x14\x2f\x08"
/* 0 all along, 64 bytes. */
#define NO_FRAME "\x02\x40"

static inline void usual(void)
{
	begin(true);
	ADD("main.first", 0, 64, FRAME_OF_24);
	ADD("runtime.mcall", SPWRITE, 64, NO_FRAME);
	ADD("runtime.sigreturn", 0, 32, NO_FRAME);
}

#endif
