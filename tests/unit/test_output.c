/* SPDX-License-Identifier: BSD-2-Clause */
/* Files come out whole or not at all, and decompress to what went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/fd.h"
#include "base/output.h"

#include "alloc.h"

#define DATA_BYTES (3U << 20)

static char directory[] = "/tmp/test_output.XXXXXX";
static char path[PATH_MAX];
static unsigned char *data;

static const char *in_directory(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static unsigned int files_in(const char *name)
{
	DIR *dir = opendir(name);
	unsigned int count = 0;
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return count;
}

static int setup(void **state)
{
	uint32_t seed = 1;
	size_t i;

	if (!mkdtemp(directory))
		return -1;
	data = malloc(DATA_BYTES);
	/* Half of it compresses badly. */
	for (i = 0; data && i < DATA_BYTES; i++) {
		seed = seed * 1664525 + 1013904223;
		data[i] = i < DATA_BYTES / 2 ? (unsigned char)(seed >> 24) : "0123,]["[seed >> 29];
	}
	return data ? 0 : -1;
}

static int teardown(void **state)
{
	free(data);
	return rmdir(directory);
}

/* In pieces of all sizes. */
static int write_data(struct output *output)
{
	size_t at = 0, piece = 1;
	int err = 0;

	while (at < DATA_BYTES && !err) {
		size_t size = piece < DATA_BYTES - at ? piece : DATA_BYTES - at;

		err = output_write(output, data + at, size);
		at += size;
		piece = piece * 3 + 1;
	}
	return err;
}

static char *write_file(const char *name, size_t *length)
{
	struct output *output;
	struct stat at;
	char *text;

	assert_int_equal(output_open(&output, in_directory(name), NULL), 0);
	assert_int_equal(write_data(output), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(files_in(directory), 1);
	assert_int_equal(output_commit(output), 0);
	assert_int_equal(output_bytes_in(output), DATA_BYTES);
	assert_int_equal(files_in(directory), 1);
	assert_int_equal(stat(path, &at), 0);
	assert_int_equal(output_bytes_out(output), at.st_size);
	assert_int_equal(output_error(output), 0);
	output_close(output);
	assert_int_equal(fd_read_file(path, &text, length), 0);
	assert_int_equal(unlink(path), 0);
	return text;
}

static void plain_file(void **state)
{
	size_t length;
	char *text = write_file("a.json", &length);

	assert_int_equal(length, DATA_BYTES);
	assert_memory_equal(text, data, DATA_BYTES);
	free(text);
}

static void gzip_file_is_one_member(void **state)
{
	unsigned char *unpacked = malloc(DATA_BYTES + 1);
	z_stream stream = {0};
	size_t length;
	char *text = write_file("a.json.gz", &length);

	assert_true(length < DATA_BYTES);
	assert_memory_equal(text, "\x1f\x8b\x08", 3);
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_in = (Bytef *)text;
	stream.avail_in = (uInt)length;
	stream.next_out = unpacked;
	stream.avail_out = DATA_BYTES + 1;
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	/* Nothing is left after the first member. */
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(stream.total_out, DATA_BYTES);
	assert_memory_equal(unpacked, data, DATA_BYTES);
	inflateEnd(&stream);
	free(unpacked);
	free(text);
}

static void zstd_file_is_one_frame(void **state)
{
	unsigned char *unpacked = malloc(DATA_BYTES + 1);
	size_t length;
	char *text = write_file("a.json.zst", &length);

	assert_true(length < DATA_BYTES);
	assert_int_equal(ZSTD_findFrameCompressedSize(text, length), length);
	assert_int_equal(ZSTD_decompress(unpacked, DATA_BYTES + 1, text, length), DATA_BYTES);
	assert_memory_equal(unpacked, data, DATA_BYTES);
	free(unpacked);
	free(text);
}

static void nothing_written(void **state)
{
	static const char *const names[] = {"e.json", "e.json.gz", "e.json.zst"};
	static const size_t sizes[] = {0, 20, 13};
	struct output *output;
	struct stat at;
	size_t i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(output_open(&output, in_directory(names[i]), NULL), 0);
		assert_int_equal(output_commit(output), 0);
		output_close(output);
		assert_int_equal(stat(path, &at), 0);
		assert_int_equal(at.st_size, sizes[i]);
		assert_int_equal(unlink(path), 0);
	}
}

