/* SPDX-License-Identifier: BSD-2-Clause */
/* rescue.c - see rescue.h. */
#include "session/rescue.h"

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

bool rescue_is_disk_trouble(int err)
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

	/* "/x" is in "/", and a place is followed by a slash: "/./x". */
	if (slash == path)
		add_place(places, "/.", 2);
	else if (slash)
		add_place(places, path, (size_t)(slash - path));
	else if (strcmp(path, "-") != 0)
		add_place(places, ".", 1);
}

static void find_places(struct places *places, const struct rescue *rescue)
{
	const char *temporary = getenv("TMPDIR");

	places->count = 0;
	if (!rescue->failed)
		add_own_place(places, rescue->path);
	if (temporary)
		add_place(places, temporary, strlen(temporary));
	add_place(places, "/var/tmp", strlen("/var/tmp"));
	add_place(places, "/tmp", strlen("/tmp"));
	add_place(places, ".", 1);
	if (rescue->failed)
		add_own_place(places, rescue->path);
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
static int free_path(const struct rescue *rescue, const struct place *place, char *out,
		     size_t out_bytes)
{
	const char *slash = strrchr(rescue->path, '/'), *name = slash ? slash + 1 : rescue->path;
	size_t length = (size_t)(output_suffix(name) - name);
	struct stat at;
	int number;

	if (!strcmp(rescue->path, "-")) {
		name = rescue->stdout_name;
		length = strlen(name);
	}
	for (number = 1; number < MAX_NUMBER; number++) {
		char tail[16] = "";
		int got;

		if (number > 1)
			snprintf(tail, sizeof(tail), "-%d", number);
		got = snprintf(out, out_bytes, "%.*s/%.*s%s%s", place->length, place->directory,
			       (int)length, name, tail, rescue->suffix);
		if (got < 0 || (size_t)got >= out_bytes)
			return -ENAMETOOLONG;
		if (lstat(out, &at))
			return 0;
	}
	return -EEXIST;
}

/* ---- all of it ---------------------------------------------------------------- */

int rescue_write(const struct rescue *rescue, int (*write)(void *context, const char *path),
		 void *context, char *out, size_t out_bytes)
{
	bool has_failed_disk = false;
	struct places places;
	struct stat failed;
	int err = -ENOENT;

	*out = '\0';
	find_places(&places, rescue);
	if (rescue->failed)
		has_failed_disk = !stat(rescue->failed, &failed);
	while (places.count) {
		struct place place = take_place(&places, has_failed_disk ? &failed.st_dev : NULL);

		err = free_path(rescue, &place, out, out_bytes);
		if (!err)
			err = write(context, out);
		if (!err || err == -EINTR || err == -ENOMEM)
			return err;
		if (err == -ENOSPC)
			drop_disk(&places, place.disk);
	}
	return err;
}
