/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_oracle.c - compares the rows of user/unwind with libdw, for all ELF files under directories.
 *
 *   unwind_oracle [--jobs N] [FILE|DIRECTORY...]        /usr/lib and /usr/bin, with two processes
 *
 * Asked are the first byte and one in the middle of every stretch in which neither side changes its mind, and the last
 * byte of those that libdw does not know. A difference is either one that is meant, and counted under its name, or
 * printed and a failure. Exit status: 1 if there was one.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unwind_rule.h"
#include "cfi_oracle.h"
#include "unwind/table.h"

#define PADDING_MAX 15
#define PRINTED_MAX 20 /* differences, per file */
#define PAGE_BYTES (1ull << UNWIND_PAGE_BITS)

enum verdict {
	SAME_RULE,
	SAME_END,
	SAME_NOT_EXPRESSIBLE,
	SIGNAL_FRAME,
	SIGNAL_EARLY_BYTE,
	SIGNAL_BY_SIGHT,
	COROUTINE_START,
	OUTERMOST_CALL,
	ENTRY,
	INIT_BY_SIGHT,
	GO_BY_TABLE,
	CODE_ITSELF,
	GAP,
	PADDING,
	DENSE_PAGE,
	DIFFERENT,
	VERDICT_COUNT
};

static const char *const verdict_names[VERDICT_COUNT] = {
	[SAME_RULE] = "the same rule",
	[SAME_END] = "the same: end of stack (return address undefined)",
	[SAME_NOT_EXPRESSIBLE] = "the same: no rule can say it (INVALID)",
	[SIGNAL_FRAME] = "signal frame (SIGNAL, libdw: an expression)",
	[SIGNAL_EARLY_BYTE] = "the byte before a signal frame (SIGNAL)",
	[SIGNAL_BY_SIGHT] = "code of a signal frame without a description (SIGNAL)",
	[COROUTINE_START] = "what a coroutine returns to (END, libdw: a return address)",
	[OUTERMOST_CALL] = "what calls main or a thread, without a description (END)",
	[ENTRY] = "where the file begins to run, without a description (END)",
	[INIT_BY_SIGHT] = "_init and _fini, without a description (RSP)",
	[GO_BY_TABLE] = "Go code, described by .gopclntab",
	[CODE_ITSELF] = "code without a description, followed (shadow_oracle.c judges it)",
	[GAP] = "code without a description (FRAME_POINTER)",
	[PADDING] = "padding after a function (the row before goes on)",
	[DENSE_PAGE] = "page with too many rows (FRAME_POINTER)",
	[DIFFERENT] = "DIFFERENT",
};

static const char *const cfa_names[] = {
	"INVALID",   "RSP", "RBP",    "PLT11", "PLT10",         "RBP_DEREF",
	"RSP_DEREF", "REG", "SIGNAL", "END",   "FRAME_POINTER", "RSP_INDEXED",
};
#define CFA_COUNT (sizeof(cfa_names) / sizeof(cfa_names[0]))

/* Shared by all workers. */
struct tally {
	atomic_size_t next; /* file */
	atomic_ulong files, without_eh_frame, bad, rows;
	atomic_ulong verdicts[VERDICT_COUNT];
	atomic_ulong kinds[CFA_COUNT]; /* of the same rules */
	atomic_ulong register_ra, tracked_rbx, fp_from_rbp, sp_not_cfa;
};

struct subject {
	dev_t device;
	ino_t inode;
	off_t size;
	char *path;
};

/* One file being compared. */
struct comparison {
	const char *path;
	struct tally *tally;
	struct unwind_table *table;
	struct oracle *oracle;
	uint64_t covered_end; /* end of the last row of libdw that was met */
	unsigned int printed;
	bool differs;
};

static struct subject *subjects;
static size_t subject_count, subject_capacity;

/* ---- files ---- */

