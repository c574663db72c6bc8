/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shadow_oracle.c - compares the unwinder with the calls that a program really makes.
 *
 *   shadow_oracle [--steps N] [--every N] [--at FUNCTION] [--least PERCENT] -- COMMAND [ARG...]
 *
 * The command is single-stepped from its first instruction on, or from the first call of FUNCTION (a symbol of any file
 * that is mapped when the program begins); a return address that a call pushes goes onto a shadow stack, and leaves it
 * as soon as the stack pointer is above it. After every Nth step the stack is unwound by the tables and the code that
 * unwind samples in the kernel. It must be the shadow stack; a stack that says it is truncated must be the beginning of it, and at
 * least PERCENT of them must be complete.
 *
 * What called FUNCTION is not known, so what the unwinder says there at first is what it must say from then on.
 * Exit status: 1 if a stack was wrong, or too few were complete; 77: the command or FUNCTION is not there.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "unwind/instruction.h"
#include "shadow_tables.h"

#define GB_INLINE inline
#define gb_opaque(value) ((void)0)
#include "geckobpf_unwind.h"

#define SHADOW_MAX 4096 /* calls */
#define STACK_WORDS 65536 /* are read */
#define BELOW_WORDS 64 /* of them below the stack pointer */
#define WRONG_PRINTED 3
#define OMITTED_MAX 2 /* what calls main in musl is the end of a stack, and has two callers */
#define CODE_BYTES 4096
#define BREAKPOINT 0xcc

struct call {
	uint64_t at; /* where on the stack the return address is */
	uint64_t back; /* that address */
};

static struct {
	pid_t pid;
	struct user_regs_struct regs;
	struct call calls[SHADOW_MAX];
	size_t call_count;
	bool knows_base; /* who called the function it began in, and their callers */
	uint64_t code_at; /* of the bytes read last */
	uint8_t code[CODE_BYTES];
} program;

static struct {
	uint64_t steps, compared, complete, wrong;
	uint64_t ends[GB_STACK_END_COUNT];
	struct {
		uint64_t address, count;
	} truncated[64]; /* where stacks are cut */
} tally;

/* ---- the program ---- */

static bool read_memory(uint64_t address, void *to, size_t size)
{
	struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};

	return process_vm_readv(program.pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static void write_word(uint64_t address, uint64_t word)
{
	if (ptrace(PTRACE_POKEDATA, program.pid, (void *)(uintptr_t)address,
		   (void *)(uintptr_t)word))
		shadow_fail("writing to the program");
}

static bool decode_here(struct instruction *instruction)
{
	uint64_t page = program.regs.rip & ~(uint64_t)(CODE_BYTES - 1);
	uint64_t offset = program.regs.rip - page;
	uint8_t straddling[INSTRUCTION_MAX_BYTES];

	if (program.code_at != page) {
		program.code_at = 0;
		if (!read_memory(page, program.code, CODE_BYTES))
			return false;
		program.code_at = page;
	}
	if (CODE_BYTES - offset >= INSTRUCTION_MAX_BYTES)
		return machine_decode(program.code + offset, CODE_BYTES - offset, instruction);
	return (read_memory(program.regs.rip, straddling, sizeof(straddling)) &&
		machine_decode(straddling, sizeof(straddling), instruction)) ||
	       machine_decode(program.code + offset, CODE_BYTES - offset, instruction);
}

/* Goes on by `request` until it stops. False: it has ended. */
static bool resume(enum __ptrace_request request)
{
	int status, signal_number = 0;

	do {
		if (ptrace(request, program.pid, NULL, (void *)(uintptr_t)signal_number) ||
		    waitpid(program.pid, &status, 0) != program.pid || !WIFSTOPPED(status))
			return false;
		signal_number = WSTOPSIG(status);
	} while (signal_number != SIGTRAP);
	return !ptrace(PTRACE_GETREGS, program.pid, NULL, &program.regs);
}

static bool start(char **command)
{
	int status;

	program.pid = fork();
	if (program.pid < 0)
		shadow_fail("fork");
	if (!program.pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		personality(ADDR_NO_RANDOMIZE);
		setenv("LD_BIND_NOW", "1", 1);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(command[0], command);
		_exit(77);
	}
	if (waitpid(program.pid, &status, 0) != program.pid || !WIFSTOPPED(status))
		return false;
	ptrace(PTRACE_SETOPTIONS, program.pid, NULL, (void *)PTRACE_O_EXITKILL);
	return !ptrace(PTRACE_GETREGS, program.pid, NULL, &program.regs);
}

static bool run_to(uint64_t address)
{
	uint64_t word;

	if (!read_memory(address, &word, sizeof(word)))
		return false;
	write_word(address, (word & ~0xffull) | BREAKPOINT);
	if (!resume(PTRACE_CONT) || program.regs.rip != address + 1)
		return false;
	write_word(address, word);
	program.regs.rip = address;
	return !ptrace(PTRACE_SETREGS, program.pid, NULL, &program.regs);
}

/* Where the program begins once its libraries are there. */
static uint64_t program_entry(void)
{
	uint64_t pair[2] = {0};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)program.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (read(fd, pair, sizeof(pair)) == sizeof(pair) && pair[0] != AT_ENTRY)
		;
	close(fd);
	return pair[0] == AT_ENTRY ? pair[1] : 0;
}

