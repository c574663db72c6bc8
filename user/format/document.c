/* SPDX-License-Identifier: BSD-2-Clause */
/* document.c - see document.h. */
#include "format/document.h"

#include "base/deflater.h"
#include "base/output.h"
#include "base/progress.h"
#include "base/stages.h"
#include "format/json.h"
#include "profile/profile.h"

static void leave_compressing(struct document *document, const char *before, size_t size)
{
	if (before)
		stages_enter(document->input->stages, before);
	else
		stages_end(document->input->stages);
	progress_add(document->writing, size);
}

static int write_to_output(void *context, const void *data, size_t size)
{
	struct document *document = context;
	const char *before = stages_enter(document->input->stages, "compressing");
	int err = output_write(document->output, data, size);

	leave_compressing(document, before, size);
	return err;
}

static int splice_to_output(void *context, const struct piece *piece)
{
	struct document *document = context;
	const char *before = stages_enter(document->input->stages, "compressing");
	int err = output_splice(document->output, piece);

	leave_compressing(document, before, piece->plain_size);
	return err;
}

int document_open(struct document *document, const struct profile_input *input,
		  struct output *output)
{
	const struct json_sink text = {write_to_output, document, splice_to_output};

	document->input = input;
	document->output = output;
	return json_open(&document->json, &text);
}

void document_close(struct document *document)
{
	json_close(document->json);
}
