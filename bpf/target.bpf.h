/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* target.bpf.h - the one place that decides who is profiled, and how a task is named in records. */
#ifndef TARGET_BPF_H
#define TARGET_BPF_H

static __always_inline bool is_target(__u32 tgid)
{
	struct gb_target *target;

	if (tgid == 0 || tgid == cfg_own_tgid)
		return false;
	if (cfg_all)
		return true;
	target = bpf_map_lookup_elem(&targets, &tgid);
	return target && target->armed;
}

/* `task` must be a BTF pointer: its fields are read directly. */
static __always_inline void name_task(struct gb_task *out, struct task_struct *task)
{
	out->tgid = task->tgid;
	out->tid = task->pid;
	out->start_ns = task->start_time;
	out->group_start_ns = task->group_leader->start_time;
	out->exec_id = task->self_exec_id;
	out->pad = 0;
}

#endif
