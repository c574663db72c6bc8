/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * function_list.h - where the functions of a file are, symbols or none: stripping leaves the description of their stack
 * frames in place, and Go's even has their names and lines.
 */
#ifndef GECKOBPF_UNWIND_FUNCTION_LIST_H
#define GECKOBPF_UNWIND_FUNCTION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function_list;
struct unwind_source;

struct listed_function {
	uint64_t start, size; /* a virtual address of the file, bytes */
	const char *name; /* as the file has it, as long as the list; NULL: not known */
};

/* The same of texts. */
struct listed_line {
	const char *file; /* of the source, that the function is in */
	uint32_t line; /* 0: not known */
};

/* Nothing of `source` is kept. 0; -ENOEXEC: see unwind_table_compile(); -ENOMEM; -errno of reading it. */
int function_list_open(struct function_list **out, const struct unwind_source *source);
void function_list_close(struct function_list *list);

/* What it takes of memory. */
size_t function_list_bytes(const struct function_list *list);

/*
 * The last function that starts at a virtual address or before; it may end before, too. False: all start later.
 */
bool function_list_find(const struct function_list *list, uint64_t address,
			struct listed_function *out);

/* Where in the source the code at a virtual address is. False: the file does not say. */
bool function_list_line(const struct function_list *list, uint64_t address,
			struct listed_line *out);

#endif
