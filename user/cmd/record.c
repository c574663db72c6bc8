/* SPDX-License-Identifier: BSD-2-Clause */
/* record.c - `geckobpf [record]`: one session, and its exit status. */
#include "cmd/command_table.h"

#include "cmd/record_options.h"
#include "cmd/recorder.h"

int cmd_record(int argc, char **argv)
{
	struct record_options options;
	int status;

	if (!record_options_parse(&options, argc, argv, &status))
		status = recorder_run(&options);
	record_options_clear(&options);
	return status;
}