static int add_subject(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	if (kind != FTW_F || !S_ISREG(status->st_mode) ||
	    status->st_size < (off_t)sizeof(Elf64_Ehdr))
		return 0;
	if (subject_count == subject_capacity) {
		subject_capacity = subject_capacity ? subject_capacity * 2 : 4096;
		subjects = realloc(subjects, subject_capacity * sizeof(*subjects));
		if (!subjects)
			abort();
	}
	subjects[subject_count++] =
		(struct subject){status->st_dev, status->st_ino, status->st_size, strdup(path)};
	return 0;
}

static int by_size(const void *left, const void *right)
{
	const struct subject *a = left, *b = right;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* Largest first; of hard links only one. */
static void order_subjects(void)
{
	size_t i, kept = 0;

	qsort(subjects, subject_count, sizeof(*subjects), by_size);
	for (i = 0; i < subject_count; i++) {
		if (kept && subjects[kept - 1].device == subjects[i].device &&
		    subjects[kept - 1].inode == subjects[i].inode)
			continue;
		subjects[kept++] = subjects[i];
	}
	subject_count = kept;
}

/* ---- our side ---- */

/* The first address after `address` where we may have another rule; at most the end of its page. */
static uint64_t next_row(const struct unwind_table *table, uint64_t address)
{
	const struct unwind_page *page = &table->pages[(address / PAGE_BYTES) - table->first_page];
	uint32_t low = page->first, high = page->first + page->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if ((table->rows[middle] & (PAGE_BYTES - 1)) > address % PAGE_BYTES)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == page->first + page->count)
		return (address / PAGE_BYTES + 1) * PAGE_BYTES;
	return address / PAGE_BYTES * PAGE_BYTES + (table->rows[low] & (PAGE_BYTES - 1));
}

static bool in_single_row_page(const struct unwind_table *table, uint64_t address)
{
	return table->pages[address / PAGE_BYTES - table->first_page].count == 1;
}

/* ---- comparing ---- */

static bool same_rule(const struct gb_unwind_rule *own, struct gb_unwind_rule theirs, bool with_rbx)
{
	if (!with_rbx)
		theirs.tracked_off = 0;
	return !memcmp(own, &theirs, sizeof(theirs));
}

/* What is meant where libdw has nothing. */
static enum verdict judge_uncovered(struct comparison *comparison, uint64_t address,
				    const struct gb_unwind_rule *own)
{
	struct oracle_answer next;

	if (own->cfa == GB_CFA_FRAME_POINTER)
		return GAP;
	if (own->cfa == GB_CFA_END && oracle_is_start_context(comparison->oracle, address + 1))
		return COROUTINE_START;
	if (own->cfa == GB_CFA_END && oracle_is_outermost_call(comparison->oracle, address))
		return OUTERMOST_CALL;
	if (own->cfa == GB_CFA_END && oracle_is_entry(comparison->oracle, address))
		return ENTRY;
	if (own->cfa == GB_CFA_SP && own->fp == GB_FP_SAME &&
	    own->cfa_off == oracle_init_depth(comparison->oracle, address))
		return INIT_BY_SIGHT;
	if (address >= comparison->covered_end && address - comparison->covered_end < PADDING_MAX)
		return PADDING;
	if (oracle_is_go(comparison->oracle, address))
		return GO_BY_TABLE;
	if (own->cfa != GB_CFA_SIGNAL)
		return CODE_ITSELF;
	oracle_ask(comparison->oracle, address + 1, &next);
	if (next.is_covered && next.is_signal)
		return SIGNAL_EARLY_BYTE;
	return oracle_is_sigreturn(comparison->oracle, address) ? SIGNAL_BY_SIGHT : DIFFERENT;
}

