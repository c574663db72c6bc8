/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rust_name.c - see rust_name.h.
 *
 * What looks like a large binder is, in real names, part of an identifier or of a hash. To tell,
 * the name is parsed: the grammar is that of Rust RFC 2603, each function one rule of it. A back
 * reference may only lead to where a rule of its kind has begun and ended, so whatever libiberty
 * reads there was read here before.
 */
#include "symbol/rust_name.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define MAX_DEPTH 256
#define LARGE_DIGITS 3 /* of base 62, and more: not by accident */
#define MAX_LIFETIMES 62

enum rule { RULE_PATH = 1, RULE_TYPE = 2, RULE_CONST = 4 };

struct parser {
	const char *text; /* behind "_R" */
	const char *at, *end;
	unsigned int depth;
	bool failed;
	/* by position: rules (enum rule) that began there and have ended */
	uint8_t ended[RUST_NAME_MAX_BYTES];
};

static void parse_path(struct parser *parser);
static void parse_type(struct parser *parser);
static void parse_const(struct parser *parser);

/* ---- characters and numbers -------------------------------------------------------------- */

static bool has_failed(struct parser *parser)
{
	return parser->failed || parser->at >= parser->end;
}

static void fail(struct parser *parser)
{
	parser->failed = true;
}

static char next(struct parser *parser)
{
	if (has_failed(parser)) {
		fail(parser);
		return '\0';
	}
	return *parser->at++;
}

static bool eat(struct parser *parser, char c)
{
	if (has_failed(parser) || *parser->at != c)
		return false;
	parser->at++;
	return true;
}

/* "_" is 0, "0_" is 1. Too large for 32 bits: UINT32_MAX. */
static uint32_t parse_number(struct parser *parser)
{
	uint64_t number = 0;

	if (eat(parser, '_'))
		return 0;
	while (!parser->failed && !eat(parser, '_')) {
		char c = next(parser);

		if (!isalnum((unsigned char)c))
			fail(parser);
		number = number * 62 + (uint64_t)(isdigit((unsigned char)c)   ? c - '0'
						  : islower((unsigned char)c) ? c - 'a' + 10
									      : c - 'A' + 36);
		if (number >= UINT32_MAX)
			number = UINT32_MAX - 1;
	}
	return (uint32_t)number + 1;
}

static void parse_if(struct parser *parser, char tag)
{
	if (eat(parser, tag))
		parse_number(parser);
}

static void parse_binder(struct parser *parser)
{
	if (eat(parser, 'G') && parse_number(parser) >= MAX_LIFETIMES)
		fail(parser);
}

/* ---- rules ------------------------------------------------------------------------------- */

static void parse_identifier(struct parser *parser)
{
	size_t length;
	char c;

	eat(parser, 'u');
	c = next(parser);
	if (!isdigit((unsigned char)c))
		fail(parser);
	length = (size_t)(c - '0');
	while (length && !has_failed(parser) && isdigit((unsigned char)*parser->at) &&
	       length < RUST_NAME_MAX_BYTES)
		length = length * 10 + (size_t)(*parser->at++ - '0');
	eat(parser, '_');
	if (parser->failed || length > (size_t)(parser->end - parser->at))
		fail(parser);
	else
		parser->at += length;
}

static void parse_named(struct parser *parser)
{
	parse_if(parser, 's');
	parse_identifier(parser);
}

static void parse_backref(struct parser *parser, enum rule rule)
{
	size_t here = (size_t)(parser->at - parser->text), there = parse_number(parser);

	if (parser->failed || there >= here || !(parser->ended[there] & rule))
		fail(parser);
}

static void parse_const_rule(struct parser *parser)
{
	if (eat(parser, 'B')) {
		parse_backref(parser, RULE_CONST);
		return;
	}
	if (eat(parser, 'p'))
		return;
	next(parser);
	eat(parser, 'n');
	while (!parser->failed && !eat(parser, '_'))
		if (!isxdigit((unsigned char)next(parser)))
			fail(parser);
}

