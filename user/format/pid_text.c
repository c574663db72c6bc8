/* SPDX-License-Identifier: BSD-2-Clause */
/* pid_text.c - see pid_text.h. */
#include "format/pid_text.h"

#include <stdio.h>

#include "target/process.h"

const char *pid_text(char *text, const struct process *process)
{
	snprintf(text, PID_TEXT_BYTES, process->life ? "%u.%u" : "%u", process->tgid,
		 process->life);
	return text;
}