static void commit_replaces(void **state)
{
	struct output *output;
	size_t length;
	char *text;
	int round;

	for (round = 0; round < 2; round++) {
		assert_int_equal(output_open(&output, in_directory("r.json"), NULL), 0);
		assert_int_equal(output_write(output, round ? "[2]" : "[1]", 3), 0);
		assert_int_equal(output_commit(output), 0);
		output_close(output);
	}
	assert_int_equal(fd_read_file(path, &text, &length), 0);
	assert_string_equal(text, "[2]");
	free(text);
	assert_int_equal(unlink(path), 0);
}

static void close_without_commit(void **state)
{
	struct output *output;

	assert_int_equal(output_open(&output, in_directory("n.json.gz"), NULL), 0);
	assert_int_equal(write_data(output), 0);
	assert_int_equal(files_in(directory), 1);
	output_close(output);
	assert_int_equal(files_in(directory), 0);
	output_close(NULL);
}

static int write_text(struct output *output, const char *text)
{
	return output_write(output, text, strlen(text));
}

/* Another one who writes the same file at the same time is not disturbed; who is last has the name. */
static void temporary_is_not_shared(void **state)
{
	struct output *output, *other;
	size_t length;
	char *text;

	assert_int_equal(output_open(&output, in_directory("t.json"), NULL), 0);
	assert_int_equal(write_text(output, "one"), 0);
	assert_int_equal(output_open(&other, path, NULL), 0);
	assert_int_equal(write_text(other, "two"), 0);
	assert_int_equal(files_in(directory), 2);
	assert_int_equal(output_check(path), 0);
	assert_int_equal(files_in(directory), 2);
	assert_int_equal(output_commit(other), 0);
	assert_int_equal(output_commit(output), 0);
	output_close(other);
	output_close(output);
	assert_int_equal(files_in(directory), 1);
	assert_int_equal(fd_read_file(path, &text, &length), 0);
	assert_string_equal(text, "one");
	free(text);
	assert_int_equal(unlink(path), 0);
}

static void owner(void **state)
{
	const struct output_options options = {
		.rights = {.has_owner = true, .uid = 1234, .gid = 2345}};
	struct output *output;
	struct stat at;

	if (geteuid())
		skip();
	assert_int_equal(output_open(&output, in_directory("o.json"), &options), 0);
	assert_int_equal(output_commit(output), 0);
	output_close(output);
	assert_int_equal(stat(path, &at), 0);
	assert_int_equal(at.st_uid, 1234);
	assert_int_equal(at.st_gid, 2345);
	assert_int_equal(unlink(path), 0);
}

static mode_t mode_of(const struct file_rights *rights)
{
	const struct output_options options = {.rights = *rights};
	struct output *output;
	struct stat at;

	assert_int_equal(output_open(&output, in_directory("m.json"), &options), 0);
	assert_int_equal(output_commit(output), 0);
	output_close(output);
	assert_int_equal(stat(path, &at), 0);
	assert_int_equal(unlink(path), 0);
	return at.st_mode & 07777;
}

/* Its owner alone reads a file, unless others are named; then they do, whatever the umask is. */
static void mode(void **state)
{
	const mode_t before = umask(0);

	assert_int_equal(mode_of(&(struct file_rights){0}), 0600);
	umask(077);
	assert_int_equal(mode_of(&(struct file_rights){.mode = 0644}), 0644);
	umask(before);
}

static bool is_cancelled_later(void *context)
{
	unsigned int *left = context;

	return !(*left)--;
}

static void cancelled(void **state)
{
	unsigned int left = 3;
	const struct output_options options = {.is_cancelled = is_cancelled_later,
					       .context = &left};
	struct output *output;

	assert_int_equal(output_open(&output, in_directory("c.json"), &options), 0);
	assert_int_equal(write_data(output), -EINTR);
	assert_int_equal(output_error(output), -EINTR);
	assert_int_equal(output_bytes_out(output), 3 * 256 * 1024);
	/* It is not asked any more. */
	assert_int_equal(output_write(output, "x", 1), -EINTR);
	assert_int_equal(output_commit(output), -EINTR);
	assert_int_equal(left, UINT32_MAX);
	assert_int_equal(files_in(directory), 0);
	output_close(output);
}

/* stdout is a device that is full. Returns what the commit returned. */
static int commit_to(const char *device, bool much)
{
	int saved = dup(STDOUT_FILENO), fd = open(device, O_WRONLY), err;
	struct output *output;

	assert_true(saved >= 0 && fd >= 0);
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	err = output_open(&output, "-", NULL);
	if (!err)
		err = much ? write_data(output) : output_write(output, "[]", 2);
	if (!err)
		err = output_commit(output);
	output_close(output);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd);
	return err;
}

