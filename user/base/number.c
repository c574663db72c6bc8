/* SPDX-License-Identifier: BSD-2-Clause */
/* number.c - decimal digits come in pairs from a table, last pair first. */
#include "base/number.h"

#include <string.h>

#define NS_IN_MS 1000000U

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
				  "25262728293031323334353637383940414243444546474849"
				  "50515253545556575859606162636465666768697071727374"
				  "75767778798081828384858687888990919293949596979899";

/* 0 is less than the first, so that it has a digit as well. */
static const uint64_t powers_of_10[] = {
	1,
	10,
	100,
	1000,
	10000,
	100000,
	1000000,
	10000000,
	100000000,
	1000000000,
	10000000000,
	100000000000,
	1000000000000,
	10000000000000,
	100000000000000,
	1000000000000000,
	10000000000000000,
	100000000000000000,
	1000000000000000000,
	10000000000000000000U,
};

/* 1233 / 4096 is a little more than the logarithm of 2: one digit less or as many as there are. */
static unsigned int digits_of(uint64_t value)
{
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(value | 1);
	unsigned int digits = bits * 1233 >> 12;

	return digits + ((value | 1) >= powers_of_10[digits]);
}

/* Exactly `digits` digits, leading zeros included. */
static char *put_digits(char *out, uint64_t value, unsigned int digits)
{
	char *at = out + digits;

	for (; digits >= 2; digits -= 2) {
		at -= 2;
		memcpy(at, digit_pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	if (digits)
		at[-1] = (char)('0' + value % 10);
	return out;
}

char *number_put_u64(char *out, uint64_t value)
{
	unsigned int digits = digits_of(value);

	return put_digits(out, value, digits) + digits;
}

char *number_put_i64(char *out, int64_t value)
{
	uint64_t size = (uint64_t)value;

	if (value < 0) {
		*out++ = '-';
		size = 0 - size;
	}
	return number_put_u64(out, size);
}

char *number_put_hex(char *out, uint64_t value)
{
	int shift = (63 - __builtin_clzll(value | 1)) / 4 * 4;

	*out++ = '0';
	*out++ = 'x';
	for (; shift >= 0; shift -= 4)
		*out++ = "0123456789abcdef"[value >> shift & 15];
	return out;
}

char *number_put_time_ms(char *out, int64_t ns)
{
	uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	uint32_t rest = (uint32_t)(size % NS_IN_MS);

	if (ns < 0)
		*out++ = '-';
	out = number_put_u64(out, size / NS_IN_MS);
	if (!rest)
		return out;
	*out++ = '.';
	out = put_digits(out, rest, 6) + 6;
	while (out[-1] == '0')
		out--;
	return out;
}
