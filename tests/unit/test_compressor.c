/* SPDX-License-Identifier: BSD-2-Clause */
/* The compressor's thread and a source that it shares with the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "buffer/chunk.h"
#include "buffer/chunk_codec.h"
#include "buffer/compressor.h"

#include "alloc.h"
#include "codec_fixture.h"

#define CHUNKS 64
#define CHUNK_BYTES 8192
#define MAX_BYTES 16384

/* Chunks 0..added-1 are there, 0..taken-1 were taken, 0..given-1 given back. */
struct source {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct chunk *chunks[CHUNKS], *twins[CHUNKS];
	uint32_t added, taken, given;
	bool stop;
	sigset_t mask; /* of the thread that takes */
	int policies; /* in which it takes and gives, or-ed; SCHED_OTHER is 0 */
};

static struct chunk *take(void *context)
{
	struct source *source = context;
	struct chunk *chunk = NULL;

	pthread_mutex_lock(&source->lock);
	while (source->taken == source->added && !source->stop)
		pthread_cond_wait(&source->changed, &source->lock);
	if (source->taken < source->added)
		chunk = source->chunks[source->taken++];
	pthread_sigmask(SIG_SETMASK, NULL, &source->mask);
	source->policies |= sched_getscheduler(0);
	pthread_mutex_unlock(&source->lock);
	return chunk;
}

static void give(void *context, struct chunk *chunk, struct chunk *twin)
{
	struct source *source = context;

	pthread_mutex_lock(&source->lock);
	assert_ptr_equal(chunk, source->chunks[source->given]);
	source->twins[source->given++] = twin;
	source->policies |= sched_getscheduler(0);
	pthread_cond_broadcast(&source->changed);
	pthread_mutex_unlock(&source->lock);
}

static void open_source(struct source *source)
{
	*source = (struct source){.added = 0};
	pthread_mutex_init(&source->lock, NULL);
	pthread_cond_init(&source->changed, NULL);
}

static void add(struct source *source, struct chunk *chunk)
{
	pthread_mutex_lock(&source->lock);
	source->chunks[source->added++] = chunk;
	pthread_cond_broadcast(&source->changed);
	pthread_mutex_unlock(&source->lock);
}

static void wait_given(struct source *source, uint32_t count)
{
	pthread_mutex_lock(&source->lock);
	while (source->given < count)
		pthread_cond_wait(&source->changed, &source->lock);
	pthread_mutex_unlock(&source->lock);
}

static void stop(struct source *source)
{
	pthread_mutex_lock(&source->lock);
	source->stop = true;
	pthread_cond_broadcast(&source->changed);
	pthread_mutex_unlock(&source->lock);
}

static void close_source(struct source *source)
{
	uint32_t i;

	for (i = 0; i < CHUNKS; i++) {
		chunk_destroy(source->chunks[i]);
		chunk_destroy(source->twins[i]);
	}
	pthread_mutex_destroy(&source->lock);
	pthread_cond_destroy(&source->changed);
}

static int open_compressor(struct compressor **out, struct source *source)
{
	const struct compressor_source vtable = {take, give, source};

	return compressor_open(out, &vtable, MAX_BYTES);
}

static void assert_twin(const struct chunk *chunk, const struct chunk *twin)
{
	uint8_t bytes[MAX_BYTES];
	struct chunk_codec *codec;

	assert_int_equal(chunk_codec_open(&codec, MAX_BYTES, CODEC_READ), 0);
	assert_int_equal(twin->header.flags, CHUNK_COMPRESSED);
	assert_int_equal(chunk_expand(codec, twin, bytes), 0);
	assert_memory_equal(bytes, chunk->bytes, chunk->header.offset_past_last_block);
	chunk_codec_close(codec);
}

/* Every fourth is noise; half of them are there at first, the others come while it works. */
static void all_are_given_back_in_order(void **state)
{
	struct compressor_counts counts, wanted = {0};
	struct compressor *compressor;
	struct source source;
	uint32_t i;

	open_source(&source);
	for (i = 0; i < CHUNKS; i++) {
		add(&source,
		    i % 4 ? entry_chunk(CHUNK_BYTES, 0, i) : noise_chunk(CHUNK_BYTES, i + 1));
		if (i == CHUNKS / 2)
			assert_int_equal(open_compressor(&compressor, &source), 0);
	}
	wait_given(&source, CHUNKS);
	counts = compressor_get_counts(compressor);
	for (i = 0; i < CHUNKS; i++) {
		if (i % 4 == 0) {
			assert_null(source.twins[i]);
			wanted.kept++;
			continue;
		}
		assert_twin(source.chunks[i], source.twins[i]);
		wanted.chunks++;
		wanted.bytes_in += CHUNK_BYTES;
		wanted.bytes_out += source.twins[i]->header.stored_bytes;
	}
	assert_true(counts.cpu_ns > 0);
	wanted.cpu_ns = counts.cpu_ns;
	assert_memory_equal(&counts, &wanted, sizeof(counts));
	stop(&source);
	compressor_close(compressor);
	close_source(&source);
}

