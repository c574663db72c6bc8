/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * early_mappings.h - the mappings of images whose exec event has not come yet.
 *
 * exec, as the kernel tells it:   RECORD_IMAGE  RECORD_MAP...  GB_TASK_EXEC
 * The mappings come before the event that names the image (it carries the new exec_id), so they are collected here, by
 * process id; the image then takes them over.
 */
#ifndef GECKOBPF_RECORDING_EARLY_MAPPINGS_H
#define GECKOBPF_RECORDING_EARLY_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_space;
struct early_mappings;

/* A table is a pointer to `struct early_mappings`, NULL: it is empty. `time_ns`: of the record that says so. */

/* The process execs: what was collected for it is dropped. 0 or -ENOMEM. */
int early_mappings_begin(struct early_mappings **table, uint32_t tgid, uint64_t time_ns);

/* Where its mappings are collected; NULL: it does not exec. The table's. */
struct address_space *early_mappings_space(struct early_mappings *table, uint32_t tgid);

/* Moves what was collected into *space, whose own is freed. False: there is nothing. */
bool early_mappings_take(struct early_mappings **table, uint32_t tgid, struct address_space *space);

/* The process ended. */
void early_mappings_drop(struct early_mappings **table, uint32_t tgid);

/* Drops those that began before `settled_ns`, and marks the objects of the others as used (expire_mark()). */
void early_mappings_expire(struct early_mappings **table, uint64_t settled_ns, uint64_t round);

/* Memory that they take, about. */
size_t early_mappings_bytes(const struct early_mappings *table);

void early_mappings_clear(struct early_mappings **table);

#endif
