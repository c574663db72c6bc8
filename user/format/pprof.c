/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof.c - see pprof.h.
 *
 * Fields of the outer message are compressed one by one as they are made; the table of strings, which the others point
 * into, comes last. Ids begin with 1: a function and its location have the number of the function plus 1.
 */
#include "format/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/intern.h"
#include "base/pack.h"
#include "format/proto.h"
#include "format/stack_profile.h"
#include "format/text_out.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_TYPE = 14,

	VALUE_TYPE = 1,
	VALUE_UNIT = 2,

	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	SAMPLE_LABEL = 3,

	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LABEL_NUMBER = 3,

	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_HAS_FUNCTIONS = 7,

	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,

	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
};

struct pprof {
	const struct stack_profile *profile;
	gzFile gzip;
	struct intern *strings; /* number 0 is "" */
	struct intern *libs; /* mapping is number plus 1 */
	struct packer outer; /* the field of the profile that is being made */
	struct packer part, inner; /* the message in it, and the one in that */
	struct packer labels; /* of the thread that is being written */
	int error; /* the first one: -ENOMEM or of the file */
};

/* ---- parts ---------------------------------------------------------------------------- */

static void fail(struct pprof *pprof, int err)
{
	if (!pprof->error)
		pprof->error = err;
}

static uint64_t string(struct pprof *pprof, const char *text)
{
	uint32_t id = 0;

	if (intern_add(pprof->strings, text, strlen(text), &id))
		fail(pprof, -ENOMEM);
	return id;
}

static uint64_t profile_string(struct pprof *pprof, uint32_t text)
{
	return string(pprof, stack_profile_text(pprof->profile, text));
}

static int gzip_error(struct pprof *pprof)
{
	int status;

	gzerror(pprof->gzip, &status);
	if (status == Z_ERRNO)
		return errno ? -errno : -EIO;
	return -ENOMEM;
}

/* Compresses what is in `outer` and empties it. */
static void flush(struct pprof *pprof)
{
	fail(pprof, pprof->outer.error);
	if (!pprof->error && pprof->outer.count &&
	    gzwrite(pprof->gzip, pprof->outer.items, (unsigned int)pprof->outer.count) <= 0)
		fail(pprof, gzip_error(pprof));
	pprof->outer.count = 0;
}

static void put_part(struct pprof *pprof, unsigned int field)
{
	proto_part(&pprof->outer, field, &pprof->part);
	flush(pprof);
}

static void put_value_type(struct pprof *pprof, unsigned int field, const char *type,
			   const char *unit)
{
	proto_number(&pprof->part, VALUE_TYPE, string(pprof, type));
	proto_number(&pprof->part, VALUE_UNIT, string(pprof, unit));
	put_part(pprof, field);
}

/* ---- samples ---------------------------------------------------------------------------- */

static void put_label(struct pprof *pprof, const char *key, unsigned int field, uint64_t value)
{
	proto_number(&pprof->inner, LABEL_KEY, string(pprof, key));
	proto_number(&pprof->inner, field, value);
	proto_part(&pprof->labels, SAMPLE_LABEL, &pprof->inner);
}

/* The labels of a thread's samples, all of them the same bytes. "42.1" is the process 42. */
static void make_labels(struct pprof *pprof, const struct stack_thread *thread)
{
	const struct stack_profile *profile = pprof->profile;
	const struct stack_process *process = &profile->processes.items[thread->process];

	pprof->labels.count = 0;
	put_label(pprof, "process", LABEL_TEXT, profile_string(pprof, process->name));
	put_label(pprof, "thread", LABEL_TEXT, profile_string(pprof, thread->name));
	put_label(pprof, "pid", LABEL_NUMBER,
		  strtoull(stack_profile_text(profile, process->pid), NULL, 10));
	put_label(pprof, "tid", LABEL_NUMBER,
		  strtoull(stack_profile_text(profile, thread->tid), NULL, 10));
}

/* Leaf first. */
static void put_locations(struct pprof *pprof, uint32_t stack)
{
	while (stack != STACK_NONE) {
		struct stack at = stack_profile_stack(pprof->profile, stack);

		pack_number(&pprof->inner, (uint64_t)at.function + 1);
		stack = at.prefix;
	}
	proto_part(&pprof->part, SAMPLE_LOCATIONS, &pprof->inner);
}

static void put_sample(struct pprof *pprof, const struct stack_count *count, uint64_t interval_ns)
{
	put_locations(pprof, count->stack);
	pack_number(&pprof->inner, count->samples);
	pack_number(&pprof->inner, count->cpu_ns);
	pack_number(&pprof->inner, count->samples * interval_ns);
	proto_part(&pprof->part, SAMPLE_VALUES, &pprof->inner);
	pack_bytes(&pprof->part, pprof->labels.items, pprof->labels.count);
	put_part(pprof, PROFILE_SAMPLE);
}

static void put_thread(struct pprof *pprof, const struct stack_thread *thread)
{
	uint64_t interval_ns = stack_profile_source_of(pprof->profile, thread)->interval_ns;
	size_t i;

	make_labels(pprof, thread);
	fail(pprof, pprof->labels.error);
	for (i = 0; i < thread->counts.count && !pprof->error; i++)
		put_sample(pprof, &thread->counts.items[i], interval_ns);
}

/* ---- names ------------------------------------------------------------------------------ */

/* The number of the lib's mapping, 0 for none. */
static uint64_t mapping_of(struct pprof *pprof, uint32_t lib)
{
	const char *name;
	uint32_t id;

	if (lib == STACK_NONE)
		return 0;
	name = stack_profile_text(pprof->profile, lib);
	if (intern_add(pprof->libs, name, strlen(name), &id)) {
		fail(pprof, -ENOMEM);
		return 0;
	}
	return (uint64_t)id + 1;
}