static void parse_arguments(struct parser *parser)
{
	while (!parser->failed && !eat(parser, 'E')) {
		if (eat(parser, 'L'))
			parse_number(parser);
		else if (eat(parser, 'K'))
			parse_const(parser);
		else
			parse_type(parser);
	}
}

static void parse_types(struct parser *parser)
{
	while (!parser->failed && !eat(parser, 'E'))
		parse_type(parser);
}

static void parse_function(struct parser *parser)
{
	parse_binder(parser);
	eat(parser, 'U');
	if (eat(parser, 'K') && !eat(parser, 'C'))
		parse_identifier(parser);
	parse_types(parser);
	parse_type(parser);
}

static void parse_dynamic(struct parser *parser)
{
	parse_binder(parser);
	while (!parser->failed && !eat(parser, 'E')) {
		parse_path(parser);
		while (eat(parser, 'p')) {
			parse_identifier(parser);
			parse_type(parser);
		}
	}
	if (!eat(parser, 'L'))
		fail(parser);
	parse_number(parser);
}

static void parse_path_rule(struct parser *parser)
{
	char tag = next(parser);

	switch (tag) {
	case 'C':
		parse_named(parser);
		break;
	case 'N':
		next(parser);
		parse_path(parser);
		parse_named(parser);
		break;
	case 'M':
	case 'X':
		parse_if(parser, 's');
		parse_path(parser);
		parse_type(parser);
		if (tag == 'X')
			parse_path(parser);
		break;
	case 'Y':
		parse_type(parser);
		parse_path(parser);
		break;
	case 'I':
		parse_path(parser);
		parse_arguments(parser);
		break;
	case 'B':
		parse_backref(parser, RULE_PATH);
		break;
	default:
		fail(parser);
	}
}

static void parse_type_rule(struct parser *parser)
{
	char tag = next(parser);

	switch (tag) {
	case 'A':
		parse_type(parser);
		parse_const(parser);
		break;
	case 'R':
	case 'Q':
		parse_if(parser, 'L');
		parse_type(parser);
		break;
	case 'S':
	case 'P':
	case 'O':
		parse_type(parser);
		break;
	case 'T':
		parse_types(parser);
		break;
	case 'F':
		parse_function(parser);
		break;
	case 'D':
		parse_dynamic(parser);
		break;
	case 'B':
		parse_backref(parser, RULE_TYPE);
		break;
	default:
		if (islower((unsigned char)tag))
			break;
		parser->at--;
		parse_path(parser);
	}
}

static void parse(struct parser *parser, void (*parse_rule)(struct parser *), enum rule rule)
{
	size_t begin = (size_t)(parser->at - parser->text);

	if (has_failed(parser) || parser->depth == MAX_DEPTH) {
		fail(parser);
		return;
	}
	parser->depth++;
	parse_rule(parser);
	parser->depth--;
	if (!parser->failed)
		parser->ended[begin] |= (uint8_t)rule;
}

static void parse_path(struct parser *parser)
{
	parse(parser, parse_path_rule, RULE_PATH);
}

static void parse_type(struct parser *parser)
{
	parse(parser, parse_type_rule, RULE_TYPE);
}

static void parse_const(struct parser *parser)
{
	parse(parser, parse_const_rule, RULE_CONST);
}

/* ---- names ------------------------------------------------------------------------------- */

static bool may_have_large_binder(const char *text)
{
	for (text = strchr(text, 'G'); text; text = strchr(text + 1, 'G')) {
		size_t digits = 0;

		while (isalnum((unsigned char)text[1 + digits]))
			digits++;
		if (digits >= LARGE_DIGITS && text[1 + digits] == '_')
			return true;
	}
	return false;
}

bool rust_name_is_bounded(const char *mangled)
{
	struct parser parser = {.text = mangled + 2, .at = mangled + 2};

	if (!may_have_large_binder(parser.text))
		return true;
	parser.end = parser.text + strlen(parser.text);
	if (parser.end - parser.text > RUST_NAME_MAX_BYTES)
		return false;
	parse_path(&parser);
	/* The crate that made an instance of it. */
	if (!parser.failed && parser.at < parser.end && isupper((unsigned char)*parser.at))
		parse_path(&parser);
	return !parser.failed;
}
