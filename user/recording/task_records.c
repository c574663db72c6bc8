/* SPDX-License-Identifier: BSD-2-Clause */
/* task_records.c - see task_records.h. A new kind of task event is a row in `task_handlers`. */
#include "recording/task_records.h"

#include "base/shared_text.h"
#include "recording/early_mappings.h"
#include "recording/records_state.h"
#include "target/process.h"
#include "target/procfs.h"

#include <stddef.h>
#include <string.h>

/* ---- names and CPU time ------------------------------------------------------- */

static void set_name(char name[THREAD_NAME_BYTES], const char comm[GB_COMM_BYTES])
{
	_Static_assert(THREAD_NAME_BYTES == GB_COMM_BYTES, "both hold a comm");
	memcpy(name, comm, THREAD_NAME_BYTES);
	name[THREAD_NAME_BYTES - 1] = '\0';
}

static void name_thread(struct thread *thread, const char comm[GB_COMM_BYTES])
{
	set_name(thread->name, comm);
	if (thread->tid == thread->process->tgid || !thread->process->name[0])
		set_name(thread->process->name, comm);
}

static void note_cpu(struct thread *thread, uint64_t cpu_ns)
{
	if (thread->cpu_first_ns == UINT64_MAX)
		thread->cpu_first_ns = cpu_ns;
	if (cpu_ns > thread->cpu_last_ns)
		thread->cpu_last_ns = cpu_ns;
}

/* ---- who made it, and how it ended --------------------------------------------- */

static void set_parent(struct process *process, const struct gb_task *parent)
{
	if (parent->tgid)
		process->parent = (struct process_parent){
			.tgid = parent->tgid,
			.exec_id = parent->exec_id,
			.key_ns = parent->group_start_ns,
		};
}

/* What its first thread ended with is what the process did; of others it is known only if that one was not met. */
static void note_end(struct thread *thread, const struct gb_task_event *event)
{
	struct process_end *end = &thread->process->end;

	if (!end->is_known || thread->tid == thread->process->tgid)
		end->status = event->exit_code;
	end->is_known = true;
	if (event->max_rss_bytes > end->max_rss_bytes)
		end->max_rss_bytes = event->max_rss_bytes;
}

/* ---- task events -------------------------------------------------------------- */

static void on_seen(struct records *records, struct thread *thread,
		    const struct gb_task_event *event)
{
	struct process *process = thread->process;
	bool is_new = !process->space.count && !process->cmdline && !process->died_ns;

	thread->roll_call = records->roll_call;
	note_cpu(thread, event->cpu_ns);
	set_parent(process, &event->parent);
	if (!is_new || !records->config.use_proc || process->is_kernel)
		return;
	process->cmdline = procfs_cmdline((pid_t)process->tgid);
	/* It may be gone already; its samples, if any, then show what the map records told. */
	(void)procfs_mappings((pid_t)process->tgid, records->config.objects, &process->space);
	records_tell_changed(records, process);
}

static void on_fork(struct records *records, struct thread *thread,
		    const struct gb_task_event *event)
{
	struct process *process = thread->process;
	struct thread *parent;

	thread->born_ns = event->hdr.time_ns;
	thread->cpu_first_ns = 0;
	if (thread->tid != process->tgid)
		return;
	process->born_ns = event->hdr.time_ns;
	set_parent(process, &event->parent);
	if (processes_thread(records->config.processes, &event->parent, &parent)) {
		records->counts.no_memory++;
		return;
	}
	records_check(records, address_space_inherit(&process->space, &parent->process->space,
						     event->hdr.time_ns));
	if (!process->cmdline)
		process->cmdline = shared_text_again(parent->process->cmdline);
	records_tell_changed(records, process);
}

/*
 * The image that exec replaced, and with it all its threads, end now. exec names the thread anew before it replaces the
 * image, so the last rename was not the old image's.
 */
static void end_image(struct records *records, struct process *process,
		      const struct gb_task_event *event)
{
	size_t i;

	for (i = 0; i < process->threads.count; i++) {
		struct thread *thread = process->threads.items[i];

		thread_note_changed(thread);
		if (!thread->died_ns)
			thread->died_ns = event->hdr.time_ns;
		if (thread->tid != event->task.tid)
			continue;
		if (event->cpu_ns > thread->cpu_last_ns)
			thread->cpu_last_ns = event->cpu_ns;
		if (thread->name_before[0])
			name_thread(thread, thread->name_before);
	}
	records_mark_dead(records, process, event->hdr.time_ns);
}

static void on_exec(struct records *records, struct thread *thread,
		    const struct gb_task_event *event)
{
	struct process *process = thread->process;

	thread->born_ns = event->hdr.time_ns;
	thread->cpu_first_ns = event->cpu_ns;
	process->born_ns = event->hdr.time_ns;
	process->is_execed = true;
	if (process->previous && process->previous->key_ns == process->key_ns) {
		process->parent = process->previous->parent;
		end_image(records, process->previous, event);
	}
	if (records->config.use_proc && !process->cmdline)
		process->cmdline = procfs_cmdline((pid_t)process->tgid);
	if (!early_mappings_take(&records->early_mappings, process->tgid, &process->space) &&
	    records->config.use_proc)
		(void)procfs_mappings((pid_t)process->tgid, records->config.objects,
				      &process->space);
	records_tell_changed(records, process);
}

static void on_exit_event(struct records *records, struct thread *thread,
			  const struct gb_task_event *event)
{
	thread->died_ns = event->hdr.time_ns;
	note_cpu(thread, event->cpu_ns);
	note_end(thread, event);
	if (event->live_threads)
		return;
	records_mark_dead(records, thread->process, event->hdr.time_ns);
	early_mappings_drop(&records->early_mappings, thread->process->tgid);
}

typedef void (*task_handler)(struct records *records, struct thread *thread,
			     const struct gb_task_event *event);

/* What each event does besides naming the thread. */
static const task_handler task_handlers[] = {
	[GB_TASK_SEEN] = on_seen, [GB_TASK_FORK] = on_fork,       [GB_TASK_EXEC] = on_exec,
	[GB_TASK_RENAME] = NULL,  [GB_TASK_EXIT] = on_exit_event,
};

static void apply(struct records *records, const void *record, size_t size)
{
	struct gb_task_event whole = {0};
	const struct gb_task_event *event = &whole;
	struct thread *thread;

	memcpy(&whole, record, size < sizeof(whole) ? size : sizeof(whole));
	if (event->what < GB_TASK_SEEN || event->what > GB_TASK_EXIT) {
		records->counts.bad_records++;
		return;
	}
	if (processes_thread(records->config.processes, &event->task, &thread)) {
		records->counts.no_memory++;
		return;
	}
	records_mark_alive(records, thread->process);
	thread_note_changed(thread);
	thread->process->is_kernel = event->is_kernel;
	if (event->what == GB_TASK_RENAME)
		memcpy(thread->name_before, thread->name, sizeof(thread->name_before));
	name_thread(thread, event->comm);
	if (task_handlers[event->what])
		task_handlers[event->what](records, thread, event);
}

const struct record_kind task_record = {
	.kind = GB_RECORD_TASK,
	.order = RECORD_IN_ORDER,
	.min_bytes = offsetof(struct gb_task_event, max_rss_bytes),
	.apply = apply,
};
