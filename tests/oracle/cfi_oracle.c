/* SPDX-License-Identifier: BSD-2-Clause */
/* cfi_oracle.c - see cfi_oracle.h. */
#include "cfi_oracle.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

enum { DWARF_RBX = 3, DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RA = 16 };

struct oracle {
	Elf *elf;
	Dwarf_CFI *cfi;
	struct oracle_function *functions;
	size_t count, capacity;
};

static const int gb_regs[DWARF_RA] = {
	GB_REG_RAX, GB_REG_RDX, GB_REG_RCX, GB_REG_RBX, GB_REG_RSI, GB_REG_RDI,
	-1,         -1,         GB_REG_R8,  GB_REG_R9,  GB_REG_R10, GB_REG_R11,
	GB_REG_R12, GB_REG_R13, GB_REG_R14, GB_REG_R15,
};

/* ---- functions ---- */

static uint64_t read_number(const uint8_t *at, unsigned int size, bool is_signed)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	if (is_signed && size < 8 && value >> (8 * size - 1))
		value |= ~0ull << (8 * size);
	return value;
}

static unsigned int format_bytes(uint8_t encoding)
{
	switch (encoding & 7) {
	case DW_EH_PE_udata2:
		return 2;
	case DW_EH_PE_udata4:
		return 4;
	}
	return 8;
}

/* The encoding of addresses that a CIE asks for. */
static uint8_t cie_encoding(const Dwarf_CIE *cie)
{
	const uint8_t *data = cie->augmentation_data;
	const char *letter;

	if (!cie->augmentation || cie->augmentation[0] != 'z')
		return DW_EH_PE_absptr;
	for (letter = cie->augmentation + 1; *letter; letter++) {
		if (*letter == 'R')
			return *data;
		if (*letter == 'L')
			data++;
		if (*letter == 'P')
			data += 1 + format_bytes(*data);
	}
	return DW_EH_PE_absptr;
}

static void add_function(struct oracle *oracle, uint64_t start, uint64_t size)
{
	if (oracle->count == oracle->capacity) {
		oracle->capacity = oracle->capacity ? oracle->capacity * 2 : 1024;
		oracle->functions =
			realloc(oracle->functions, oracle->capacity * sizeof(*oracle->functions));
		if (!oracle->functions)
			abort();
	}
	oracle->functions[oracle->count++] = (struct oracle_function){start, start + size};
}

static void add_fde(struct oracle *oracle, const GElf_Ehdr *header, Elf_Data *data,
		    const GElf_Shdr *section, const Dwarf_FDE *fde)
{
	uint64_t offset = (uint64_t)(fde->start - (const uint8_t *)data->d_buf);
	Dwarf_CFI_Entry cie;
	unsigned int size;
	Dwarf_Off next;
	uint64_t start;
	uint8_t encoding;

	if (dwarf_next_cfi(header->e_ident, data, true, fde->CIE_pointer, &next, &cie) ||
	    !dwarf_cfi_cie_p(&cie))
		return;
	encoding = cie_encoding(&cie.cie);
	size = format_bytes(encoding);
	start = read_number(fde->start, size, encoding & DW_EH_PE_signed);
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		start += section->sh_addr + offset;
	add_function(oracle, start, read_number(fde->start + size, size, false));
}

static int by_start(const void *left, const void *right)
{
	const struct oracle_function *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void list_functions(struct oracle *oracle, Elf_Data *data, const GElf_Shdr *section)
{
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	GElf_Ehdr header;
	int end;

	if (!gelf_getehdr(oracle->elf, &header))
		return;
	for (; offset + 4 <= data->d_size; offset = next) {
		/* A zero word between records is no record. */
		if (!read_number((const uint8_t *)data->d_buf + offset, 4, false)) {
			next = offset + 4;
			continue;
		}
		end = dwarf_next_cfi(header.e_ident, data, true, offset, &next, &entry);
		if (end > 0 || next <= offset)
			break;
		if (!end && !dwarf_cfi_cie_p(&entry))
			add_fde(oracle, &header, data, section, &entry.fde);
	}
	if (oracle->count)
		qsort(oracle->functions, oracle->count, sizeof(*oracle->functions), by_start);
}

static void find_functions(struct oracle *oracle)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr section;
	size_t names;

	if (elf_getshdrstrndx(oracle->elf, &names))
		return;
	while ((scn = elf_nextscn(oracle->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &section) || section.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(oracle->elf, names, section.sh_name);
		if (name && !strcmp(name, ".eh_frame") && elf_rawdata(scn, NULL))
			list_functions(oracle, elf_rawdata(scn, NULL), &section);
	}
}

const struct oracle_function *oracle_functions(const struct oracle *oracle, size_t *count)
{
	*count = oracle->count;
	return oracle->functions;
}

/* ---- rules ---- */

static bool is_plt(const Dwarf_Op *ops, size_t count, uint8_t literal)
{
	const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, literal,
				 DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,   DW_OP_plus};
	size_t i;

	if (count != sizeof(atoms) || ops[0].number != 8 || ops[1].number != 0)
		return false;
	for (i = 0; i < count; i++) {
		if (ops[i].atom != atoms[i])
			return false;
	}
	return true;
}

