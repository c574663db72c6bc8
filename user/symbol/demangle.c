/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demangle.c - see demangle.h.
 *
 * A short mangled name can stand for one of gigabytes, and libiberty's demanglers print it to the
 * end whatever their callback thinks of it. Ours leaves them with longjmp() when the name has grown
 * too long. They keep what they need on the stack; only for an identifier in punycode does the Rust
 * one hold a buffer of a few hundred bytes, which a hostile name can make us lose.
 */
#include "symbol/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "symbol/rust_name.h"

/*
 * libiberty wants 80 bytes of stack for each byte of these. Its own limit for C++ is 1024 as long
 * as recursion is limited.
 */
#define MANGLED_MAX_BYTES RUST_NAME_MAX_BYTES

struct sink {
	char *text; /* DEMANGLE_MAX_BYTES */
	size_t used;
	jmp_buf too_long;
};

static void on_text(const char *text, size_t length, void *opaque)
{
	struct sink *sink = opaque;

	if (!length)
		return;
	if (length >= DEMANGLE_MAX_BYTES - sink->used)
		longjmp(sink->too_long, 1);
	memcpy(sink->text + sink->used, text, length);
	sink->used += length;
}

/* Length of the demangled name at `out`, or 0. */
static size_t run(int (*demangler)(const char *, int, demangle_callbackref, void *), int options,
		  const char *mangled, char *out)
{
	struct sink sink = {.text = out};

	if (setjmp(sink.too_long))
		return 0;
	return demangler(mangled, options, on_text, &sink) ? sink.used : 0;
}

/* Legacy Rust names are valid C++ names as well, so Rust gets to see them first. */
static size_t demangle_into(const char *mangled, char *out)
{
	size_t length = 0;

	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R' && mangled[1] != 'G'))
		return 0;
	if (mangled[1] == 'R' && !rust_name_is_bounded(mangled))
		return 0;
	if (mangled[1] != 'G')
		length = run(rust_demangle_callback, DMGL_NO_OPTS, mangled, out);
	if (!length && mangled[1] != 'R')
		length = run(cplus_demangle_v3_callback, DMGL_PARAMS | DMGL_ANSI, mangled, out);
	return length;
}

/* How many bytes the UTF-8 character at `text` takes; 0 if it is none, or a control character. */
static size_t character_bytes(const uint8_t *text, size_t left)
{
	static const uint32_t least[] = {0, 0xa0, 0x800, 0x10000};
	size_t more = text[0] < 0x80 ? 0 : text[0] < 0xe0 ? 1 : text[0] < 0xf0 ? 2 : 3, i;
	uint32_t code;

	if (!more)
		return text[0] >= 0x20 && text[0] != 0x7f;
	if (text[0] < 0xc0 || text[0] > 0xf4 || more >= left)
		return 0;
	code = text[0] & (0x3fu >> more);
	for (i = 1; i <= more; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return more + 1;
}

static void make_printable(char *text, size_t length)
{
	size_t at = 0;

	while (at < length) {
		size_t taken = character_bytes((uint8_t *)text + at, length - at);

		if (!taken) {
			text[at] = '?';
			taken = 1;
		}
		at += taken;
	}
}

size_t demangle(const char *name, bool raw, char *out)
{
	size_t length = strnlen(name, DEMANGLE_MAX_BYTES - 1), demangled = 0;
	const char *version = raw ? NULL : memchr(name, '@', length);
	char mangled[MANGLED_MAX_BYTES + 1];

	if (version && version != name)
		length = (size_t)(version - name);
	if (!raw && length <= MANGLED_MAX_BYTES) {
		memcpy(mangled, name, length);
		mangled[length] = '\0';
		demangled = demangle_into(mangled, out);
	}
	if (!demangled)
		memcpy(out, name, length);
	else
		length = demangled;
	make_printable(out, length);
	out[length] = '\0';
	return length;
}
