/* SPDX-License-Identifier: BSD-2-Clause */
/* archive_facts.h - the sections HEAD, LOSSES and END of a raw capture (archive.h): what a recording says of itself. */
#ifndef GECKOBPF_ARCHIVE_ARCHIVE_FACTS_H
#define GECKOBPF_ARCHIVE_ARCHIVE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

struct archive;
struct loss;
struct packer;
struct recording_facts;
struct unpacker;

/* Adds the content of a section; errors stay in the packer. */
void archive_pack_head(struct packer *packer, const struct recording_facts *facts);
void archive_pack_losses(struct packer *packer, const struct loss *losses, size_t count);
/* `is_last`: nothing follows. */
void archive_pack_end(struct packer *packer, const struct recording_facts *facts, bool is_last);

/* Into archive->facts, whose strings and arrays are the archive's; in->error says what is wrong. */
void archive_unpack_head(struct archive *archive, struct unpacker *in);
/* Reads all of a section, beside those before it. */
void archive_unpack_losses(struct archive *archive, struct unpacker *in);
void archive_unpack_end(struct archive *archive, struct unpacker *in);

#endif