static bool base_register(const Dwarf_Op *op, int *reg, int64_t *offset)
{
	if (op->atom == DW_OP_bregx && op->number < DWARF_RA) {
		*reg = (int)op->number;
		*offset = (int64_t)op->number2;
		return true;
	}
	*reg = op->atom - DW_OP_breg0;
	*offset = (int64_t)op->number;
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg15;
}

/* What follows the base register adds constants to *offset, and then to what is found there. */
static bool sum_up(const Dwarf_Op *ops, size_t count, int64_t *offset, bool *is_deref, int64_t *add)
{
	int64_t *sum = offset;
	size_t i;

	*add = 0;
	*is_deref = false;
	for (i = 1; i < count; i++) {
		if (ops[i].atom == DW_OP_deref && !*is_deref) {
			*is_deref = true;
			sum = add;
		} else if (ops[i].atom == DW_OP_plus_uconst) {
			*sum += (int64_t)ops[i].number;
		} else if (ops[i].atom >= DW_OP_lit0 && ops[i].atom <= DW_OP_lit31 &&
			   i + 1 < count && ops[i + 1].atom == DW_OP_plus) {
			*sum += ops[i++].atom - DW_OP_lit0;
		} else {
			return false;
		}
	}
	return true;
}

/* breg7 n; breg..., 0; lit8; mul; plus; deref; plus_uconst m */
static bool indexed_rule(struct gb_unwind_rule *rule, const Dwarf_Op *ops, size_t count)
{
	int64_t offset;
	int index;

	if (count != 7 || ops[0].atom != DW_OP_breg7 || ops[2].atom != DW_OP_lit8 ||
	    ops[3].atom != DW_OP_mul || ops[4].atom != DW_OP_plus || ops[5].atom != DW_OP_deref ||
	    ops[6].atom != DW_OP_plus_uconst || !base_register(&ops[1], &index, &offset) ||
	    offset || gb_regs[index] < 0)
		return false;
	rule->cfa = GB_CFA_SP_INDEXED;
	rule->reg = (uint8_t)gb_regs[index];
	rule->cfa_off = (int32_t)ops[0].number;
	rule->cfa_add = (int16_t)ops[6].number;
	return true;
}

static bool cfa_rule(struct gb_unwind_rule *rule, const Dwarf_Op *ops, size_t count)
{
	int64_t offset, add;
	bool is_deref;
	int reg;

	if (is_plt(ops, count, DW_OP_lit11) || is_plt(ops, count, DW_OP_lit10)) {
		rule->cfa = ops[4].atom == DW_OP_lit11 ? GB_CFA_PLT11 : GB_CFA_PLT10;
		return true;
	}
	if (indexed_rule(rule, ops, count))
		return true;
	if (!count || !base_register(&ops[0], &reg, &offset) ||
	    !sum_up(ops, count, &offset, &is_deref, &add))
		return false;
	if (offset != (int32_t)offset || add != (int16_t)add)
		return false;
	rule->cfa_off = (int32_t)offset;
	rule->cfa_add = (int16_t)add;
	if (reg == DWARF_RSP)
		rule->cfa = is_deref ? GB_CFA_SP_DEREF : GB_CFA_SP;
	else if (reg == DWARF_RBP)
		rule->cfa = is_deref ? GB_CFA_FP_DEREF : GB_CFA_FP;
	else if (!is_deref)
		rule->cfa = GB_CFA_REG;
	rule->reg = rule->cfa == GB_CFA_REG ? (uint8_t)gb_regs[reg] : 0;
	return rule->cfa != GB_CFA_INVALID;
}

/* Where the caller's value of a register is. */
struct place {
	enum { SAME, UNDEFINED, AT_CFA, IS_CFA, AT_RBP, AT_RSP, IN_REG, STRANGE } kind;
	int64_t value;
};

