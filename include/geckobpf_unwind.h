/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * geckobpf_unwind.h - the unwinder: from the registers of a thread to its stack, by tables.
 *
 * One step finds the rule for the frame's code address and applies it; that is all the logic there
 * is. The includer says where tables and memory are, so that the same code runs in the kernel
 * (bpf/unwind.bpf.h), on stack copies in user space, and in tests:
 *
 *   gb_find_mapping(u, pc, &mapping)  -> 0: found; 1: there is none; 2: the process is not known
 *   gb_find_rule(u, &mapping, vaddr, &rule)  -> 0, or non-zero: the file has none for this address
 *   gb_read_user(u, address, to, bytes)  -> 0, or non-zero: not readable
 *   gb_cache_slot(u, pc)  -> where the rule found for `pc` is kept from sample to sample
 *
 * Written for the verifier: state lives in a struct that the includer keeps in a map, indexes are
 * masked, there are no loops.
 */
#ifndef GECKOBPF_UNWIND_H
#define GECKOBPF_UNWIND_H

#include "geckobpf_abi.h"

/* Read from the stack at a time: a read of some hundred bytes costs hardly more than one of 8. */
#define GB_WINDOW_WORDS 32
#define GB_WINDOW_BYTES (GB_WINDOW_WORDS * 8)
/* A frame pointer that points further than this is garbage. */
#define GB_MAX_FP_FRAME_BYTES (1 << 20)

struct gb_unwind {
	__u64 regs[GB_REG_COUNT]; /* of the frame at hand */
	/* bit per register whose value in this frame is known; PC, SP and FP always are */
	__u32 known;
	__u32 count; /* words written to `words` */
	__u32 max_words;
	__u8 end; /* enum gb_stack_end once the walk is over */
	__u8 how; /* enum gb_frame_how, of the frame at hand */
	__u8 from_frame_pointer; /* the frame was found by a guess, so its PC must be checked */
	__u8 seen; /* the flags of all frames so far */
	__u32 flags; /* enum gb_mapping_flag, of the frame at hand */
	__u32 generation; /* of the process's mappings */
	struct gb_mapping mapping; /* looked up last: most frames stay in it */
	__u64 window_at; /* address of window[0]; 0: empty */
	__u64 window[GB_WINDOW_WORDS];
};

/* What was found for an address. A stack is mostly the one before, and tables are spread over far more memory. */
struct gb_cached_rule {
	__u64 pc;
	__u32 generation; /* 0: empty */
	__u32 flags;
	struct gb_unwind_rule rule;
};

static GB_INLINE int gb_find_mapping(struct gb_unwind *u, __u64 pc, struct gb_mapping *mapping);
static GB_INLINE int gb_find_rule(struct gb_unwind *u, const struct gb_mapping *mapping,
				  __u64 vaddr, struct gb_unwind_rule *rule);
static GB_INLINE int gb_read_user(struct gb_unwind *u, __u64 address, void *to, __u32 bytes);
/* The one place where what was found for `pc` is kept, or NULL. */
static GB_INLINE struct gb_cached_rule *gb_cache_slot(struct gb_unwind *u, __u64 pc);
/* Appends to the words of the sample; the includer bounds `index`. */
static GB_INLINE void gb_put_word(struct gb_unwind *u, __u32 index, __u64 word);

static GB_INLINE int gb_stop(struct gb_unwind *u, __u8 end)
{
	u->end = end;
	return 1;
}

static GB_INLINE int gb_read_word(struct gb_unwind *u, __u64 address, __u64 *word)
{
	__u64 offset = address - u->window_at;

	if (address & 7)
		return gb_read_user(u, address, word, sizeof(*word));
	if (!u->window_at || offset > GB_WINDOW_BYTES - 8) {
		u->window_at = address - GB_WINDOW_BACK;
		offset = GB_WINDOW_BACK;
		if (gb_read_user(u, u->window_at, u->window, GB_WINDOW_BYTES)) {
			u->window_at = 0; /* the window reaches past the end of the stack */
			return gb_read_user(u, address, word, sizeof(*word));
		}
	}
	offset >>= 3;
	gb_opaque(offset);
	*word = u->window[offset & (GB_WINDOW_WORDS - 1)];
	return 0;
}

