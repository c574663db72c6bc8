/* SPDX-License-Identifier: BSD-2-Clause */
/* exceptions.cc - see shapes.h. C++ exceptions on their way: stacks that the runtime has half taken down. */
#include "shapes.h"

#include <csetjmp>
#include <exception>
#include <stdexcept>

namespace
{

struct guard {
	~guard()
	{
		self_check();
		BARRIER();
	}
};

volatile bool is_to_throw = true;

NOINLINE void throw_it()
{
	if (is_to_throw)
		throw std::runtime_error("on its way");
}

/* Each level has something to destroy while the exception passes. */
NOINLINE int guarded(int depth)
{
	guard here;
	int result = 0;

	if (depth > 0)
		result = guarded(depth - 1);
	else
		throw_it();
	BARRIER();
	return result + 1;
}

std::jmp_buf after_terminate;

[[noreturn]] void on_terminate()
{
	self_check();
	std::longjmp(after_terminate, 1);
}

NOINLINE void never_throws() noexcept
{
	throw_it();
	BARRIER();
}

} // namespace

NOINLINE void shape_exception_cleanup(void)
{
	try {
		guarded(8);
	} catch (const std::exception &) {
		BARRIER();
	}
}

NOINLINE void shape_exception_catch(void)
{
	try {
		throw_it();
	} catch (const std::exception &) {
		self_check();
		BARRIER();
	}
}

NOINLINE void shape_exception_rethrow(void)
{
	try {
		try {
			throw_it();
		} catch (...) {
			guard here;
			throw;
		}
	} catch (...) {
		self_check();
		BARRIER();
	}
}

/* The runtime calls the handler from within the function that must not throw. */
NOINLINE void shape_exception_terminate(void)
{
	std::terminate_handler before = std::set_terminate(on_terminate);

	if (!setjmp(after_terminate))
		never_throws();
	std::set_terminate(before);
	self_check();
	BARRIER();
}

NOINLINE void shape_exception_through_c(void)
{
	try {
		guard here;

		shape_call_back(throw_it);
	} catch (...) {
		self_check();
		BARRIER();
	}
}
