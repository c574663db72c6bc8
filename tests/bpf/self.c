/* SPDX-License-Identifier: BSD-2-Clause */
/* self.c - see self.h. */
#include "self.h"

#include "capture/compile_pool.h"
#include "capture/kernel_side.h"
#include "capture/publish.h"
#include "reader/patience.h"
#include "recording/sample_frames.h"
#include "target/object.h"
#include "target/process.h"
#include "target/procfs.h"

#include "stored.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "geckobpf.skel.h"
#include "geckobpf_abi.h"

#define INNER_FRAMES 16 /* more than there are between self_check() and the system call */
#define TABLE_BYTES (64 << 20)
#define MAX_TRACED 64
#define RECORD_WORDS                                                                               \
	(sizeof(struct gb_sample) / 8 + GB_MAX_KERNEL_FRAMES + GB_RAW_REGS + GB_RAW_STACK_WORDS)

/* A sample, its words decoded. */
struct taken {
	bool is_there;
	uint8_t end;
	size_t far_frames;
	struct self_stack stack;
};

static struct {
	struct kernel_side *kernel;
	struct objects *objects;
	struct processes *processes;
	struct patience patience;
	struct publisher *publisher;
	struct compile_pool *pool;
	struct process *process;
	struct ring_buffer *ring;
	int program, link;
	uint32_t tgid;
	struct self_tally tally;
	struct taken taken; /* the last sample */
	struct self_stack expected; /* libgcc's */
	bool is_tracing; /* system calls: all samples of ours are kept */
	size_t traced_count;
	struct taken traced[MAX_TRACED];
} self = {.program = -1, .link = -1};

/* ---- the sample ------------------------------------------------------------------- */

static void decode(const struct gb_sample *sample, struct taken *out)
{
	const struct sample_part user = sample_user_part(sample);
	const __u64 *words = sample->pc + user.at;
	uint64_t sp = sample->user_sp;
	size_t i;

	out->is_there = true;
	out->end = sample->user_end;
	out->far_frames = 0;
	out->stack.count = 0;
	for (i = 0; i < user.words; i++) {
		uint64_t size = GB_FRAME_SIZE(words[i]);

		out->stack.frames[out->stack.count++] =
			(struct self_frame){.pc = GB_FRAME_PC(words[i]), .sp = sp};
		if (size != GB_FRAME_FAR) {
			sp += size * 8;
			continue;
		}
		out->far_frames++;
		if (++i < user.words)
			sp = words[i];
	}
}

/* What is stored says the same; but where two frames are FAR, nothing of those that the inner one called. */
static void check_stored(const struct gb_sample *sample, const struct taken *taken)
{
	static uint64_t sps[SELF_MAX_FRAMES];
	int count = stored_stack(sample, sps, SELF_MAX_FRAMES);
	size_t i;

	if (count < 0 || (size_t)count != taken->stack.count) {
		self_fail("%d frames of %zu are stored", count, taken->stack.count);
		return;
	}
	for (i = 0; i < taken->stack.count; i++)
		if (sps[i] != taken->stack.frames[i].sp && (sps[i] || taken->far_frames < 2))
			self_fail("stored frame %zu is at %llx, should be at %llx", i,
				  (unsigned long long)sps[i],
				  (unsigned long long)taken->stack.frames[i].sp);
}

static void take(const struct gb_sample *sample, struct taken *out)
{
	decode(sample, out);
	if (sample->hdr.kind == GB_RECORD_SAMPLE)
		check_stored(sample, out);
}

static void keep(const struct gb_sample *sample)
{
	if (!self.is_tracing)
		take(sample, &self.taken);
	else if (sample->task.tgid == self.tgid && self.traced_count < MAX_TRACED)
		take(sample, &self.traced[self.traced_count++]);
}

static int on_record(void *context, void *data, size_t size)
{
	static uint64_t made[RECORD_WORDS];
	const struct gb_sample *sample = data;
	uint32_t awaited;

	if (!self.process) { /* the first one only says who we are */
		struct thread *thread;

		if (processes_thread(self.processes, &sample->task, &thread))
			return -1;
		self.process = thread->process;
		self.tgid = sample->task.tgid;
	} else if (sample->hdr.kind == GB_RECORD_RAW && sample->task.tgid == self.tgid) {
		self.tally.raw++;
		(void)publisher_unwind(self.publisher, self.process, sample,
				       (struct gb_sample *)made, &awaited);
		keep((struct gb_sample *)made);
	} else {
		keep(sample);
	}
	return 0;
}