static struct place place_of(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op memory[3], *ops;
	size_t count;

	if (dwarf_frame_register(frame, reg, memory, &ops, &count))
		return (struct place){STRANGE, 0};
	if (!count)
		return (struct place){ops ? UNDEFINED : SAME, 0};
	if (count == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return (struct place){AT_CFA, 0};
	if (count == 1 && ops[0].atom == DW_OP_regx)
		return (struct place){IN_REG, (int64_t)ops[0].number};
	if (count == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return (struct place){IN_REG, ops[0].atom - DW_OP_reg0};
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value)
		return (struct place){IS_CFA, 0};
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
		return (struct place){AT_CFA, (int64_t)ops[1].number};
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_breg6)
		return (struct place){AT_RBP, (int64_t)ops[1].number};
	if (count == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_breg7)
		return (struct place){AT_RSP, (int64_t)ops[1].number};
	return (struct place){STRANGE, 0};
}

static bool fp_rule(struct gb_unwind_rule *rule, struct place place)
{
	if (place.value != (int32_t)place.value)
		return false;
	rule->fp_off = (int32_t)place.value;
	switch (place.kind) {
	case SAME:
		rule->fp = GB_FP_SAME;
		return true;
	case UNDEFINED:
		rule->fp = GB_FP_UNDEFINED;
		return true;
	case AT_CFA:
		rule->fp = GB_FP_CFA;
		return true;
	case AT_RBP:
		rule->fp = GB_FP_FP;
		return true;
	case AT_RSP:
		rule->fp = GB_FP_SP;
		return true;
	default:
		return false;
	}
}

static bool ra_rule(struct gb_unwind_rule *rule, struct place place)
{
	rule->ra = GB_RA_CFA;
	if (place.kind == AT_CFA && place.value == -8)
		return true;
	if (place.kind != IN_REG || place.value >= DWARF_RA || gb_regs[place.value] < 0)
		return false;
	rule->ra = GB_RA_REG;
	rule->reg |= (uint8_t)(gb_regs[place.value] << 4);
	return true;
}

static int16_t tracked_offset(struct place place)
{
	/* libdw calls undefined what nobody has said anything about. */
	if (place.kind == SAME || place.kind == UNDEFINED)
		return 0;
	if (place.kind == AT_CFA && place.value == (int16_t)place.value)
		return (int16_t)place.value;
	return GB_TRACKED_LOST;
}

static struct gb_unwind_rule rule_of(Dwarf_Frame *frame)
{
	struct gb_unwind_rule rule = {0};
	struct place ra = place_of(frame, DWARF_RA);
	Dwarf_Op *ops;
	size_t count;

	if (ra.kind == UNDEFINED)
		return (struct gb_unwind_rule){.cfa = GB_CFA_END};
	if (dwarf_frame_cfa(frame, &ops, &count) || !cfa_rule(&rule, ops, count) ||
	    !fp_rule(&rule, place_of(frame, DWARF_RBP)) || !ra_rule(&rule, ra))
		return (struct gb_unwind_rule){.cfa = GB_CFA_INVALID};
	rule.tracked_off = tracked_offset(place_of(frame, DWARF_RBX));
	return rule;
}

void oracle_ask(struct oracle *oracle, uint64_t address, struct oracle_answer *answer)
{
	Dwarf_Addr start, end;
	Dwarf_Frame *frame;

	*answer = (struct oracle_answer){0};
	if (dwarf_cfi_addrframe(oracle->cfi, address, &frame))
		return;
	dwarf_frame_info(frame, &start, &end, &answer->is_signal);
	answer->is_covered = true;
	answer->end = end;
	answer->rule = rule_of(frame);
	answer->sp_is_cfa = place_of(frame, DWARF_RSP).kind == IS_CFA;
	free(frame);
}

