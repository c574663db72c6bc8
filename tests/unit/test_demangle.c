/* SPDX-License-Identifier: BSD-2-Clause */
/* test_demangle.c - names of C++ and Rust symbols, names that are neither, and hostile ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "alloc.h"
#include "symbol/demangle.h"

static char out[DEMANGLE_MAX_BYTES];

struct vector {
	const char *name, *expected;
};

static void check(const struct vector *vectors, size_t count, bool raw)
{
	size_t i;

	for (i = 0; i < count; i++) {
		size_t length;

		memset(out, 'x', sizeof(out));
		length = demangle(vectors[i].name, raw, out);
		assert_string_equal(out, vectors[i].expected);
		assert_int_equal(length, strlen(vectors[i].expected));
	}
}

#define CHECK(vectors, raw) check(vectors, sizeof(vectors) / sizeof(*(vectors)), raw)

static void test_cplusplus(void **state)
{
	static const struct vector vectors[] = {
		{"_ZN3foo3barEv", "foo::bar()"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_Z3addIiET_S0_S0_", "int add<int>(int, int)"},
		{"_ZN1AC2Ev", "A::A()"},
		{"_ZN1AD0Ev", "A::~A()"},
		{"_ZN1AplERKS_", "A::operator+(A const&)"},
		{"_ZNK1A3getEv", "A::get() const"},
		{"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run()"},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
		{"_Z3fooi.part.0", "foo(int) [clone .part.0]"},
		{"_Z3fooi.cold", "foo(int) [clone .cold]"},
		{"_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main"},
	};

	CHECK(vectors, false);
}

static void test_rust(void **state)
{
	static const struct vector vectors[] = {
		/* legacy: the hash goes */
		{"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		 "17h930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
		/* v0 */
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RNvNtNtCs1234_7mycrate3foo3bar3baz", "mycrate::foo::bar::baz"},
		{"_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>"},
		{"_RNvMs_C7mycrateNtB4_3Foo3new", "<mycrate::Foo>::new"},
		{"_RNCNvC7mycrate4main0B3_", "mycrate::main::{closure#0}"},
		{"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		 "utf8_idents::"
		 "\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a\xe1\x83"
		 "\x90\xe1\x83\x93"
		 "_\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83"
		 "\x9a\xe1\x83\x98"
		 "_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98"},
	};

	CHECK(vectors, false);
}

static void test_others_stay(void **state)
{
	static const struct vector vectors[] = {
		{"main", "main"},
		{"i", "i"},
		{"_start", "_start"},
		{"_Z", "_Z"},
		{"_R", "_R"},
		{"_Zfoo", "_Zfoo"},
		{"_ZN3foo", "_ZN3foo"},
		{"_D3foo3barFZv", "_D3foo3barFZv"},
		{"runtime.gcBgMarkWorker", "runtime.gcBgMarkWorker"},
		{"main.(*T).Run", "main.(*T).Run"},
	};

	CHECK(vectors, false);
}

static void test_versions_go(void **state)
{
	static const struct vector vectors[] = {
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"memcpy@GLIBC_2.2.5", "memcpy"},
		{"_ZN3foo3barEv@@V1", "foo::bar()"},
		{"@odd", "@odd"},
	};

	CHECK(vectors, false);
}

static void test_raw(void **state)
{
	static const struct vector vectors[] = {
		{"_ZN3foo3barEv", "_ZN3foo3barEv"},
		{"_RNvC6_123foo3bar", "_RNvC6_123foo3bar"},
		{"memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.14"},
		{"bell\a", "bell?"},
	};

	CHECK(vectors, true);
}

