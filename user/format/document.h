/* SPDX-License-Identifier: BSD-2-Clause */
/* document.h - a JSON text on its way to an output, counted as progress and as stages of the work. */
#ifndef GECKOBPF_FORMAT_DOCUMENT_H
#define GECKOBPF_FORMAT_DOCUMENT_H

struct json;
struct output;
struct profile_input;
struct progress;

/* Zero-initialised is closed. All but `json` is borrowed. */
struct document {
	const struct profile_input *input;
	struct output *output;
	struct json *json;
	struct progress *writing; /* counts bytes of JSON; NULL: they are not counted */
};

/* The document must not move. 0 or -ENOMEM. */
int document_open(struct document *document, const struct profile_input *input,
		  struct output *output);
void document_close(struct document *document);

#endif
