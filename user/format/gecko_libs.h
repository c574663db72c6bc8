/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_libs.h - "libs" in the Gecko format: the files of code that a process had mapped, and where.
 *
 *   start          the lib's entry covers the addresses [start, end)
 *   start - offset the lib's base: where its lowest page would be
 *   address - base the relative address, which symbol servers know
 */
#ifndef GECKOBPF_FORMAT_GECKO_LIBS_H
#define GECKOBPF_FORMAT_GECKO_LIBS_H

struct json;
struct profile_process;

/* Writes the array of those that had samples, sorted by start, none overlapping. 0 or -ENOMEM. */
int gecko_libs_write(const struct profile_process *process, struct json *json);

#endif
