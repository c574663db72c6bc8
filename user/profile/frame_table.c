/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_table.c - all kinds of frames that are known: one row each (frame_kind.h). */
#include "profile/frame_kind.h"

const struct frame_kind *const frame_table[] = {
	&user_frames,  &kernel_frames, &truncated_frames, &interrupted_frames, &signal_frames,
	&sleep_frames, NULL,
};
