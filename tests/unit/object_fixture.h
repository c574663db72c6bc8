/* SPDX-License-Identifier: BSD-2-Clause */
/* object_fixture.h - files with build ids, and what is seen of them. */
#ifndef GECKOBPF_TESTS_OBJECT_FIXTURE_H
#define GECKOBPF_TESTS_OBJECT_FIXTURE_H

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/object.h"

#define PAGE 4096
#define BUDGET 100

static char dir[] = "/tmp/test_object.XXXXXX";
static struct objects *objects;

static inline int make_dir(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static inline int remove_dir(void **state)
{
	return rmdir(dir);
}

static inline int open_objects(void **state)
{
	return objects_open(&objects, BUDGET);
}

static inline int close_objects(void **state)
{
	objects_close(objects);
	return 0;
}

/* ---- files ------------------------------------------------------------------------------------- */

/* A page that is an ELF file with nothing but a build id of 20 bytes `seed`. */
struct elf_page {
	Elf64_Ehdr header;
	Elf64_Phdr program;
	Elf64_Nhdr note;
	char name[4];
	uint8_t desc[20];
	uint8_t rest[PAGE - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr) - sizeof(Elf64_Nhdr) - 24];
};

static inline struct build_id id_of(uint8_t seed)
{
	struct build_id id = {.size = 20};

	memset(id.bytes, seed, 20);
	return id;
}

static inline void write_elf(int fd, uint8_t seed)
{
	struct elf_page page = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_phoff = offsetof(struct elf_page, program),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1},
		.program = {.p_type = PT_NOTE,
			    .p_offset = offsetof(struct elf_page, note),
			    .p_filesz = sizeof(Elf64_Nhdr) + 24},
		.note = {.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID},
		.name = "GNU",
	};

	memset(page.desc, seed, sizeof(page.desc));
	assert_int_equal(write(fd, &page, sizeof(page)), PAGE);
}

/* The path of dir/name, valid until the eighth call from now. */
static inline const char *in_dir(const char *name)
{
	static char paths[8][128];
	static size_t next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

/* Seed 0: not an ELF file. */
static inline const char *make_file(const char *name, uint8_t seed)
{
	const char *path = in_dir(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	if (seed)
		write_elf(fd, seed);
	else
		assert_int_equal(write(fd, "plain", 5), 5);
	close(fd);
	return path;
}

static inline struct object *see(const struct object_sighting *sighting)
{
	struct object *object = NULL;

	assert_int_equal(objects_get(objects, sighting, &object), 0);
	assert_non_null(object);
	return object;
}

static inline struct object *see_path(const char *path)
{
	return see(&(struct object_sighting){.pid = getpid(), .path = path});
}

/* As if it had these numbers; what is mapped is believed. */
static inline struct object *see_place(uint64_t device, uint64_t inode, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	const bool is_mapped = memory != MAP_FAILED;
	struct object *object = see(&(struct object_sighting){
		.pid = getpid(),
		.start = is_mapped ? (uintptr_t)memory : 0,
		.end = is_mapped ? (uintptr_t)memory + PAGE : 0,
		.device = device,
		.inode = inode,
		.path = path,
	});

	if (is_mapped)
		munmap(memory, PAGE);
	if (fd >= 0)
		close(fd);
	return object;
}

static inline struct object *see_build(const char *path, uint8_t seed)
{
	const struct build_id id = id_of(seed);

	return see(&(struct object_sighting){.pid = getpid(), .path = path, .build_id = &id});
}

static inline void assert_build(const struct object *object, uint8_t seed)
{
	const struct build_id id = id_of(seed);

	assert_true(build_id_equal(&object->build_id, &id));
}

/* The descriptor is that of the file which holds `path`'s inode. */
static inline void assert_open(const struct object *object, const char *path)
{
	struct stat ours, theirs;

	assert_true(object->fd >= 0);
	assert_int_equal(fstat(object->fd, &ours), 0);
	assert_int_equal(stat(path, &theirs), 0);
	assert_int_equal(ours.st_ino, theirs.st_ino);
	assert_true(fcntl(object->fd, F_GETFD) & FD_CLOEXEC);
}

#endif