static enum verdict judge_covered(struct comparison *comparison, uint64_t address,
				  const struct gb_unwind_rule *own,
				  const struct oracle_answer *answer)
{
	bool with_rbx = comparison->table->tracks_reg;
	struct oracle_answer next;

	if (own->cfa == GB_CFA_SIGNAL && answer->is_signal)
		return SIGNAL_FRAME;
	if (own->cfa == GB_CFA_SIGNAL) {
		oracle_ask(comparison->oracle, address + 1, &next);
		return next.is_covered && next.is_signal ? SIGNAL_EARLY_BYTE : DIFFERENT;
	}
	if (answer->is_signal)
		return DIFFERENT;
	if (own->cfa == GB_CFA_END && answer->rule.cfa != GB_CFA_END &&
	    oracle_is_start_context(comparison->oracle, address))
		return COROUTINE_START;
	if (own->cfa == GB_CFA_FRAME_POINTER && comparison->table->stats.dense_pages &&
	    in_single_row_page(comparison->table, address))
		return DENSE_PAGE;
	if (!same_rule(own, answer->rule, with_rbx))
		return DIFFERENT;
	if (own->cfa == GB_CFA_INVALID)
		return SAME_NOT_EXPRESSIBLE;
	return own->cfa == GB_CFA_END ? SAME_END : SAME_RULE;
}

static void print_rule(const char *who, const struct gb_unwind_rule *rule)
{
	printf("    %-6s cfa %s reg %x off %d add %d, fp %d off %d, ra %d, rbx %d\n", who,
	       rule->cfa < CFA_COUNT ? cfa_names[rule->cfa] : "?", rule->reg, rule->cfa_off,
	       rule->cfa_add, rule->fp, rule->fp_off, rule->ra, rule->tracked_off);
}

static void report(struct comparison *comparison, uint64_t address,
		   const struct gb_unwind_rule *own, const struct oracle_answer *answer)
{
	comparison->differs = true;
	if (comparison->printed++ >= PRINTED_MAX)
		return;
	printf("different: %s: %#lx\n", comparison->path, (unsigned long)address);
	print_rule("own", own);
	if (answer->is_covered)
		print_rule(answer->is_signal ? "libdw, signal" : "libdw", &answer->rule);
	else
		printf("    libdw  nothing\n");
}

static void count_rule(struct tally *tally, const struct gb_unwind_rule *rule,
		       const struct oracle_answer *answer)
{
	atomic_fetch_add(&tally->kinds[rule->cfa], 1);
	if (rule->ra == GB_RA_REG)
		atomic_fetch_add(&tally->register_ra, 1);
	if (rule->tracked_off)
		atomic_fetch_add(&tally->tracked_rbx, 1);
	if (rule->fp == GB_FP_FP || rule->fp == GB_FP_SP)
		atomic_fetch_add(&tally->fp_from_rbp, 1);
	if (!answer->sp_is_cfa)
		atomic_fetch_add(&tally->sp_not_cfa, 1);
}

/* Returns where libdw may change its mind; UINT64_MAX: it has nothing here. */
static uint64_t compare_at(struct comparison *comparison, uint64_t address)
{
	const struct gb_unwind_rule *own = unwind_table_find(comparison->table, address);
	struct oracle_answer answer;
	enum verdict verdict;

	oracle_ask(comparison->oracle, address, &answer);
	if (answer.is_covered)
		verdict = judge_covered(comparison, address, own, &answer);
	else
		verdict = judge_uncovered(comparison, address, own);
	atomic_fetch_add(&comparison->tally->verdicts[verdict], 1);
	if (verdict == SAME_RULE)
		count_rule(comparison->tally, own, &answer);
	if (verdict == DIFFERENT)
		report(comparison, address, own, &answer);
	if (answer.is_covered)
		comparison->covered_end = answer.end;
	else if (verdict == INIT_BY_SIGHT)
		comparison->covered_end = address + 1;
	return answer.is_covered ? answer.end : UINT64_MAX;
}

static void compare_rows(struct comparison *comparison)
{
	const struct unwind_table *table = comparison->table;
	uint64_t address = table->first_page * PAGE_BYTES;
	uint64_t end = address + table->page_count * PAGE_BYTES;
	const struct oracle_function *functions;
	size_t count, i = 0;

	functions = oracle_functions(comparison->oracle, &count);
	while (address < end) {
		uint64_t next = next_row(table, address), theirs = compare_at(comparison, address);

		while (i < count && functions[i].start <= address)
			i++;
		if (i < count && functions[i].start < next)
			next = functions[i].start;
		if (theirs > address && theirs < next)
			next = theirs;
		if (next - address > 1)
			compare_at(comparison, address + (next - address) / 2);
		/* How long padding may be shows at its end. */
		if (theirs == UINT64_MAX)
			compare_at(comparison, next - 1);
		address = next;
	}
}

