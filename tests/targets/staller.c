/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * staller.c - staller [SECONDS]: works, while interrupts are off on each CPU for about a millisecond, 100 times a second.
 *
 * A BPF program that takes so long runs in the interrupt of a timer on each CPU: a real cause of ticks that do not come in time.
 */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "target.h"

#define STALLS_PER_S 100
#define ROUNDS 30000 /* of a call of some 30 ns */

static int load_stall(void)
{
	static const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_6, .imm = ROUNDS},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns},
		{.code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = BPF_REG_6, .imm = 1},
		{.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = BPF_REG_6, .off = -3},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	attr.insns = (uint64_t)(uintptr_t)program;
	attr.insn_cnt = sizeof(program) / sizeof(program[0]);
	attr.license = (uint64_t)(uintptr_t) "Dual BSD/GPL";
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int stall(int cpu, int program)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = NS_PER_S / STALLS_PER_S,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? fd : ioctl(fd, PERF_EVENT_IOC_SET_BPF, program);
}

int main(int argc, char **argv)
{
	uint64_t end = deadline_ns(argc, argv, 1), x = 1;
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), cpu, program = load_stall();

	if (program < 0) {
		perror("BPF_PROG_LOAD");
		return 1;
	}
	for (cpu = 0; cpu < cpus; cpu++) {
		if (stall(cpu, program)) {
			perror("perf_event_open");
			return 1;
		}
	}
	say_ready();
	while (now_ns() < end)
		WORK(x);
	return 0;
}
