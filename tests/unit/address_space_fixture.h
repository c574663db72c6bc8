/* SPDX-License-Identifier: BSD-2-Clause */
/* address_space_fixture.h - mappings of four objects, and which of them is at an address. */
#ifndef GECKOBPF_TESTS_ADDRESS_SPACE_FIXTURE_H
#define GECKOBPF_TESTS_ADDRESS_SPACE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/address_space.h"
#include "target/object.h"

static struct object objects[4];

static void add(struct address_space *space, uint64_t start, uint64_t end, uint64_t from_ns,
		size_t object)
{
	const struct mapping mapping = {.start = start,
					.end = end,
					.offset = 0x1000,
					.from_ns = from_ns,
					.object = &objects[object]};

	assert_int_equal(address_space_add(space, &mapping), 0);
}

/* Which object is at `address`; -1: none. */
static int at(const struct address_space *space, uint64_t address, uint64_t time_ns)
{
	const struct mapping *mapping = address_space_find(space, address, time_ns);

	return mapping ? (int)(mapping->object - objects) : -1;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

#endif
