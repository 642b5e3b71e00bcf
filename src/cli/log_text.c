/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log_text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "audit/entry.h"
#include "cli/output.h"
#include "policy/decide.h"

enum { TIME_SIZE = 64, WIDTH_PROTO = 8, NUMBER_SIZE = 32 };

static const char *text_of(const json_t *event, const char *key)
{
	const char *s = json_string_value(json_object_get(event, key));

	return s ? s : "";
}

static json_int_t number_of(const json_t *event, const char *key)
{
	return json_integer_value(json_object_get(event, key));
}

static void print_time(const json_t *event)
{
	int64_t ms = entry_parse_time(text_of(event, "time"));
	time_t s = (time_t)(ms < 0 ? 0 : ms / 1000);
	char text[TIME_SIZE];
	struct tm tm;

	localtime_r(&s, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S  ", &tm);
	output_text(text, STYLE_PLAIN);
}

static bool is_deny(const json_t *event)
{
	return strcmp(text_of(event, "verdict"), "deny") == 0;
}

static bool is_end(const json_t *event)
{
	return strcmp(text_of(event, "action"), "sandgate.egress.end") == 0;
}

static void print_verdict(const json_t *event)
{
	if (is_deny(event))
		output_text("refused  ", STYLE_BAD);
	else if (is_end(event))
		output_text("ended    ", STYLE_PLAIN);
	else
		output_text("allowed  ", STYLE_GOOD);
}

static void print_word(const char *word)
{
	output_text(word, STYLE_PLAIN);
	for (size_t n = strlen(word); n < WIDTH_PROTO; n++)
		output_text(" ", STYLE_PLAIN);
}

/* A request to the port that is meant when none is written. */
static bool is_usual(const json_t *event)
{
	return *text_of(event, "method") && number_of(event, "port") == 443;
}

static void print_port(const json_t *event)
{
	char text[NUMBER_SIZE];

	if (!number_of(event, "port") || is_usual(event))
		return;
	snprintf(text, sizeof(text), ":%" JSON_INTEGER_FORMAT, number_of(event, "port"));
	output_text(text, STYLE_STRONG);
}

static void print_status(const json_t *event)
{
	if (number_of(event, "status"))
		printf(" %" JSON_INTEGER_FORMAT, number_of(event, "status"));
}

/* A request as it was made; of its connection's end, and else, who was reached. */
static void print_target(const json_t *event)
{
	bool request = *text_of(event, "method") && !is_end(event);
	const char *name = text_of(event, "name"), *address = text_of(event, "address");
	bool brackets = !*name && strchr(address, ':') && number_of(event, "port");

	if (request) {
		output_text(text_of(event, "method"), STYLE_STRONG);
		output_text(" ", STYLE_PLAIN);
	}
	output_text(brackets ? "[" : "", STYLE_STRONG);
	output_text(*name ? name : address, STYLE_STRONG);
	output_text(brackets ? "]" : "", STYLE_STRONG);
	print_port(event);
	output_text(request ? text_of(event, "path") : "", STYLE_STRONG);
	if (request)
		print_status(event);
	if (*name && *address) {
		output_text(" at ", STYLE_PLAIN);
		output_text(address, STYLE_PLAIN);
	}
}

static const char *sentence_of(const char *word)
{
	for (size_t i = 0; i < REASONS; i++)
		if (strcmp(reason_word((enum reason)i), word) == 0)
			return reason_sentence((enum reason)i);
	return word;
}

static void print_part(const char *before, const char *text, enum style style)
{
	if (!*text)
		return;
	output_text(before, STYLE_PLAIN);
	output_text(text, style);
}

static void print_why(const json_t *event)
{
	const char *reason = text_of(event, "reason");

	print_part("  ", *reason ? sentence_of(reason) : "", STYLE_PLAIN);
	if (*text_of(event, "permission") && !is_deny(event))
		print_part("  by ", text_of(event, "permission"), STYLE_PLAIN);
	else
		print_part("  by ", text_of(event, "rule"), STYLE_PLAIN);
	print_part("  with ", text_of(event, "credential"), STYLE_PLAIN);
	print_part("  allow it: ", text_of(event, "remedy"), STYLE_HINT);
}

static void print_passed(const json_t *event)
{
	printf("  %" JSON_INTEGER_FORMAT " octets out, %" JSON_INTEGER_FORMAT " in, %.1f s",
	       number_of(event, "bytes_out"), number_of(event, "bytes_in"),
	       (double)number_of(event, "duration_ms") / 1000);
}

static void print_suppressed(const json_t *event)
{
	json_int_t n = number_of(event, "suppressed");

	if (n > 0)
		printf("  (%" JSON_INTEGER_FORMAT " before it %s not kept)", n,
		       n == 1 ? "was" : "were");
}

/* A request is noted when it is over, so what passed is known with it. */
void log_text_print_what(const json_t *event)
{
	print_target(event);
	if (!is_end(event))
		print_why(event);
	if (json_object_get(event, "duration_ms") && !is_deny(event))
		print_passed(event);
	print_suppressed(event);
}

void log_text_print(const json_t *event)
{
	print_time(event);
	print_verdict(event);
	print_word(text_of(event, "proto"));
	log_text_print_what(event);
	putchar('\n');
}
