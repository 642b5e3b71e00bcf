/* SPDX-License-Identifier: Apache-2.0 */
/* Templates and sources: what is taken has the secret in it once, and nothing that could end a
 * header. */
#include <stdlib.h>

#include "fuzz.h"
#include "policy/secret_from.h"
#include "policy/template.h"

static void check_span(struct span s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 0x20 || s.p[i] > 0x7e)
			abort();
	if (s.n && memmem(s.p, s.n, "${", 2))
		abort();
}

static void check_template(const char *text,
			   int (*parse)(const char *, struct template *, struct err *))
{
	struct template t = {0};
	struct err e;

	if (parse(text, &t, &e))
		return;
	check_span(t.before);
	check_span(t.after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	enum secret_kind kind;
	const char *rest;
	struct err e;

	check_template(text, template_parse);
	check_template(text, template_parse_basic);
	if (secret_from_parse(text, &kind, &rest, &e) == 0 &&
	    ((unsigned)kind >= SECRET_KINDS || rest < text || rest > text + strlen(text)))
		abort();
	free(text);
	return 0;
}
