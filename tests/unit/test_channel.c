/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages between a client and its reader: what is sent arrives, and what another sends is refused without a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "reader/channel.h"
#include "reader/sealed.h"

#include "alloc.h"

#define HEAD_BYTES 28

static int pair[2];
static struct reader_message sent, received;
static struct channel_mark mark;

static int setup(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int teardown(void **state)
{
	close(pair[0]);
	close(pair[1]);
	return 0;
}

static size_t open_files(void)
{
	DIR *all = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(all);
	while (readdir(all))
		count++;
	closedir(all);
	return count;
}

static int receive(void)
{
	return channel_receive(pair[1], MSG_DONTWAIT, &mark, &received);
}

static void a_message(void **state)
{
	size_t at = 0, before = open_files();

	reader_message_begin(&sent, 7);
	assert_true(reader_message_add_text(&sent, "a text"));
	assert_true(reader_message_add_text(&sent, ""));
	assert_true(reader_message_add(&sent, "xy", 2));
	sent.status = -5;
	sent.fds[sent.fd_count++] = STDERR_FILENO;
	sent.fds[sent.fd_count++] = STDERR_FILENO;
	assert_int_equal(receive(), -EAGAIN);
	assert_int_equal(channel_send(pair[0], &(struct channel_mark){CHANNEL_ASK, 9}, &sent), 0);
	assert_int_equal(receive(), 0);
	assert_int_equal(mark.what, CHANNEL_ASK);
	assert_int_equal(mark.number, 9);
	assert_int_equal(received.kind, 7);
	assert_int_equal(received.status, -5);
	assert_string_equal(reader_message_text(&received, &at), "a text");
	assert_string_equal(reader_message_text(&received, &at), "");
	assert_null(reader_message_text(&received, &at));
	assert_int_equal(received.bytes, 10);
	assert_int_equal(received.fd_count, 2);
	assert_true(fcntl(received.fds[0], F_GETFD) & FD_CLOEXEC);
	at = (size_t)reader_message_take_fd(&received);
	assert_int_equal(open_files(), before + 1);
	close((int)at);
	assert_int_equal(reader_message_take_fd(&received), -1);
}

/* It is as long as a message can be, and no longer. */
static void a_long_message(void **state)
{
	static char bytes[READER_MESSAGE_BYTES];

	reader_message_begin(&sent, 1);
	assert_true(reader_message_add(&sent, bytes, sizeof(bytes)));
	assert_false(reader_message_add(&sent, bytes, 1));
	assert_int_equal(channel_send(pair[0], &(struct channel_mark){CHANNEL_ASK, 9}, &sent), 0);
	assert_int_equal(receive(), 0);
	assert_int_equal(received.bytes, sizeof(bytes));
}

/* Sends `bytes` bytes of a message with a head that says `said` bytes and `said_fds`, along with `fds` descriptors. */
static void send_raw(size_t bytes, uint32_t said, uint32_t said_fds, size_t fds)
{
	static unsigned char packet[HEAD_BYTES + READER_MESSAGE_BYTES + 100];
	const uint32_t head[] = {0x72626b67, CHANNEL_ANSWER, 1, 1, 0, said, said_fds};
	union {
		char room[CMSG_SPACE(16 * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {packet, bytes};
	struct msghdr raw = {.msg_iov = &part, .msg_iovlen = 1};
	size_t i;

	memcpy(packet, head, sizeof(head));
	if (fds) {
		raw.msg_control = &control;
		raw.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(fds * sizeof(int));
		for (i = 0; i < fds; i++)
			((int *)CMSG_DATA(&control.align))[i] = STDERR_FILENO;
	}
	assert_int_equal(sendmsg(pair[0], &raw, 0), bytes);
}

static void nonsense(void **state)
{
	const struct {
		size_t bytes;
		uint32_t said, said_fds;
		size_t fds;
	} cases[] = {
		{HEAD_BYTES - 1, 0, 0, 0}, /* cut off */
		{3, 0, 0, 2},
		{0, 0, 0, 1}, /* nothing but a descriptor */
		{HEAD_BYTES + 10, 11, 0, 0},
		{HEAD_BYTES + 10, 9, 0, 0},
		{HEAD_BYTES, UINT32_MAX, 0, 0},
		{HEAD_BYTES + READER_MESSAGE_BYTES + 1, READER_MESSAGE_BYTES + 1, 0, 0},
		{HEAD_BYTES + READER_MESSAGE_BYTES + 1, READER_MESSAGE_BYTES, 0, 1},
		{HEAD_BYTES, 0, 0, 1}, /* a descriptor that it does not speak of */
		{HEAD_BYTES, 0, 1, 0},
		{HEAD_BYTES, 0, READER_MAX_FDS + 1, READER_MAX_FDS + 1},
		{HEAD_BYTES, 0, READER_MAX_FDS, 16},
	};
	size_t before = open_files(), i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		send_raw(cases[i].bytes, cases[i].said, cases[i].said_fds, cases[i].fds);
		assert_int_equal(receive(), -EBADMSG);
		assert_int_equal(received.fd_count, 0);
		assert_int_equal(open_files(), before);
	}
	send_raw(HEAD_BYTES + 10, 10, 4, 4);
	assert_int_equal(receive(), 0);
	reader_message_close(&received);
	assert_int_equal(open_files(), before);
}

static void nobody_there(void **state)
{
	shutdown(pair[0], SHUT_RDWR);
	assert_int_equal(receive(), -EPIPE);
	reader_message_begin(&sent, 1);
	assert_int_equal(channel_send(pair[1], &mark, &sent), -EPIPE);
}

/* Who does not listen is not waited for. */
static void nobody_listens(void **state)
{
	int err = 0, i;

	reader_message_begin(&sent, 1);
	for (i = 0; i < 100000 && !err; i++)
		err = channel_send(pair[0], &mark, &sent);
	assert_int_equal(err, -EAGAIN);
}

/* ---- sealed files -------------------------------------------------------------------- */

static void sealed(void **state)
{
	const struct sealed_part parts[] = {{"12345", 5}, {"abc", 3}};
	const void *data;
	size_t bytes;
	int fd = sealed_make(parts, 2);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(sealed_map(fd, 15, &data, &bytes), -EFBIG);
	assert_int_equal(sealed_map(fd, 16, &data, &bytes), 0);
	assert_int_equal(bytes, 16);
	assert_memory_equal(data, "12345\0\0\0abc\0\0\0\0", 16);
	sealed_unmap(data, bytes);
	close(fd);
}

/* A file that can be changed, or is none in memory, or is empty. */
static void not_sealed(void **state)
{
	const int files[] = {
		memfd_create("none", MFD_CLOEXEC),
		memfd_create("some", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		memfd_create("empty", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		open("/dev/null", O_RDONLY | O_CLOEXEC),
		-1,
	};
	const void *data;
	size_t bytes, i;

	assert_int_equal(ftruncate(files[0], 100), 0);
	assert_int_equal(ftruncate(files[1], 100), 0);
	assert_int_equal(fcntl(files[1], F_ADD_SEALS, F_SEAL_WRITE), 0);
	assert_int_equal(fcntl(files[2], F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK), 0);
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		assert_int_equal(sealed_map(files[i], 1000, &data, &bytes), -EBADMSG);
		close(files[i]);
	}
}

int main(void)
{
#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_PAIR(a_message),         WITH_PAIR(a_long_message), WITH_PAIR(nonsense),
		WITH_PAIR(nobody_there),      WITH_PAIR(nobody_listens), cmocka_unit_test(sealed),
		cmocka_unit_test(not_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
