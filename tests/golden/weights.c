/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weights.c - weights OUTPUT.json: a recording made by hand, in the processed format. One thread has three samples, each of a function of its
 * own, which weigh 1, 10 and 1000.
 */
#include "base/log.h"
#include "base/output.h"
#include "buffer/profile_buffer.h"
#include "buffer/profile_memory.h"
#include "format/format.h"
#include "profile/profile.h"
#include "target/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geckobpf_abi.h"

#define MS 1000000ULL
#define TGID 42
#define CODE 0x7f0000001000ULL

static int put_samples(struct profile_buffer *buffer)
{
	static const int64_t weights[] = {1, 10, 1000};
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(weights) / sizeof(weights[0]) && !err; i++) {
		/* Kernel code is called by its address. */
		struct frame frames[] = {{.kind = GB_FRAME_KERNEL, .value = CODE},
					 {.kind = GB_FRAME_KERNEL, .value = CODE + 16 * (i + 1)}};
		const struct sample_entry sample = {
			.time_ns = (i + 1) * MS,
			.cpu_ns = (i + 1) * MS,
			.weight = weights[i],
			.user_end = GB_STACK_NONE,
			.frames = frames,
			.frame_count = sizeof(frames) / sizeof(frames[0]),
		};

		err = profile_buffer_put_sample(buffer, &sample);
	}
	return err;
}

static int make_recording(struct processes *processes, struct profile_memory *memory)
{
	const struct profile_buffer_config config = {memory, TGID, MS};
	const struct gb_task task = {.tgid = TGID, .tid = TGID};
	struct thread *thread;
	int err = processes_thread(processes, &task, &thread);

	if (!err)
		err = profile_buffer_open(&thread->process->buffer, &config);
	return err ? err : put_samples(thread->process->buffer);
}

static int write_recording(struct processes *processes, const char *path)
{
	static const char *const none[] = {NULL};
	const struct recording_facts facts = {
		.end_ns = 10 * MS, .interval_ns = MS, .threads = none, .features = none};
	const struct profile_input input = {.recording.facts = &facts,
					    .recording.processes = processes};
	struct profile_summary summary = {0};
	struct output *output;
	int err = output_open(&output, path, NULL);

	if (err)
		return err;
	err = format_write(format_named("processed"), &input, output, &summary);
	if (!err)
		err = output_commit(output);
	profile_summary_clear(&summary);
	output_close(output);
	return err;
}

static void close_buffers(struct processes *processes)
{
	size_t i;

	for (i = 0; processes && i < processes_count(processes); i++)
		profile_buffer_close(processes_at(processes, i)->buffer);
}

int main(int argc, char **argv)
{
	const struct profile_memory_config config = {.max_bytes = 1 << 20};
	struct profile_memory *memory = NULL;
	struct processes *processes = NULL;
	int err = argc == 2 ? processes_open(&processes) : -EINVAL;

	if (!err)
		err = profile_memory_open(&memory, &config);
	if (!err)
		err = make_recording(processes, memory);
	if (!err)
		err = write_recording(processes, argv[1]);
	close_buffers(processes);
	processes_close(processes);
	profile_memory_close(memory);
	if (err)
		log_error("weights: %s", strerror(-err));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
