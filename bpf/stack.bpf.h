/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack.bpf.h - the stack of a thread: its kernel part, and its user part by the unwinder.
 *
 * Of a process whose mappings user space has not published yet, and where a table is on its way, registers and the top
 * of the stack are sent instead, and user space does the same work there.
 */
#ifndef STACK_BPF_H
#define STACK_BPF_H

/* Kernel frames, leaf first, into `pc` (room for GB_MAX_KERNEL_FRAMES), without the first `skipped`. Returns their number. */
static __always_inline __u32 stack_kernel(void *ctx, __u64 *pc, __u32 skipped)
{
	long bytes = bpf_get_stack(ctx, pc, GB_MAX_KERNEL_FRAMES * sizeof(__u64),
				   skipped & BPF_F_SKIP_FIELD_MASK);

	return bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;
}

#define TRACING_FRAMES 6 /* there are at most fewer */
#define SCHEDULER_BYTES 8192 /* the function that switches is smaller */

/* Which of the frames is of the scheduler, by an address in it; 0: none. */
static __always_inline __u32 scheduler_frame(const __u64 *pc, __u64 scheduler_pc)
{
	int i;

#pragma clang loop unroll(full)
	for (i = 0; i < TRACING_FRAMES; i++)
		if (pc[i] - (scheduler_pc - SCHEDULER_BYTES) < 2 * SCHEDULER_BYTES)
			return i;
	return 0;
}

/*
 * How many frames a tracepoint's program in the scheduler has before those of the scheduler itself: its own, and those
 * that led to it, which differ from kernel to kernel. The scheduler is where `other` goes on, a task that is off the
 * CPU, or if that has never run, where the one before it went on.
 */
static __always_inline __u32 tracing_frames(void *ctx, struct run_state *state,
					    struct task_struct *other)
{
	__u64 pc[TRACING_FRAMES] = {}, scheduler_pc = switched_return(other);
	__u32 frames;

	if (bpf_get_stack(ctx, pc, sizeof(pc), 0) < 0)
		return 0;
	frames = scheduler_frame(pc, scheduler_pc);
	if (!frames)
		return scheduler_frame(pc, state->scheduler_pc);
	state->scheduler_pc = scheduler_pc;
	return frames;
}

static __always_inline void start_from(struct gb_unwind *u, const __u64 *regs)
{
	gb_pt_to_regs(regs, u->regs);
	u->known = ~0U;
	u->count = 0;
	u->max_words = GB_MAX_USER_WORDS;
	u->end = 0;
	/* interrupted, or right behind a syscall instruction: exact either way */
	u->how = GB_FRAME_HOW_LEAF;
	u->from_frame_pointer = 0;
	u->seen = 0;
	u->mapping.begin = 0;
	u->mapping.end = 0;
	u->window_at = 0;
}

/*
 * One frame; 1: the walk is over. A global function is verified once, by itself, and so can be
 * called in a loop of any length on every kernel: bpf_loop() came with 5.17 only.
 */
__noinline int unwind_one(__u32 key)
{
	struct sample_scratch *buffer = bpf_map_lookup_elem(&scratch, &key);

	return buffer ? gb_unwind_step(&buffer->unwind) : 1;
}

#define FRAMES_AT_ONCE 32

/* So many frames; 1: the walk is over. The verifier goes through one such round, not through all of a deep stack. */
__noinline int unwind_some(__u32 key)
{
	int i;

	for (i = 0; i < FRAMES_AT_ONCE; i++)
		if (unwind_one(key))
			return 1;
	return 0;
}

/* Finds the mappings of the current process, which `task` is of. False: they are not known. */
static __always_inline bool find_process(struct sample_scratch *buffer, struct task_struct *task)
{
	__u32 tgid = TASK_FIELD(task, tgid);
	struct gb_process_map *process = bpf_map_lookup_elem(&process_maps, &tgid);

	buffer->process.count = 0;
	if (!process || process->exec_id != (__u32)TASK_FIELD(task, self_exec_id))
		return false;
	buffer->process = *process;
	return true;
}

/*
 * The user registers of the current thread: from the context if it was interrupted in user mode,
 * else saved at entry.
 */
static __always_inline int user_regs(const void *ctx, bool is_user, struct task_struct *task,
				     __u64 *regs)
{
	int i;

	if (!is_user)
		return bpf_probe_read_kernel(regs, GB_PT_WORDS * sizeof(*regs),
					     saved_user_regs(task));
#pragma clang loop unroll(full)
	for (i = 0; i < GB_PT_WORDS; i++)
		regs[i] = ((const volatile __u64 *)ctx)[i];
	return 0;
}

/*
 * Unwinds from `regs` into buffer->words, from user_at on. Returns the number of words; the end is
 * in buffer->unwind.end.
 */
static __always_inline __u32 unwind(struct sample_scratch *buffer, const __u64 *regs, __u32 key)
{
	int i;

	start_from(&buffer->unwind, regs);
	buffer->unwind.generation = buffer->process.generation;
	for (i = 0; i < GB_MAX_USER_FRAMES / FRAMES_AT_ONCE; i++)
		if (unwind_some(key))
			break;
	if (!buffer->unwind.end)
		buffer->unwind.end = GB_STACK_FULL;
	return buffer->unwind.count;
}

/* Whether this CPU may send another raw sample in this second. */
static __always_inline bool may_send_raw(__u64 now)
{
	struct run_state *state = current_run();
	__u64 second = now >> 30; /* near enough */

	if (!state)
		return false;
	if (state->raw_second != second) {
		state->raw_second = second;
		state->raw_count = 0;
	}
	return state->raw_count++ < GB_RAW_PER_SECOND;
}

#define PAGE_BYTES 4096
#define RAW_PAGES (GB_RAW_STACK_WORDS * 8 / PAGE_BYTES)

/*
 * Copies the stack from `sp` on, page by page, since it may end before the copy is full. Returns the number of words.
 */
static __always_inline __u32 copy_stack(__u64 *to, __u64 sp)
{
	__u32 bytes = PAGE_BYTES - (sp & (PAGE_BYTES - 1) & ~7ULL);
	int page;

	if (bytes > PAGE_BYTES || bpf_probe_read_user(to, bytes, (const void *)sp))
		return 0;
#pragma clang loop unroll(full)
	for (page = 1; page < RAW_PAGES; page++) {
		gb_opaque(bytes);
		if (bytes > (__u32)page * PAGE_BYTES ||
		    bpf_probe_read_user((char *)to + bytes, PAGE_BYTES, (const void *)(sp + bytes)))
			break;
		bytes += PAGE_BYTES;
	}
	return bytes / 8;
}

/* Registers and stack memory into buffer->words, from user_at on. Returns the number of words. */
static __always_inline __u32 copy_raw(struct sample_scratch *buffer, const __u64 *regs)
{
	__u32 at = buffer->user_at;

	start_from(&buffer->unwind, regs);
	if (at > SAMPLE_WORDS + GB_MAX_KERNEL_FRAMES)
		return 0;
	__builtin_memcpy(&buffer->words[at], buffer->unwind.regs, GB_RAW_REGS * 8);
	return GB_RAW_REGS + copy_stack(&buffer->words[at + GB_RAW_REGS], regs[GB_PT_SP]);
}

#endif
