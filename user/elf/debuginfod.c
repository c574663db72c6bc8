/* SPDX-License-Identifier: BSD-2-Clause */
/* debuginfod.c - see debuginfod.h. */
#include "elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#define LIBRARY "libdebuginfod.so.1"

/* The library's, opaque. */
struct debuginfod_client;

/* A file with that build id into *path, a malloc'ed name; its descriptor, or -errno. */
typedef int find_function(struct debuginfod_client *client, const unsigned char *build_id,
			  int build_id_bytes, char **path);
typedef int progress_function(struct debuginfod_client *client, long bytes, long total);

struct debuginfod {
	struct debuginfod_options options;
	struct debuginfod_client *client;
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	find_function *find_debuginfo, *find_executable;
	void (*set_progressfn)(struct debuginfod_client *client, progress_function *report);
	const char *(*get_url)(struct debuginfod_client *client);
};

/* The client that waits for a file: the library's callback brings no context. */
static struct debuginfod *fetching;

#ifdef GECKOBPF_STATIC

static int load(struct debuginfod *client)
{
	return -ENOSYS;
}

#else

/* The library stays loaded until the end: what it has started does not like to go. */
static int load(struct debuginfod *client)
{
	const struct {
		const char *name;
		void *function; /* where its address goes */
	} wanted[] = {
		{"debuginfod_begin", &client->begin},
		{"debuginfod_end", &client->end},
		{"debuginfod_find_debuginfo", &client->find_debuginfo},
		{"debuginfod_find_executable", &client->find_executable},
		{"debuginfod_set_progressfn", &client->set_progressfn},
		{"debuginfod_get_url", &client->get_url},
	};
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	size_t i;

	for (i = 0; library && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		*(void **)wanted[i].function = dlsym(library, wanted[i].name);
		if (!*(void **)wanted[i].function)
			return -ENOSYS;
	}
	return library ? 0 : -ENOSYS;
}

#endif

static int on_progress(struct debuginfod_client *client, long bytes, long total)
{
	const struct debuginfod_options *options = &fetching->options;
	const char *url = fetching->get_url(client);

	if (options->progress)
		options->progress(options->context, url ? url : "debuginfod",
				  bytes > 0 ? (uint64_t)bytes : 0, total > 0 ? (uint64_t)total : 0);
	return 0; /* go on */
}

int debuginfod_open(struct debuginfod **out, const struct debuginfod_options *options)
{
	struct debuginfod *client = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return -ENOMEM;
	client->options = *options;
	err = load(client);
	if (!err) {
		client->client = client->begin();
		err = client->client ? 0 : -ENOMEM;
	}
	if (err) {
		free(client);
		return err;
	}
	client->set_progressfn(client->client, on_progress);
	*out = client;
	return 0;
}

void debuginfod_close(struct debuginfod *client)
{
	if (!client)
		return;
	client->end(client->client);
	free(client);
}

int debuginfod_find(struct debuginfod *client, const uint8_t *build_id, size_t build_id_bytes,
		    bool wants_debug, int *fd)
{
	find_function *find = wants_debug ? client->find_debuginfo : client->find_executable;
	int found;

	fetching = client;
	found = find(client->client, build_id, (int)build_id_bytes, NULL);
	fetching = NULL;
	if (found < 0)
		return found;
	*fd = found;
	return 0;
}
