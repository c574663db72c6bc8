// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * network.bpf.c - bytes that processes send and receive by internet sockets, added to their counters (amounts.bpf.h) in the
 * call that moves them. Since 6.3 (commit 6e6eda44b939) the kernel has the tracepoints; before, nothing is counted.
 */

#define GB_AF_INET 2
#define GB_AF_INET6 10
#define GB_MSG_PEEK 2 /* received, but not taken away: that comes again */

static __always_inline bool is_internet(const struct sock *socket)
{
	return socket->__sk_common.skc_family == GB_AF_INET ||
	       socket->__sk_common.skc_family == GB_AF_INET6;
}

/* The running task has moved that many, or failed. */
static __always_inline void count_bytes(const struct sock *socket, __u32 counter, int bytes)
{
	struct task_struct *task = current_task_struct();
	struct run_state *state;

	if (bytes <= 0 || !is_internet(socket))
		return;
	state = current_run();
	if (!state)
		return;
	/* In a run that began before there was a program to see it. */
	if (state->tid != (__u32)TASK_FIELD(task, pid)) {
		if (!is_target(TASK_FIELD(task, tgid)))
			return;
		run_follow(state, task, bpf_ktime_get_ns());
	}
	amounts_add(state, counter, (__u32)bytes);
}

SEC("?tp_btf/sock_send_length")
int BPF_PROG(on_socket_send, struct sock *socket, int bytes, int flags)
{
	count_bytes(socket, GB_COUNTER_NETWORK_SENT, bytes);
	return 0;
}

SEC("?tp_btf/sock_recv_length")
int BPF_PROG(on_socket_receive, struct sock *socket, int bytes, int flags)
{
	if (!(flags & GB_MSG_PEEK))
		count_bytes(socket, GB_COUNTER_NETWORK_RECEIVED, bytes);
	return 0;
}
