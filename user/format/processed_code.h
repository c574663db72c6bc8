/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processed_code.h - what all threads of a processed profile share, but for stacks: each thing has a row of its own,
 * once in the profile, whatever the number of processes that met it.
 *
 *   frame row ──> function row ──> resource row ("libc.so.6") ──> string
 *       │              └─> source row (a file name), string
 *       ├─> lib row (path, build id)
 *       └─> native symbol row ──> lib, string
 *
 * Rows are numbered 0, 1, 2, ... in order of first use and kept in memory until they are written: there are as many as
 * there is code that was met, which does not grow with samples.
 */
#ifndef GECKOBPF_FORMAT_PROCESSED_CODE_H
#define GECKOBPF_FORMAT_PROCESSED_CODE_H

#include <stddef.h>
#include <stdint.h>

#define PROCESSED_NONE UINT32_MAX

struct build_id;
struct json;
struct processed_code;

/* All bytes that are not named are zero: rows are equal if their bytes are. Addresses are relative to the lib. */
struct processed_frame {
	uint64_t address; /* of a caller: in the call */
	uint32_t function;
	uint32_t
		lib; /* PROCESSED_NONE: the frame is of no address, or of no file; `address` is 0 */
	uint32_t symbol; /* PROCESSED_NONE: code of an unknown function */
	uint32_t line, column; /* 0: not known */
	uint8_t category, subcategory, inline_depth, padding;
};

struct processed_symbol {
	uint64_t address, size; /* size 0: not known */
	uint32_t lib, name; /* a row of libs, a string */
};

/* `max_frames`: with more, -E2BIG is returned for them; 0: any number. 0 or -ENOMEM. NULL is fine for close. */
int processed_code_open(struct processed_code **out, size_t max_frames);
void processed_code_close(struct processed_code *code);

/* Each puts the number of a row into *id, a new one if there was none. 0 or -ENOMEM. */
int processed_code_string(struct processed_code *code, const char *text, size_t length,
			  uint32_t *id);
/* `id` may be empty: the path alone tells the file. */
int processed_code_lib(struct processed_code *code, const char *path,
		       const struct build_id *build_id, uint32_t *id);
/*
 * `name`: a string; `resource`: the name of the file or the like that it is in; `source`: of the file with its source.
 * NULL: none.
 */
int processed_code_function(struct processed_code *code, uint32_t name, const char *resource,
			    const char *source, uint32_t *id);
int processed_code_symbol(struct processed_code *code, const struct processed_symbol *symbol,
			  uint32_t *id);
int processed_code_frame(struct processed_code *code, const struct processed_frame *frame,
			 uint32_t *id);

/* The value of the profile's "libs". */
void processed_code_write_libs(const struct processed_code *code, struct json *json);
/* Members of the profile's "shared", which is open: all but the table of stacks. */
void processed_code_write(const struct processed_code *code, struct json *json);

#endif
