/* SPDX-License-Identifier: BSD-2-Clause */
/* retention.c - see retention.h. */
#include "session/retention.h"

#include "base/clock.h"
#include "buffer/profile_memory.h"
#include "capture/drain.h"
#include "capture/publish.h"
#include "recording/records.h"
#include "session/state.h"
#include "target/address_space.h"

#define SETTLED_NS (2 * NS_PER_SEC) /* all records of what was so long ago have been applied */
#define ROLL_NS (60 * NS_PER_SEC)
#define BUFFER_BYTES 400 /* of a process, besides its chunks */
#define SIDE_SHARE 4 /* what is known of processes may be a quarter of the buffer's limit */
/*
 * Of what is left of that, a process may have this share for its mappings: so however many have as many as they can,
 * something is left for others. But programs with so many libraries as this there are.
 */
#define MAPPINGS_SHARE 4
#define MAPPINGS_MIN 1024
/* Unless many have that, and the side tables are twice what they may be: then samples are worth more. */
#define MAPPINGS_MUCH 2
#define MAPPINGS_LEAST 256

static bool forgets_process(void *context, struct process *process)
{
	return publisher_forget_process(context, process);
}

static bool forgets_object(void *context, const struct object *object)
{
	return publisher_forget_object(context, object);
}

struct expire_keeper retention_keeper(struct publisher *publisher)
{
	return (struct expire_keeper){.forgets_process = forgets_process,
				      .forgets_object = forgets_object,
				      .context = publisher};
}

static uint64_t before(uint64_t now_ns, uint64_t age_ns)
{
	return now_ns > age_ns ? now_ns - age_ns : 0;
}

/* What no profile shows any more: counters.c begins them after it. */
static uint64_t hide(struct session *session, uint64_t now_ns)
{
	const uint64_t age_ns = (uint64_t)(session->config->forget_s * NS_PER_SEC);
	uint64_t hidden_ns = profile_memory_complete_since_ns(session->memory);

	if (age_ns && before(now_ns, age_ns) > hidden_ns)
		hidden_ns = before(now_ns, age_ns);
	if (hidden_ns > session->hidden_ns)
		session->hidden_ns = hidden_ns;
	return session->hidden_ns;
}

static size_t most_mappings(size_t side_bytes, size_t limit_bytes)
{
	const size_t left = side_bytes < limit_bytes ? limit_bytes - side_bytes : 0;
	const size_t most = left / MAPPINGS_SHARE / MAPPING_BYTES;

	if (most < MAPPINGS_MIN)
		return side_bytes > MAPPINGS_MUCH * limit_bytes ? MAPPINGS_LEAST : MAPPINGS_MIN;
	return most < MAPPINGS_MAX ? most : MAPPINGS_MAX;
}

void retention_apply(struct session *session, uint64_t now_ns)
{
	const size_t bytes = records_side_bytes(session->records) +
			     publisher_bytes(session->publisher) +
			     profile_memory_get_stats(session->memory).chunks.owners * BUFFER_BYTES;
	const size_t side_bytes = session->config->buffer_bytes / SIDE_SHARE;
	const struct expire_horizon horizon = {
		.settled_ns = before(now_ns, SETTLED_NS),
		.hidden_ns = hide(session, now_ns),
		.is_pressed = bytes > side_bytes,
	};

	if (now_ns >= session->next_roll_ns) {
		if (session->next_roll_ns)
			(void)drain_call_roll(session->drain); /* the next one does as well */
		session->next_roll_ns = now_ns + ROLL_NS;
	}
	profile_memory_set_extra(session->memory, bytes);
	records_limit_mappings(session->records, most_mappings(bytes, side_bytes));
	records_expire(session->records, &horizon);
}
