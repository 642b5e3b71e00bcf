/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/template.h"

#include "policy/quote.h"

static const char mark[] = "${secret}";
enum { MARK_N = sizeof(mark) - 1 };

static int check_octets(const char *text, struct err *e)
{
	size_t n = strlen(text);

	if (n == 0)
		return err_set(e, "it is empty; write the text around the secret, such as "
				  "\"Bearer ${secret}\"");
	if (n > TEMPLATE_MAX_OCTETS)
		return err_set(e, "it has more than %d characters", TEMPLATE_MAX_OCTETS);
	if (text[0] == ' ' || text[n - 1] == ' ')
		return err_set(e, "a space stands at its end or its beginning; leave it out");
	for (const char *s = text; *s; s++)
		if (*s < 0x20 || *s > 0x7e)
			return err_set(e, "it holds something else than visible ASCII");
	return 0;
}

/* Every "${" has to be the one that is known: another would go out as it stands. */
static int check_marks(const char *text, struct err *e)
{
	size_t seen = 0;
	char shown[QUOTE_MAX];

	for (const char *s = strstr(text, "${"); s; s = strstr(s + 2, "${")) {
		if (strncmp(s, mark, MARK_N) == 0) {
			seen++;
			continue;
		}
		return err_set(
			e, "%s is not known; write `${secret}`",
			quote_span(span_of(s, strcspn(s, "}") + (strchr(s, '}') != NULL)), shown));
	}
	if (seen > 1)
		return err_set(e, "`${secret}` stands in it twice; write it once");
	return 0;
}

static bool cut(const char *text, struct template *out)
{
	const char *at = strstr(text, mark);

	if (at)
		*out = (struct template){.before = span_of(text, (size_t)(at - text)),
					 .after = span_of_string(at + MARK_N)};
	return at != NULL;
}

int template_parse(const char *text, struct template *out, struct err *e)
{
	if (check_octets(text, e) || check_marks(text, e))
		return -1;
	if (!cut(text, out))
		return err_set(e, "the place of the secret is missing; write `${secret}` where it "
				  "belongs, such as \"Bearer ${secret}\"");
	return 0;
}

/* The user ends at the first colon (RFC 7617, 2): one in the user would move the rest into the
 * password. */
int template_parse_basic(const char *text, struct template *out, struct err *e)
{
	if (check_octets(text, e) || check_marks(text, e))
		return -1;
	if (!cut(text, out)) {
		if (strchr(text, ':'))
			return err_set(e, "a user has no colon; write the user alone, or "
					  "\"user:${secret}\"");
		*out = (struct template){.before = span_of_string(text), .colon = true};
		return 0;
	}
	if (!memchr(out->before.p, ':', out->before.n) && !memchr(out->after.p, ':', out->after.n))
		return err_set(e, "the colon between user and password is missing; write "
				  "\"user:${secret}\" or \"${secret}:\"");
	return 0;
}
