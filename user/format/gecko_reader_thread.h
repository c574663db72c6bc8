/* SPDX-License-Identifier: BSD-2-Clause */
/* gecko_reader_thread.h - one thread of a Gecko profile; gecko_reader.c goes through what is around it. */
#ifndef GECKOBPF_FORMAT_GECKO_READER_THREAD_H
#define GECKOBPF_FORMAT_GECKO_READER_THREAD_H

#include <jansson.h>
#include <stdint.h>

struct error;
struct stack_profile;

/* What is said of a profile with tables that its threads share. */
#define GECKO_READER_PROCESSED                                                                     \
	"it is in the Firefox Profiler's own format, not in Gecko's; reports are made of raw "     \
	"captures and of Gecko profiles"

struct thread_place {
	struct stack_profile *profile;
	struct error *error;
	char name[64]; /* "processes[0].threads[1]", for messages */
};

/* What its process is called: two texts. 0, -EBADMSG, -ENOMEM. */
int gecko_reader_thread_process(const struct thread_place *place, const json_t *thread,
				uint32_t *name, uint32_t *pid);

/* Adds it to the last process. Takes what its rows have used from *cpu_left_ns. 0, -EBADMSG, -ENOMEM. */
int gecko_reader_thread(const struct thread_place *place, const json_t *thread,
			uint64_t *cpu_left_ns);

#endif