static void full_device(void **state)
{
	assert_int_equal(commit_to("/dev/null", true), 0);
	assert_int_equal(commit_to("/dev/full", true), -ENOSPC);
	/* What fits the buffer fails at the end. */
	assert_int_equal(commit_to("/dev/full", false), -ENOSPC);
	/* stdout was not closed. */
	assert_int_equal(fcntl(STDOUT_FILENO, F_GETFD) < 0, 0);
}

static void full_file_system(void **state)
{
	char mount_point[PATH_MAX];
	struct output *output;

	snprintf(mount_point, sizeof(mount_point), "%s/full", directory);
	assert_int_equal(mkdir(mount_point, 0700), 0);
	if (mount("tmpfs", mount_point, "tmpfs", 0, "size=512k")) {
		rmdir(mount_point);
		skip();
	}
	assert_int_equal(output_open(&output, in_directory("full/f.json.gz"), NULL), 0);
	assert_int_equal(write_data(output), -ENOSPC);
	assert_int_equal(output_commit(output), -ENOSPC);
	assert_int_equal(files_in(mount_point), 0);
	output_close(output);
	assert_int_equal(umount(mount_point), 0);
	assert_int_equal(rmdir(mount_point), 0);
}

static off_t size_of(const char *name)
{
	struct stat at;

	assert_int_equal(stat(name, &at), 0);
	return at.st_size;
}

