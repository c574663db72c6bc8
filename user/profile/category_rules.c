/* SPDX-License-Identifier: BSD-2-Clause */
/* category_rules.c - see category_rules.h. The names of each row are in the order of their bytes. */
#include "profile/category_rules.h"

/* clang-format off */
#define LIST(...) ((const char *const[]){__VA_ARGS__})
#define NAMES(...) LIST(__VA_ARGS__), sizeof(LIST(__VA_ARGS__)) / sizeof(char *)

static const struct category_rules kernel_rules[] = {
	{CATEGORY_KERNEL, KERNEL_SYSTEM_CALL, NAMES(
		"arm64_sys*", "do_fast_syscall*", "do_int80*", "do_sys_*", "do_syscall*", "el0_svc*", "entry_INT80*",
		"entry_SYSCALL*", "ia32_compat_sys*", "ia32_sys*", "invoke_syscall*", "ksys_*", "se_sys_*", "syscall_*",
		"x64_sys*")},
	{CATEGORY_KERNEL, KERNEL_PAGE_FAULT, NAMES(
		"asm_exc_page_fault", "do_anonymous_page", "do_cow_fault", "do_fault*", "do_huge_pmd_*",
		"do_kern_addr_fault", "do_mem_abort", "do_numa_page", "do_page_fault", "do_read_fault", "do_shared_fault",
		"do_swap_page", "do_user_addr_fault", "do_wp_page", "el0_da", "el0_ia", "exc_page_fault",
		"filemap_map_pages", "finish_fault", "handle_mm_fault", "handle_pte_fault", "lock_mm_and_find_vma",
		"lock_vma_under_rcu", "wp_page_*")},
	{CATEGORY_KERNEL, KERNEL_INTERRUPT, NAMES(
		"asm_common_interrupt", "asm_exc_*", "asm_exc_nmi", "asm_sysvec_*", "common_interrupt", "do_softirq*",
		"el0_irq", "el1_irq", "exc_nmi", "handle_edge_irq", "handle_fasteoi_irq", "handle_irq*", "handle_softirqs",
		"hrtimer_interrupt", "hrtimer_run_queues", "irq_*", "perf_event_task_tick", "rcu_core*", "rcu_do_batch",
		"run_ksoftirqd", "run_timer_base", "run_timer_softirq", "sysvec_*", "tick_*", "update_process_times")},
	{CATEGORY_KERNEL, KERNEL_NETWORK, NAMES(
		"alloc_skb*", "arp_*", "br_*", "build_skb*", "consume_skb", "dev_direct_xmit", "dev_hard_start_xmit",
		"dev_queue_xmit*", "eth_*", "fib_*", "fq_codel_*", "gro_*", "icmp_*", "igmp_*", "import_ubuf", "inet6_*",
		"inet_*", "ip6_*", "ip_*", "ipt_*", "ipv6_*", "kfree_skb*", "lock_sock*", "loopback_*", "mptcp_*", "napi_*",
		"neigh_*", "net_*", "netif_*", "netlink_*", "nf_*", "nft_*", "packet_*", "pfifo_*", "process_backlog",
		"qdisc_*", "release_sock*", "rtnetlink_*", "sch_direct_xmit", "sctp_*", "sk_*", "skb_*", "sock_*",
		"sys_accept4", "sys_connect", "sys_recvfrom", "sys_recvmsg", "sys_sendmsg", "sys_sendto", "tcp4_*",
		"tcp6_*", "tcp_*", "tls_*", "tun_*", "udp6_*", "udp_*", "udpv6_*", "unix_*", "veth_*", "virtnet_*",
		"vsock_*", "vxlan_*", "wg_*", "xdp_*", "xt_*")},
	{CATEGORY_KERNEL, KERNEL_FILE_SYSTEM, NAMES(
		"alloc_empty_file", "anon_pipe_*", "balance_dirty*", "bdev_*", "bio_*", "blk_*", "block_*", "btrfs_*",
		"cifs_*", "close_fd*", "complete_walk", "d_*", "dentry_*", "dm_*", "do_dentry_open", "do_filp_open",
		"do_getdents*", "do_iter_*", "do_open*", "do_read_cache*", "do_renameat2", "do_splice*", "do_unlinkat",
		"dput*", "erofs_*", "eventfd_*", "ext4_*", "f2fs_*", "fat_*", "fd_install", "fget*", "file_*",
		"file_close*", "filemap_*", "filename_*", "fput*", "fsnotify*", "fuse_*", "generic_file_*",
		"generic_perform_write", "generic_write_*", "getname*", "iget*", "inode_*", "iomap_*", "iput*", "isofs_*",
		"iterate_dir", "jbd2_*", "kernfs_*", "legitimize_*", "link_path_walk*", "locks_*", "lookup_*", "may_open",
		"md_*", "mnt_*", "new_sync_*", "nfs4_*", "nfs_*", "nvme_*", "open_last_lookups", "ovl_*", "p9_*",
		"page_cache_*", "path_*", "pipe_*", "proc_*", "ramfs_*", "read_pages", "scsi_*", "seq_*", "shmem_*",
		"simple_lookup*", "simple_read*", "simple_write*", "smb2_*", "splice_*", "squashfs_*", "step_into",
		"submit_bio*", "sysfs_*", "try_to_unlazy", "v9fs_*", "vfs_*", "virtblk_*", "walk_component", "wb_*",
		"writeback_*", "xfs_*", "zonefs_*")},
	{CATEGORY_KERNEL, KERNEL_MEMORY, NAMES(
		"alloc_frozen_pages*", "alloc_pages*", "allocate_slab", "anon_vma_*", "change_protection*", "charge_memcg",
		"clear_gigantic_page", "clear_huge_page", "clear_page*", "collapse_*", "compact_*", "copy_mc_*",
		"copy_page_range", "deactivate_slab", "do_brk*", "do_madvise", "do_mmap*", "do_munmap*", "do_vmi_*",
		"drain_obj_stock", "dup_mm*", "exit_mmap", "expand_stack", "flush_tlb*", "folio_*", "free_frozen_*",
		"free_one_page", "free_pages*", "free_pcppages*", "free_pgtables", "free_slab", "free_swap*",
		"free_unref_*", "get_page_from_freelist", "get_user_pages*", "gup_*", "kfree", "kfree_*", "khugepaged*",
		"kmalloc*", "kmem_cache_*", "kswapd*", "kvfree*", "kvmalloc*", "lru_*", "madvise_*", "mas_*",
		"mem_cgroup_*", "memcg_*", "migrate_*", "mlock_*", "mm_*", "mmap_*", "mmput*", "mprotect_*", "mt_*",
		"munmap*", "new_slab", "obj_cgroup_*", "oom_*", "out_of_memory", "page_add_*", "page_counter_*",
		"page_remove_rmap", "pcpu_*", "pmd_*", "prep_new_page", "pte_*", "put_pages*", "rcu_free_sheaf",
		"refill_obj_stock", "release_pages*", "rmqueue*", "shrink_*", "slab_*", "split_vma", "swap_*", "tlb_*",
		"try_charge*", "try_to_free_*", "uncharge_*", "unlink_anon_vmas", "unlink_file_vma*", "unmap_*", "vfree*",
		"vm_area_*", "vm_mmap*", "vma_*", "vmalloc*", "vmap_*", "zap_*")},
	{CATEGORY_KERNEL, KERNEL_SCHEDULER, NAMES(
		"autoremove_wake_function", "check_preempt_*", "context_switch", "default_wake_function",
		"dequeue_entities", "dequeue_entity", "dequeue_task*", "do_sched_*", "do_task_dead", "enqueue_entity",
		"enqueue_task*", "finish_task_switch*", "io_schedule*", "load_balance", "migration_*", "newidle_balance",
		"pick_eevdf", "pick_next_*", "pick_task*", "preempt_schedule*", "prepare_task_switch", "psi_*",
		"put_prev_*", "resched_*", "reweight_*", "sched_*", "sched_balance_*", "schedule*", "scheduler_tick",
		"select_idle_*", "select_task_rq*", "set_next_*", "switch_mm*", "switch_to*", "task_tick*",
		"try_to_wake_up", "ttwu_*", "update_curr*", "update_load_avg*", "update_rq_clock*", "wake_up_*",
		"wakeup_preempt*", "yield_*")},
	{CATEGORY_IDLE, 0, NAMES(
		"acpi_idle*", "acpi_safe_halt", "arch_cpu_idle*", "cpu_startup_entry", "cpuidle_*", "default_idle*",
		"do_idle", "haltpoll_*", "intel_idle*", "mwait_idle*", "native_safe_halt", "poll_idle",
		"pv_native_safe_halt")},
};

