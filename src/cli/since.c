/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/since.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "policy/quote.h"

enum { DIGITS_MAX = 9 };

static const struct {
	char letter;
	int64_t ms;
} units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};

static bool parse_ago(const char *text, int64_t *ms)
{
	int64_t n = 0;
	size_t digits = 0;

	for (; isdigit((unsigned char)*text) && digits <= DIGITS_MAX; text++, digits++)
		n = 10 * n + (*text - '0');
	if (digits == 0 || digits > DIGITS_MAX || !text[0] || text[1])
		return false;
	for (size_t i = 0; i < sg_array_len(units); i++)
		if (units[i].letter == *text) {
			*ms = n * units[i].ms;
			return true;
		}
	return false;
}

/* Exactly n digits; the text after them. NULL when they are not there. */
static const char *number(const char *text, size_t n, int *out)
{
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)text[i]))
			return NULL;
		*out = 10 * *out + (text[i] - '0');
	}
	return text + n;
}

/* "YYYY-MM-DDTHH:MM:SS": a pattern of digits and of what stands between them. */
static const char *parse_clock(const char *text, struct tm *tm)
{
	static const char after[] = "--t::";
	int *const fields[] = {&tm->tm_year, &tm->tm_mon, &tm->tm_mday,
			       &tm->tm_hour, &tm->tm_min, &tm->tm_sec};

	for (size_t i = 0; i < sg_array_len(fields) && text; i++) {
		text = number(text, i == 0 ? 4 : 2, fields[i]);
		if (text && after[i] && tolower((unsigned char)*text++) != after[i])
			return NULL;
	}
	tm->tm_year -= 1900;
	tm->tm_mon -= 1;
	return text;
}

static const char *parse_fraction(const char *text, int64_t *ms)
{
	int64_t scale = 100;

	*ms = 0;
	if (*text != '.')
		return text;
	if (!isdigit((unsigned char)*++text))
		return NULL;
	for (; isdigit((unsigned char)*text); text++, scale /= 10)
		*ms += (*text - '0') * scale;
	return text;
}

/* "Z" or "+HH:MM", and then nothing. */
static bool parse_zone(const char *text, int64_t *minutes)
{
	int h, m, sign = *text == '-' ? -1 : 1;

	*minutes = 0;
	if (tolower((unsigned char)*text) == 'z')
		return !text[1];
	if (*text != '+' && *text != '-')
		return false;
	text = number(text + 1, 2, &h);
	if (!text || *text++ != ':')
		return false;
	text = number(text, 2, &m);
	*minutes = sign * (60 * h + m);
	return text && !*text && h < 24 && m < 60;
}

static bool is_date(const struct tm *tm)
{
	struct tm again = *tm;

	return timegm(&again) >= 0 && again.tm_mday == tm->tm_mday && again.tm_mon == tm->tm_mon &&
	       again.tm_hour == tm->tm_hour && again.tm_min == tm->tm_min &&
	       again.tm_sec == tm->tm_sec;
}

static bool parse_time(const char *text, int64_t *out_ms)
{
	struct tm tm = {0};
	int64_t ms, minutes;

	text = parse_clock(text, &tm);
	text = text ? parse_fraction(text, &ms) : NULL;
	if (!text || !parse_zone(text, &minutes) || !is_date(&tm))
		return false;
	*out_ms = ((int64_t)timegm(&tm) - minutes * 60) * 1000 + ms;
	return true;
}

int since_parse(const char *text, int64_t now_ms, int64_t *out_ms, struct err *e)
{
	char quoted[QUOTE_MAX];
	int64_t ago;

	if (parse_ago(text, &ago)) {
		*out_ms = now_ms > ago ? now_ms - ago : 0;
		return 0;
	}
	if (parse_time(text, out_ms))
		return 0;
	return err_set(e,
		       "--since: %s is no time; write 90s, 10m, 2h, 1d, or a time as "
		       "2026-11-29T18:00:00Z",
		       quote_string(text, quoted));
}
