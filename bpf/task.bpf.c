// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * task.bpf.c - threads and processes that come, change and go, and a list of those that are there.
 *
 * The `targets` map is edited here, in the event itself, so that a child is sampled from its first
 * instruction. An exit is reported by sched.bpf.c, at the thread's last switch, when its CPU time
 * is final.
 */

/* Fills the event in; what only some kinds of events have is 0. */
static __always_inline void describe_task(struct gb_task_event *event, struct task_struct *task,
					  __u32 what)
{
	event->hdr.kind = GB_RECORD_TASK;
	event->hdr.flags = 0;
	event->hdr.size = sizeof(*event);
	event->hdr.time_ns = bpf_ktime_get_ns();
	name_task(&event->task, task);
	__builtin_memset(&event->parent, 0, sizeof(event->parent));
	event->cpu_ns = task->se.sum_exec_runtime;
	event->what = what;
	event->live_threads = 0;
	event->exit_code = 0;
	event->max_rss_bytes = 0;
	event->is_kernel = (task->flags & GB_PF_KTHREAD) != 0;
	bpf_probe_read_kernel(event->comm, sizeof(event->comm), task->comm);
}

static __always_inline struct gb_task_event *reserve_event(void)
{
	struct gb_task_event *event = bpf_ringbuf_reserve(&control, sizeof(*event), 0);

	if (!event)
		count(GB_STAT_CONTROL_FULL);
	return event;
}

