/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gecko_thread.c - see gecko_thread.h.
 *
 * Most rows have a stack that the thread has met before: one look into its numbers, one row.
 */
#include "format/gecko_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "format/spool.h"
#include "profile/model.h"

#define ROW_MAX_BYTES (NUMBER_MAX_BYTES * 2 + NUMBER_TIME_MAX_BYTES + sizeof(",[,,0,]"))
#define STACK_ROW_MAX_BYTES (NUMBER_MAX_BYTES * 2 + sizeof(",[,]"))

/* ---- stacks -------------------------------------------------------------------------- */

static char *put_id(char *at, uint32_t id)
{
	return id == ID_NONE ? mempcpy(at, "null", 4) : number_put_u64(at, id);
}

/* A row of the table of stacks. The row of the prefix is number `prefix`; ID_NONE: it is a root. */
static int put_stack_row(struct gecko_thread *thread, uint32_t prefix, uint32_t frame)
{
	char *start = spool_room(thread->stack_rows, STACK_ROW_MAX_BYTES), *at = start;

	if (!start)
		return spool_error(thread->stack_rows);
	if (thread->stack_count)
		*at++ = ',';
	*at++ = '[';
	at = put_id(at, prefix);
	*at++ = ',';
	at = number_put_u64(at, frame);
	*at++ = ']';
	spool_advance(thread->stack_rows, (size_t)(at - start));
	return 0;
}

static int add_frame(struct gecko_thread *thread, uint32_t frame, uint32_t *id)
{
	int err = ARRAY_ROOM(&thread->frames);

	if (!err)
		err = id_map_put(&thread->frame_ids, frame, (uint32_t)thread->frames.count);
	if (err)
		return err;
	*id = (uint32_t)thread->frames.count;
	thread->frames.items[thread->frames.count++] = frame;
	return 0;
}

static int find_frame(struct gecko_thread *thread, uint32_t frame, uint32_t *id)
{
	*id = id_map_get(&thread->frame_ids, frame);
	return *id == ID_NONE ? add_frame(thread, frame, id) : 0;
}

static int add_stack(struct stacks_user *user, uint32_t prefix, uint32_t frame, uint32_t *id)
{
	struct gecko_thread *thread = (struct gecko_thread *)user; /* its first member */
	uint32_t number;
	int err = find_frame(thread, frame, &number);

	if (!err && thread->stack_count == ID_NONE)
		err = -E2BIG;
	if (!err)
		err = put_stack_row(thread, prefix, number);
	if (!err)
		*id = thread->stack_count++;
	return err;
}

/* ---- rows ---------------------------------------------------------------------------- */

static int put_row(struct gecko_thread *thread, uint32_t stack, uint64_t time_ns, uint64_t cpu_ns)
{
	char *start = spool_room(thread->rows, ROW_MAX_BYTES), *at = start;

	if (!start)
		return spool_error(thread->rows);
	if (thread->has_rows)
		*at++ = ',';
	thread->has_rows = true;
	*at++ = '[';
	at = put_id(at, stack);
	*at++ = ',';
	at = number_put_time_ms(at, (int64_t)time_ns);
	at = mempcpy(at, ",0,", 3);
	at = number_put_u64(at, cpu_ns);
	*at++ = ']';
	spool_advance(thread->rows, (size_t)(at - start));
	return 0;
}

/*
 * A stack is drawn up to the next row, so it is given as much time as the thread ran after it; and CPU time is drawn
 * since the row before, so it is given as much time up to the sample that has it.
 */
static int put_sleep(struct gecko_thread *thread, const struct profile_row *row)
{
	int err = thread->is_drawn ? put_row(thread, ID_NONE, row->time_ns - row->slept_ns, 0) : 0;

	return err ? err : put_row(thread, ID_NONE, row->time_ns - row->cpu_delta_ns, 0);
}

/* No row has a stack but those that count. */
static int find_stack(struct gecko_thread *thread, const struct profile_row *row, uint32_t *stack)
{
	*stack = ID_NONE;
	if (row->stack == PROFILE_NO_STACK || row->stack == PROFILE_SAME_STACK)
		return 0;
	return stacks_id(thread->thread->process->stacks, &thread->user, row->stack, stack);
}

/*
 * Rows have no weights, so what weighs more than 1 is as many rows, an interval from each other, the last of them where it
 * ends; or one for so many (sleep_rows.h), evenly.
 */
static int put_rows(struct gecko_thread *thread, uint32_t stack, const struct profile_row *row,
		    uint64_t cpu_ns)
{
	const uint64_t step_ns =
		thread->thread->process->facts->interval_ns * thread->intervals_per_row;
	uint64_t count, before_ns;
	int err = 0;

	thread->intervals_left += (uint64_t)row->weight;
	count = thread->intervals_left / thread->intervals_per_row;
	thread->intervals_left %= thread->intervals_per_row;
	for (; count && !err; count--, cpu_ns = 0) {
		before_ns = (count - 1) * step_ns;
		if (before_ns > row->time_ns - thread->time_ns)
			before_ns = row->time_ns - thread->time_ns;
		err = put_row(thread, stack, row->time_ns - before_ns, cpu_ns);
	}
	return err;
}

int gecko_thread_add(struct gecko_thread *thread, const struct profile_row *row)
{
	uint64_t cpu_ns = row->cpu_delta_ns == PROFILE_CPU_UNKNOWN ? 0 : row->cpu_delta_ns;
	uint32_t stack;
	int err = find_stack(thread, row, &stack);

	if (!err && row->slept_ns)
		err = put_sleep(thread, row);
	thread->is_drawn = stack != ID_NONE;
	if (!err && row->event == GB_EVENT_SLEEP && row->weight > 1)
		err = put_rows(thread, stack, row, cpu_ns);
	else if (!err)
		err = put_row(thread, stack, row->time_ns, cpu_ns);
	thread->time_ns = row->time_ns;
	return err;
}

uint64_t gecko_thread_bytes(const struct gecko_thread *thread)
{
	return spool_bytes(thread->rows) + spool_bytes(thread->stack_rows) +
	       (thread->markers.rows ? spool_bytes(thread->markers.rows) : 0);
}

/* ---- opening --------------------------------------------------------------------------- */

int gecko_thread_open(struct gecko_thread **out, const struct profile_thread *thread,
		      uint64_t intervals_per_row, struct spool_pool *pool)
{
	struct gecko_thread *opened = calloc(1, sizeof(*opened));
	int err;

	if (!opened)
		return -ENOMEM;
	opened->thread = thread;
	opened->intervals_per_row = intervals_per_row;
	opened->user.add = add_stack;
	stacks_join(thread->process->stacks, &opened->user);
	err = spool_open(&opened->rows, pool);
	if (!err)
		err = spool_open(&opened->stack_rows, pool);
	if (err) {
		gecko_thread_close(opened);
		return err;
	}
	*out = opened;
	return 0;
}

void gecko_thread_close(struct gecko_thread *thread)
{
	if (!thread)
		return;
	spool_close(thread->rows);
	spool_close(thread->stack_rows);
	stacks_leave(&thread->user);
	gecko_markers_clear(&thread->markers);
	id_map_clear(&thread->frame_ids);
	free(thread->frames.items);
	free(thread);
}