static void no_memory_for_one(void **state)
{
	struct compressor *compressor;
	struct compressor_counts counts;
	struct chunk *first = entry_chunk(CHUNK_BYTES, 0, 1);
	struct chunk *second = entry_chunk(CHUNK_BYTES, 0, 2);
	struct source source;

	open_source(&source);
	assert_int_equal(open_compressor(&compressor, &source), 0);
	alloc_fail_at(1);
	add(&source, first);
	wait_given(&source, 1);
	assert_true(alloc_fail_stop());
	add(&source, second);
	wait_given(&source, 2);
	counts = compressor_get_counts(compressor);
	assert_int_equal(counts.failures, 1);
	assert_int_equal(counts.chunks, 1);
	assert_null(source.twins[0]);
	assert_non_null(source.twins[1]);
	stop(&source);
	compressor_close(compressor);
	close_source(&source);
}

static void larger_ones_are_kept(void **state)
{
	struct compressor *compressor;
	struct source source;

	open_source(&source);
	add(&source, entry_chunk(MAX_BYTES + 1, 0, 1));
	assert_int_equal(open_compressor(&compressor, &source), 0);
	wait_given(&source, 1);
	assert_null(source.twins[0]);
	assert_int_equal(compressor_get_counts(compressor).kept, 1);
	stop(&source);
	compressor_close(compressor);
	close_source(&source);
}

/* Signals are the other threads'; the source's functions run with ordinary priority. */
static void a_thread_apart(void **state)
{
	struct compressor *compressor;
	struct source source;
	sigset_t before, after;
	int signal;

	open_source(&source);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(open_compressor(&compressor, &source), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	for (signal = 1; signal < 32; signal++)
		assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
	add(&source, entry_chunk(CHUNK_BYTES, 0, 1));
	wait_given(&source, 1);
	stop(&source);
	compressor_close(compressor);
	for (signal = 1; signal < 32; signal++)
		if (signal != SIGKILL && signal != SIGSTOP)
			assert_int_equal(sigismember(&source.mask, signal), 1);
	assert_int_equal(source.policies, SCHED_OTHER);
	close_source(&source);
}

/* Of the calling thread and those that it starts. */
static int give_up_nice(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[0].effective &= ~(1U << CAP_SYS_NICE);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* What went wrong, or NULL. Not the test's own thread, which would not get the capability back. */
static void *compress_one_without_privilege(void *context)
{
	struct source *source = context;
	struct compressor *compressor;

	if (give_up_nice())
		return "the capability cannot be given up";
	if (open_compressor(&compressor, source))
		return "not opened";
	add(source, entry_chunk(CHUNK_BYTES, 0, 1));
	wait_given(source, 1);
	stop(source);
	compressor_close(compressor);
	return source->twins[0] ? NULL : "not compressed";
}

/* Who may not leave SCHED_IDLE again would have the source's lock in it. */
static void without_privilege_it_is_never_idle(void **state)
{
	struct source source;
	struct rlimit before, none;
	pthread_t thread;
	void *problem;

	open_source(&source);
	assert_int_equal(getrlimit(RLIMIT_NICE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NICE, &none), 0);
	assert_int_equal(pthread_create(&thread, NULL, compress_one_without_privilege, &source), 0);
	assert_int_equal(pthread_join(thread, &problem), 0);
	assert_int_equal(setrlimit(RLIMIT_NICE, &before), 0);
	assert_null(problem);
	assert_int_equal(source.policies, SCHED_OTHER);
	close_source(&source);
}

static int open_and_close(void *context)
{
	struct compressor *compressor;
	struct source source;
	int err;

	open_source(&source);
	source.stop = true;
	err = open_compressor(&compressor, &source);
	if (!err)
		compressor_close(compressor);
	close_source(&source);
	return err;
}

static void opening(void **state)
{
	struct compressor *compressor = NULL;
	const struct compressor_source source = {take, give, NULL};

	assert_int_equal(compressor_open(&compressor, &source, 0), -EINVAL);
	assert_null(compressor);
	assert_int_equal(alloc_fail_each(open_and_close, NULL), 5);
	compressor_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_given_back_in_order),
		cmocka_unit_test(no_memory_for_one),
		cmocka_unit_test(larger_ones_are_kept),
		cmocka_unit_test(a_thread_apart),
		cmocka_unit_test(without_privilege_it_is_never_idle),
		cmocka_unit_test(opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