/* By the name of the file; a library that is not of these is one whose name says so. */
static const struct category_rules file_rules[] = {
	{CATEGORY_LIBC, 0, NAMES(
		"ld-2.*", "ld-linux*", "ld-musl-*", "ld.so*", "libc-2.*", "libc.musl-*", "libc.so*", "libdl-2.*",
		"libdl.so*", "libm-2.*", "libm.so*", "libmvec*", "libpthread*", "libresolv*", "librt-2.*", "librt.so*",
		"libuClibc*")},
	{CATEGORY_USER, USER_JIT, NAMES(
		"[anon:*", "[anon]", "[heap]", "[stack]", "jitted-*", "memfd:*")},
	{CATEGORY_USER, USER_UNNAMED, NAMES("[unmapped]")},
	{CATEGORY_LIBRARY, 0, NAMES("[uprobes]", "[vdso]", "[vsyscall]")},
};

static const struct category_rules function_rules[] = {
	{CATEGORY_USER, USER_ALLOCATION, NAMES(
		"PyMem_Free", "PyMem_Malloc", "PyMem_Realloc", "PyObject_Calloc", "PyObject_Free", "PyObject_Malloc",
		"PyObject_Realloc", "aligned_alloc", "alloc::alloc::*", "arena_get*", "calloc", "cfree", "free",
		"free_sized", "g_free*", "g_malloc*", "g_realloc*", "g_slice_*", "ggc_alloc*", "ggc_internal_*",
		"int_free*", "int_malloc", "int_memalign", "int_realloc", "je_*", "libc_calloc*", "libc_free*",
		"libc_malloc*", "libc_memalign*", "libc_realloc*", "malloc", "malloc_consolidate", "malloc_trim",
		"malloc_usable_size", "memalign", "mi_*", "mid_memalign", "mremap_chunk", "munmap_chunk",
		"operator delete*", "operator new*", "posix_memalign", "ptmalloc_init*", "pvalloc", "pymalloc_*", "rdl_*",
		"realloc", "reallocarray", "rg_alloc*", "runtime.growslice", "runtime.makeslice", "runtime.mallocgc*",
		"runtime.newobject", "rust_alloc*", "rust_dealloc*", "rust_realloc*", "sysmalloc*", "systrim*", "tc_*",
		"tcache_*", "tcmalloc::*", "unlink_chunk*", "valloc", "xcalloc", "xmalloc", "xrealloc", "zcalloc", "zfree",
		"zmalloc", "zrealloc")},
	/* It interrupts what seems to be its caller. */
	{CATEGORY_USER, 0, NAMES("restore_rt")},
};
/* clang-format on */

#define TABLE(rules)                                                                               \
	{                                                                                          \
		rules, sizeof(rules) / sizeof(*(rules))                                            \
	}

const struct category_table kernel_category_table = TABLE(kernel_rules);
const struct category_table file_category_table = TABLE(file_rules);
const struct category_table function_category_table = TABLE(function_rules);
