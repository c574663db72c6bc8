/* SPDX-License-Identifier: BSD-2-Clause */
/* categories.h - what kind of work a function does: its category and subcategory, by its name and the file that it is in. */
#ifndef GECKOBPF_PROFILE_CATEGORIES_H
#define GECKOBPF_PROFILE_CATEGORIES_H

#include <stdbool.h>

struct profile_frame;
struct profile_function;

/*
 * Sets category, subcategory and `inherits` of a frame of the function, whose category is that of its kind so far.
 * `is_unnamed`: it is code that has no name. To be asked once for each function.
 */
void categories_decide(const struct profile_function *function, bool is_unnamed,
		       struct profile_frame *frame);

#endif
