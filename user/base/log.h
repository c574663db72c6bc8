/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * log.h - messages to stderr: "geckobpf: object: cause; remedy".
 *
 * Lower layers return errors; the layer that decides logs, once. stdout is for the product.
 */
#ifndef GECKOBPF_BASE_LOG_H
#define GECKOBPF_BASE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

struct error;

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Messages above `level` are dropped. Starts as LOG_INFO. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Prints one line; a newline is added. A status line on the terminal is cleared first. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_at(enum log_level level, const char *format, va_list args);
/* "object: cause; remedy", as far as the error has them. */
void log_problem(enum log_level level, const struct error *error);

/* Like log_info, without the "geckobpf: " prefix: continues the message before, indented to it. */
void log_more(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Shows one line that the next message or status replaces; nothing when stderr is not a terminal or info is off. Where
 * the terminal is too narrow for it, what is behind the last gap of two blanks that fits is left out.
 */
void log_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Removes the status line. */
void log_status_clear(void);

/* The next message begins a line, even if another program has left the terminal's cursor behind some text. */
void log_fresh_line(void);

#endif
