/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep_frames.c - why a thread was off the CPU: the leaf of the stack that it slept in.
 *
 *   [lock] futex   [pipe] read   [disk] page fault   [runnable]   [blocked] ioctl
 *
 * What is waited for is said by the system call, and of those that read and write any file, by the type of the file.
 * Where waiting means that there is no work, the category is Idle, so that a front-end can leave it out.
 */
#include "profile/frame_kind.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/call_names.h"

/* By the type of the file. */
#define ANY_READ WAIT_COUNT
#define ANY_WRITE (WAIT_COUNT + 1)

static const struct call_wait {
	const char *call;
	unsigned int wait; /* enum profile_wait, or one of the above */
	bool is_idle;
} call_waits[] = {
	{"accept", WAIT_SOCKET_ACCEPT, true},
	{"accept4", WAIT_SOCKET_ACCEPT, true},
	{"clock_nanosleep", WAIT_SLEEP, true},
	{"epoll_pwait", WAIT_POLL, true},
	{"epoll_pwait2", WAIT_POLL, true},
	{"epoll_wait", WAIT_POLL, true},
	{"fdatasync", WAIT_DISK, false},
	{"flock", WAIT_LOCK, false},
	{"fsync", WAIT_DISK, false},
	{"futex", WAIT_LOCK, false},
	{"futex_wait", WAIT_LOCK, false},
	{"futex_waitv", WAIT_LOCK, false},
	{"io_getevents", WAIT_DISK, false},
	{"io_pgetevents", WAIT_DISK, false},
	{"msync", WAIT_DISK, false},
	{"nanosleep", WAIT_SLEEP, true},
	{"pause", WAIT_SLEEP, true},
	{"poll", WAIT_POLL, false},
	{"ppoll", WAIT_POLL, false},
	{"pread64", ANY_READ, false},
	{"preadv", ANY_READ, false},
	{"preadv2", ANY_READ, false},
	{"pselect6", WAIT_POLL, false},
	{"pwrite64", ANY_WRITE, false},
	{"pwritev", ANY_WRITE, false},
	{"pwritev2", ANY_WRITE, false},
	{"read", ANY_READ, false},
	{"readv", ANY_READ, false},
	{"recvfrom", WAIT_SOCKET_READ, false},
	{"recvmmsg", WAIT_SOCKET_READ, false},
	{"recvmsg", WAIT_SOCKET_READ, false},
	{"rt_sigsuspend", WAIT_SLEEP, true},
	{"rt_sigtimedwait", WAIT_SLEEP, true},
	{"select", WAIT_POLL, false},
	{"semop", WAIT_LOCK, false},
	{"semtimedop", WAIT_LOCK, false},
	{"sendmmsg", WAIT_SOCKET_WRITE, false},
	{"sendmsg", WAIT_SOCKET_WRITE, false},
	{"sendto", WAIT_SOCKET_WRITE, false},
	{"splice", WAIT_PIPE, false},
	{"sync", WAIT_DISK, false},
	{"sync_file_range", WAIT_DISK, false},
	{"syncfs", WAIT_DISK, false},
	{"tee", WAIT_PIPE, false},
	{"wait4", WAIT_CHILD, false},
	{"waitid", WAIT_CHILD, false},
	{"write", ANY_WRITE, false},
	{"writev", ANY_WRITE, false},
};

static const char *const wait_words[WAIT_COUNT] = {
	"blocked",
	[WAIT_LOCK] = "lock",
	[WAIT_POLL] = "poll",
	[WAIT_SLEEP] = "sleep",
	[WAIT_DISK] = "disk",
	[WAIT_PAGE_FAULT] = "page fault",
	[WAIT_SOCKET_READ] = "socket read",
	[WAIT_SOCKET_WRITE] = "socket write",
	[WAIT_SOCKET_ACCEPT] = "socket accept",
	[WAIT_PIPE] = "pipe",
	[WAIT_CHILD] = "child",
	[WAIT_STOPPED] = "stopped",
};

