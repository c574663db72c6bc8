/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_json.c - see thread_json.h. */
#include "format/thread_json.h"

#include <stdio.h>
#include <string.h>

#include "format/json.h"
#include "profile/model.h"
#include "target/process.h"

void thread_json_name(struct json *json, const struct profile_thread *thread)
{
	const struct process *process = thread->process->process;
	const struct thread *of = thread->thread;
	char text[32];

	json_key(json, "name");
	if (thread->name) {
		json_text_bytes(json, thread->name, strlen(thread->name));
	} else if (of->name[0]) {
		json_text_bytes(json, of->name, strnlen(of->name, sizeof(of->name)));
	} else if (profile_is_main(thread) && process->name[0]) {
		json_text_bytes(json, process->name, strnlen(process->name, sizeof(process->name)));
	} else {
		snprintf(text, sizeof(text), "Thread <%u>", of->tid);
		json_text(json, text);
	}
}

void thread_json_process(struct json *json, const struct profile_process *process)
{
	json_key_string(json, "processType", process->process->is_root ? "default" : "native");
	json_key(json, "processName");
	json_text_bytes(json, process->name, process->name_length);
}

void thread_json_life(struct json *json, const struct profile_thread *thread)
{
	json_key_time_ms(json, "registerTime", (int64_t)thread->born_ns);
	json_key(json, "unregisterTime");
	if (thread->died_ns != PROFILE_LIVES_ON)
		json_time_ms(json, (int64_t)thread->died_ns);
	else
		json_none(json);
}
