/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * self.h - samples of the test by itself: what the unwinder in the kernel says of this stack, against what libgcc's says.
 *
 *   self_check() ──> _Unwind_Backtrace ─────────────────────> frames (pc, sp) ──┐
 *        └─────────> BPF_PROG_TEST_RUN of sample_caller ──> frames (pc, sp) ──┴──> equal from the caller of self_check() outwards
 *
 * A frame's sp is RSP as it is in that frame: the CFA of the frame it called. Checks add up in a tally, which a test case starts and
 * looks at. One thread at a time.
 */
#ifndef GECKOBPF_TESTS_SELF_H
#define GECKOBPF_TESTS_SELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SELF_MAX_FRAMES 2048

/* Not inlined, and what it calls is no tail call. */
#define NOINLINE __attribute__((noinline))
#define BARRIER() __asm__ volatile("" ::: "memory")

struct self_frame {
	uint64_t pc, sp;
};

struct self_stack {
	size_t count;
	struct self_frame frames[SELF_MAX_FRAMES]; /* leaf first */
};

struct self_tally {
	unsigned int checks, failures;
	size_t deepest; /* frames of the longest stack */
	size_t far_frames; /* frames that took two words */
	unsigned int raw; /* samples that were unwound in user space */
	char why[512]; /* the first failure */
};

/* Loads the programs and publishes this process's code: all of it must be loaded by now. 0 or -errno. */
int self_open(void);
void self_close(void);

/* Begins a tally; the one so far is returned. */
struct self_tally self_tally_begin(void);
void self_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Takes a sample here and compares all of its frames with libgcc's. */
void self_check(void);
/* The same, of a stack that is too deep: it must be cut off, not be wrong. */
void self_check_full(void);
/* libgcc's stack, from the caller on. */
void self_remember(struct self_stack *out);
/*
 * Takes a sample here, which must end in all the frames of `outer`; for code that libgcc does not know. Of the first only sp has to be
 * equal, since it has gone on since. Returns where in the sample they begin, or -1.
 */
int self_check_outer(const struct self_stack *outer);

/* From begin to end every system call takes a sample: at "sys_enter" or "sys_exit". */
int self_trace_begin(const char *tracepoint);
/* Counts those whose leaf is in [start, start + bytes), and checks that they end in `outer`. */
unsigned int self_trace_end(const struct self_stack *outer, uint64_t start, size_t bytes);

/* The kernel forgets what it knows of this process, or gets it again. 0 or -errno. */
int self_forget(void);
int self_publish(void);

/* Runs the program `count` times, here; its nanoseconds by the kernel's account, 0 if there is none. */
uint64_t self_measure(unsigned int count);
/* Instructions that the verifier looked at for the two programs that unwind. */
void self_print_verified(void);

#ifdef __cplusplus
}
#endif

#endif
