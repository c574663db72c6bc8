// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* caller.bpf.c - a source for tests: a sample of the thread that asks for it. */

/* Run by BPF_PROG_TEST_RUN: samples the thread that calls it, which is in the kernel for that. */
SEC("?raw_tp/sys_enter")
int sample_caller(void *ctx)
{
	struct task_struct *task = current_task_struct();
	struct sample_scratch *buffer;
	__u32 key = scratch_key(SLOT_TEST);

	buffer = bpf_map_lookup_elem(&scratch, &key);
	if (!buffer)
		return 0;
	sample_describe((struct gb_sample *)buffer->words, task, current_run(), bpf_ktime_get_ns());
	sample_user_stack(NULL, false, buffer, task, key);
	sample_send((struct gb_sample *)buffer->words);
	return 0;
}
