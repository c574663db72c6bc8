/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * geckobpf_names.h - patterns of names, `*` for any characters and `?` for one, matched all at once and without a branch.
 *
 * The patterns lie one behind the other in the bits of a word, a bit a character and one for the end of each:
 *
 *   "io-?,*x"     bits  0  1  2  3  4  5  6  7
 *                       i  o  -  ?  |  *  x  |
 *
 * A bit that is set says that the name may go on there. `*` lets it stay where it is; it is never the same as where it goes
 * on, so two in a row are one.
 */
#ifndef GECKOBPF_NAMES_H
#define GECKOBPF_NAMES_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define GB_NAME_BYTES 16

struct gb_names {
	__u64 match[256]; /* the places that a character goes on from */
	__u64 stay; /* those of `*` */
	__u64 start, end;
};

/* `name`: NUL-terminated, unless it has all its bytes. */
static inline __attribute__((always_inline)) int
gb_names_match(const volatile struct gb_names *names, const char name[GB_NAME_BYTES])
{
	__u64 at = names->start, stay = names->stay, next;
	int i;

	for (i = 0; i < GB_NAME_BYTES; i++) {
		__u8 c = (__u8)name[i];

		if (!c)
			break;
		next = (at & names->match[c]) << 1 | (at & stay);
		at = next | (next & stay) << 1;
	}
	return (at & names->end) != 0;
}

#endif