static void test_always_utf8(void **state)
{
	static const struct vector vectors[] = {
		{"tab\there\x7f", "tab?here?"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xe2\x82\xac \xf0\x9f\x92\xa9", "\xe2\x82\xac \xf0\x9f\x92\xa9"},
		{"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf",
		 "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"},
		{"c1\xc2\x85", "c1??"}, /* a control character */
		{"nbsp\xc2\xa0", "nbsp\xc2\xa0"},
		{"\x80", "?"}, /* a continuation alone */
		{"\xbf"
		 "a",
		 "?a"},
		{"a\xc3", "a?"}, /* cut off */
		{"a\xe2\x82", "a??"},
		{"\xc3(", "?("},
		{"\xc0\xaf", "??"}, /* overlong */
		{"\xc1\xbf", "??"},
		{"\xe0\x80\xaf", "???"},
		{"\xe0\x9f\xbf", "???"},
		{"\xf0\x8f\xbf\xbf", "????"},
		{"\xed\xa0\x80", "???"}, /* a surrogate */
		{"\xf4\x90\x80\x80", "????"}, /* beyond Unicode */
		{"\xf5\x80\x80\x80", "????"},
		{"\xff\xfe", "??"},
	};

	CHECK(vectors, false);
	CHECK(vectors, true);
}

static void test_long_names(void **state)
{
	char *name = malloc(100000);
	size_t length;

	assert_non_null(name);
	memset(name, 'a', 99999);
	name[99999] = '\0';
	assert_int_equal(demangle(name, false, out), DEMANGLE_MAX_BYTES - 1);
	assert_int_equal(strlen(out), DEMANGLE_MAX_BYTES - 1);
	assert_memory_equal(out, name, DEMANGLE_MAX_BYTES - 1);

	/* One character is cut in the middle: what is left of it must not stay. */
	memcpy(name + DEMANGLE_MAX_BYTES - 2, "\xc3\xbc", 2);
	assert_int_equal(demangle(name, false, out), DEMANGLE_MAX_BYTES - 1);
	assert_int_equal(out[DEMANGLE_MAX_BYTES - 2], '?');

	/* Longer than what is tried: it stays mangled. */
	length = (size_t)sprintf(name, "_ZN5000");
	memset(name + length, 'b', 5000);
	strcpy(name + length + 5000, "1cEv");
	assert_int_equal(demangle(name, false, out), length + 5004);
	assert_string_equal(out, name);
	free(name);
}

/* What looks like a binder of many lifetimes, in crates' hashes and identifiers, is none. */
static void test_rust_binders(void **state)
{
	static const struct vector vectors[] = {
		{"_RINvC1a1bFG0_RL0_hERL0_hE", "a::b::<for<'a, 'b> fn(&'b u8) -> &'b u8>"},
		{"_RNvXsv_NtCslNYArtu3iFV_5alloc5boxedINtB5_3BoxDG_INtNtNtCsgEmfK2I1SDS_"
		 "4core3ops8function2FnTRL0_eEEp6OutputRL0_eEL_EIBL_TReEE4callCs6xxl1lAjzDf_1a",
		 "<alloc::boxed::Box<dyn for<'a> core::ops::function::Fn<(&'a str,), "
		 "Output = &'a str>> as core::ops::function::Fn<(&str,)>>::call"},
		{"_RNvNtC1a12BGGGGG_DGxxx1f", "a::BGGGGG_DGxxx::f"},
		{"_RNvMNtCsGGGGGGGG_1a1bINtB2_1SKj2a_Ahj1f_E3new", "<a::b::S<42, [u8; 31]>>::new"},
	};

	(void)state;
	CHECK(vectors, false);
}

/* libiberty counts up to these, and prints nothing of a trait's `impl`. */
static void test_hostile_binders(void **state)
{
	static const char *const names[] = {
		"_RNvXINvC1a1bFGzzzzzzzzz_EuEuC1a1f",
		"_RNvXINvC1a1bDGzzzzzzzzz_EL_EuC1a1f",
		/* in an identifier, to which a back reference leads; and cut off */
		"_RNvXINvC1a9FGzzzzzz_B3_EuC1a1f",
		"_RNvXINvC1a1bFGzzzzzzzzz_",
		"_RNvXINvC1a1bFGzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz_EuEuC1a1f",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		demangle(names[i], false, out);
		assert_string_equal(out, names[i]);
	}
}

/* f(pair<A, A>), A = pair<B, B>, B = pair<C, C>, ...: each level doubles the length of the name. */
static void test_exploding_name(void **state)
{
	char name[2048] = "_Z1f1XIiiE";
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t level;

	for (level = 0; level < 34; level++)
		sprintf(name + strlen(name), "S_IS%c_S%c_E", digits[level], digits[level]);
	demangle(name, false, out);
	assert_string_equal(out, name);
}

static void test_deep_names(void **state)
{
	char name[4090];

	/* int********...: recursion in the parser and in the printer. */
	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	strcpy(name + sizeof(name) - 2, "i");
	demangle(name, false, out);
	assert_string_equal(out, name);
	/* Tuples in tuples: the same of Rust. */
	memset(name, 'T', sizeof(name));
	memcpy(name, "_RINvC1a1b", 10);
	name[sizeof(name) - 1] = '\0';
	demangle(name, false, out);
	assert_string_equal(out, name);
}

/* Names with random damage: nothing crashes, everything is printable. */
static void test_damaged_names(void **state)
{
	static const char *const names[] = {
		"_ZNSt6vectorIiSaIiEE9push_backERKi",
		"_ZZ4mainENKUlvE_clEv",
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
		"_RINvNtC3std3mem8align_ofjE",
		"_RNvMs_C7mycrateNtB4_3Foo3new",
		"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	};
	unsigned int seed = 1;
	size_t i;

	for (i = 0; i < 20000; i++) {
		char name[128];
		size_t length;

		strcpy(name, names[i % (sizeof(names) / sizeof(*names))]);
		length = strlen(name);
		name[2 + (size_t)rand_r(&seed) % (length - 2)] = (char)(rand_r(&seed) % 255 + 1);
		name[2 + (size_t)rand_r(&seed) % (length - 2)] =
			"_0159BESNTIKXuv"[rand_r(&seed) % 15];
		length = demangle(name, false, out);
		assert_int_equal(strlen(out), length);
		assert_true(length > 0);
	}
}

static void test_allocates_nothing(void **state)
{
	size_t before = alloc_count();

	demangle("_ZN3foo3barEv", false, out);
	assert_int_equal(alloc_count(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cplusplus),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_others_stay),
		cmocka_unit_test(test_versions_go),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_always_utf8),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_rust_binders),
		cmocka_unit_test(test_hostile_binders),
		cmocka_unit_test(test_exploding_name),
		cmocka_unit_test(test_deep_names),
		cmocka_unit_test(test_damaged_names),
		cmocka_unit_test(test_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
