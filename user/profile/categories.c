/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * categories.c - see categories.h.
 *
 * A rule is a name, or the begin of names if it ends with '*'; underscores that a name begins with do not count, nor does
 * what compilers and linkers put behind it. The longest rule that fits is taken. A function of the kernel that fits none
 * does what its caller does.
 */
#include "profile/categories.h"

#include <stddef.h>
#include <string.h>

#include "profile/model.h"
#include "target/object.h"

struct rules {
	enum profile_category_index category;
	uint8_t subcategory;
	const char *const *names; /* ends with NULL */
};

/* clang-format off */
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct rules kernel_rules[] = {
	{CATEGORY_KERNEL, KERNEL_SYSTEM_CALL, NAMES(
		"entry_SYSCALL*", "do_syscall*", "do_fast_syscall*", "do_int80*", "x64_sys*", "ia32_sys*", "ia32_compat_sys*",
		"arm64_sys*", "se_sys_*", "do_sys_*", "ksys_*", "syscall_*", "el0_svc*", "invoke_syscall*", "entry_INT80*")},
	{CATEGORY_KERNEL, KERNEL_PAGE_FAULT, NAMES(
		"asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "do_kern_addr_fault", "handle_mm_fault",
		"handle_pte_fault", "do_anonymous_page", "do_fault*", "do_wp_page", "wp_page_*", "do_swap_page", "do_cow_fault",
		"do_read_fault", "do_shared_fault", "finish_fault", "filemap_map_pages", "do_huge_pmd_*", "do_numa_page",
		"el0_da", "el0_ia", "do_page_fault", "do_mem_abort", "lock_vma_under_rcu", "lock_mm_and_find_vma")},
	{CATEGORY_KERNEL, KERNEL_INTERRUPT, NAMES(
		"asm_sysvec_*", "sysvec_*", "asm_common_interrupt", "common_interrupt", "asm_exc_nmi", "exc_nmi", "irq_*",
		"handle_irq*", "handle_edge_irq", "handle_fasteoi_irq", "handle_softirqs", "do_softirq*", "hrtimer_interrupt",
		"hrtimer_run_queues", "tick_*", "run_timer_softirq", "run_timer_base", "rcu_core*", "rcu_do_batch", "el1_irq",
		"el0_irq", "run_ksoftirqd", "asm_exc_*", "update_process_times", "perf_event_task_tick")},
	{CATEGORY_KERNEL, KERNEL_NETWORK, NAMES(
		"tcp_*", "tcp4_*", "tcp6_*", "udp_*", "udpv6_*", "udp6_*", "ip_*", "ip6_*", "ipv6_*", "inet_*", "inet6_*", "sock_*",
		"sk_*", "skb_*", "net_*", "netif_*", "dev_queue_xmit*", "dev_hard_start_xmit", "dev_direct_xmit", "napi_*",
		"unix_*", "nf_*", "nft_*", "xt_*", "ipt_*", "br_*", "veth_*", "loopback_*", "process_backlog", "qdisc_*",
		"sch_direct_xmit", "fq_codel_*", "pfifo_*", "virtnet_*", "neigh_*", "fib_*", "release_sock*", "lock_sock*",
		"netlink_*", "packet_*", "alloc_skb*", "build_skb*", "kfree_skb*", "consume_skb", "icmp_*", "eth_*", "gro_*", "xdp_*",
		"tls_*", "mptcp_*", "sys_sendmsg", "sys_recvmsg", "sys_sendto", "sys_recvfrom", "sys_connect", "sys_accept4",
		"import_ubuf", "arp_*", "igmp_*", "tun_*", "vxlan_*", "wg_*", "sctp_*", "vsock_*", "rtnetlink_*")},
	{CATEGORY_KERNEL, KERNEL_FILE_SYSTEM, NAMES(
		"vfs_*", "ext4_*", "xfs_*", "btrfs_*", "f2fs_*", "fuse_*", "ovl_*", "nfs_*", "nfs4_*", "cifs_*", "smb2_*", "p9_*",
		"v9fs_*", "jbd2_*", "iomap_*", "generic_file_*", "generic_perform_write", "generic_write_*", "filemap_*",
		"page_cache_*", "d_*", "dentry_*", "lookup_*", "path_*", "link_path_walk*", "walk_component", "open_last_lookups",
		"do_filp_open", "do_open*", "do_dentry_open", "filename_*", "getname*", "inode_*", "iget*", "iput*", "dput*", "mnt_*",
		"new_sync_*", "shmem_*", "simple_lookup*", "simple_read*", "simple_write*", "ramfs_*", "kernfs_*", "proc_*", "seq_*", "sysfs_*", "pipe_*", "anon_pipe_*",
		"fd_install", "fput*", "fget*", "file_*", "do_iter_*", "submit_bio*", "blk_*", "bio_*", "nvme_*", "scsi_*", "virtblk_*",
		"block_*", "bdev_*", "writeback_*", "wb_*", "balance_dirty*", "read_pages", "do_read_cache*", "splice_*", "do_splice*",
		"squashfs_*", "erofs_*", "isofs_*", "fat_*", "fsnotify*", "locks_*", "do_getdents*", "iterate_dir", "dm_*", "md_*",
		"zonefs_*", "eventfd_*", "do_unlinkat", "do_renameat2", "may_open", "step_into",
		"try_to_unlazy", "legitimize_*", "complete_walk", "alloc_empty_file", "close_fd*", "file_close*")},
	{CATEGORY_KERNEL, KERNEL_MEMORY, NAMES(
		"alloc_pages*", "alloc_frozen_pages*", "get_page_from_freelist", "rmqueue*", "free_pages*", "free_unref_*",
		"free_one_page", "free_frozen_*", "free_pgtables", "free_pcppages*", "kmem_cache_*", "kmalloc*", "kfree", "kfree_*",
		"slab_*", "kvmalloc*", "kvfree*", "vmalloc*", "vfree*", "vmap_*", "vm_area_*", "vm_mmap*", "mmap_*", "do_mmap*", "munmap*",
		"do_munmap*", "do_vmi_*", "unmap_*", "zap_*", "tlb_*", "flush_tlb*", "mas_*", "mt_*", "vma_*", "exit_mmap", "shrink_*",
		"try_to_free_*", "kswapd*", "compact_*", "migrate_*", "lru_*", "folio_*", "mem_cgroup_*", "memcg_*", "obj_cgroup_*",
		"charge_memcg", "try_charge*", "mm_*", "mmput*", "copy_page_range", "dup_mm*", "do_brk*", "mprotect_*", "change_protection*",
		"madvise_*", "do_madvise", "khugepaged*", "collapse_*", "pte_*", "pmd_*", "pcpu_*", "release_pages*", "put_pages*",
		"free_swap*", "swap_*", "uncharge_*", "page_counter_*", "page_remove_rmap", "page_add_*", "anon_vma_*", "unlink_anon_vmas",
		"unlink_file_vma*", "get_user_pages*", "gup_*", "refill_obj_stock", "drain_obj_stock", "allocate_slab", "new_slab",
		"deactivate_slab", "prep_new_page", "clear_page*", "clear_huge_page", "clear_gigantic_page", "copy_mc_*", "free_slab",
		"rcu_free_sheaf", "split_vma", "expand_stack", "mlock_*", "oom_*", "out_of_memory")},
	{CATEGORY_KERNEL, KERNEL_SCHEDULER, NAMES(
		"schedule*", "sched_*", "pick_next_*", "pick_task*", "pick_eevdf", "enqueue_task*", "enqueue_entity", "dequeue_task*",
		"dequeue_entity", "dequeue_entities", "update_curr*", "update_load_avg*", "update_rq_clock*", "try_to_wake_up", "ttwu_*",
		"wake_up_*", "default_wake_function", "autoremove_wake_function", "finish_task_switch*", "context_switch", "switch_to*",
		"switch_mm*", "load_balance", "newidle_balance", "sched_balance_*", "select_task_rq*", "select_idle_*", "set_next_*",
		"put_prev_*", "resched_*", "task_tick*", "scheduler_tick", "preempt_schedule*", "io_schedule*", "do_sched_*", "yield_*",
		"do_task_dead", "check_preempt_*", "wakeup_preempt*", "psi_*", "prepare_task_switch", "migration_*", "reweight_*")},
	{CATEGORY_IDLE, 0, NAMES(
		"do_idle", "cpuidle_*", "default_idle*", "native_safe_halt", "pv_native_safe_halt", "arch_cpu_idle*", "mwait_idle*",
		"intel_idle*", "acpi_idle*", "acpi_safe_halt", "poll_idle", "cpu_startup_entry", "haltpoll_*")},
};

