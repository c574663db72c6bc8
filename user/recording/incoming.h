/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * incoming.h - the mappings of images whose exec event has not come yet.
 *
 * exec, as the kernel tells it:   RECORD_IMAGE  RECORD_MAP...  GB_TASK_EXEC
 * The mappings come before the event that names the image (it carries the new exec_id), so they are collected here, by
 * process id; the image then takes them over.
 */
#ifndef GECKOBPF_RECORDING_INCOMING_H
#define GECKOBPF_RECORDING_INCOMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address_space;
struct incoming;

/* A table is a pointer to `struct incoming`, NULL: it is empty. `time_ns`: of the record that says so. */

/* The process execs: what was collected for it is dropped. 0 or -ENOMEM. */
int incoming_begin(struct incoming **table, uint32_t tgid, uint64_t time_ns);

/* Where its mappings are collected; NULL: it does not exec. The table's. */
struct address_space *incoming_space(struct incoming *table, uint32_t tgid);

/* Moves what was collected into *space, whose own is freed. False: there is nothing. */
bool incoming_take(struct incoming **table, uint32_t tgid, struct address_space *space);

/* The process ended. */
void incoming_drop(struct incoming **table, uint32_t tgid);

/* Drops those that began before `settled_ns`, and marks the objects of the others as used (expire.h). */
void incoming_expire(struct incoming **table, uint64_t settled_ns);

/* Memory that they take, about. */
size_t incoming_bytes(const struct incoming *table);

void incoming_clear(struct incoming **table);

#endif
