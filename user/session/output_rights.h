/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output_rights.h - whose a file is that is written: under sudo that of the user who called it, where that user could have
 * made it, too; elsewhere, as in /root, it stays root's.
 */
#ifndef GECKOBPF_SESSION_OUTPUT_RIGHTS_H
#define GECKOBPF_SESSION_OUTPUT_RIGHTS_H

#include "base/file_rights.h"

/* Of the file `path`; `mode`: as in struct file_rights. */
struct file_rights output_rights(const char *path, mode_t mode);

#endif