/* By the name of the file; a library that is not of these is one whose name says so. */
static const struct rules file_rules[] = {
	{CATEGORY_LIBC, 0, NAMES(
		"libc.so*", "libc-2.*", "libc.musl-*", "ld-linux*", "ld-musl-*", "ld-2.*", "ld.so*", "libpthread*", "libm.so*", "libm-2.*",
		"libmvec*", "librt.so*", "librt-2.*", "libdl.so*", "libdl-2.*", "libresolv*", "libuClibc*")},
	{CATEGORY_USER, USER_JIT, NAMES("[anon]", "[heap]", "[stack]", "[anon:*", "memfd:*", "jitted-*")},
	{CATEGORY_USER, USER_UNNAMED, NAMES("[unmapped]")},
	{CATEGORY_LIBRARY, 0, NAMES("[vdso]", "[vsyscall]", "[uprobes]")},
};

static const struct rules function_rules[] = {
	{CATEGORY_USER, USER_ALLOCATION, NAMES(
		"malloc", "calloc", "realloc", "reallocarray", "free", "cfree", "memalign", "aligned_alloc", "posix_memalign", "valloc",
		"pvalloc", "malloc_consolidate", "malloc_trim", "malloc_usable_size", "sysmalloc*", "systrim*", "libc_malloc*",
		"libc_free*", "libc_calloc*", "libc_realloc*", "libc_memalign*", "int_malloc", "int_free*", "int_realloc", "int_memalign",
		"unlink_chunk*", "tcache_*", "arena_get*", "free_sized", "operator new*", "operator delete*", "je_*", "tc_*", "mi_*",
		"tcmalloc::*", "g_malloc*", "g_free*", "g_realloc*", "g_slice_*", "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc",
		"PyObject_Free", "PyMem_Malloc", "PyMem_Realloc", "PyMem_Free", "pymalloc_*", "runtime.mallocgc*", "runtime.newobject",
		"runtime.makeslice", "runtime.growslice", "rust_alloc*", "rust_dealloc*", "rust_realloc*", "rdl_*", "rg_alloc*",
		"alloc::alloc::*", "zmalloc", "zcalloc", "zrealloc", "zfree", "xmalloc", "xcalloc", "xrealloc", "ggc_alloc*", "ggc_internal_*")},
};
/* clang-format on */

