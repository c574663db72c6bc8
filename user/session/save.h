/* SPDX-License-Identifier: BSD-2-Clause */
/* save.h - the end of a session: the profile into its file, and what is to be said of it to the owner. */
#ifndef GECKOBPF_SESSION_SAVE_H
#define GECKOBPF_SESSION_SAVE_H

struct error;
struct session;

/* Settles the name of the output file and checks that it can be written, before anything is recorded. 0 or -errno. */
int save_check(struct session *session, struct error *error);

/*
 * Writes the profile. The first error ends that and leaves no file; it is told, and what was recorded is saved as a raw
 * capture elsewhere (elsewhere.h); if the user interrupted it (-EINTR), only where that is wanted (rescues). 0; -errno, also
 * when that was saved.
 */
int save_profile(struct session *session);

/*
 * Writes a profile of everything up to session->end_ns beside where the last one will be: "NAME-2.json.gz". As above.
 */
int save_capture(struct session *session, unsigned int number);

#endif