/* It is there under its name while it is written, as of the last flush, and stays, whatever becomes of its writer. */
static void published(void **state)
{
	struct output *output;
	const struct output_options options = {
		.rights = {.has_owner = true, .uid = 4321, .gid = 1234}};
	struct stat at;

	assert_int_equal(output_open(&output, in_directory("s.gbpf"), &options), 0);
	assert_int_equal(output_write(output, data, 10), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(output_publish(output), 0);
	assert_int_equal(files_in(directory), 1);
	assert_int_equal(size_of(path), 10);
	assert_int_equal(stat(path, &at), 0);
	assert_int_equal(at.st_uid, geteuid() ? geteuid() : 4321);
	assert_int_equal(output_write(output, data, 20), 0);
	assert_int_equal(size_of(path), 10);
	assert_int_equal(output_flush(output), 0);
	assert_int_equal(size_of(path), 30);
	assert_int_equal(output_write(output, data, 20), 0);
	output_close(output);
	assert_int_equal(size_of(path), 30);
	assert_int_equal(unlink(path), 0);
}

static void published_and_committed(void **state)
{
	struct output *output;

	assert_int_equal(output_open(&output, in_directory("s.gbpf"), NULL), 0);
	assert_int_equal(output_publish(output), 0);
	assert_int_equal(write_data(output), 0);
	assert_int_equal(output_commit(output), 0);
	output_close(output);
	assert_int_equal(files_in(directory), 1);
	assert_int_equal(size_of(path), DATA_BYTES);
	assert_int_equal(unlink(path), 0);
}

/* What does not fit is taken back to the last flush. */
static void published_on_full_file_system(void **state)
{
	char mount_point[PATH_MAX];
	struct output *output;

	snprintf(mount_point, sizeof(mount_point), "%s/full", directory);
	assert_int_equal(mkdir(mount_point, 0700), 0);
	if (mount("tmpfs", mount_point, "tmpfs", 0, "size=512k")) {
		rmdir(mount_point);
		skip();
	}
	assert_int_equal(output_open(&output, in_directory("full/s.gbpf"), NULL), 0);
	assert_int_equal(output_write(output, data, 300001), 0);
	assert_int_equal(output_publish(output), 0);
	assert_int_equal(write_data(output), -ENOSPC);
	assert_int_equal(output_flush(output), -ENOSPC);
	assert_int_equal(size_of(path), 300001);
	assert_int_equal(output_commit(output), -ENOSPC);
	output_close(output);
	assert_int_equal(size_of(path), 300001);
	assert_int_equal(umount(mount_point), 0);
	assert_int_equal(rmdir(mount_point), 0);
}

/* What is no file is written to, and stays what it is. */
static void no_file(void **state)
{
	static const struct output_options options = {
		.rights = {.has_owner = true, .uid = 4321, .gid = 1234}};
	struct output *output;
	char text[8] = "";
	struct stat at;
	int reader;

	assert_int_equal(output_check("/dev/null"), 0);
	assert_int_equal(output_open(&output, "/dev/null", &options), 0);
	assert_int_equal(output_publish(output), 0);
	assert_int_equal(write_data(output), 0);
	assert_int_equal(output_commit(output), 0);
	output_close(output);
	assert_int_equal(stat("/dev/null", &at), 0);
	assert_true(S_ISCHR(at.st_mode) && at.st_uid == 0);

	assert_int_equal(mkfifo(in_directory("p.json"), 0600), 0);
	assert_int_equal(output_check(path), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(output_open(&output, path, &options), 0);
	assert_int_equal(output_write(output, "[]", 2), 0);
	assert_int_equal(output_commit(output), 0);
	assert_null(output_kept(output));
	output_close(output);
	assert_int_equal(read(reader, text, sizeof(text)), 2);
	assert_string_equal(text, "[]");
	close(reader);
	assert_int_equal(files_in(directory), 1);
	assert_int_equal(unlink(path), 0);
}

/* A pipe that nobody reads is waited for until that is cancelled. */
static void pipe_without_a_reader(void **state)
{
	unsigned int left = 2;
	const struct output_options options = {.is_cancelled = is_cancelled_later,
					       .context = &left};
	struct output *output;

	assert_int_equal(mkfifo(in_directory("p.json"), 0600), 0);
	assert_int_equal(output_open(&output, path, &options), -EINTR);
	assert_int_equal(unlink(path), 0);
}

static void older_file_is_kept(void **state)
{
	static const struct output_options options = {.replaces = false};
	struct output *output;
	int i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(output_open(&output, in_directory("k.json.gz"), &options), 0);
		assert_int_equal(output_write(output, "[]", 2), 0);
		assert_int_equal(i == 1 ? output_publish(output) : output_commit(output), 0);
		assert_true(!i == !output_kept(output));
		output_close(output);
		assert_int_equal(files_in(directory), i + 1);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(unlink(in_directory(i == 0   ? "k.json.gz"
						     : i == 1 ? "k-1.json.gz"
							      : "k-2.json.gz")),
				 0);
}

static void names(void **state)
{
	struct output *output = NULL;

	assert_int_equal(output_check("-"), 0);
	assert_int_equal(output_check(in_directory("x.json")), 0);
	assert_int_equal(output_check(in_directory("x.json.gz")), 0);
	assert_int_equal(output_check(in_directory("x.json.zst")), 0);
	assert_int_equal(output_check(in_directory("x.gz")), -EINVAL);
	assert_int_equal(output_check(in_directory("x.json.xz")), -EINVAL);
	assert_int_equal(output_check(in_directory(".json")), -EINVAL);
	assert_int_equal(output_check(".json"), -EINVAL);
	assert_int_equal(output_check(""), -EINVAL);
	assert_int_equal(output_check(in_directory("no/x.json")), -ENOENT);
	assert_int_equal(mkdir(in_directory("d.json"), 0700), 0);
	assert_int_equal(output_check(path), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(files_in(directory), 0);
	assert_int_equal(output_open(&output, "x.txt", NULL), -EINVAL);
	assert_int_equal(output_open(&output, in_directory("no/x.json"), NULL), -ENOENT);
	assert_null(output);
}

static int open_and_check(void *context)
{
	struct output *output = NULL;
	int err = output_check(in_directory("m.json.gz"));

	if (!err)
		err = output_open(&output, path, NULL);
	assert_true(!err == !!output);
	output_close(output);
	assert_int_equal(files_in(directory), 0);
	return err;
}

static void failing_allocations(void **state)
{
	assert_true(alloc_fail_each(open_and_check, NULL) >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_file),
		cmocka_unit_test(gzip_file_is_one_member),
		cmocka_unit_test(zstd_file_is_one_frame),
		cmocka_unit_test(nothing_written),
		cmocka_unit_test(commit_replaces),
		cmocka_unit_test(close_without_commit),
		cmocka_unit_test(temporary_is_not_shared),
		cmocka_unit_test(owner),
		cmocka_unit_test(mode),
		cmocka_unit_test(cancelled),
		cmocka_unit_test(full_device),
		cmocka_unit_test(full_file_system),
		cmocka_unit_test(published),
		cmocka_unit_test(published_and_committed),
		cmocka_unit_test(published_on_full_file_system),
		cmocka_unit_test(no_file),
		cmocka_unit_test(pipe_without_a_reader),
		cmocka_unit_test(older_file_is_kept),
		cmocka_unit_test(names),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
