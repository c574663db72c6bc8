/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* compat.bpf.h - where kernels differ; nothing else in bpf/ knows of versions. CO-RE decides at load. */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

#define GB_TASK_DEAD 0x80 /* TASK_DEAD: the task's last switch */
#define GB_TASK_STOPPED (0x4 | 0x8 | 0x8000) /* __TASK_STOPPED, __TASK_TRACED, TASK_FROZEN */
#define GB_PF_KTHREAD 0x00200000
#define GB_VM_EXEC 0x4

/*
 * The running task, and a field of a task. Since 5.11 (commit 3ca1032ab7ab) a timer program gets a
 * pointer that the verifier knows, whose fields are plain loads; before, only an address, to be
 * read with probes.
 */
static __always_inline bool has_task_btf(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf);
}

static __always_inline struct task_struct *current_task_struct(void)
{
	if (has_task_btf())
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

#define TASK_FIELD(task, field) (has_task_btf() ? (task)->field : BPF_CORE_READ((task), field))

/* task_struct.state was renamed to __state, and changed type, in 5.14 (commit 2f064a59a11f). */
struct task_struct___before_5_14 {
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline __u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

static __always_inline bool task_is_dead(struct task_struct *task)
{
	return task_state(task) & GB_TASK_DEAD;
}

/*
 * Numbers of pages that a process has in memory, by their kind (MM_FILEPAGES, MM_ANONPAGES, MM_SHMEMPAGES). Since 6.2
 * (commit f1a7941243c1) each is a counter to which every CPU adds some pages at once; before, threads did.
 */
enum mm_counted {
	MM_COUNTED_FILE = 0,
	MM_COUNTED_ANON = 1,
	MM_COUNTED_SHMEM = 3,
	MM_COUNTED_KINDS
};

struct percpu_counter___pages {
	__s64 count;
} __attribute__((preserve_access_index));

struct mm_struct___since_6_2 {
	struct percpu_counter___pages rss_stat[MM_COUNTED_KINDS];
} __attribute__((preserve_access_index));

struct mm_rss_stat___before_6_2 {
	atomic_long_t count[MM_COUNTED_KINDS];
} __attribute__((preserve_access_index));

struct mm_struct___before_6_2 {
	struct mm_rss_stat___before_6_2 rss_stat;
} __attribute__((preserve_access_index));

struct task_rss_stat___before_6_2 {
	int count[MM_COUNTED_KINDS];
} __attribute__((preserve_access_index));

struct task_struct___before_6_2 {
	struct task_rss_stat___before_6_2 rss_stat;
} __attribute__((preserve_access_index));

/* Those that the thread has not yet added to the sums of its process, which may be all of a small one's. */
static __always_inline __s64 own_pages(const void *task)
{
	const struct task_struct___before_6_2 *before = task;

	if (!bpf_core_field_exists(before->rss_stat.count))
		return 0;
	return (__s64)BPF_CORE_READ(before, rss_stat.count[MM_COUNTED_FILE]) +
	       BPF_CORE_READ(before, rss_stat.count[MM_COUNTED_ANON]) +
	       BPF_CORE_READ(before, rss_stat.count[MM_COUNTED_SHMEM]);
}

/*
 * All of them, as far as the thread `task` knows; 0 as well if this kernel counts in another way. Indexes are literals, for
 * CO-RE to relocate: elements of other kernels are of other sizes.
 */
static __always_inline __s64 mm_pages(const void *mm, const void *task)
{
	const struct mm_struct___since_6_2 *now = mm;
	const struct mm_struct___before_6_2 *before = mm;

	if (bpf_core_field_exists(now->rss_stat[MM_COUNTED_FILE].count))
		return now->rss_stat[MM_COUNTED_FILE].count + now->rss_stat[MM_COUNTED_ANON].count +
		       now->rss_stat[MM_COUNTED_SHMEM].count;
	if (bpf_core_field_exists(before->rss_stat.count))
		return BPF_CORE_READ(before, rss_stat.count[MM_COUNTED_FILE].counter) +
		       BPF_CORE_READ(before, rss_stat.count[MM_COUNTED_ANON].counter) +
		       BPF_CORE_READ(before, rss_stat.count[MM_COUNTED_SHMEM].counter) +
		       own_pages(task);
	return 0;
}

/* Whether the task is within execve(2). (A bit field; it went in 6.19.) */
static __always_inline bool is_in_exec(struct task_struct *task)
{
	return bpf_core_field_exists(task->in_execve) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/*
 * The user registers of a task in the kernel (struct pt_regs), as saved at entry. Before 5.15
 * (commit dd6e10fbd9fb) there is no helper; then they are at the end of the task's stack.
 */
static __always_inline const void *saved_user_regs(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (const void *)bpf_task_pt_regs(task);
	return (const char *)TASK_FIELD(task, stack) + GB_KERNEL_STACK_BYTES -
	       GB_PT_WORDS * sizeof(__u64);
}

/* Where in the scheduler a task that is off the CPU goes on. */
static __always_inline __u64 switched_return(struct task_struct *task)
{
	__u64 pc = 0;

	bpf_probe_read_kernel(
		&pc, sizeof(pc),
		(const void *)(BPF_CORE_READ(task, thread.sp) + GB_SWITCHED_RETURN_AT));
	return pc;
}

/*
 * The registers tell from which mode the timer came. On x86-64 the field became 16 bits wide
 * in 6.9 (FRED) but the context may only be read in words of 64, so it is read by its place, which is ABI.
 */
static __always_inline bool is_user_mode(const struct bpf_perf_event_data *ctx)
{
	return gb_pt_is_user(((const volatile __u64 *)ctx)[GB_PT_MODE]);
}

#endif
