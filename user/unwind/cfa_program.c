/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cfa_program.c - see cfa_program.h.
 *
 * Nearly all instructions are of a few kinds, with small operands. run_program() has those, with the state in
 * registers; the others are in cfa_step.c.
 */
#include "unwind/cfa_program.h"
#include "base/array.h"
#include "unwind/cfa_step.h"
#include "unwind/dwarf_cfi.h"
#include "unwind/arch.h"

#include <errno.h>
#include <stdlib.h>

/* Rows on their way into machine->rows. */
struct row_sink {
	struct cfa_row *next;
	uint32_t rule; /* of the row before `next` */
	uint64_t rows_in, unsupported;
};

static inline void push_row(struct row_sink *sink, uint64_t pc, uint32_t rule)
{
	sink->rows_in++;
	sink->unsupported += rule == RULE_INVALID;
	if (sink->rule == rule)
		return;
	sink->rule = rule;
	*sink->next++ = (struct cfa_row){(uint32_t)pc, rule};
}

/* The state of `key` holds from `pc` on. */
static inline int close_row(struct rule_set *rules, struct row_sink *sink, struct cfa_key key,
			    uint64_t pc)
{
	uint32_t rule;
	int err = rule_set_number(rules, key, &rule);

	if (!err)
		push_row(sink, pc, rule);
	return err;
}

/* A small operand follows the instruction at `at`. */
static inline bool has_small_operand(const uint8_t *at, const uint8_t *end)
{
	return end - at > 1 && at[1] < 0x80;
}

#define LOW_HALF 0xffffffffull

/* A register is saved at the CFA, near enough. Nothing is done about those that are not followed. */
static inline bool quick_offset(const uint8_t *at, const uint8_t *end, const struct cfa_run *run,
				struct cfa_key *key)
{
	unsigned int reg = *at & CFA_OPERAND_MASK;

	if (!has_small_operand(at, end) || run->slow_regs >> reg & 1)
		return false;
	if (reg == MACHINE_REG_FP) {
		key->cfa = HOW_WITH_FP((uint32_t)key->cfa, FP_IS_CFA) | (key->cfa & ~LOW_HALF);
		key->saved = (uint32_t)(at[1] * run->data_align) | (key->saved & ~LOW_HALF);
	}
	return true;
}

static inline unsigned int quick_cfa_offset(const uint8_t *at, const uint8_t *end,
					    struct cfa_key *key)
{
	uint64_t offset;

	if (HOW_CFA(key->cfa) != CFA_IS_REG || end - at < 3)
		return 0;
	offset = at[1];
	if (offset >= 0x80) {
		if (at[2] >= 0x80)
			return 0;
		offset = (offset & 0x7f) | (uint64_t)at[2] << 7;
	}
	key->cfa = (key->cfa & LOW_HALF) | offset << 32;
	return at[1] < 0x80 ? 2 : 3;
}

/* How many there are; mostly all the rest. */
static inline unsigned int skip_nops(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *next = at;

	while (next < end && *next == CFA_NOP)
		next++;
	return (unsigned int)(next - at);
}

/*
 * The commonest instructions: the length of the one at `at`, and *advance set if it moves the pc. 0: it is none of
 * them.
 */
static inline unsigned int quick_step(const uint8_t *at, const uint8_t *end, struct cfa_run *run,
				      struct cfa_key *key, uint64_t *advance)
{
	switch (*at) {
	case CFA_ADVANCE_LOC ... CFA_ADVANCE_LOC + CFA_OPERAND_MASK:
		*advance = (*at & CFA_OPERAND_MASK) * run->code_align;
		return 1;
	case CFA_OFFSET ... CFA_OFFSET + CFA_OPERAND_MASK:
		return quick_offset(at, end, run, key) ? 2 : 0;
	case CFA_ADVANCE_LOC1:
		if (end - at < 2)
			return 0;
		*advance = at[1] * run->code_align;
		return 2;
	case CFA_ADVANCE_LOC2:
		if (end - at < 3)
			return 0;
		*advance = (at[1] | (uint32_t)at[2] << 8) * run->code_align;
		return 3;
	case CFA_DEF_CFA_OFFSET:
		return quick_cfa_offset(at, end, key);
	case CFA_REMEMBER_STATE:
		if (run->depth == CFA_STACK_MAX)
			return 0;
		run->stack[run->depth++] = *key;
		return 1;
	case CFA_RESTORE_STATE:
		if (!run->depth)
			return 0;
		*key = run->stack[--run->depth];
		return 1;
	case CFA_NOP:
		return skip_nops(at, end);
	}
	return 0;
}

/* Any instruction. Its length; 0: it makes no sense. */
static size_t slow_step(const uint8_t *at, struct cfa_run *run, struct cfa_key *key, uint64_t pc,
			uint64_t *advance)
{
	run->in.at = at;
	run->state = cfa_state_of(*key);
	run->pc = pc;
	if (!cfa_step(run, advance))
		return 0;
	*key = cfa_key_of(&run->state);
	return (size_t)(run->in.at - at);
}

