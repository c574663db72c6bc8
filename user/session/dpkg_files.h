/* SPDX-License-Identifier: BSD-2-Clause */
/* dpkg_files.h - which of Debian's packages has a file, by dpkg's own lists. Reads them all; starts nothing. */
#ifndef GECKOBPF_SESSION_DPKG_FILES_H
#define GECKOBPF_SESSION_DPKG_FILES_H

#define DPKG_PACKAGE_BYTES 128

/*
 * The name of the one package that is installed below `root` and has the file at `path`, without its architecture; "" if
 * there is none, there are several, or it cannot be known.
 */
void dpkg_files_find(const char *root, const char *path, char package[DPKG_PACKAGE_BYTES]);

#endif
