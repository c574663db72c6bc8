/* SPDX-License-Identifier: BSD-2-Clause */
/* kernel_programs.c - see kernel_programs.h. */
#include "capture/kernel_programs.h"

#include "base/log.h"
#include "capture/kernel_side.h"
#include "capture/task_work.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/types.h>

#include "geckobpf.skel.h"

/*
 * Whether a program may run when the kernel function `name` returns: it must be there, and tracing it allowed. 0 or
 * -errno.
 */
static int can_trace(const char *name)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FEXIT);
	int fd, id = libbpf_find_vmlinux_btf_id(name, BPF_TRACE_FEXIT);

	if (id <= 0)
		return id ? id : -ENOENT;
	options.attach_btf_id = (__u32)id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, NULL, "GPL", nothing, 2, &options);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Those of sections SEC("?...") are left out otherwise. */
static int choose_optional(struct geckobpf *skel, const char *const *names)
{
	struct bpf_program *program;
	int err = 0;

	for (; names && *names && !err; names++) {
		program = bpf_object__find_program_by_name(skel->obj, *names);
		err = program ? bpf_program__set_autoload(program, true) : -ENOENT;
	}
	return err;
}

/* The program of switches is that which takes stacks of sleeps in the way of this kernel. */
static void choose_sleeps(struct kernel_programs *programs, struct geckobpf *skel, bool is_wanted)
{
	bool has_task_work = task_work_declare(skel->obj);

	programs->has_sleeps = is_wanted;
	if (is_wanted && has_task_work)
		programs->sleep_way = GB_SLEEP_WAY_TASK_WORK;
	else if (is_wanted && !can_trace("schedule"))
		programs->sleep_way = GB_SLEEP_WAY_SCHEDULE;
	skel->rodata->cfg_sleep_way = programs->sleep_way;
	bpf_program__set_autoload(programs->sleep_way == GB_SLEEP_WAY_TASK_WORK
					  ? skel->progs.on_switch_deferring
					  : skel->progs.on_switch,
				  true);
	bpf_program__set_autoload(skel->progs.on_scheduled,
				  programs->sleep_way == GB_SLEEP_WAY_SCHEDULE);
}

static int tracepoint_error(const char *name)
{
	const int id = libbpf_find_vmlinux_btf_id(name, BPF_TRACE_RAW_TP);

	return id > 0 ? 0 : id ? id : -ENOENT;
}

/* Those that count bytes of sockets, if that is wanted. 0; -errno: this kernel does not have them. */
static int choose_network(struct geckobpf *skel, uint32_t counters)
{
	int err;

	if (!(counters & (1U << GB_COUNTER_NETWORK_RECEIVED | 1U << GB_COUNTER_NETWORK_SENT)))
		return 0;
	err = tracepoint_error("sock_send_length");
	if (!err)
		err = tracepoint_error("sock_recv_length");
	bpf_program__set_autoload(skel->progs.on_socket_send, !err);
	bpf_program__set_autoload(skel->progs.on_socket_receive, !err);
	return err;
}

int kernel_programs_choose(struct kernel_programs *out, struct geckobpf *skel,
			   const struct kernel_side_config *config)
{
	out->mappings_error = can_trace("perf_event_mmap");
	bpf_program__set_autoload(skel->progs.on_mmap, !out->mappings_error);
	if (out->mappings_error)
		log_debug("perf_event_mmap cannot be traced: %s; woken for every mapping of code "
			  "on the machine",
			  strerror(-out->mappings_error));
	choose_sleeps(out, skel, config->off_cpu);
	out->network_error = choose_network(skel, config->counters);
	return choose_optional(skel, config->programs);
}

int kernel_programs_attach(struct geckobpf *skel)
{
	struct bpf_program *const programs[] = {
		skel->progs.on_fork,        skel->progs.on_exec,
		skel->progs.on_rename,      skel->progs.on_switch,
		skel->progs.list_tasks,     skel->progs.on_mmap,
		skel->progs.on_scheduled,   skel->progs.on_switch_deferring,
		skel->progs.on_waking,      skel->progs.list_sleepers,
		skel->progs.on_socket_send, skel->progs.on_socket_receive,
	};
	struct bpf_link **const links[] = {
		&skel->links.on_fork,        &skel->links.on_exec,
		&skel->links.on_rename,      &skel->links.on_switch,
		&skel->links.list_tasks,     &skel->links.on_mmap,
		&skel->links.on_scheduled,   &skel->links.on_switch_deferring,
		&skel->links.on_waking,      &skel->links.list_sleepers,
		&skel->links.on_socket_send, &skel->links.on_socket_receive,
	};
	size_t i;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (!bpf_program__autoload(programs[i]))
			continue;
		*links[i] = bpf_program__attach(programs[i]);
		if (!*links[i])
			return -errno;
	}
	return 0;
}

void kernel_programs_detach(struct geckobpf *skel)
{
	struct bpf_link **const links[] = {
		&skel->links.on_fork,        &skel->links.on_exec,
		&skel->links.on_rename,      &skel->links.on_switch,
		&skel->links.on_mmap,        &skel->links.on_switch_deferring,
		&skel->links.on_scheduled,   &skel->links.on_waking,
		&skel->links.on_socket_send, &skel->links.on_socket_receive,
	};
	size_t i;

	for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		bpf_link__destroy(*links[i]);
		*links[i] = NULL;
	}
}
