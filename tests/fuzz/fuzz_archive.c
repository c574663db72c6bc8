/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_archive.c - any bytes as a raw capture, and a profile of what was read of it, which must be one that we can read ourselves.
 *
 *   even | the file
 *   odd  | kind, 1 byte | size, 2 bytes | content     what is in sections that are sound, one after the other; the last takes the rest
 *
 * Frames stay addresses, so that no path in the capture is opened; kernel frames have the names that it brings.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/output.h"
#include "buffer/profile_memory.h"
#include "format/format.h"
#include "format/gecko_reader.h"
#include "format/stack_profile.h"
#include "profile/profile.h"
#include "symbol/kernel_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

/* ---- where the profile goes ------------------------------------------------------------ */

static struct {
	char *items;
	size_t count, capacity;
} text;

int __wrap_output_write(struct output *output, const void *data, size_t size);
bool __wrap_output_splices(const struct output *output);

bool __wrap_output_splices(const struct output *output)
{
	return false;
}

int __wrap_output_write(struct output *output, const void *data, size_t size)
{
	if (text.capacity - text.count < size) {
		text.capacity = 2 * (text.count + size);
		text.items = realloc(text.items, text.capacity);
		check(text.items != NULL);
	}
	memcpy(text.items + text.count, data, size);
	text.count += size;
	return 0;
}

static void check_text(void)
{
	/* A capture may say that a program ran for centuries. */
	static const char too_long[] = "is more than a program can use";
	struct stack_profile *profile;
	struct error error = {0};

	check(!stack_profile_open(&profile));
	if (gecko_reader_parse(profile, "fuzz", text.items, text.count, &error) &&
	    !strstr(error.cause, too_long)) {
		fprintf(stderr, "%s: %.*s\n", error.cause, (int)text.count, text.items);
		abort();
	}
	stack_profile_close(profile);
}

static void write_profile(const struct archive *archive)
{
	struct profile_input input = {.recording.facts = &archive->facts,
				      .recording.processes = archive->processes,
				      .recording.objects = archive->objects,
				      .max_frames = 1000};
	struct profile_summary summary = {.top_count = 3};
	struct kernel_symbols *kernel = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", archive->kallsyms_fd);
	if (archive->kallsyms_fd >= 0 && !kernel_symbols_open(&kernel, path))
		input.kernel = kernel;
	text.count = 0;
	profile_memory_pause(archive->memory);
	if (!format_write(NULL, &input, NULL, &summary))
		check_text();
	profile_memory_resume(archive->memory);
	profile_summary_clear(&summary);
	kernel_symbols_close(kernel);
}

/* ---- the capture ------------------------------------------------------------------------- */

static int write_file(void *context, const void *bytes, size_t size)
{
	return fd_write_all(*(int *)context, bytes, size);
}

static void write_sections(int fd, const uint8_t *data, size_t left)
{
	const struct section_sink sink = {write_file, &fd};
	struct section_writer *writer;

	check(!section_writer_open(&writer, &sink));
	while (left >= 3) {
		size_t size = data[1] | (size_t)data[2] << 8;

		size = size < left - 3 ? size : left - 3;
		check(!section_write(writer, data[0], data + 3, size));
		data += 3 + size;
		left -= 3 + size;
	}
	section_writer_close(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct archive archive;
	int fd = memfd_create("capture", MFD_CLOEXEC);

	check(fd >= 0);
	if (size && *data % 2)
		write_sections(fd, data + 1, size - 1);
	else if (size)
		check(!fd_write_all(fd, data + 1, size - 1));
	if (!archive_read(&archive, fd, NULL)) {
		if (archive.facts.end_ns < archive.facts.start_ns)
			archive.facts.end_ns = archive.facts.start_ns;
		write_profile(&archive);
		archive_close(&archive);
	}
	close(fd);
	return 0;
}