/* The first mapping stands for the program: that lib which has the name of what was profiled, if there is one. */
static void choose_main_lib(struct pprof *pprof)
{
	const struct stack_profile *profile = pprof->profile;
	uint32_t i, count = stack_profile_function_count(profile);
	uint32_t product = profile->sources.count ? profile->sources.items[0].product : STACK_NONE;

	for (i = 0; product != STACK_NONE && i < count; i++)
		if (stack_profile_function(profile, i).lib == product)
			(void)mapping_of(pprof, product);
}

static void put_function(struct pprof *pprof, uint32_t number)
{
	struct stack_function function = stack_profile_function(pprof->profile, number);
	uint64_t id = (uint64_t)number + 1;

	proto_number(&pprof->part, FUNCTION_ID, id);
	proto_number(&pprof->part, FUNCTION_NAME, profile_string(pprof, function.name));
	put_part(pprof, PROFILE_FUNCTION);

	proto_number(&pprof->inner, LINE_FUNCTION, id);
	proto_number(&pprof->part, LOCATION_ID, id);
	proto_number(&pprof->part, LOCATION_MAPPING, mapping_of(pprof, function.lib));
	proto_part(&pprof->part, LOCATION_LINE, &pprof->inner);
	put_part(pprof, PROFILE_LOCATION);
}

static void put_mappings(struct pprof *pprof)
{
	uint32_t i;

	for (i = 0; i < intern_count(pprof->libs); i++) {
		proto_number(&pprof->part, MAPPING_ID, (uint64_t)i + 1);
		proto_number(&pprof->part, MAPPING_FILE,
			     string(pprof, intern_text(pprof->libs, i, NULL)));
		proto_number(&pprof->part, MAPPING_HAS_FUNCTIONS, 1);
		put_part(pprof, PROFILE_MAPPING);
	}
}

static void put_names(struct pprof *pprof)
{
	uint32_t i, count = stack_profile_function_count(pprof->profile);

	choose_main_lib(pprof);
	for (i = 0; i < count && !pprof->error; i++)
		put_function(pprof, i);
	put_mappings(pprof);
}

static void put_strings(struct pprof *pprof)
{
	const char *text;
	size_t length;
	uint32_t i;

	for (i = 0; i < intern_count(pprof->strings) && !pprof->error; i++) {
		text = intern_text(pprof->strings, i, &length);
		proto_bytes(&pprof->outer, PROFILE_STRING, text, length);
		flush(pprof);
	}
}

/* ---- times ------------------------------------------------------------------------------ */

static uint64_t ns(double time_ms)
{
	if (!(time_ms > 0))
		return 0;
	return time_ms < 9e12 ? (uint64_t)(time_ms * 1e6) : 9000000000000000000ULL;
}

/* Of several files: the first start, the sum of the durations, the first one's interval. */
static void put_times(struct pprof *pprof)
{
	const struct stack_profile *profile = pprof->profile;
	double start_ms = 0, duration_ms = 0;
	size_t i;

	for (i = 0; i < profile->sources.count; i++) {
		const struct stack_source *source = &profile->sources.items[i];

		if (!i || source->start_real_ms < start_ms)
			start_ms = source->start_real_ms;
		duration_ms += source->duration_ms;
	}
	proto_number(&pprof->outer, PROFILE_TIME_NS, ns(start_ms));
	proto_number(&pprof->outer, PROFILE_DURATION_NS, ns(duration_ms));
	if (profile->sources.count)
		proto_number(&pprof->outer, PROFILE_PERIOD, profile->sources.items[0].interval_ns);
	proto_number(&pprof->outer, PROFILE_DEFAULT_TYPE, string(pprof, "cpu"));
	flush(pprof);
}

/* ---- the file --------------------------------------------------------------------------- */

static void put_profile(struct pprof *pprof)
{
	size_t i;

	(void)string(pprof, "");
	put_value_type(pprof, PROFILE_SAMPLE_TYPE, "samples", "count");
	put_value_type(pprof, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	put_value_type(pprof, PROFILE_SAMPLE_TYPE, "wall", "nanoseconds");
	for (i = 0; i < pprof->profile->threads.count && !pprof->error; i++)
		put_thread(pprof, &pprof->profile->threads.items[i]);
	put_names(pprof);
	put_value_type(pprof, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	put_times(pprof);
	put_strings(pprof);
}

static int open_gzip(struct pprof *pprof, FILE *out)
{
	int err = text_out_flush(out), fd;

	if (err)
		return err;
	/* gzclose() closes it. */
	fd = dup(fileno(out));
	if (fd < 0)
		return -errno;
	pprof->gzip = gzdopen(fd, "wb");
	if (!pprof->gzip) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

static void close_gzip(struct pprof *pprof)
{
	int status;

	errno = 0;
	status = gzclose(pprof->gzip);
	if (status == Z_ERRNO)
		fail(pprof, errno ? -errno : -EIO);
	else if (status != Z_OK)
		fail(pprof, -ENOMEM);
}

static void clear(struct pprof *pprof)
{
	intern_close(pprof->strings);
	intern_close(pprof->libs);
	packer_clear(&pprof->outer);
	packer_clear(&pprof->part);
	packer_clear(&pprof->inner);
	packer_clear(&pprof->labels);
}

int pprof_write(const struct stack_profile *profile, FILE *out)
{
	struct pprof pprof = {.profile = profile};
	int err = intern_open(&pprof.strings);

	if (!err)
		err = intern_open(&pprof.libs);
	if (!err)
		err = open_gzip(&pprof, out);
	if (!err) {
		put_profile(&pprof);
		close_gzip(&pprof);
		err = pprof.error;
	}
	clear(&pprof);
	return err;
}
