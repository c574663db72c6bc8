/* SPDX-License-Identifier: BSD-2-Clause */
/* markers.c - see marker.h. A new kind of marker is a line in `marker_table`. */
#include "profile/marker.h"

#include "profile/sink.h"

const struct marker_kind *const marker_table[] = {
	&process_markers, &exec_markers, &thread_markers, &pause_markers, &loss_markers, NULL,
};

struct marker_value marker_text(const char *text, size_t length)
{
	return (struct marker_value){
		.is_known = text != NULL,
		.text = text,
		.length = length < MARKER_TEXT_BYTES ? length : MARKER_TEXT_BYTES,
	};
}

int markers_send(const struct marker_pass *pass)
{
	const struct marker_kind *const *kind;
	int err = 0;

	if (!pass->sink->ops->marker)
		return 0;
	for (kind = marker_table; *kind && !err; kind++)
		if ((*kind)->send)
			err = (*kind)->send(pass);
	return err;
}

/* When what can be shown of the recording ends. */
static uint64_t shown_until_ns(const struct recording_facts *facts)
{
	return facts->until_ns && facts->until_ns < facts->end_ns ? facts->until_ns : facts->end_ns;
}

int marker_send_span(const struct marker_pass *pass, struct profile_marker *marker,
		     uint64_t start_ns, uint64_t end_ns)
{
	const struct recording_facts *facts = pass->process->facts;
	const struct profile_filter *filter = &pass->process->filter;
	uint64_t until_ns = shown_until_ns(facts);

	if (!end_ns || end_ns > until_ns)
		end_ns = until_ns;
	if (end_ns < facts->start_ns || start_ns > end_ns)
		return 0;
	marker->start_ns = profile_time_ns(facts, start_ns);
	marker->end_ns = profile_time_ns(facts, end_ns);
	if (marker->end_ns < filter->from_ns ||
	    (filter->to_ns && marker->start_ns >= filter->to_ns))
		return 0;
	return pass->sink->ops->marker(pass->sink, pass->main, marker);
}

int marker_send_instant(const struct marker_pass *pass, struct profile_marker *marker,
			uint64_t time_ns)
{
	const struct recording_facts *facts = pass->process->facts;

	if (time_ns < facts->start_ns || time_ns > shown_until_ns(facts))
		return 0;
	marker->start_ns = profile_time_ns(facts, time_ns);
	marker->end_ns = PROFILE_INSTANT;
	if (!profile_filter_time(&pass->process->filter, marker->start_ns))
		return 0;
	return pass->sink->ops->marker(pass->sink, pass->main, marker);
}
