/* SPDX-License-Identifier: BSD-2-Clause */
/* tell.c - makes events and hands them to the session's owner. */
#include "session/state.h"

#include <stdio.h>

static void tell(struct session *session, const struct session_event *event)
{
	if (session->on_event)
		session->on_event(session->context, event);
}

void session_tell(struct session *session, enum session_event_kind kind)
{
	tell(session, &(struct session_event){.kind = kind});
}

void session_tell_error(struct session *session, enum session_event_kind kind,
			const struct error *error)
{
	tell(session, &(struct session_event){.kind = kind, .error = *error});
}

void session_tell_moved(struct session *session, enum session_event_kind kind, const char *from,
			const char *to)
{
	struct session_event event = {.kind = kind};

	snprintf(event.moved.from, sizeof(event.moved.from), "%s", from);
	snprintf(event.moved.to, sizeof(event.moved.to), "%s", to);
	tell(session, &event);
}

void session_tell_saved(struct session *session, const struct session_saved *saved)
{
	struct session_event event = {.kind = SESSION_SAVED, .saved = *saved};

	event.saved.had_priority = session->config->priority != NULL;
	tell(session, &event);
}