/* Writes the frame at hand, whose CFA is `cfa`: see struct gb_sample. */
static GB_INLINE int gb_put_frame(struct gb_unwind *u, __u64 cfa)
{
	__u64 pc = u->regs[GB_REG_PC] & ((1ULL << GB_ADDRESS_BITS) - 1);
	__u64 words = (cfa - u->regs[GB_REG_SP]) >> 3;
	int is_far = cfa < u->regs[GB_REG_SP] || words >= GB_FRAME_FAR;

	if (u->count + 2 > u->max_words)
		return gb_stop(u, GB_STACK_FULL);
	if (is_far)
		words = GB_FRAME_FAR;
	words |= (__u64)u->how << GB_FRAME_SIZE_BITS;
	gb_put_word(u, u->count++, pc | words << GB_FRAME_PC_BITS);
	if (is_far)
		gb_put_word(u, u->count++, cfa);
	return 0;
}

static GB_INLINE int gb_apply_signal(struct gb_unwind *u)
{
	__u64 at = u->regs[GB_REG_SP] + GB_SIGNAL_REGISTERS_AT, sp = u->regs[GB_REG_SP];
	__u64 pc = u->regs[GB_REG_PC];
	__u64 next_sp = 0;
	int err = gb_read_word(u, at + GB_REG_SP * 8, &next_sp);

	u->how = GB_FRAME_HOW_SIGNAL;
	/* The frame is written before the registers are replaced; its CFA is the SP that was interrupted. */
	if (gb_put_frame(u, err ? sp + 8 : next_sp))
		return 1;
	if (err || gb_read_user(u, at, u->regs, sizeof(u->regs))) {
		u->regs[GB_REG_SP] = sp;
		u->regs[GB_REG_PC] = pc;
		return gb_stop(u, GB_STACK_READ_FAILED);
	}
	u->known = ~0U;
	u->from_frame_pointer = 0;
	u->how = GB_FRAME_HOW_INTERRUPTED;
	return 0;
}

/* What all frames but signal frames end with: the caller's registers. */
static GB_INLINE int gb_return_to(struct gb_unwind *u, __u64 cfa, __u64 pc, __u64 bp)
{
	if (pc >> GB_ADDRESS_BITS)
		return gb_stop(u, u->from_frame_pointer ? GB_STACK_FP_FAILED : GB_STACK_NO_MAPPING);
	u->regs[GB_REG_PC] = pc;
	u->regs[GB_REG_SP] = cfa;
	u->regs[GB_REG_FP] = bp;
	u->how = GB_FRAME_HOW_CALLER;
	if (pc)
		return 0;
	/* Where a guess found a 0, nothing is known; a real end has a rule that says so. */
	return gb_stop(u, u->from_frame_pointer ? GB_STACK_FP_FAILED : GB_STACK_COMPLETE);
}

/*
 * Whether the leaf, which something at `address` seems to have called, can have been called from
 * there, and has made no frame on the way to where it is.
 */
static GB_INLINE int gb_is_frameless(struct gb_unwind *u, __u64 address)
{
	__u64 pc = u->regs[GB_REG_PC], bytes, target;

	/* What a direct call reaches: this spares a look at most of what is no return address. */
	if (!address || (address - pc + (1ULL << 31)) >> 32 ||
	    gb_read_user(u, address - sizeof(bytes), &bytes, sizeof(bytes)))
		return 0;
	target = gb_arch_call_target(address, bytes);
	return target && target <= pc && pc - target <= GB_LEAF_CODE_BEFORE &&
	       !gb_arch_sets_fp(u->window, pc - target);
}

/*
 * How many words are on the stack up to the return address of a leaf that has no frame of its own,
 * so that the frame pointer is its caller's. 0: it has one, or nothing is known.
 */
