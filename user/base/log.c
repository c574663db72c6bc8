/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - see log.h. The level and whether a status line stands are the only state. */
#include "base/log.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define STATUS_BYTES 512
#define LINE_BYTES 8192 /* longer ones are written in pieces */

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
	char line[LINE_BYTES];
	va_list again;
	int used, more;

	if (level > max_level)
		return;
	log_status_clear();
	va_copy(again, args);
	used = snprintf(line, sizeof(line), "%s", prefix);
	more = vsnprintf(line + used, sizeof(line) - (size_t)used, format, again);
	va_end(again);
	if (more >= 0 && (size_t)(used + more) + 1 < sizeof(line)) {
		/* At once: a command that writes to the same terminal writes before it, or behind. */
		line[used + more] = '\n';
		fwrite(line, 1, (size_t)(used + more) + 1, stderr);
		return;
	}
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

/* Of the terminal; 0: not known. */
static size_t column_count(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

/* A line that is as wide as the terminal would wrap, and could not be replaced any more. */
static void cut(char *text)
{
	const size_t columns = column_count();
	size_t length;

	if (!columns || strlen(text) < columns)
		return;
	length = columns - 1;
	text[length] = '\0';
	while (length > 2 && strncmp(text + length - 2, "  ", 2) != 0)
		length--;
	if (length > 2)
		text[length - 2] = '\0';
}

void log_status(const char *format, ...)
{
	char text[STATUS_BYTES];
	va_list args;

	if (max_level < LOG_INFO || !isatty(STDERR_FILENO))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cut(text);
	fprintf(stderr, "\r\033[K%s", text);
	fflush(stderr);
	status_shown = true;
}

/* So many blanks fill the line from its beginning, and from elsewhere go on in the next one. */
void log_fresh_line(void)
{
	const size_t columns = column_count();

	if (max_level < LOG_INFO || columns < 2)
		return;
	fprintf(stderr, "%*s\r\033[K", (int)columns - 1, "");
	fflush(stderr);
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
