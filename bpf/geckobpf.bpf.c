// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * geckobpf.bpf.c - the BPF object: its maps and, one concern a file, its programs.
 *
 *   perf timer ───> timer.bpf.c ──> sample.bpf.h ──> samples (ring buffers) ──> user space
 *   sched_switch ─> sched.bpf.c ──> run (which thread runs, since when) ─> sample.bpf.h
 *                     ├──> a tick that was due for who leaves ──> timer.bpf.c
 *                     ├──> a thread's end ──> control
 *                     └──> sleep.bpf.h <── wake-ups: sleep.bpf.c ──> samples, where the thread goes on
 *   sockets ─────> network.bpf.c ──> amounts.bpf.h
 *   both ─> counters.bpf.h (memory of the process), amounts.bpf.h (what adds up) ──> samples
 *   fork, exec, rename, iterator ─> task.bpf.c ──> control (ring buffer), targets
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "geckobpf_abi.h"
#include "geckobpf_names.h"

#include "compat.bpf.h"
#include "maps.bpf.h"
#include "target.bpf.h"
#include "amounts.bpf.h"
#include "cputime.bpf.h"
#include "ticks.bpf.h"
#include "unwind.bpf.h"
#include "stack.bpf.h"
#include "sample.bpf.h"
#include "counters.bpf.h"
#include "sleep.bpf.h"

/* Sources: programs in optional sections, one file each. */
#include "timer.bpf.c"
#include "caller.bpf.c"

#include "task.bpf.c"
#include "sched.bpf.c"
#include "sleep.bpf.c"
#include "network.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