static GB_INLINE __u32 gb_leaf_words(struct gb_unwind *u)
{
	__u64 address;
	__u32 words;

	u->window_at = 0; /* it has code for a moment */
	if (gb_read_user(u, u->regs[GB_REG_PC] - GB_LEAF_CODE_BEFORE, u->window,
			 GB_LEAF_CODE_BYTES))
		return 0;
	words = gb_arch_leaf_words(u->window);
	if (words || gb_read_user(u, u->regs[GB_REG_SP], &address, sizeof(address)))
		return words;
	return gb_is_frameless(u, address);
}

static GB_INLINE int gb_pop_leaf(struct gb_unwind *u, __u32 words)
{
	__u64 sp = u->regs[GB_REG_SP], bp = u->regs[GB_REG_FP], pc;

	if (gb_put_frame(u, sp + words * 8))
		return 1;
	if (gb_read_word(u, sp + words * 8 - 8, &pc) || (words > 1 && gb_read_word(u, sp, &bp)))
		return gb_stop(u, GB_STACK_READ_FAILED);
	u->known = 0;
	u->from_frame_pointer = 1;
	return gb_return_to(u, sp + words * 8, pc, bp);
}

/* A frame pointer of 0 is no end: in code that has no frame pointers it is a 0 like any other. */
static GB_INLINE int gb_apply_frame_pointer(struct gb_unwind *u)
{
	__u64 bp = u->regs[GB_REG_FP], sp = u->regs[GB_REG_SP], pc, next_bp;
	__u32 words = u->how == GB_FRAME_HOW_CALLER ? 0 : gb_leaf_words(u);

	if (words)
		return gb_pop_leaf(u, words);
	if (bp < sp || bp - sp > GB_MAX_FP_FRAME_BYTES || bp & 7 || gb_read_word(u, bp, &next_bp) ||
	    gb_read_word(u, bp + GB_FP_RETURN_AT, &pc)) {
		if (gb_put_frame(u, sp + 8))
			return 1;
		return gb_stop(u, GB_STACK_FP_FAILED);
	}
	if (gb_put_frame(u, bp + GB_FP_CFA_AT))
		return 1;
	u->known = 0;
	u->from_frame_pointer = 1;
	return gb_return_to(u, bp + GB_FP_CFA_AT, pc, next_bp);
}

static GB_INLINE int gb_is_known(const struct gb_unwind *u, __u32 reg)
{
	return u->known >> reg & 1 || reg == GB_REG_FP || reg == GB_REG_SP;
}

/* The CFA by `rule`. 0, or non-zero with u->end set. */
static GB_INLINE int gb_cfa(struct gb_unwind *u, const struct gb_unwind_rule *rule, __u64 *cfa)
{
	__u64 sp = u->regs[GB_REG_SP], bp = u->regs[GB_REG_FP];
	__u32 reg = rule->reg & 15;

	switch (rule->cfa) {
	case GB_CFA_SP:
		*cfa = sp + (__s64)rule->cfa_off;
		return 0;
	case GB_CFA_FP:
		*cfa = bp + (__s64)rule->cfa_off;
		return 0;
	case GB_CFA_ARCH_1:
	case GB_CFA_ARCH_2:
		*cfa = gb_arch_cfa(rule->cfa == GB_CFA_ARCH_1, sp, u->regs[GB_REG_PC]);
		return 0;
	case GB_CFA_FP_DEREF:
	case GB_CFA_SP_DEREF:
		if (gb_read_word(u, (rule->cfa == GB_CFA_FP_DEREF ? bp : sp) + (__s64)rule->cfa_off,
				 cfa))
			return gb_stop(u, GB_STACK_READ_FAILED);
		*cfa += (__s64)rule->cfa_add;
		return 0;
	case GB_CFA_REG:
		if (!gb_is_known(u, reg))
			return gb_stop(u, GB_STACK_NO_RULE);
		*cfa = u->regs[reg] + (__s64)rule->cfa_off;
		return 0;
	case GB_CFA_SP_INDEXED:
		if (!gb_is_known(u, reg))
			return gb_stop(u, GB_STACK_NO_RULE);
		if (gb_read_word(u, sp + u->regs[reg] * 8 + (__s64)rule->cfa_off, cfa))
			return gb_stop(u, GB_STACK_READ_FAILED);
		*cfa += (__s64)rule->cfa_add;
		return 0;
	default:
		return gb_stop(u, GB_STACK_NO_RULE);
	}
}

