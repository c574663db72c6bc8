/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_libs.h - "libs" in the Gecko format: the files of code that a process had mapped, and where.
 *
 *   start          the lib's entry covers the addresses [start, end)
 *   start - offset the lib's base: where its lowest page would be
 *   address - base the relative address, which symbol servers know
 *
 * The format knows no times: where code of one file made room for another's, as after dlclose(), an address would be taken
 * for the later one's. Code that is not there at the end is moved to where nothing can be mapped, 4 GiB a file.
 */
#ifndef GECKOBPF_FORMAT_GECKO_LIBS_H
#define GECKOBPF_FORMAT_GECKO_LIBS_H

#include <stdint.h>

struct json;
struct profile_frame;
struct profile_process;

/*
 * *address: what is to be written for a frame of a file's code, of which no name is wanted: its address, or that of the
 * place that it is moved to. 0 or -ENOMEM.
 */
int gecko_libs_address(const struct profile_process *process, const struct profile_frame *frame,
		       uint64_t *address);

/* Writes the array of those that had samples, sorted by start, none overlapping. 0 or -ENOMEM. */
int gecko_libs_write(const struct profile_process *process, struct json *json);

#endif