/* `is_urgent`: user space should look now, for what it needs may be gone soon. */
static __always_inline void submit_event(struct gb_task_event *event, bool is_urgent)
{
	if (is_urgent || bpf_ringbuf_query(&control, BPF_RB_AVAIL_DATA) > cfg_control_wake_bytes)
		bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	else
		bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

static __always_inline bool is_followed(__u32 tgid)
{
	struct gb_target *target = bpf_map_lookup_elem(&targets, &tgid);

	return target && target->follow;
}

static __always_inline void adopt(__u32 tgid, bool armed)
{
	struct gb_target child = {.armed = armed, .follow = 1};

	if (bpf_map_update_elem(&targets, &tgid, &child, BPF_ANY))
		count(GB_STAT_TARGETS_FULL);
}

/* The child begins with its parent's mappings, so its first sample can be unwound. A reused pid's old ones go. */
static __always_inline void inherit_mappings(__u32 parent_tgid, __u32 child_tgid)
{
	struct gb_process_map *parent = bpf_map_lookup_elem(&process_maps, &parent_tgid);

	if (parent)
		bpf_map_update_elem(&process_maps, &child_tgid, parent, BPF_ANY);
	else
		bpf_map_delete_elem(&process_maps, &child_tgid);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	struct gb_task_event *event;
	bool is_process = child->pid == child->tgid;
	__u32 tgid = child->tgid;

	/* Whatever its pid meant before is over, so a reused pid is not followed. */
	if (!cfg_all && is_process && is_followed(parent->tgid))
		adopt(tgid, true);
	else if (!cfg_all && is_process)
		bpf_map_delete_elem(&targets, &tgid);
	if (!is_target(tgid))
		return 0;
	if (is_process)
		inherit_mappings(parent->tgid, tgid);
	event = reserve_event();
	if (!event)
		return 0;
	describe_task(event, child, GB_TASK_FORK);
	event->cpu_ns = 0; /* the field still holds its parent's */
	name_task(&event->parent, parent);
	submit_event(event, is_process);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct gb_task_event *event;
	struct gb_target *target;
	struct run_state *state;
	__u32 tgid = task->tgid;

	target = bpf_map_lookup_elem(&targets, &tgid);
	if (target)
		target->armed = 1;
	if (!is_target(tgid))
		return 0;
	if (cfg_off_cpu && old_pid != task->pid)
		sleeper_drop(old_pid); /* another thread than the first one has taken its place */
	event = reserve_event();
	if (!event)
		return 0;
	describe_task(event, task, GB_TASK_EXEC);
	state = current_run();
	if (state)
		event->cpu_ns = run_cpu_time(state, task, event->hdr.time_ns);
	if (state && amounts_wanted())
		amounts_end_image(state, task, event->hdr.time_ns);
	submit_event(event, true);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct gb_task_event *event;

	if (!is_target(task->tgid))
		return 0;
	event = reserve_event();
	if (!event)
		return 0;
	describe_task(event, task, GB_TASK_RENAME);
	bpf_probe_read_kernel_str(event->comm, sizeof(event->comm), comm);
	submit_event(event, false);
	return 0;
}

/*
 * Code was mapped. The mapping itself comes with perf's mmap events (the side-band), and its build
 * id with it; this only makes user space look now, so that the unwinder knows it within a
 * millisecond or so. Optional: without it user space looks ten times a second.
 */
SEC("?fexit/perf_event_mmap")
int BPF_PROG(on_mmap, struct vm_area_struct *vma)
{
	struct task_struct *task = current_task_struct();
	struct gb_record *record;

	if (!(vma->vm_flags & GB_VM_EXEC) || !is_target(TASK_FIELD(task, tgid)))
		return 0;
	record = bpf_ringbuf_reserve(&control, sizeof(*record), 0);
	if (!record)
		return 0;
	record->kind = GB_RECORD_WAKE;
	record->flags = 0;
	record->size = sizeof(*record);
	record->time_ns = 0;
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* sudo, say: it ends when we do, so nobody would see that the last target has. */
static __always_inline bool is_our_ancestor(__u32 tgid)
{
	int i;

	for (i = 0; i < GB_ANCESTORS; i++)
		if (cfg_ancestors[i] == tgid)
			return true;
	return false;
}

/*
 * Read as a file: the running children of targets become targets, and one struct gb_task_event tells of each. A child that
 * comes before its parent here has its turn when this is read again.
 */
SEC("iter/task")
int adopt_children(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gb_task_event event;
	__u32 tgid;

	if (!task || task->pid != task->tgid || task->signal->live.counter == 0)
		return 0;
	tgid = task->tgid;
	if (tgid == cfg_own_tgid || bpf_map_lookup_elem(&targets, &tgid) ||
	    !is_followed(task->real_parent->tgid))
		return 0;
	adopt(tgid, !is_our_ancestor(tgid));
	describe_task(&event, task, GB_TASK_SEEN);
	bpf_seq_write(ctx->meta->seq, &event, sizeof(event));
	return 0;
}

/* Its counters, with its first thread. */
static __always_inline void list_counters(struct seq_file *seq, struct task_struct *task)
{
	struct mm_struct *mm = own_memory(task);
	struct gb_counter_event event;

	if (!mm || task->pid != task->tgid)
		return;
	describe_counter(&event, task, GB_COUNTER_MEMORY,
			 counter_value(GB_COUNTER_MEMORY, mm, task));
	bpf_seq_write(seq, &event, sizeof(event));
}

/* What it has not told. */
static __always_inline void list_amounts(struct seq_file *seq, struct task_struct *task)
{
	struct amounts_slot *slot = amounts_slot_of(task);
	struct gb_amounts_event event;

	if (!slot || slot->image != image_of(task) || !describe_amounts(&event, slot) ||
	    bpf_seq_write(seq, &event, sizeof(event)))
		return;
	amounts_told(slot, &event);
}

/* Read as a file: one struct gb_task_event for every thread of every target, and counters of the processes. */
SEC("iter/task")
int list_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gb_task_event event;

	/* A zombie's exit may have been before we listened: it would never be seen to end. */
	if (!task || task->signal->live.counter == 0 || !is_target(task->tgid))
		return 0;
	describe_task(&event, task, GB_TASK_SEEN);
	name_task(&event.parent, task->real_parent);
	bpf_seq_write(ctx->meta->seq, &event, sizeof(event));
	if (memory_wanted())
		list_counters(ctx->meta->seq, task);
	if (amounts_wanted() && task->pid == task->tgid)
		list_amounts(ctx->meta->seq, task);
	return 0;
}