static void compare_tables(struct comparison *comparison)
{
	if (comparison->oracle) {
		compare_rows(comparison);
		return;
	}
	atomic_fetch_add(&comparison->tally->without_eh_frame, 1);
	if (comparison->table->has_no_eh_frame)
		return;
	comparison->differs = true;
	printf("different: %s: libdw finds no .eh_frame\n", comparison->path);
}

static void compare_file(struct tally *tally, const char *path)
{
	struct comparison comparison = {.path = path, .tally = tally};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_source source = {.fd = fd};
	int err;

	if (fd < 0)
		return;
	err = unwind_table_compile(&comparison.table, &source);
	if (err && err != -ENOEXEC)
		printf("different: %s: %s\n", path, strerror(-err));
	if (!err) {
		atomic_fetch_add(&tally->files, 1);
		atomic_fetch_add(&tally->rows, comparison.table->row_count);
		comparison.oracle = oracle_open(fd);
		compare_tables(&comparison);
	}
	if (comparison.differs || (err && err != -ENOEXEC))
		atomic_fetch_add(&tally->bad, 1);
	oracle_close(comparison.oracle);
	unwind_table_close(comparison.table);
	close(fd);
}

/* ---- all of them ---- */

static void work(struct tally *tally)
{
	size_t i;

	while ((i = atomic_fetch_add(&tally->next, 1)) < subject_count)
		compare_file(tally, subjects[i].path);
	fflush(stdout);
}

static bool run_workers(struct tally *tally, unsigned int jobs)
{
	bool well = true;
	unsigned int i;
	int status;

	fflush(stdout);
	for (i = 0; i < jobs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return false;
		if (!pid) {
			work(tally);
			_exit(0);
		}
	}
	while (wait(&status) > 0)
		well &= WIFEXITED(status) && !WEXITSTATUS(status);
	return well;
}

static void print_tally(const struct tally *tally)
{
	size_t i;

	printf("%lu files with code, %lu of them without .eh_frame; %lu rows\n",
	       (unsigned long)tally->files, (unsigned long)tally->without_eh_frame,
	       (unsigned long)tally->rows);
	for (i = 0; i < VERDICT_COUNT; i++)
		printf("%12lu  %s\n", (unsigned long)tally->verdicts[i], verdict_names[i]);
	printf("of the same rules:\n");
	for (i = 0; i < CFA_COUNT; i++) {
		if (tally->kinds[i])
			printf("%12lu  CFA %s\n", (unsigned long)tally->kinds[i], cfa_names[i]);
	}
	printf("%12lu  return address in a register\n", (unsigned long)tally->register_ra);
	printf("%12lu  RBP saved relative to RBP or RSP\n", (unsigned long)tally->fp_from_rbp);
	printf("%12lu  RBX followed\n", (unsigned long)tally->tracked_rbx);
	printf("%12lu  RSP is not the CFA\n", (unsigned long)tally->sp_not_cfa);
}

int main(int argc, char **argv)
{
	static char *stock[] = {"/usr/lib", "/usr/bin", NULL};
	struct tally *tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int jobs = 2;
	char **paths = argv + 1;
	bool well;

	if (tally == MAP_FAILED)
		return 1;
	if (argc > 2 && !strcmp(argv[1], "--jobs")) {
		jobs = (unsigned int)atoi(argv[2]);
		paths += 2;
	}
	if (!*paths)
		paths = stock;
	for (; *paths; paths++)
		nftw(*paths, add_subject, 32, FTW_PHYS);
	order_subjects();
	well = run_workers(tally, jobs);
	print_tally(tally);
	printf("%lu passed, %lu failed, 0 skipped\n", (unsigned long)(tally->files - tally->bad),
	       tally->bad + !well);
	return tally->bad || !well || !tally->files;
}