static unsigned int wait_of_file(bool writes, uint64_t type)
{
	switch (type << 12) {
	case S_IFSOCK:
		return writes ? WAIT_SOCKET_WRITE : WAIT_SOCKET_READ;
	case S_IFIFO:
		return WAIT_PIPE;
	case S_IFREG:
	case S_IFBLK:
		return WAIT_DISK;
	default:
		return 0;
	}
}

/* NULL: it has no row. */
static const struct call_wait *find_call(const char *name)
{
	size_t i;

	for (i = 0; name && i < sizeof(call_waits) / sizeof(*call_waits); i++)
		if (!strcmp(call_waits[i].call, name))
			return &call_waits[i];
	return NULL;
}

static unsigned int wait_of_call(uint64_t value, const char *name, bool *is_idle)
{
	const struct call_wait *call = find_call(name);

	*is_idle = call && call->is_idle;
	if (!call)
		return 0;
	if (call->wait < WAIT_COUNT)
		return call->wait;
	return wait_of_file(call->wait == ANY_WRITE, GB_SLEEP_FILE(value));
}

/* What it waits in: a system call, or a page fault. `text` is room of FRAME_TEXT_BYTES / 2. */
static const char *name_call(uint64_t value, char *text)
{
	uint32_t call = (uint32_t)GB_SLEEP_CALL(value);
	const char *name = call ? call_name(call - 1) : NULL;

	if (name)
		return name;
	if (call)
		snprintf(text, FRAME_TEXT_BYTES / 2, "system call %u", call - 1);
	else if (GB_SLEEP_WHY(value) == GB_SLEEP_SYSTEM_CALL)
		snprintf(text, FRAME_TEXT_BYTES / 2, "32-bit system call");
	else
		snprintf(text, FRAME_TEXT_BYTES / 2, "page fault");
	return text;
}

static void set_text(struct frame_finding *found, const char *word, const char *what)
{
	snprintf(found->text, FRAME_TEXT_BYTES, *what ? "[%s] %s" : "[%s]", word, what);
	found->function.name = found->text;
}

static void set_wait(struct frame_finding *found, uint64_t value)
{
	char text[FRAME_TEXT_BYTES / 2];
	const char *name = name_call(value, text);
	bool is_idle = false;
	unsigned int wait = GB_SLEEP_WHY(value) == GB_SLEEP_DISK
				    ? WAIT_DISK
				    : wait_of_call(value, name, &is_idle);

	if (is_idle)
		found->frame.category = CATEGORY_IDLE;
	found->frame.subcategory = (uint8_t)wait;
	set_text(found, wait_words[wait], name);
}

static int find_sleep(const struct frame_query *query, struct frame_finding *found)
{
	switch (GB_SLEEP_WHY(query->value)) {
	case GB_SLEEP_RUNNABLE:
		found->frame.category = CATEGORY_RUNNABLE;
		set_text(found, "runnable", "");
		return 0;
	case GB_SLEEP_FAULT:
		found->frame.subcategory = WAIT_PAGE_FAULT;
		set_text(found, wait_words[WAIT_PAGE_FAULT], "");
		return 0;
	case GB_SLEEP_STOPPED:
		found->frame.subcategory = WAIT_STOPPED;
		set_text(found, wait_words[WAIT_STOPPED], "");
		return 0;
	case GB_SLEEP_SYSTEM_CALL:
	case GB_SLEEP_DISK:
		set_wait(found, query->value);
		return 0;
	default:
		set_text(found, wait_words[0], "");
		return 0;
	}
}

bool sleep_frames_have(const char *name)
{
	size_t length = strcspn(name, "]"), i;

	if (name[0] != '[' || !name[length] || (name[length + 1] && name[length + 1] != ' '))
		return false;
	for (i = 0; i < WAIT_COUNT; i++)
		if (strlen(wait_words[i]) == length - 1 &&
		    !strncmp(wait_words[i], name + 1, length - 1))
			return true;
	return !strcmp(name, "[runnable]");
}

const struct frame_kind sleep_frames = {
	.kind = GB_FRAME_SLEEP,
	.category = CATEGORY_BLOCKED,
	.find = find_sleep,
};
