/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * target.bpf.h - the one place that decides which processes are profiled, and how a task is named
 * in records.
 */
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

/* Names its image among those that run: what is kept in slots by the low bits of the tgid. */
static __always_inline __u64 image_of(struct task_struct *task)
{
	return (__u64)TASK_FIELD(task, self_exec_id) << 32 | (__u32)TASK_FIELD(task, tgid);
}

static __always_inline void name_task(struct gb_task *out, struct task_struct *task)
{
	struct task_struct *leader = TASK_FIELD(task, group_leader);

	out->tgid = TASK_FIELD(task, tgid);
	out->tid = TASK_FIELD(task, pid);
	out->start_ns = TASK_FIELD(task, start_time);
	out->group_start_ns = TASK_FIELD(leader, start_time);
	out->exec_id = TASK_FIELD(task, self_exec_id);
	out->pad = 0;
}

#endif
