/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * provider.h - a provider of names: it knows what some code is called, such as that of ELF files or
 * of the kernel.
 *
 *   process, address, time ──symbols_place()──> place
 *   place ──providers, in the order of their table──> frames, innermost first
 *
 * A provider is one file, and one row in symbols.c.
 */
#ifndef GECKOBPF_SYMBOL_PROVIDER_H
#define GECKOBPF_SYMBOL_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

struct kernel_symbols;
struct mapping;
struct object_files;
struct process;

/* Code in a process, or in the kernel, at a time. All is borrowed. */
struct symbol_place {
	const struct process *process; /* NULL: the kernel */
	uint64_t time_ns;
	uint64_t address;
	/* of the address at that time; NULL: none known, or the kernel */
	const struct mapping *mapping;
	uint64_t offset; /* of the address in the mapping's file */
};

/* One function that the place is in. All texts are the provider's, printable UTF-8, and live as long as it is open. */
struct symbol_frame {
	/* demangled, not empty; NULL: only where it starts is known; then it is the only one */
	const char *name;
	/* of the kernel; NULL: the function is in the place's file, or the kernel proper */
	const char *module;
	const char *file; /* of the source; NULL: not known */
	uint32_t line, column; /* in it; 0: not known */
	/*
	 * Where the function starts: a virtual address of the place's file, or an address of the
	 * kernel, and how many bytes it has.
	 */
	uint64_t start, size; /* 0: not known */
};

#define SYMBOL_MAX_FRAMES 32

/* Each frame was inlined into the next one. */
struct symbol_frames {
	struct symbol_frame items[SYMBOL_MAX_FRAMES];
	size_t count;
};

/* What providers are made from. All is borrowed. */
struct symbol_sources {
	struct object_files *files;
	const struct kernel_symbols *kernel; /* NULL: not known */
};

struct symbol_provider {
	const char *name;
	/* *state is the provider's own. 0; -ENOENT: it has nothing to say of anything; -ENOMEM. */
	int (*open)(void **state, const struct symbol_sources *sources);
	void (*close)(void *state); /* NULL: there is nothing to close */
	/*
	 * At least one frame into `frames`. 0; -ENOENT: it does not know the place; -ENOMEM; other
	 * errors mean that it cannot know it.
	 */
	int (*lookup)(void *state, const struct symbol_place *place, struct symbol_frames *frames);
};

extern const struct symbol_provider elf_provider; /* symbols of the file that is mapped there */
extern const struct symbol_provider kernel_provider; /* the kernel's own list */

#endif
