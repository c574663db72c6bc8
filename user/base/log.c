/* SPDX-License-Identifier: BSD-2-Clause */
/* log.c - see log.h. The level and whether a status line stands are the only state. */
#include "base/log.h"

#include "base/error.h"
#include "base/log_writer.h"
#include "base/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CLEAR "\r\033[K"
#define STATUS_BYTES 512
#define LINE_BYTES 8192 /* longer ones need memory */

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
	log_writer_put(CLEAR, strlen(CLEAR));
	status_shown = false;
}

/* What somebody else chose is in it. */
static void put_clean(char *line, size_t length)
{
	printable_clean(line, length);
	line[length] = '\n';
	/* At once: a command that writes to the same terminal writes before it, or behind. */
	log_writer_put(line, length + 1);
}

/* Of a line that does not fit into LINE_BYTES; without memory, its beginning is printed. */
static void print_long(char *cut, size_t length, const char *prefix, const char *format,
		       va_list args)
{
	const size_t used = strlen(prefix);
	char *line = malloc(length + 1);

	if (!line) {
		put_clean(cut, LINE_BYTES - 1);
		return;
	}
	memcpy(line, prefix, used);
	vsnprintf(line + used, length + 1 - used, format, args);
	put_clean(line, length);
	free(line);
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
	if (more < 0)
		return;
	if ((size_t)(used + more) + 1 < sizeof(line))
		put_clean(line, (size_t)(used + more));
	else
		print_long(line, (size_t)(used + more), prefix, format, args);
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
	char text[STATUS_BYTES], line[sizeof(CLEAR) + STATUS_BYTES];
	va_list args;
	int used;

	/* The next one says more. */
	if (max_level < LOG_INFO || !isatty(STDERR_FILENO) || log_writer_is_late())
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printable_clean(text, strlen(text));
	cut(text);
	used = snprintf(line, sizeof(line), CLEAR "%s", text);
	log_writer_put(line, (size_t)used);
	status_shown = true;
}

/* So many blanks fill the line from its beginning, and from elsewhere go on in the next one. */
void log_fresh_line(void)
{
	const size_t columns = column_count();
	char line[STATUS_BYTES + sizeof(CLEAR)];
	int used;

	if (max_level < LOG_INFO || columns < 2)
		return;
	used = snprintf(line, sizeof(line), "%*s" CLEAR,
			columns < STATUS_BYTES ? (int)columns - 1 : STATUS_BYTES, "");
	log_writer_put(line, (size_t)used);
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
