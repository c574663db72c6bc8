/* SPDX-License-Identifier: BSD-2-Clause */
/* confinement.h - what this session gives up: all but what it takes to record, and to write its files. */
#ifndef GECKOBPF_SESSION_CONFINEMENT_H
#define GECKOBPF_SESSION_CONFINEMENT_H

struct error;
struct session;

/*
 * To be called when the command is there, which has what the user has, and before others' programs are looked at: the
 * calling thread, and those that it makes, cannot go back. 0, or -errno and *error.
 */
int confinement_begin(struct session *session, struct error *error);

#endif
