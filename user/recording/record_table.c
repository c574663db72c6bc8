/* SPDX-License-Identifier: BSD-2-Clause */
/* record_table.c - all kinds of records there are: one row each (record_kind.h). */
#include "recording/record_kind.h"

#include "recording/counter_records.h"
#include "recording/map_records.h"
#include "recording/sample_records.h"
#include "recording/task_records.h"

const struct record_kind *const record_table[] = {
	&task_record, &image_record,   &map_record,     &sample_record,
	&raw_record,  &counter_record, &amounts_record, NULL,
};