/* Up to `size` bytes of code from `address` on. */
static size_t read_code(const struct oracle *oracle, uint64_t address, uint8_t *bytes, size_t size)
{
	size_t count, i, total;
	const char *file = elf_rawfile(oracle->elf, &total);
	GElf_Phdr header;

	if (!file || elf_getphdrnum(oracle->elf, &count))
		return 0;
	for (i = 0; i < count; i++) {
		uint64_t skip;

		if (!gelf_getphdr(oracle->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    address < header.p_vaddr || address - header.p_vaddr >= header.p_filesz)
			continue;
		skip = address - header.p_vaddr;
		if (size > header.p_filesz - skip)
			size = header.p_filesz - skip;
		if (header.p_offset + skip + size > total)
			return 0;
		memcpy(bytes, file + header.p_offset + skip, size);
		return size;
	}
	return 0;
}

bool oracle_is_sigreturn(const struct oracle *oracle, uint64_t address)
{
	static const uint8_t rax[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t eax[] = {0xb8, 15, 0, 0, 0, 0x0f, 0x05};
	uint8_t bytes[18];
	size_t got = read_code(oracle, address - 8, bytes, sizeof(bytes));

	return memmem(bytes, got, rax, sizeof(rax)) || memmem(bytes, got, eax, sizeof(eax));
}

bool oracle_is_outermost_call(const struct oracle *oracle, uint64_t address)
{
	static const uint8_t mov_edi[] = {0x89, 0xc7};
	uint8_t bytes[20];
	size_t got = read_code(oracle, address - 10, bytes, sizeof(bytes));
	const uint8_t *at = memmem(bytes, got, mov_edi, sizeof(mov_edi));

	return at && at - bytes >= 2 && at[-2] == 0xff;
}

bool oracle_is_entry(const struct oracle *oracle, uint64_t address)
{
	GElf_Ehdr header;

	return gelf_getehdr(oracle->elf, &header) && address >= header.e_entry &&
	       address - header.e_entry < MACHINE_ENTRY_MAX_BYTES;
}

/* The executable section of one of these names that has the address. */
static bool find_section(const struct oracle *oracle, uint64_t address, const char *const *names,
			 GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	const char *name;
	size_t strings;
	int i;

	if (elf_getshdrstrndx(oracle->elf, &strings))
		return false;
	while ((section = elf_nextscn(oracle->elf, section))) {
		if (!gelf_getshdr(section, header) || !(header->sh_flags & SHF_EXECINSTR) ||
		    address - header->sh_addr >= header->sh_size)
			continue;
		name = elf_strptr(oracle->elf, strings, header->sh_name);
		for (i = 0; name && names[i]; i++)
			if (!strcmp(name, names[i]))
				return true;
	}
	return false;
}

int oracle_init_depth(const struct oracle *oracle, uint64_t address)
{
	static const uint8_t sub[] = {0x48, 0x83, 0xec, 0x08}, add[] = {0x48, 0x83, 0xc4, 0x08};
	static const char *const names[] = {".init", ".fini", NULL};
	uint8_t bytes[512];
	GElf_Shdr header;
	size_t got;

	if (!find_section(oracle, address, names, &header))
		return -1;
	got = read_code(oracle, header.sh_addr, bytes, sizeof(bytes));
	if (got > address - header.sh_addr)
		got = address - header.sh_addr;
	if (!memmem(bytes, got, sub, sizeof(sub)))
		return 8;
	return memmem(bytes, got, add, sizeof(add)) ? 8 : 16;
}

bool oracle_is_go(const struct oracle *oracle, uint64_t address)
{
	static const char *const names[] = {".text", NULL};
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;
	size_t strings;

	if (!find_section(oracle, address, names, &header) ||
	    elf_getshdrstrndx(oracle->elf, &strings))
		return false;
	while ((section = elf_nextscn(oracle->elf, section))) {
		name = gelf_getshdr(section, &header)
			       ? elf_strptr(oracle->elf, strings, header.sh_name)
			       : NULL;
		if (name && !strcmp(name, ".gopclntab"))
			return true;
	}
	return false;
}

bool oracle_is_start_context(const struct oracle *oracle, uint64_t address)
{
	static const uint8_t code[] = {0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff};
	uint8_t bytes[sizeof(code)];
	size_t i;

	for (i = 0; i < oracle->count; i++)
		if (address - oracle->functions[i].start <
		    oracle->functions[i].end - oracle->functions[i].start)
			break;
	return i < oracle->count &&
	       read_code(oracle, oracle->functions[i].start, bytes, sizeof(bytes)) ==
		       sizeof(bytes) &&
	       !memcmp(bytes, code, sizeof(code));
}

struct oracle *oracle_open(int fd)
{
	struct oracle *oracle = calloc(1, sizeof(*oracle));

	if (!oracle)
		abort();
	elf_version(EV_CURRENT);
	oracle->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (oracle->elf)
		oracle->cfi = dwarf_getcfi_elf(oracle->elf);
	if (!oracle->cfi) {
		oracle_close(oracle);
		return NULL;
	}
	find_functions(oracle);
	return oracle;
}

void oracle_close(struct oracle *oracle)
{
	if (!oracle)
		return;
	if (oracle->cfi)
		dwarf_cfi_end(oracle->cfi);
	if (oracle->elf)
		elf_end(oracle->elf);
	free(oracle->functions);
	free(oracle);
}
