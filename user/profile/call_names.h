/* SPDX-License-Identifier: BSD-2-Clause */
/* call_names.h - what the system calls of this machine are called: one file a machine. */
#ifndef GECKOBPF_PROFILE_CALL_NAMES_H
#define GECKOBPF_PROFILE_CALL_NAMES_H

#include <stdint.h>

/* NULL: there was none of that number when this was written. */
const char *call_name(uint32_t number);

#endif
