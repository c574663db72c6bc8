/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - see log.h. The level and whether a status line stands are the only state. */
#include "base/log.h"

#include "base/error.h"

#include <stdio.h>
#include <unistd.h>

static enum log_level max_level = LOG_INFO;
static bool status_shown;

void log_set_level(enum log_level level)
{
	max_level = level;
}

enum log_level log_get_level(void)
{
	return max_level;
}

void log_status_clear(void)
{
	if (!status_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	status_shown = false;
}

static void print_line(enum log_level level, const char *prefix, const char *format, va_list args)
{
	if (level > max_level)
		return;
	log_status_clear();
	fputs(prefix, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void log_at(enum log_level level, const char *format, va_list args)
{
	print_line(level, level == LOG_WARN ? "geckobpf: warning: " : "geckobpf: ", format, args);
}

static void __attribute__((format(printf, 2, 3)))
print_at(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_at(level, format, args);
	va_end(args);
}

void log_problem(enum log_level level, const struct error *error)
{
	print_at(level, "%s%s%s%s%s", error->object, error->object[0] ? ": " : "", error->cause,
		 error->remedy[0] ? "; " : "", error->remedy);
}

void log_status(const char *format, ...)
{
	va_list args;

	if (max_level < LOG_INFO || !isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fflush(stderr);
	status_shown = true;
}

#define LOG_FUNCTION(name, level)                                                                  \
	void name(const char *format, ...)                                                         \
	{                                                                                          \
		va_list args;                                                                      \
		va_start(args, format);                                                            \
		log_at(level, format, args);                                                       \
		va_end(args);                                                                      \
	}

LOG_FUNCTION(log_error, LOG_ERROR)
LOG_FUNCTION(log_warn, LOG_WARN)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_debug, LOG_DEBUG)

void log_more(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(LOG_INFO, "          ", format, args);
	va_end(args);
}
