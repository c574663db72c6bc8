/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dpkg_files.c - see dpkg_files.h. The lists have a line for each file:
 *
 *   /var/lib/dpkg/info/PACKAGE[:ARCHITECTURE].list
 */
#include "session/dpkg_files.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/has_line.h"

#define INFO "/var/lib/dpkg/info"
#define LISTS_MAX 32768
#define LIST_MAX_BYTES (4 << 20) /* larger ones are left out */
#define TOTAL_MAX_BYTES (128 << 20)
#define PATH_BYTES 4352

struct search {
	const char *root, *path;
	uint64_t bytes; /* of all lists that were read */
	char *package; /* DPKG_PACKAGE_BYTES; "": not found yet */
	bool is_shared; /* packages of other names have it, too */
};

/* Older packages say /lib for what is a link to /usr/lib. */
static bool lists_path(const char *text, const char *path)
{
	return has_line(text, path) || (!strncmp(path, "/usr/", 5) && has_line(text, path + 4));
}

/* The length of the package's name, which is shown as part of a command; 0: it is no such list. */
static size_t package_length(const char *list)
{
	size_t length = strspn(list, "abcdefghijklmnopqrstuvwxyz0123456789+-.");
	const char *rest = list + length;

	if (*rest == ':')
		return !strcmp(list + strlen(list) - 5, ".list") ? length : 0;
	if (length <= 5 || *rest || strcmp(rest - 5, ".list") != 0)
		return 0;
	return length - 5;
}

static bool is_in_list(struct search *search, const char *list)
{
	char path[PATH_BYTES], *text;
	struct stat file;
	size_t length;
	bool is_in;

	if (snprintf(path, sizeof(path), "%s" INFO "/%s", search->root, list) >= PATH_BYTES ||
	    stat(path, &file) || !S_ISREG(file.st_mode) || file.st_size > LIST_MAX_BYTES ||
	    search->bytes + (uint64_t)file.st_size > TOTAL_MAX_BYTES ||
	    fd_read_file(path, &text, &length))
		return false;
	search->bytes += length;
	is_in = lists_path(text, search->path);
	free(text);
	return is_in;
}

static void look_into(struct search *search, const char *list)
{
	size_t length = package_length(list);

	if (!length || length >= DPKG_PACKAGE_BYTES || list[0] == '-' || !is_in_list(search, list))
		return;
	if (search->package[0])
		search->is_shared |= strlen(search->package) != length ||
				     strncmp(search->package, list, length) != 0;
	else
		snprintf(search->package, DPKG_PACKAGE_BYTES, "%.*s", (int)length, list);
}

void dpkg_files_find(const char *root, const char *path, char package[DPKG_PACKAGE_BYTES])
{
	struct search search = {.root = root, .path = path, .package = package};
	char directory[PATH_BYTES];
	const struct dirent *entry;
	unsigned int lists = 0;
	DIR *dir;

	package[0] = '\0';
	if (snprintf(directory, sizeof(directory), "%s" INFO, root) >= PATH_BYTES)
		return;
	dir = opendir(directory);
	while (dir && lists++ < LISTS_MAX && (entry = readdir(dir)))
		look_into(&search, entry->d_name);
	if (dir)
		closedir(dir);
	if (search.is_shared)
		package[0] = '\0';
}