static int run_program(struct cfa_run *run, struct row_sink *sink)
{
	struct rule_set *rules = run->machine->rules;
	const uint8_t *at = run->in.at, *const end = run->in.end;
	struct cfa_key key = cfa_key_of(&run->state);
	uint64_t pc = 0;
	int err;

	while (at < end) {
		uint64_t advance = 0;
		size_t length = quick_step(at, end, run, &key, &advance);

		if (__builtin_expect(!length, 0)) {
			struct cfa_key slow_key = key;
			uint64_t slow_advance;

			length = slow_step(at, run, &slow_key, pc, &slow_advance);
			key = slow_key;
			advance = slow_advance;
		}
		if (!length) {
			run->machine->bad++;
			push_row(sink, pc, RULE_INVALID);
			return 0;
		}
		at += length;
		if (!advance)
			continue;
		err = close_row(rules, sink, key, pc);
		if (err)
			return err;
		if (advance >= run->size - pc)
			return 0;
		pc += advance;
	}
	return close_row(rules, sink, key, pc);
}

static int run_rows(struct cfa_run *run)
{
	struct cfa_machine *machine = run->machine;
	struct row_sink sink = {machine->rows, UINT32_MAX, 0, 0};
	int err = run_program(run, &sink);

	machine->row_count = (size_t)(sink.next - machine->rows);
	machine->rows_in += sink.rows_in;
	machine->unsupported += sink.unsupported;
	return err;
}

/* Registers that quick_offset() cannot do, as bits. */
static uint64_t slow_regs(const struct cfa_machine *machine, const struct cie *cie)
{
	uint64_t regs = 0;

	if (cie->ra_column < 64)
		regs |= 1ull << cie->ra_column;
	if (machine->tracks_reg)
		regs |= 1ull << MACHINE_REG_TRACKED;
	if (cie->data_align > INT16_MAX || cie->data_align < INT16_MIN)
		regs |= 1ull << MACHINE_REG_FP;
	return regs;
}

static void begin_run(struct cfa_run *run, struct cfa_machine *machine, const struct cie *cie)
{
	run->machine = machine;
	run->cie = cie;
	run->initial = &machine->initial[cie - machine->frame->cies];
	run->start = 0;
	run->depth = 0;
	run->slow_regs = slow_regs(machine, cie);
	run->code_align = (uint32_t)cie->code_align;
	run->data_align = (int32_t)cie->data_align;
}

/* A CIE has no code: its program must not advance. */
static bool run_cie(struct cfa_machine *machine, const struct cie *cie, struct cfa_state *state)
{
	struct cfa_run run;
	uint64_t advance = 0;

	begin_run(&run, machine, cie);
	run.in = eh_frame_program(machine->frame, cie->program, cie->program_bytes);
	run.state = cfa_state_unknown;
	run.pc = 0;
	while (cursor_left(&run.in)) {
		if (!cfa_step(&run, &advance) || advance)
			return false;
	}
	*state = run.state;
	return true;
}

int cfa_machine_open(struct cfa_machine *machine, const struct eh_frame *frame,
		     struct rule_set *rules, bool tracks_reg)
{
	size_t i;

	*machine = (struct cfa_machine){.frame = frame, .rules = rules, .tracks_reg = tracks_reg};
	machine->initial = calloc(frame->cie_count + 1, sizeof(*machine->initial));
	if (!machine->initial)
		return -ENOMEM;
	for (i = 0; i < frame->cie_count; i++) {
		const struct cie *cie = &frame->cies[i];
		struct cfa_state state;

		machine->initial[i] = cfa_state_unknown;
		if (cie->is_bad || cie->program_bytes > UNWIND_PROGRAM_MAX_BYTES ||
		    !run_cie(machine, cie, &state))
			state = (struct cfa_state){0};
		machine->initial[i] = state;
	}
	return 0;
}

void cfa_machine_close(struct cfa_machine *machine)
{
	free(machine->initial);
	free(machine->rows);
	*machine = (struct cfa_machine){0};
}

int cfa_machine_run(struct cfa_machine *machine, const struct fde *fde)
{
	struct cfa_run run;
	int err;

	machine->row_count = 0;
	if (fde->program_bytes > UNWIND_PROGRAM_MAX_BYTES) {
		machine->too_long++;
		return 0;
	}
	begin_run(&run, machine, &machine->frame->cies[fde->cie]);
	if (!run.initial->how) {
		machine->bad++;
		return 0;
	}
	/* A row costs a byte at least. */
	err = array_reserve((void **)&machine->rows, &machine->row_capacity,
			    (size_t)fde->program_bytes + 1, sizeof(*machine->rows));
	if (err)
		return err;
	run.in = eh_frame_program(machine->frame, fde->program, fde->program_bytes);
	run.state = *run.initial;
	run.start = fde->start;
	run.size = fde->size;
	return run_rows(&run);
}
