/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.h - what is wrong with an input, and where: one line of words for the message that names the file. */
#ifndef GECKOBPF_FORMAT_FAULT_H
#define GECKOBPF_FORMAT_FAULT_H

/* Zero-initialised: nothing was said. */
struct fault {
	char text[320];
};

/* Says it, cut if it is too long and without control characters, and returns `err`. `fault` may be NULL. */
int fault_set(struct fault *fault, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
