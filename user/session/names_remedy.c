/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * names_remedy.c - see names_remedy.h.
 *
 * A package is named only if the system says that it has the file. That of libc's debug file is there wherever libc is;
 * others' are in an archive of their own, if anywhere, which only a search would tell.
 */
#include "session/names_remedy.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/has_line.h"
#include "elf/build_id.h"
#include "elf/elf_open.h"
#include "profile/profile.h"
#include "session/dpkg_files.h"

#define PATH_BYTES 4352

/* ---- is it this system's? -------------------------------------------------------------------- */

/* Whether it lies where packages put their files, and nobody else does. */
static bool is_of_packages(const char *path)
{
	static const char *const places[] = {"/usr/bin/", "/usr/sbin/", "/usr/lib",   "/bin/",
					     "/sbin/",    "/lib",       "/usr/games/"};
	size_t i;

	if (strstr(path, "/../"))
		return false;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (!strncmp(path, places[i], strlen(places[i])))
			return true;
	return false;
}

/*
 * Not another one's of the same name, such as a container's. Nothing is opened where anybody but the system could have put
 * it.
 */
static bool is_ours(const char *root, const struct profile_file *file)
{
	struct build_id found = {0};
	char path[PATH_BYTES];
	int fd, err;

	if (!file->wanted.size || !is_of_packages(file->path) ||
	    snprintf(path, sizeof(path), "%s%s", root, file->path) >= (int)sizeof(path))
		return false;
	fd = elf_open_path(NULL, path);
	if (fd < 0)
		return false;
	err = build_id_read(fd, &found);
	fd_close(&fd);
	return !err && build_id_equal(&found, &file->wanted);
}

/* Up to `size` - 1 bytes of a file as a text; false: it cannot be read. */
static bool read_text(const char *root, const char *name, char *text, size_t size)
{
	char path[PATH_BYTES];
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "%s%s", root, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	length = fread(text, 1, size - 1, file);
	fclose(file);
	text[length] = '\0';
	return true;
}

/* ---- packages ---------------------------------------------------------------------------------- */

/* Which package has the debug file of a package's files. */
static void find_debug_package(const char *root, const char *path, struct names_remedy *remedy)
{
	char package[DPKG_PACKAGE_BYTES];

	dpkg_files_find(root, path, package);
	if (!strcmp(package, "libc6"))
		snprintf(remedy->package, sizeof(remedy->package), "libc6-dbg");
	else if (package[0])
		snprintf(remedy->debug_package, sizeof(remedy->debug_package), "%s-dbgsym",
			 package);
}

/* ---- servers ----------------------------------------------------------------------------------- */

/* By the ID of /etc/os-release. */
static const struct {
	const char *id, *url;
} servers[] = {
	{"debian", "https://debuginfod.debian.net"},
	{"ubuntu", "https://debuginfod.ubuntu.com"},
	{"fedora", "https://debuginfod.fedoraproject.org"},
	{"arch", "https://debuginfod.archlinux.org"},
	{"opensuse-leap", "https://debuginfod.opensuse.org"},
	{"opensuse-tumbleweed", "https://debuginfod.opensuse.org"},
};

static const char *find_servers(const char *root)
{
	char text[4096], line[64];
	size_t i;

	if (!read_text(root, "/etc/os-release", text, sizeof(text)))
		return NULL;
	for (i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		snprintf(line, sizeof(line), "ID=%s", servers[i].id);
		if (has_line(text, line))
			return servers[i].url;
		snprintf(line, sizeof(line), "ID=\"%s\"", servers[i].id);
		if (has_line(text, line))
			return servers[i].url;
	}
	return NULL;
}

struct names_remedy names_remedy_find(const char *root, const struct profile_file *file)
{
	struct names_remedy remedy = {0};

	if (file->trouble != SYMBOL_TROUBLE_STRIPPED || !is_ours(root, file))
		return remedy;
	find_debug_package(root, file->path, &remedy);
	remedy.servers = find_servers(root);
	return remedy;
}
