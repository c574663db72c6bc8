/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_json.h - what both of the front-end's formats say of a thread, but for its rows: members of an object that is
 * open.
 */
#ifndef GECKOBPF_FORMAT_THREAD_JSON_H
#define GECKOBPF_FORMAT_THREAD_JSON_H

struct json;
struct profile_process;
struct profile_thread;

/* "name"; if it is not known, that of the process for its main thread, or one made of the thread's number. */
void thread_json_name(struct json *json, const struct profile_thread *thread);
/* "processType", "processName". */
void thread_json_process(struct json *json, const struct profile_process *process);
/* "registerTime", "unregisterTime". */
void thread_json_life(struct json *json, const struct profile_thread *thread);

#endif
