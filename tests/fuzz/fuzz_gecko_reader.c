/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_gecko_reader.c - any bytes as a Gecko profile; what loads must add up, and be writable in every format. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/folded.h"
#include "format/gecko_reader.h"
#include "format/hot_list.h"
#include "format/pprof.h"
#include "format/report.h"
#include "format/stack_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

static struct hot_sum sum_of(const struct stack_profile *profile, enum hot_key key)
{
	const struct hot_scope all = {STACK_NONE, STACK_NONE};
	struct hot_list list = {0};
	struct hot_sum sum;
	uint64_t samples = 0, cpu_ns = 0;
	size_t i;

	check(!hot_list_make(&list, profile, key, &all));
	for (i = 0; i < list.count; i++) {
		samples += list.items[i].self.samples;
		cpu_ns += list.items[i].self.cpu_ns;
		check(list.items[i].total.samples >= list.items[i].self.samples);
		check(list.items[i].total.samples <= list.sum.samples);
	}
	sum = list.sum;
	check(samples == sum.samples && cpu_ns == sum.cpu_ns);
	hot_list_clear(&list);
	return sum;
}

static void check_sums(const struct stack_profile *profile)
{
	struct hot_sum functions = sum_of(profile, HOT_FUNCTION);
	struct hot_sum threads = sum_of(profile, HOT_THREAD);
	struct hot_sum processes = sum_of(profile, HOT_PROCESS);

	check(!memcmp(&functions, &threads, sizeof(threads)));
	check(!memcmp(&processes, &threads, sizeof(threads)));
}

static void write_all(const struct stack_profile *profile)
{
	static FILE *out;
	const struct report_options options = {.by = HOT_FUNCTION, .part = REPORT_EACH_THREAD};

	if (!out)
		out = fopen("/dev/null", "w");
	check(out && !report_write(profile, &options, out) && !folded_write(profile, false, out) &&
	      !folded_write(profile, true, out) && !pprof_write(profile, out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stack_profile *profile;
	struct error error = {0};
	int err;

	check(!stack_profile_open(&profile));
	err = gecko_reader_parse(profile, "fuzz", (const char *)data, size, &error);
	/* Whoever is refused is told why. */
	check(!err || error.cause[0]);
	if (!err) {
		check_sums(profile);
		write_all(profile);
	}
	stack_profile_close(profile);
	return 0;
}
