/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compile_pool.h - the tables of many files at once, each compiled by one of some parsers (reader/reader.h), in the order
 * of compile_order.h.
 */
#ifndef GECKOBPF_CAPTURE_COMPILE_POOL_H
#define GECKOBPF_CAPTURE_COMPILE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/table_request.h"

struct compile_pool;

/* A file that takes longer than this has no table. */
#define COMPILE_MAX_NS (10 * NS_PER_SEC)

struct compile_job {
	int fd; /* of the file, the pool's to close, which it does when it is begun; -1: the vDSO */
	uint32_t tag; /* the caller's, to know the job by */
	uint64_t bytes; /* size of the file */
	uint64_t mapped_ns;
};

struct compile_result {
	uint32_t tag;
	uint64_t bytes; /* both of the job */
	/* 0: there is a table, to be given to table_close(); as table_take(), or -ETIMEDOUT, -EPIPE, -EAGAIN, -ENOSYS */
	int error;
	struct made_table made;
};

/* Starts parsers, and does not wait for them. 0 or -ENOMEM. */
int compile_pool_open(struct compile_pool **out);
void compile_pool_close(struct compile_pool *pool);

/* Begins the job, now or when others are done. 0 or -ENOMEM, with its descriptor closed. */
int compile_pool_add(struct compile_pool *pool, const struct compile_job *job);

/* The job goes before all others, unless it has begun. */
void compile_pool_hurry(struct compile_pool *pool, uint32_t tag);

/* True: *out is the result of a job. False: none is done by `until_ns` (of clock_now_ns()), or there are no jobs. */
bool compile_pool_next(struct compile_pool *pool, uint64_t until_ns, struct compile_result *out);

/* What the parsers could not give up (service/sandbox.h), as far as it is known. */
uint32_t compile_pool_lacks(const struct compile_pool *pool);

#endif
