// SPDX-License-Identifier: BSD-2-Clause
// throwing.cc - throws exceptions through frames with destructors, and works a bit in each of them.
//
//   main - catch_all - Thrower::call - Thrower::throw_up - __cxa_throw - _Unwind_RaiseException
#include <stdexcept>
#include <string>

extern "C" {
#include "target.h"
}

static volatile uint64_t sink;

struct Guard {
	uint64_t value;
	explicit Guard(uint64_t start) : value(start) {}
	__attribute__((noinline)) ~Guard()
	{
		for (int i = 0; i < 5000; i++)
			value = value * 3 + 1;
		sink = sink + value;
	}
};

struct Thrower {
	__attribute__((noinline)) void throw_up(int depth)
	{
		Guard guard(static_cast<uint64_t>(depth));

		if (!depth)
			throw std::runtime_error("thrown " + std::to_string(sink));
		call(depth - 1);
		sink = sink + 1;
	}
	__attribute__((noinline)) void call(int depth)
	{
		Guard guard(static_cast<uint64_t>(depth));

		throw_up(depth);
		sink = sink + 2;
	}
};

__attribute__((noinline)) static void catch_all(Thrower &thrower)
{
	try {
		thrower.call(5);
	} catch (const std::exception &exception) {
		sink = sink + exception.what()[0];
	}
}

int main()
{
	Thrower thrower;

	say_ready();
	for (;;)
		catch_all(thrower);
}