static int run_program(void)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	return bpf_prog_test_run_opts(self.program, &options);
}

/* The descriptor of a program; negative: there is none. */
static int program_fd(const char *name)
{
	const struct bpf_object *object = kernel_side_skeleton(self.kernel)->obj;
	const struct bpf_program *program = bpf_object__find_program_by_name(object, name);

	return program ? bpf_program__fd(program) : -ENOENT;
}

static NOINLINE int take_sample(void)
{
	int err = run_program();

	self.taken.is_there = false;
	return err ? err : ring_buffer__consume(self.ring);
}

/* ---- open, close ------------------------------------------------------------------ */

/* on_timer is loaded for what the verifier says of it. */
static const char *const programs[] = {"on_timer", "sample_caller", NULL};

static int open_kernel(void)
{
	const struct kernel_side_config config = {.all = true,
						  .period_ns = 1000000,
						  .rate_hz = 1000,
						  .cpu_count = 1,
						  .programs = programs};
	int err = kernel_side_open(&self.kernel, &config);

	if (!err)
		err = kernel_side_attach(self.kernel);
	if (err)
		return err;
	self.program = program_fd("sample_caller");
	self.ring = ring_buffer__new(kernel_side_ring_fd(self.kernel, 0), on_record, NULL, NULL);
	return self.ring ? 0 : -errno;
}

int self_publish(void)
{
	int err = publisher_note(self.publisher, self.process);

	return err ? err : publisher_settle(self.publisher, 60 * NS_PER_SEC);
}

int self_forget(void)
{
	return kernel_side_set_process(self.kernel, self.tgid,
				       &(struct gb_process_map){.count = 0});
}

int self_open(void)
{
	int err = open_kernel();

	if (!err)
		err = stored_open();
	if (!err)
		err = objects_open(&self.objects, 64);
	if (!err)
		err = processes_open(&self.processes);
	if (!err)
		err = compile_pool_open(&self.pool);
	if (!err)
		err = publisher_open(&self.publisher, self.kernel, TABLE_BYTES, self.pool,
				     &self.patience);
	if (!err)
		err = take_sample();
	if (err < 0)
		return err;
	if (!self.process)
		return -ENODATA;
	err = procfs_mappings(getpid(), self.objects, &self.process->space);
	return err ? err : self_publish();
}

void self_close(void)
{
	if (self.link >= 0)
		close(self.link);
	ring_buffer__free(self.ring);
	publisher_close(self.publisher);
	compile_pool_close(self.pool);
	processes_close(self.processes);
	objects_close(self.objects);
	kernel_side_close(self.kernel);
	stored_close();
}

/* ---- comparing --------------------------------------------------------------------- */

struct self_tally self_tally_begin(void)
{
	struct self_tally tally = self.tally;

	memset(&self.tally, 0, sizeof(self.tally));
	return tally;
}

void self_fail(const char *format, ...)
{
	va_list args;

	if (self.tally.failures++)
		return;
	va_start(args, format);
	vsnprintf(self.tally.why, sizeof(self.tally.why), format, args);
	va_end(args);
}

/* _Unwind_GetCFA() is the CFA of the frame that this one called: its own RSP. */
static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data)
{
	struct self_stack *stack = data;
	int is_before;
	uint64_t pc = _Unwind_GetIPInfo(context, &is_before);

	if (pc && stack->count < SELF_MAX_FRAMES)
		stack->frames[stack->count++] =
			(struct self_frame){.pc = pc, .sp = _Unwind_GetCFA(context)};
	return _URC_NO_REASON;
}

static bool is_equal(const struct self_frame *a, const struct self_frame *b)
{
	return a->sp == b->sp && (a->pc == b->pc || !a->pc || !b->pc);
}

/* Where in `taken` the frame is, the outermost if it may be several (vfork's has no size); -1 if it is not. */
static int find_frame(const struct taken *taken, const struct self_frame *frame)
{
	int i;

	for (i = (int)taken->stack.count - 1; i >= 0; i--)
		if (is_equal(&taken->stack.frames[i], frame))
			break;
	return i;
}

static void fail_at(const struct taken *taken, size_t at, const struct self_stack *expected,
		    size_t i)
{
	static const struct self_frame none;
	const struct self_frame *is = at < taken->stack.count ? &taken->stack.frames[at] : &none;
	const struct self_frame *should = i < expected->count ? &expected->frames[i] : &none;

	self_fail("frame %zu of %zu is pc %llx sp %llx, should be pc %llx sp %llx (%zu of %zu); it "
		  "ended with %u",
		  at, taken->stack.count, (unsigned long long)is->pc, (unsigned long long)is->sp,
		  (unsigned long long)should->pc, (unsigned long long)should->sp, i,
		  expected->count, taken->end);
}

