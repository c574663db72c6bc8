/* SPDX-License-Identifier: BSD-2-Clause */
/* file_door.c - see file_door.h. */
#include "session/file_door.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/cancel.h"
#include "elf/elf_open.h"
#include "reader/late_devices.h"
#include "reader/patience.h"
#include "service/build_id_request.h"
#include "service/fetch_request.h"
#include "service/name_request.h"
#include "service/copy_request.h"
#include "service/digest_request.h"
#include "service/open_request.h"
#include "service/proc_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

#define LEAST_NS (20 * NS_PER_MS)
#define MOST_NS (100 * NS_PER_MS) /* what a ring holds of samples with stacks */
/* When there is time: for one request, a share of what all together may wait in vain. */
#define UNHURRIED_NS (9 * NS_PER_SEC)
#define UNHURRIED_SHARE 3
/* A disk that is busy may be as late as this. Those that programs serve have no disk, major number 0. */
#define DISK_LATE_NS (100 * NS_PER_MS)
/* For names of a file; halved for each that was late: what one may cost, many may not. */
#define NAMES_NS (10 * NS_PER_SEC)
#define NAMES_LEAST_NS (NS_PER_SEC / 4)

struct file_door {
	struct elf_door door;
	struct reader *opener, *parser;
	struct patience *patience; /* NULL: there is time */
	struct name_door names;
	const struct name_question *question; /* that is being asked; NULL: none */
	uint32_t late_count; /* files whose names took too long */
	uint64_t vain_ns; /* that is left to wait in vain then */
	uint64_t begun_ns;
	struct late_devices late;
	uint64_t device; /* of the file that was asked for last; 0: not known */
};

/* Not all patience for one file, and never too little for a reader that has to be started first. */
static uint64_t limit_ns(struct file_door *door, uint64_t now_ns)
{
	const uint64_t ns = patience_until(door->patience, now_ns) - now_ns;

	return ns < LEAST_NS ? LEAST_NS : ns > MOST_NS ? MOST_NS : ns;
}

static bool is_cancelled(void *context)
{
	const struct file_door *door = context;

	return door->question && cancel_look(door->question->cancel);
}

static uint64_t unhurried_ns(const struct file_door *door)
{
	const uint64_t ns = door->vain_ns / UNHURRIED_SHARE;

	return ns < LEAST_NS ? LEAST_NS : ns;
}

static struct reader_wait begin_wait(struct file_door *door)
{
	const uint64_t now_ns = clock_now_ns();

	door->begun_ns = now_ns;
	return (struct reader_wait){
		.deadline_ns =
			now_ns + (door->patience ? limit_ns(door, now_ns) : unhurried_ns(door)),
		.is_cancelled = is_cancelled,
		.context = door,
	};
}

/* What is late is paid for by its file system, if that is known, and by all. */
static int end_wait(struct file_door *door, int result)
{
	const uint64_t now_ns = clock_now_ns(), spent_ns = now_ns - door->begun_ns;

	if (door->patience)
		patience_spend(door->patience, now_ns);
	else if (result == -ETIMEDOUT)
		door->vain_ns -= spent_ns < door->vain_ns ? spent_ns : door->vain_ns;
	if (result == -ETIMEDOUT && door->device &&
	    (!major(door->device) || spent_ns > DISK_LATE_NS))
		late_devices_add(&door->late, door->device, now_ns);
	return result;
}

/* The opener has found the file, and has not opened it. */
static void give_leave(void *context, const struct reader_message *ask,
		       struct reader_message *answer)
{
	struct file_door *door = context;
	struct file_status status;

	if (!open_read_leave(ask, &status)) {
		answer->status = -EBADMSG;
		return;
	}
	door->device = status.device;
	if (late_devices_has(&door->late, status.device, clock_now_ns()))
		answer->status = -EHOSTDOWN;
}

/* -EHOSTDOWN: it was late, and is not asked now. */
static int open_file(void *context, const char *root, const char *path,
		     const struct elf_place *place, struct file_status *status)
{
	struct file_door *door = context;
	const struct reader_wait wait = begin_wait(door);
	int fd;

	door->device = 0;
	fd = end_wait(door, open_ask(door->opener, &wait, root, path, place, status));
	door->device = fd < 0 ? 0 : status->device;
	return fd == -EHOSTDOWN ? -ETIMEDOUT : fd;
}

static void note_device(struct file_door *door, int fd)
{
	struct file_status status;

	door->device = file_status_read(fd, &status) ? status.device : 0;
}

static int read_build_id(void *context, int fd, struct build_id *out)
{
	struct file_door *door = context;
	const struct reader_wait wait = begin_wait(door);

	note_device(door, fd);
	return end_wait(door, build_id_ask(door->parser, &wait, fd, out));
}

