/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - a raw capture that is written while the recording goes on (--stream).
 *
 *   open ──> name_kernel ──> begin ──> write, write, ... ──> finish
 *
 * Whatever ends the profiler, the file has what was recorded up to the last write, which is at most STREAM_NS ago and a
 * look at the clock, a tenth of a second. What is forgotten is in the file before, and so is what is overwritten in the
 * buffer, unless that happens between two writes: then it is counted. So the file may hold more than memory.
 * A file that has the name already is kept (base/naming.h).
 * When the file cannot be written, that is said at once, and the recording goes on in memory alone.
 *
 * `stream` NULL is fine everywhere: none was asked for, and nothing is done.
 */
#ifndef GECKOBPF_SESSION_STREAM_H
#define GECKOBPF_SESSION_STREAM_H

#include <stdint.h>

#include "base/clock.h"

#define STREAM_NS (NS_PER_SEC / 2)

struct error;
struct session;
struct stream;

/* Makes the file, under another name so far. 0 or -errno. */
int stream_open(struct stream **out, struct session *session, struct error *error);

/*
 * Writes the kernel's symbols. After the programs that the recorder loads, since they are on stacks, and before the
 * recording, since it takes some 50 ms. 0 or -errno.
 */
int stream_name_kernel(struct stream *stream, struct error *error);

/* The recording begins: the file gets its name. 0 or -errno. */
int stream_begin(struct stream *stream, struct error *error);

/* Writes what there is. Errors are told and kept. */
void stream_write(struct stream *stream, uint64_t now_ns);
/* The same, when it is time to. */
void stream_poll(struct stream *stream, uint64_t now_ns);

/* The recording is over: writes the rest and the end, and tells so. 0; the error that ended the stream early. */
int stream_finish(struct stream *stream);

/* What ended it early, -errno; 0: nothing did. */
int stream_error(const struct stream *stream);

void stream_close(struct stream *stream);

#endif
