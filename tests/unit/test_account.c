/* SPDX-License-Identifier: BSD-2-Clause */
/* The user behind sudo: who it is, and becoming it. Each case in a child, with the environment and ids it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/account.h"

#include "alloc.h"
#include "child.h"

#define NOBODY 65534
#define NO_ENTRY 3999999999U /* a uid that no file knows */

struct caller {
	const char *uid, *gid; /* SUDO_UID, SUDO_GID; NULL: not set */
	bool is_user; /* not root */
};

static void set_or_unset(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static struct account ask(const struct caller *caller)
{
	struct account account;

	memset(&account, 0xff, sizeof(account));
	set_or_unset("SUDO_UID", caller->uid);
	set_or_unset("SUDO_GID", caller->gid);
	if (caller->is_user && seteuid(NOBODY))
		_exit(99);
	account_invoking_user(&account);
	return account;
}

static int is_set(void *context)
{
	return ask(context).is_set;
}

static void need_root(void)
{
	if (geteuid())
		skip();
}

static void test_whose_word_counts(void **state)
{
	static const struct {
		struct caller caller;
		int want;
	} cases[] = {
		{{"1000", "1000", false}, 1},
		{{"0", "0", false}, 1},
		{{"1000", "1000", true}, 0},
		{{NULL, NULL, false}, 0},
		{{"1000", NULL, false}, 0},
		{{NULL, "1000", false}, 0},
		{{"", "1000", false}, 0},
		{{"1000", "", false}, 0},
		{{"1000x", "1000", false}, 0},
		{{"root", "1000", false}, 0},
		{{"-1", "1000", false}, 0},
		{{"4294967295", "1000", false}, 0}, /* (uid_t)-1: setuid(2) would do nothing */
		{{"4294967294", "1000", false}, 1},
		{{"4294968296", "1000", false}, 0}, /* 1000, if cut to 32 bits */
		{{"99999999999999999999", "1000", false}, 0},
	};
	size_t i;

	need_root();
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(in_child(is_set, (void *)&cases[i].caller), cases[i].want);
}

static int describe_nobody(void *context)
{
	const struct caller caller = {"65534", "12345", false};
	const struct passwd *entry = getpwuid(NOBODY);
	struct account account = ask(&caller);

	if (account.uid != NOBODY || account.gid != 12345)
		return 1;
	if (strcmp(account.name, entry ? entry->pw_name : ""))
		return 2;
	if (strcmp(account.home, entry ? entry->pw_dir : ""))
		return 3;
	return account.group_count >= 1 && account.groups[0] == 12345 ? 0 : 4;
}

static int describe_unknown(void *context)
{
	const struct caller caller = {"3999999999", "7", false};
	struct account account = ask(&caller);

	if (account.uid != NO_ENTRY || account.gid != 7 || account.name[0] || account.home[0])
		return 1;
	return account.group_count == 1 && account.groups[0] == 7 ? 0 : 2;
}

static void test_description(void **state)
{
	need_root();
	assert_int_equal(in_child(describe_nobody, NULL), 0);
	assert_int_equal(in_child(describe_unknown, NULL), 0);
}

static void test_may_write(void **state)
{
	static const struct account user = {
		.is_set = true, .uid = 1000, .gid = 100, .groups = {100, 42}, .group_count = 2};
	static const struct account root = {.is_set = true};
	static const struct {
		struct stat directory;
		bool want;
	} cases[] = {
		{{.st_uid = 1000, .st_gid = 0, .st_mode = 0700}, true},
		{{.st_uid = 1000, .st_gid = 0, .st_mode = 0500}, true}, /* theirs */
		{{.st_uid = 0, .st_gid = 0, .st_mode = 0755}, false},
		{{.st_uid = 0, .st_gid = 0, .st_mode = 01777}, true}, /* /tmp */
		{{.st_uid = 0, .st_gid = 42, .st_mode = 0775}, true},
		{{.st_uid = 0, .st_gid = 42, .st_mode = 0755}, false},
		{{.st_uid = 0, .st_gid = 42, .st_mode = 0707}, false},
		{{.st_uid = 0, .st_gid = 43, .st_mode = 0775}, false},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(account_may_write(&user, &cases[i].directory), cases[i].want);
		assert_true(account_may_write(&root, &cases[i].directory));
	}
}

static int become(void *context)
{
	struct account account = {.is_set = true,
				  .uid = 1234,
				  .gid = 5678,
				  .name = "someone",
				  .home = "/nonexistent/home",
				  .groups = {5678, 42},
				  .group_count = 2};
	uid_t uids[3];
	gid_t gids[3], groups[8];

	setenv("USER", "root", 1);
	if (account_become(&account))
		return 1;
	if (getresuid(&uids[0], &uids[1], &uids[2]) || getresgid(&gids[0], &gids[1], &gids[2]))
		return 2;
	if (uids[0] != 1234 || uids[1] != 1234 || uids[2] != 1234)
		return 3;
	if (gids[0] != 5678 || gids[1] != 5678 || gids[2] != 5678)
		return 4;
	if (getgroups(8, groups) != 2 || groups[0] + groups[1] != 5678 + 42)
		return 5;
	if (strcmp(getenv("HOME"), "/nonexistent/home") || strcmp(getenv("USER"), "someone") ||
	    strcmp(getenv("LOGNAME"), "someone"))
		return 6;
	return setuid(0) ? 0 : 7; /* there is no way back */
}

/* What is not known about the user stays as it is in the environment. */
static int become_nameless(void *context)
{
	struct account account = {.is_set = true, .uid = 1234, .gid = 5678};

	setenv("HOME", "/old", 1);
	setenv("USER", "old", 1);
	if (account_become(&account))
		return 1;
	return strcmp(getenv("HOME"), "/old") || strcmp(getenv("USER"), "old") ? 2 : 0;
}

static int become_without_right(void *context)
{
	struct account account = {.is_set = true, .uid = 1234, .gid = 5678};

	if (setuid(NOBODY))
		return 1;
	return account_become(&account) == -EPERM ? 0 : 2;
}

static void test_become(void **state)
{
	need_root();
	assert_int_equal(in_child(become, NULL), 0);
	assert_int_equal(in_child(become_nameless, NULL), 0);
	assert_int_equal(in_child(become_without_right, NULL), 0);
}

static int count_allocations(void *context)
{
	const struct caller caller = {"65534", "12345", false};
	size_t before = alloc_count();

	(void)ask(&caller);
	return (int)(alloc_count() - before);
}

static void test_allocates_nothing(void **state)
{
	need_root();
	assert_int_equal(in_child(count_allocations, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whose_word_counts), cmocka_unit_test(test_description),
		cmocka_unit_test(test_may_write),         cmocka_unit_test(test_become),
		cmocka_unit_test(test_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