static int read_digest(void *context, int fd, const struct elf_digest_key *key,
		       struct elf_digest *out)
{
	struct file_door *door = context;
	const struct reader_wait wait = begin_wait(door);

	note_device(door, fd);
	return end_wait(door, digest_ask(door->parser, &wait, fd, key, out));
}

static int make_copy(void *context, int fd, const struct elf_copy_limit *limit)
{
	struct file_door *door = context;
	const struct reader_wait wait = begin_wait(door);

	note_device(door, fd);
	return end_wait(door, copy_ask(door->parser, &wait, fd, limit));
}

static int read_proc(void *context, pid_t pid, const char *name, size_t max_bytes, char **text,
		     size_t *length)
{
	struct file_door *door = context;
	const struct reader_wait wait = begin_wait(door);

	door->device = 0;
	return end_wait(door, proc_ask(door->opener, &wait, pid, name, max_bytes, text, length));
}

/* ---- names --------------------------------------------------------------------------- */

/* What a parser needs to find names, besides the file that it has. */
static void answer_parser(void *context, const struct reader_message *ask,
			  struct reader_message *answer)
{
	struct file_door *door = context;
	const struct reader_wait wait = begin_wait(door);

	answer->status = -EOPNOTSUPP;
	door->device = 0;
	if (door->question && ask->kind == SERVICE_OPEN_ELF) {
		open_pass_on(door->opener, &wait, ask, answer);
		(void)end_wait(door, answer->status);
	} else if (door->question && ask->kind == SERVICE_FETCH)
		fetch_for_parser(door->question->search, ask, answer);
}

static int ask_once(struct file_door *door, const struct name_question *question,
		    struct name_answer *out)
{
	const uint64_t ns = door->late_count < 8 ? NAMES_NS >> door->late_count : 0;
	const struct reader_wait wait = {
		.deadline_ns = clock_now_ns() + (ns < NAMES_LEAST_NS ? NAMES_LEAST_NS : ns),
		.is_cancelled = is_cancelled,
		.context = door,
	};

	return names_ask(door->parser, &wait, question, out);
}

/* Others may have taken the memory that there was, and a parser may die of something else than this file: it has a second one. */
static int ask_names(void *context, const struct name_question *question, struct name_answer *out)
{
	struct file_door *door = context;
	int err;

	door->question = question;
	reader_follow(door->parser);
	reader_follow(door->opener);
	err = ask_once(door, question, out);
	if (err == -E2BIG || err == -EPIPE) {
		reader_end(door->parser);
		err = ask_once(door, question, out);
	}
	door->question = NULL;
	door->late_count += err == -ETIMEDOUT;
	return err == -ECANCELED ? -EINTR : err;
}

/* ---- all of it ------------------------------------------------------------------------- */

int file_door_open(struct file_door **out, struct patience *patience)
{
	struct file_door *door = calloc(1, sizeof(*door));
	int err;

	if (!door)
		return -ENOMEM;
	door->patience = patience;
	door->vain_ns = UNHURRIED_NS;
	door->door = (struct elf_door){
		.open = open_file,
		.build_id = read_build_id,
		.digest = read_digest,
		.copy = make_copy,
		.read_proc = read_proc,
		.context = door,
	};
	door->names = (struct name_door){ask_names, door};
	err = reader_open(&door->opener, &(struct reader_config){.role = READER_OPENER,
								 .answer = give_leave,
								 .context = door});
	if (!err)
		err = reader_open(&door->parser, &(struct reader_config){
							 .role = READER_PARSER,
							 .answer = answer_parser,
							 .context = door,
						 });
	if (err) {
		file_door_close(door);
		return err;
	}
	reader_prepare(door->opener);
	reader_prepare(door->parser);
	elf_open_through(&door->door);
	names_ask_through(&door->names);
	*out = door;
	return 0;
}

static void log_stats(const struct reader *reader, enum reader_role role)
{
	const struct reader_stats stats = reader_get_stats(reader);

	log_debug("%s: %" PRIu64 " requests, %" PRIu64 " late, %" PRIu64 " died, %" PRIu64
		  " bad; %" PRIu64 " processes",
		  reader_role_name(role), stats.asked, stats.late, stats.died, stats.bad,
		  stats.started);
}

void file_door_close(struct file_door *door)
{
	if (!door)
		return;
	if (door->opener)
		log_stats(door->opener, READER_OPENER);
	if (door->parser)
		log_stats(door->parser, READER_PARSER);
	if (elf_door() == &door->door)
		elf_open_through(NULL);
	if (name_door() == &door->names)
		names_ask_through(NULL);
	reader_close(door->opener);
	reader_close(door->parser);
	free(door);
}

void file_door_take_time(struct file_door *door)
{
	if (!door)
		return;
	door->patience = NULL;
	door->vain_ns = UNHURRIED_NS;
	/* What was late in a hurry may not be now. */
	door->late = (struct late_devices){0};
}