static void count_check(const struct taken *taken)
{
	self.tally.checks++;
	self.tally.far_frames += taken->far_frames;
	if (taken->stack.count > self.tally.deepest)
		self.tally.deepest = taken->stack.count;
}

/* From expected[first] on all must be equal, to the end. Returns where it begins in `taken`, or -1. */
static int compare(const struct taken *taken, const struct self_stack *expected, size_t first,
		   uint8_t end)
{
	int start = find_frame(taken, &expected->frames[first]);
	size_t at = start < 0 ? 0 : (size_t)start, i = first;

	count_check(taken);
	while (start >= 0 && at < taken->stack.count && i < expected->count &&
	       is_equal(&taken->stack.frames[at], &expected->frames[i]))
		at++, i++;
	if (start < 0 || at < taken->stack.count ||
	    (end == GB_STACK_COMPLETE && i < expected->count) || taken->end != end) {
		fail_at(taken, at, expected, i);
		return -1;
	}
	return start;
}

/* Both unwinders, from one function, so that all frames from its caller on are the same. */
static inline __attribute__((always_inline)) void check_for(uint8_t end)
{
	int start;

	self.expected.count = 0;
	_Unwind_Backtrace(add_frame, &self.expected);
	if (take_sample() < 0 || !self.taken.is_there || self.expected.count < 3) {
		self_fail("no sample");
		return;
	}
	start = compare(&self.taken, &self.expected, 1, end);
	if (start > INNER_FRAMES)
		self_fail("%d frames before self_check()", start);
}

NOINLINE void self_check(void)
{
	check_for(GB_STACK_COMPLETE);
	BARRIER();
}

NOINLINE void self_check_full(void)
{
	check_for(GB_STACK_FULL);
	BARRIER();
}

NOINLINE void self_remember(struct self_stack *out)
{
	out->count = 0;
	_Unwind_Backtrace(add_frame, out);
	out->count--;
	memmove(&out->frames[0], &out->frames[1], out->count * sizeof(out->frames[0]));
	out->frames[0].pc = 0; /* goes on */
}

NOINLINE int self_check_outer(const struct self_stack *outer)
{
	if (take_sample() < 0 || !self.taken.is_there) {
		self_fail("no sample");
		return -1;
	}
	return compare(&self.taken, outer, 0, GB_STACK_COMPLETE);
}

/* ---- at system calls ------------------------------------------------------------------ */

int self_trace_begin(const char *tracepoint)
{
	self.is_tracing = true;
	self.traced_count = 0;
	self.link = bpf_raw_tracepoint_open(tracepoint, self.program);
	return self.link < 0 ? -errno : 0;
}

unsigned int self_trace_end(const struct self_stack *outer, uint64_t start, size_t bytes)
{
	unsigned int found = 0;
	size_t i;

	close(self.link);
	self.link = -1;
	ring_buffer__consume(self.ring);
	self.is_tracing = false;
	for (i = 0; i < self.traced_count; i++) {
		const struct taken *taken = &self.traced[i];

		if (!taken->stack.count || taken->stack.frames[0].pc - start >= bytes)
			continue;
		found++;
		compare(taken, outer, 0, GB_STACK_COMPLETE);
	}
	return found;
}

/* ---- for the benchmark ---------------------------------------------------------------- */

/* What the kernel says it has spent on the program so far. */
static uint64_t program_ns(void)
{
	struct bpf_prog_info info = {0};
	__u32 size = sizeof(info);

	return bpf_obj_get_info_by_fd(self.program, &info, &size) ? 0 : info.run_time_ns;
}

uint64_t self_measure(unsigned int count)
{
	uint64_t before = program_ns();

	while (count--)
		run_program();
	before = program_ns() - before;
	self.is_tracing = true; /* none is looked at */
	self.traced_count = MAX_TRACED;
	ring_buffer__consume(self.ring);
	self.is_tracing = false;
	return before;
}

void self_print_verified(void)
{
	size_t i;

	for (i = 0; programs[i]; i++) {
		struct bpf_prog_info info = {0};
		__u32 size = sizeof(info);

		if (!bpf_obj_get_info_by_fd(program_fd(programs[i]), &info, &size) &&
		    info.verified_insns) /* told since 5.16 */
			printf("# %s: %u instructions verified\n", programs[i],
			       info.verified_insns);
	}
}
