/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * error.h - why something could not be done, as a value for the caller that decides: what it is
 * about, why, and what the user can do.
 *
 *   "out.json: cannot write there: Permission denied; give another file with --output"
 *    object    cause                                   remedy
 *
 * Nothing below the commands prints. A function that can say more than its -errno takes a struct
 * error, which the caller zeroes and which may be NULL everywhere; a warning is one, too. The
 * commands print them with log_problem() (base/log.h).
 */
#ifndef GECKOBPF_BASE_ERROR_H
#define GECKOBPF_BASE_ERROR_H

/* Texts are cut where they are too long, and have '?' in place of control characters. "": there is nothing to say. */
struct error {
	int number; /* 0: no error was set; or -errno */
	char object[4224]; /* a path with room for what is added to it */
	char cause[512];
	char remedy[256];
};

/*
 * Replaces what was said before by object and cause; there is no remedy any more. `object` may be
 * NULL. Returns `number`, so that a function can end with it.
 */
int error_set(struct error *error, int number, const char *object, const char *cause, ...)
	__attribute__((format(printf, 4, 5)));

/* What the user can do about the error that was set. */
void error_advise(struct error *error, const char *remedy, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Where warnings go: what is wrong but ends nothing. A warning lives until `take` returns; its
 * number is 0.
 */
struct warning_sink {
	void (*take)(void *context, const struct error *warning);
	void *context;
};

/* Hands a warning to `sink`, which may be NULL. */
void warning_say(const struct warning_sink *sink, const char *object, const char *cause, ...)
	__attribute__((format(printf, 3, 4)));

#endif