/* What may stand behind a name that is whole: a version, a clone's suffix, arguments, nothing. */
static bool is_end(char c)
{
	return !c || c == '.' || c == '@' || c == '(' || c == '<';
}

/* How much of the name the rule says; 0: it does not fit. */
static size_t fit(const char *rule, const char *name)
{
	size_t i = 0;

	while (rule[i] && rule[i] == name[i])
		i++;
	return rule[i] == '*' || (!rule[i] && is_end(name[i])) ? i : 0;
}

static const struct rules *find_rule(const struct rules *rules, size_t count, const char *name)
{
	const struct rules *best = NULL;
	size_t longest = 0, i, length;
	const char *const *rule;

	for (i = 0; i < count; i++)
		for (rule = rules[i].names; *rule; rule++) {
			length = fit(*rule, name);
			if (length <= longest)
				continue;
			longest = length;
			best = &rules[i];
		}
	return best;
}

#define FIND(rules, name) find_rule(rules, sizeof(rules) / sizeof(*(rules)), name)

static const char *without_underscores(const char *name)
{
	return name + strspn(name, "_");
}

static void decide_kernel(const struct profile_function *function, struct profile_frame *frame)
{
	const struct rules *rule =
		function->name ? FIND(kernel_rules, without_underscores(function->name)) : NULL;

	frame->inherits = !rule;
	if (!rule)
		return;
	frame->category = (uint8_t)rule->category;
	frame->subcategory = rule->subcategory;
}

/* "libz.so.1", "plugin.so". */
static bool is_library(const char *lib)
{
	const char *so = strstr(lib, ".so");

	return so && (!so[3] || so[3] == '.');
}

static void decide_user(const struct profile_function *function, bool is_unnamed,
			struct profile_frame *frame)
{
	const struct rules *rule = function->lib ? FIND(file_rules, function->lib) : NULL;

	if (rule) {
		frame->category = (uint8_t)rule->category;
		frame->subcategory = rule->subcategory;
	} else if (function->lib && is_library(function->lib)) {
		frame->category = CATEGORY_LIBRARY;
	}
	if (frame->subcategory)
		return;
	if (is_unnamed)
		frame->subcategory = USER_UNNAMED;
	else if (function->name && FIND(function_rules, without_underscores(function->name)))
		frame->subcategory = USER_ALLOCATION;
}

void categories_decide(const struct profile_function *function, bool is_unnamed,
		       struct profile_frame *frame)
{
	if (frame->category == CATEGORY_KERNEL)
		decide_kernel(function, frame);
	else if (frame->category == CATEGORY_USER)
		decide_user(function, is_unnamed, frame);
}