static GB_INLINE int gb_caller_fp(struct gb_unwind *u, const struct gb_unwind_rule *rule, __u64 cfa,
				  __u64 *bp)
{
	switch (rule->fp) {
	case GB_FP_CFA:
		return gb_read_word(u, cfa + (__s64)rule->fp_off, bp);
	case GB_FP_FP:
		return gb_read_word(u, u->regs[GB_REG_FP] + (__s64)rule->fp_off, bp);
	case GB_FP_SP:
		return gb_read_word(u, u->regs[GB_REG_SP] + (__s64)rule->fp_off, bp);
	case GB_FP_UNDEFINED:
		*bp = 0;
		return 0;
	default:
		*bp = u->regs[GB_REG_FP];
		return 0;
	}
}

/*
 * Follows GB_REG_TRACKED where the file says where it is; elsewhere it is lost with all registers but the three. But
 * hand-written code keeps its CFA in whatever register the functions that it calls leave alone; one that has put nothing
 * on the stack has not saved that register, so its caller has it still.
 */
static GB_INLINE void gb_caller_tracked(struct gb_unwind *u, const struct gb_unwind_rule *rule,
					__u64 cfa)
{
	__u32 is_known = u->known >> GB_REG_TRACKED & 1, kept = 0;

	if (u->how != GB_FRAME_HOW_CALLER && cfa - u->regs[GB_REG_SP] == -GB_RETURN_AT)
		kept = u->known & ~(1U << GB_REG_TRACKED);
	u->known = kept;
	if (!(u->flags & GB_MAPPING_TRACKS_REG))
		return;
	if (rule->tracked_off == GB_TRACKED_LOST)
		is_known = 0;
	else if (rule->tracked_off)
		is_known =
			!gb_read_word(u, cfa + (__s64)rule->tracked_off, &u->regs[GB_REG_TRACKED]);
	u->known = kept | is_known << GB_REG_TRACKED;
}

/*
 * Whether the caller's frame can be at `cfa`. It lies above, unless the rule says that it is on
 * another stack. Where the return address is not on the stack, as in vfork, a frame may be empty.
 */
static GB_INLINE int gb_is_possible(const struct gb_unwind_rule *rule, __u64 sp, __u64 cfa)
{
	if (cfa > sp)
		return 1;
	return cfa == sp ? rule->ra != GB_RA_CFA : rule->ra == GB_RA_OTHER_STACK;
}

static GB_INLINE int gb_apply_rule(struct gb_unwind *u, const struct gb_unwind_rule *rule)
{
	__u64 sp = u->regs[GB_REG_SP], cfa = 0, bp = 0, pc = 0;
	__u32 ra_reg = rule->reg >> 4;

	if (gb_cfa(u, rule, &cfa) || !gb_is_possible(rule, sp, cfa)) {
		__u8 end = u->end ? u->end : GB_STACK_NOT_MONOTONIC;

		u->end = 0;
		return gb_put_frame(u, sp + 8) ? 1 : gb_stop(u, end);
	}
	if (gb_put_frame(u, cfa))
		return 1;
	if (rule->ra == GB_RA_REG) {
		if (!gb_is_known(u, ra_reg))
			return gb_stop(u, GB_STACK_NO_RULE);
		pc = u->regs[ra_reg];
	} else if (gb_read_word(u, cfa + GB_RETURN_AT, &pc)) {
		return gb_stop(u, GB_STACK_READ_FAILED);
	}
	if (gb_caller_fp(u, rule, cfa, &bp))
		return gb_stop(u, GB_STACK_READ_FAILED);
	gb_caller_tracked(u, rule, cfa);
	u->from_frame_pointer = rule->ra == GB_RA_OTHER_STACK; /* across stacks it is a guess too */
	if (gb_return_to(u, cfa, pc, bp))
		return 1;
	if (rule->ra == GB_RA_INTERRUPTED)
		u->how = GB_FRAME_HOW_INTERRUPTED;
	return 0;
}

