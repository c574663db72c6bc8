/* SPDX-License-Identifier: BSD-2-Clause */
/* lib_json.h - what both of the front-end's formats say of a file of code. */
#ifndef GECKOBPF_FORMAT_LIB_JSON_H
#define GECKOBPF_FORMAT_LIB_JSON_H

struct build_id;
struct json;

/* Members of an object that is open: "arch", "name", "path", "debugName", "debugPath", "breakpadId", "codeId". */
void lib_json_write(struct json *json, const char *path, const struct build_id *id);

#endif
