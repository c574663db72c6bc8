/* SPDX-License-Identifier: BSD-2-Clause */
/* elsewhere.c - see elsewhere.h. */
#include "session/elsewhere.h"

#include "base/naming.h"
#include "base/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_PLACES 5
#define MAX_NUMBER 1000
#define PATH_BYTES 4096

struct place {
	const char *directory; /* borrowed */
	int length;
	dev_t disk;
};

struct places {
	struct place items[MAX_PLACES]; /* those that may still be tried */
	size_t count;
};

bool elsewhere_helps(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EIO || err == -EROFS || err == -EFBIG;
}

/* ---- places ------------------------------------------------------------------ */

static void add_place(struct places *places, const char *directory, size_t length)
{
	struct place *place = &places->items[places->count];
	char path[PATH_BYTES];
	struct stat at;

	if (!length || length >= sizeof(path))
		return;
	snprintf(path, sizeof(path), "%.*s", (int)length, directory);
	if (stat(path, &at) || !S_ISDIR(at.st_mode))
		return;
	*place = (struct place){directory, (int)length, at.st_dev};
	places->count++;
}

/* Where `path` is. */
static void add_own_place(struct places *places, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (naming_is_direct(path))
		return;
	/* "/x" is in "/", and a place is followed by a slash: "/./x". */
	if (slash == path)
		add_place(places, "/.", 2);
	else if (slash)
		add_place(places, path, (size_t)(slash - path));
	else
		add_place(places, ".", 1);
}

static void find_places(struct places *places, const struct elsewhere *elsewhere)
{
	const char *temporary = getenv("TMPDIR");

	places->count = 0;
	if (!elsewhere->failed)
		add_own_place(places, elsewhere->path);
	if (temporary)
		add_place(places, temporary, strlen(temporary));
	add_place(places, "/var/tmp", strlen("/var/tmp"));
	add_place(places, "/tmp", strlen("/tmp"));
	add_place(places, ".", 1);
	if (elsewhere->failed)
		add_own_place(places, elsewhere->path);
}

/* The first that is not on the disk `avoid`, or else the first. */
static struct place take_place(struct places *places, const dev_t *avoid)
{
	struct place place;
	size_t i;

	for (i = 0; avoid && i < places->count && places->items[i].disk == *avoid; i++)
		;
	if (i == places->count)
		i = 0;
	place = places->items[i];
	places->count--;
	memmove(&places->items[i], &places->items[i + 1],
		(places->count - i) * sizeof(places->items[0]));
	return place;
}

static void drop_disk(struct places *places, dev_t disk)
{
	size_t i, kept = 0;

	for (i = 0; i < places->count; i++)
		if (places->items[i].disk != disk)
			places->items[kept++] = places->items[i];
	places->count = kept;
}

/* ---- names ------------------------------------------------------------------- */

/* A path in the place that nothing has. 0, -ENAMETOOLONG, -EEXIST. */
static int free_path(const struct elsewhere *elsewhere, const struct place *place, char *out,
		     size_t out_bytes)
{
	const char *slash = strrchr(elsewhere->path, '/'),
		   *name = slash ? slash + 1 : elsewhere->path;
	size_t length = (size_t)(output_suffix(name) - name);
	struct stat at;
	int number;

	if (naming_is_direct(elsewhere->path)) {
		name = elsewhere->stdout_name;
		length = strlen(name);
	}
	for (number = 1; number < MAX_NUMBER; number++) {
		char tail[16] = "";
		int got;

		if (number > 1)
			snprintf(tail, sizeof(tail), "-%d", number);
		got = snprintf(out, out_bytes, "%.*s/%.*s%s%s", place->length, place->directory,
			       (int)length, name, tail, elsewhere->suffix);
		if (got < 0 || (size_t)got >= out_bytes)
			return -ENAMETOOLONG;
		if (lstat(out, &at))
			return 0;
	}
	return -EEXIST;
}

/* ---- all of it ---------------------------------------------------------------- */

int elsewhere_write(const struct elsewhere *elsewhere,
		    int (*write)(void *context, const char *path), void *context, char *out,
		    size_t out_bytes)
{
	bool has_failed_disk = false;
	struct places places;
	struct stat failed;
	int err = -ENOENT;

	*out = '\0';
	find_places(&places, elsewhere);
	if (elsewhere->failed)
		has_failed_disk = !stat(elsewhere->failed, &failed);
	while (places.count) {
		struct place place = take_place(&places, has_failed_disk ? &failed.st_dev : NULL);

		err = free_path(elsewhere, &place, out, out_bytes);
		if (!err)
			err = write(context, out);
		if (!err || err == -EINTR || err == -ENOMEM)
			return err;
		if (err == -ENOSPC)
			drop_disk(&places, place.disk);
	}
	return err;
}