/* The address has no mapping: what the frame before led to was garbage if it was a guess, else it is shown as it is. */
static GB_INLINE int gb_stop_unmapped(struct gb_unwind *u, int why)
{
	if (u->from_frame_pointer)
		return gb_stop(u, GB_STACK_FP_FAILED);
	if (gb_put_frame(u, u->regs[GB_REG_SP] + 8))
		return 1;
	return gb_stop(u, why == 2 ? GB_STACK_NO_PROCESS : GB_STACK_NO_MAPPING);
}

/*
 * What is known of code that has no rule: nothing, as a rule. But where a caller goes on its code may say it (as that of
 * the trampolines by which interpreters make their functions seen by profilers).
 */
static GB_INLINE void gb_look_at_code(struct gb_unwind *u, struct gb_unwind_rule *rule)
{
	__u64 code;
	__u32 bytes;

	__builtin_memset(rule, 0, sizeof(*rule));
	rule->cfa = GB_CFA_FRAME_POINTER;
	if (u->how != GB_FRAME_HOW_CALLER ||
	    gb_read_user(u, u->regs[GB_REG_PC], &code, sizeof(code)))
		return;
	bytes = gb_arch_rest_bytes(code);
	if (!bytes)
		return;
	rule->cfa = GB_CFA_SP;
	rule->cfa_off = bytes;
}

/* Finds the rule for `pc` by mapping and tables, into `slot`. 0, or as gb_find_mapping(). */
static GB_INLINE int gb_look_up(struct gb_unwind *u, __u64 pc, struct gb_cached_rule *slot)
{
	int why;

	if (pc < u->mapping.begin || pc >= u->mapping.end) {
		why = gb_find_mapping(u, pc, &u->mapping);
		if (why)
			return why;
	}
	slot->generation = 0; /* half-filled is empty */
	if (u->mapping.flags & GB_MAPPING_NO_TABLE ||
	    gb_find_rule(u, &u->mapping, pc - u->mapping.bias, &slot->rule) ||
	    slot->rule.cfa == GB_CFA_FRAME_POINTER)
		gb_look_at_code(u, &slot->rule);
	slot->pc = pc;
	slot->flags = u->mapping.flags;
	slot->generation = u->generation;
	return 0;
}

/* One frame. 0: go on; 1: the walk is over, u->end says why. */
static GB_INLINE int gb_unwind_step(struct gb_unwind *u)
{
	__u64 pc =
		u->regs[GB_REG_PC] - (u->how == GB_FRAME_HOW_CALLER); /* that is behind the call */
	struct gb_cached_rule *slot = gb_cache_slot(u, pc);
	struct gb_unwind_rule rule;
	int why;

	if (!slot)
		return gb_stop(u, GB_STACK_FAILED);
	if (slot->pc != pc || slot->generation != u->generation) {
		why = gb_look_up(u, pc, slot);
		if (why)
			return gb_stop_unmapped(u, why);
	}
	u->flags = slot->flags;
	u->seen |= (__u8)slot->flags;
	rule = slot->rule;
	switch (rule.cfa) {
	case GB_CFA_FRAME_POINTER:
		return gb_apply_frame_pointer(u);
	case GB_CFA_SIGNAL:
		return gb_apply_signal(u);
	case GB_CFA_END:
		if (rule.ra == GB_RA_INTERRUPTED)
			u->how = GB_FRAME_HOW_INTERRUPTED;
		return gb_put_frame(u, u->regs[GB_REG_SP] + 8) ? 1 : gb_stop(u, GB_STACK_COMPLETE);
	default:
		return gb_apply_rule(u, &rule);
	}
}

#endif
