/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk_domain.c - kept chunks and chunks lent to the compressor. */
#include "buffer/chunk_domain.h"

#include <assert.h>
#include <string.h>

#include "buffer/chunk.h"

int chunk_domain_init(struct chunk_domain *domain, uint32_t chunk_first_bytes,
		      uint32_t chunk_max_bytes)
{
	int err;

	*domain = (struct chunk_domain){
		.chunk_first_bytes = chunk_first_bytes,
		.chunk_max_bytes = chunk_max_bytes,
	};
	err = pthread_mutex_init(&domain->lock, NULL);
	if (err)
		return -err;
	err = pthread_cond_init(&domain->work, NULL);
	if (err)
		goto no_work;
	err = pthread_cond_init(&domain->came_back, NULL);
	if (err)
		goto no_came_back;
	return 0;

no_came_back:
	pthread_cond_destroy(&domain->work);
no_work:
	pthread_mutex_destroy(&domain->lock);
	return -err;
}

void chunk_domain_clear(struct chunk_domain *domain)
{
	assert(!domain->lent && !domain->newest_waiting);
	while (domain->kept_count)
		chunk_destroy(domain->kept[--domain->kept_count]);
	pthread_cond_destroy(&domain->came_back);
	pthread_cond_destroy(&domain->work);
	pthread_mutex_destroy(&domain->lock);
}

/* ---- kept for reuse ------------------------------------------------------------ */

static struct chunk *remove_kept(struct chunk_domain *domain, uint32_t at)
{
	struct chunk *chunk = domain->kept[at];

	domain->kept_count--;
	memmove(domain->kept + at, domain->kept + at + 1,
		(domain->kept_count - at) * sizeof(domain->kept[0]));
	return chunk;
}

void chunk_domain_set_max(struct chunk_domain *domain, uint32_t chunk_max_bytes)
{
	uint32_t n = domain->kept_count;

	domain->chunk_max_bytes = chunk_max_bytes;
	while (n--) {
		if (domain->kept[n]->header.buffer_bytes > chunk_max_bytes)
			chunk_destroy(remove_kept(domain, n));
	}
}

struct chunk *chunk_domain_take_kept(struct chunk_domain *domain, uint32_t bytes)
{
	uint32_t n;

	for (n = 0; n < domain->kept_count; n++) {
		uint32_t has = domain->kept[n]->header.buffer_bytes;

		if (has >= bytes && has / 2 < bytes)
			return remove_kept(domain, n);
	}
	return NULL;
}

static void keep_or_free(struct chunk_domain *domain, struct chunk *chunk)
{
	uint32_t bytes = chunk->header.buffer_bytes;

	if (chunk_is_compressed(chunk) || bytes < domain->chunk_first_bytes ||
	    bytes > domain->chunk_max_bytes) {
		chunk_destroy(chunk);
		return;
	}
	chunk_mark_recycled(chunk);
	if (domain->kept_count == CHUNK_KEPT_MAX)
		chunk_destroy(remove_kept(domain, 0));
	domain->kept[domain->kept_count++] = chunk;
}

/* ---- lent to the compressor ---------------------------------------------------- */

static void remove_waiting(struct chunk_domain *domain, struct chunk *chunk)
{
	struct chunk_loan *loan = &chunk->loan;

	assert(loan->state == CHUNK_LOAN_WAITING);
	if (loan->newer)
		loan->newer->loan.older = loan->older;
	else
		domain->newest_waiting = loan->older;
	if (loan->older)
		loan->older->loan.newer = loan->newer;
	loan->newer = NULL;
	loan->older = NULL;
	loan->state = CHUNK_LOAN_NONE;
}

void chunk_domain_discard(struct chunk_domain *domain, struct chunk *chunk)
{
	assert(!chunk->next);
	if (chunk->loan.state == CHUNK_LOAN_WAITING)
		remove_waiting(domain, chunk);
	chunk->loan.keeper = NULL;
	if (chunk->loan.state == CHUNK_LOAN_LENT)
		chunk->loan.state = CHUNK_LOAN_ORPHAN;
	else
		keep_or_free(domain, chunk);
}

void chunk_domain_add_waiting(struct chunk_domain *domain, struct chunk *chunk)
{
	if (chunk_is_compressed(chunk) || chunk->header.stored_bytes < CHUNK_WORTH_BYTES)
		return;
	chunk->loan.state = CHUNK_LOAN_WAITING;
	chunk->loan.newer = NULL;
	chunk->loan.older = domain->newest_waiting;
	if (chunk->loan.older)
		chunk->loan.older->loan.newer = chunk;
	domain->newest_waiting = chunk;
	pthread_cond_signal(&domain->work);
}

bool chunk_domain_recall(struct chunk_domain *domain, struct chunk *chunk)
{
	if (chunk->loan.state == CHUNK_LOAN_WAITING)
		remove_waiting(domain, chunk);
	return chunk->loan.state == CHUNK_LOAN_NONE;
}

struct chunk *chunk_domain_lend(struct chunk_domain *domain)
{
	struct chunk *chunk = domain->newest_waiting;

	if (!chunk || domain->paused || domain->is_stopped)
		return NULL;
	remove_waiting(domain, chunk);
	chunk->loan.state = CHUNK_LOAN_LENT;
	domain->lent++;
	return chunk;
}

bool chunk_domain_came_back(struct chunk_domain *domain, struct chunk *chunk)
{
	bool is_orphan = chunk->loan.state == CHUNK_LOAN_ORPHAN;

	assert(is_orphan || chunk->loan.state == CHUNK_LOAN_LENT);
	chunk->loan.state = CHUNK_LOAN_NONE;
	domain->lent--;
	pthread_cond_broadcast(&domain->came_back);
	if (is_orphan)
		keep_or_free(domain, chunk);
	return !is_orphan;
}
