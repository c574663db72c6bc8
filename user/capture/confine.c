/* SPDX-License-Identifier: BSD-2-Clause */
/* confine.c - see confine.h: capabilities. */
#include "capture/confine.h"

#include "capture/rights.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Which capability each use takes. */
static const struct {
	unsigned int use;
	cap_value_t value;
} kept_for[] = {
	{CONFINE_WRITES_ANYWHERE, CAP_DAC_OVERRIDE},
	{CONFINE_GIVES_FILES, CAP_CHOWN},
	{CONFINE_SIGNALS_OTHERS, CAP_KILL},
};

static bool is_kept(cap_t held, cap_value_t value, unsigned int uses)
{
	size_t i;

	for (i = 0; i < sizeof(kept_for) / sizeof(kept_for[0]); i++)
		if (kept_for[i].value == value && kept_for[i].use & uses)
			return true;
	return rights_records_with(held, value);
}

/* Needs CAP_SETPCAP; without it the set can have others, which no program of ours asks for. */
static void drop_bound(cap_t held, unsigned int uses)
{
	cap_value_t value;

	for (value = 0; cap_get_bound(value) >= 0; value++)
		if (!is_kept(held, value, uses))
			(void)cap_drop_bound(value);
}

static int clear(cap_t set, cap_value_t value)
{
	static const cap_flag_t flags[] = {CAP_EFFECTIVE, CAP_PERMITTED, CAP_INHERITABLE};
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]) && !err; i++)
		err = cap_set_flag(set, flags[i], 1, &value, CAP_CLEAR) ? -errno : 0;
	return err;
}

/*
 * Another user than root, with no new privileges, hands on to processes of our own program what is ambient alone, also
 * if the program's file has capabilities.
 */
static int hand_on(cap_t kept, cap_value_t value)
{
	cap_flag_value_t has = CAP_CLEAR;

	if (!geteuid() || cap_get_flag(kept, value, CAP_PERMITTED, &has) || has != CAP_SET)
		return 0;
	return cap_set_flag(kept, CAP_INHERITABLE, 1, &value, CAP_SET) ? -errno : 0;
}

static void make_ambient(cap_t kept, cap_value_t value)
{
	cap_flag_value_t has = CAP_CLEAR;

	if (!geteuid() || cap_get_flag(kept, value, CAP_INHERITABLE, &has) || has != CAP_SET)
		return;
	(void)cap_set_ambient(value, CAP_SET);
}

/* The ambient ones are among those that are inheritable. */
static int keep(cap_t held, unsigned int uses)
{
	cap_t kept = cap_dup(held);
	cap_value_t value;
	int err = kept ? 0 : -errno;

	for (value = 0; cap_get_bound(value) >= 0 && !err; value++)
		err = is_kept(held, value, uses) ? hand_on(kept, value) : clear(kept, value);
	if (!err && cap_set_proc(kept))
		err = -errno;
	for (value = 0; cap_get_bound(value) >= 0 && !err; value++)
		make_ambient(kept, value);
	cap_free(kept);
	return err;
}

int confine_rights(unsigned int uses)
{
	cap_t held = cap_get_proc();
	int err;

	if (!held)
		return -errno;
	drop_bound(held, uses);
	err = keep(held, uses);
	cap_free(held);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	return err;
}