static uint64_t symbol_of_type(const struct elf_file *file, uint32_t type, const char *name)
{
	const struct elf_section *section = elf_file_typed(file, type);
	char *symbols = NULL, *names = NULL;
	uint64_t found = 0, i;

	if (!section || section->link >= file->section_count ||
	    elf_file_read_section(file, section, &symbols) ||
	    elf_file_read_section(file, &file->sections[section->link], &names))
		section = NULL;
	for (i = 0; section && !found && i < section->size / sizeof(Elf64_Sym); i++) {
		const Elf64_Sym *symbol = (const Elf64_Sym *)symbols + i;

		if (symbol->st_shndx && symbol->st_name < file->sections[section->link].size &&
		    !strcmp(names + symbol->st_name, name))
			found = symbol->st_value;
	}
	free(symbols);
	free(names);
	return found;
}

/* The address of a function in the program's memory; 0: no file has it. */
static uint64_t function_address(const char *name)
{
	size_t i;

	for (i = 0; i < tables.mapping_count; i++) {
		struct elf_file *file;
		uint64_t found;
		int fd = open(tables.names[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 || elf_file_adopt_fd(&file, fd))
			continue;
		found = symbol_of_type(file, SHT_DYNSYM, name);
		if (!found)
			found = symbol_of_type(file, SHT_SYMTAB, name);
		elf_file_close(file);
		if (found)
			return found + tables.mappings[i].bias;
	}
	return 0;
}

/* ---- the shadow stack ---- */

static void step_shadow(const struct instruction *instruction, bool is_known,
			const struct user_regs_struct *before)
{
	const struct user_regs_struct *now = &program.regs;
	uint64_t next = before->rip + (is_known ? instruction->length : 0);

	while (program.call_count && program.calls[program.call_count - 1].at < now->rsp)
		program.call_count--;
	if (is_known &&
	    (instruction->kind == INSTRUCTION_CALL ||
	     instruction->kind == INSTRUCTION_CALL_INDIRECT) &&
	    now->rsp == before->rsp - 8) {
		if (program.call_count == SHADOW_MAX)
			shadow_fail("more calls than there is room for");
		program.calls[program.call_count++] = (struct call){now->rsp, next};
	}
}

/* Its callers, the nearest first; returns how many of SHADOW_MAX. */
static size_t list_callers(uint64_t *callers)
{
	size_t count = 0, i;

	for (i = program.call_count; i; i--)
		callers[count++] = program.calls[i - 1].back;
	return count;
}

/* What the unwinder says of who called the function it began in. */
static void learn_base(const struct call *own, size_t count)
{
	size_t i;

	for (i = count; i; i--)
		program.calls[program.call_count++] = own[i - 1];
	program.knows_base = true;
}

/* ---- comparing ---- */

/* The program's stack, and frames as the unwinder writes them. */
static struct {
	uint64_t address, words[STACK_WORDS];
	size_t count;
	uint64_t frames[GB_MAX_USER_WORDS];
	struct gb_cached_rule rule;
} walk;

static inline int gb_find_mapping(struct gb_unwind *u, __u64 pc, struct gb_mapping *mapping)
{
	const struct gb_mapping *found = shadow_mapping_of(pc);

	if (!found)
		return 1;
	*mapping = *found;
	return 0;
}

static inline int gb_find_rule(struct gb_unwind *u, const struct gb_mapping *mapping, __u64 vaddr,
			       struct gb_unwind_rule *rule)
{
	const struct gb_unwind_rule *found = table_store_find(
		tables.store, (uint32_t)(vaddr >> 12) + (uint32_t)mapping->page_offset,
		vaddr & 4095);

	if (found)
		*rule = *found;
	return !found;
}

static inline int gb_read_user(struct gb_unwind *u, __u64 address, void *to, __u32 bytes)
{
	uint64_t offset = address - walk.address;

	if (offset > walk.count * 8 || walk.count * 8 - offset < bytes)
		return 1;
	memcpy(to, (const char *)walk.words + offset, bytes);
	return 0;
}

static inline struct gb_cached_rule *gb_cache_slot(struct gb_unwind *u, __u64 pc)
{
	walk.rule.generation = 0;
	return &walk.rule;
}

static inline void gb_put_word(struct gb_unwind *u, __u32 index, __u64 word)
{
	if (index < GB_MAX_USER_WORDS)
		walk.frames[index] = word;
}

static void read_stack(void)
{
	uint64_t bytes;

	walk.address = (program.regs.rsp & ~7ull) - 8 * BELOW_WORDS;
	bytes = walk.address < tables.stack_end ? tables.stack_end - walk.address : 0;
	if (bytes > sizeof(walk.words))
		bytes = sizeof(walk.words);
	walk.count = read_memory(walk.address, walk.words, bytes) ? bytes / 8 : 0;
}

/* Unwinds; the callers, and how many; *end as in a sample. */
static size_t unwind_here(struct call *callers, uint8_t *end)
{
	const struct user_regs_struct *now = &program.regs;
	struct gb_unwind unwind = {.known = ~0u,
				   .how = GB_FRAME_HOW_LEAF,
				   .generation = 1,
				   .max_words = GB_MAX_USER_WORDS};
	const uint64_t regs[GB_REG_COUNT] = {
		[GB_REG_R8] = now->r8,   [GB_REG_R9] = now->r9,   [GB_REG_R10] = now->r10,
		[GB_REG_R11] = now->r11, [GB_REG_R12] = now->r12, [GB_REG_R13] = now->r13,
		[GB_REG_R14] = now->r14, [GB_REG_R15] = now->r15, [GB_REG_RDI] = now->rdi,
		[GB_REG_RSI] = now->rsi, [GB_REG_RBP] = now->rbp, [GB_REG_RBX] = now->rbx,
		[GB_REG_RDX] = now->rdx, [GB_REG_RAX] = now->rax, [GB_REG_RCX] = now->rcx,
		[GB_REG_RSP] = now->rsp, [GB_REG_RIP] = now->rip,
	};
	uint64_t cfa = now->rsp;
	size_t count = 0;
	uint32_t i;

	read_stack();
	memcpy(unwind.regs, regs, sizeof(regs));
	for (i = 0; i < GB_MAX_USER_FRAMES; i++)
		if (gb_unwind_step(&unwind))
			break;
	*end = unwind.end ? unwind.end : GB_STACK_FULL;
	for (i = 0; i < unwind.count; i++) {
		uint64_t frame_words = GB_FRAME_SIZE(walk.frames[i]);

		if (i)
			callers[count++] =
				(struct call){cfa + GB_RETURN_AT, GB_FRAME_PC(walk.frames[i])};
		cfa = frame_words == GB_FRAME_FAR ? walk.frames[++i] : cfa + 8 * frame_words;
	}
	return count;
}

static void note_truncated(uint64_t address)
{
	size_t i;

	for (i = 0; i < sizeof(tally.truncated) / sizeof(tally.truncated[0]); i++)
		if (!tally.truncated[i].count || tally.truncated[i].address == address) {
			tally.truncated[i].address = address;
			tally.truncated[i].count++;
			return;
		}
}

static void report(const uint64_t *theirs, size_t their_count, const struct call *own,
		   size_t own_count, uint8_t end)
{
	size_t i;

	if (tally.wrong++ >= WRONG_PRINTED)
		return;
	printf("wrong at %s, end %d:\n", shadow_place(program.regs.rip), end);
	for (i = 0; i < own_count || i < their_count; i++)
		printf("    %-48s %s%s\n", i < own_count ? shadow_place(own[i].back) : "-",
		       i < their_count ? shadow_place(theirs[i]) : "-",
		       i < own_count && i < their_count && own[i].back == theirs[i] ? ""
										    : "   <<<");
}

static void compare(void)
{
	static struct call own[GB_MAX_USER_WORDS];
	static uint64_t theirs[SHADOW_MAX];
	size_t own_count, their_count, i;
	uint8_t end;

	own_count = unwind_here(own, &end);
	their_count = list_callers(theirs);
	tally.compared++;
	tally.ends[end < GB_STACK_END_COUNT ? end : 0]++;
	tally.complete += end == GB_STACK_COMPLETE;
	for (i = 0; i < own_count && i < their_count && own[i].back == theirs[i]; i++)
		;
	if (i < own_count || (end == GB_STACK_COMPLETE && their_count > own_count + OMITTED_MAX))
		report(theirs, their_count, own, own_count, end);
	else if (end != GB_STACK_COMPLETE)
		note_truncated(own_count ? own[own_count - 1].back : program.regs.rip);
}

/* Whether what is executed is ours to judge: the kernel's own pages have no table here. */
static bool is_judged(void)
{
	const struct gb_mapping *mapping = shadow_mapping_of(program.regs.rip);

	if (!mapping) {
		shadow_tables_read(program.pid);
		mapping = shadow_mapping_of(program.regs.rip);
	}
	return mapping && tables.names[mapping - tables.mappings][0] == '/';
}

static void step_all(uint64_t steps, uint64_t every)
{
	struct user_regs_struct before;
	struct instruction instruction;
	bool is_known;

	while (tally.steps < steps) {
		is_known = decode_here(&instruction);
		before = program.regs;
		if (!resume(PTRACE_SINGLESTEP))
			return;
		tally.steps++;
		step_shadow(&instruction, is_known, &before);
		if (tally.steps % every == 0 && is_judged())
			compare();
	}
}

static void go_to(const char *function)
{
	static struct call own[GB_MAX_USER_WORDS];
	uint64_t entry = program_entry(), address;
	uint8_t end;

	if (!entry || !run_to(entry))
		shadow_fail("the program does not begin");
	shadow_tables_read(program.pid);
	address = function_address(function);
	if (!address || !run_to(address)) {
		printf("skip shadow %s: nobody calls this function\n", function);
		exit(77);
	}
	shadow_tables_read(program.pid);
	learn_base(own, unwind_here(own, &end));
}

static int conclude(const char *name, double least)
{
	double share = tally.compared ? 100.0 * (double)tally.complete / (double)tally.compared : 0;
	size_t i;

	printf("%s: %lu steps, %lu stacks compared, %lu wrong, %.2f %% complete\n", name,
	       (unsigned long)tally.steps, (unsigned long)tally.compared,
	       (unsigned long)tally.wrong, share);
	for (i = 0; i < GB_STACK_END_COUNT; i++)
		if (tally.ends[i] && i != GB_STACK_COMPLETE)
			printf("    end %zu: %lu\n", i, (unsigned long)tally.ends[i]);
	for (i = 0; i < WRONG_PRINTED && tally.truncated[i].count; i++)
		printf("    cut at %s: %lu\n", shadow_place(tally.truncated[i].address),
		       (unsigned long)tally.truncated[i].count);
	return tally.wrong || !tally.compared || share < least;
}

int main(int argc, char **argv)
{
	uint64_t steps = 200000, every = 1;
	const char *function = NULL;
	double least = 0;
	int i;

	for (i = 1; i + 1 < argc && strcmp(argv[i], "--"); i += 2) {
		if (!strcmp(argv[i], "--steps"))
			steps = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--every"))
			every = strtoull(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--at"))
			function = argv[i + 1];
		else if (!strcmp(argv[i], "--least"))
			least = strtod(argv[i + 1], NULL);
		else
			break;
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") || !every) {
		fprintf(stderr, "usage: shadow_oracle [--steps N] [--every N] [--at FUNCTION] "
				"[--least PERCENT] -- COMMAND\n");
		return 2;
	}
	shadow_tables_open();
	if (!start(argv + i + 1)) {
		printf("skip shadow %s: it cannot be run\n", argv[i + 1]);
		return 77;
	}
	shadow_tables_read(program.pid);
	program.knows_base = !function;
	if (function)
		go_to(function);
	step_all(steps, every);
	kill(program.pid, SIGKILL);
	return conclude(argv[i + 1], least);
}
