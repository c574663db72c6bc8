/* SPDX-License-Identifier: BSD-2-Clause */
/* cppcheck.h - what cppcheck cannot know, as it does not read the system's headers: macros that are loops or declarations. */
#define GECKOBPF_VERSION "0"
#define HASH_ITER(hh, head, item, next) for ((item) = (next) = (head); (item); (item) = (next))
#define LIBBPF_OPTS(type, name, ...) struct type name = {__VA_ARGS__}
#define TAILQ_HEAD(name, type)                                                                     \
	struct name {                                                                              \
		struct type *tqh_first, **tqh_last;                                                \
	}
