/* SPDX-License-Identifier: BSD-2-Clause */
/* helper_thread.c - see helper_thread.h. The C library has no call for it, and sets those of the calling thread alone. */
#include "base/helper_thread.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Those of the first 32 that are in `mask` stay. */
static void keep(uint32_t mask)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3] = {0};
	struct __user_cap_data_struct kept[_LINUX_CAPABILITY_U32S_3] = {0};

	if (!syscall(SYS_capget, &header, held))
		kept[0].permitted = kept[0].effective = held[0].permitted & mask;
	(void)syscall(SYS_capset, &header, kept);
}

void helper_thread_give_up_rights(void)
{
	keep(0);
}

void helper_thread_keep_nice(void)
{
	keep(CAP_TO_MASK(CAP_SYS_NICE));
}
