/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/change_question.h"

#include <stdio.h>
#include <string.h>

#include "cli/question.h"
#include "cli/sandbox_policy.h"
#include "sandbox/run.h"

struct warnings {
	char text[ERR_MAX];
};

static void warn(struct warnings *w, const char *what, const char *why)
{
	size_t n = strlen(w->text);

	snprintf(w->text + n, sizeof(w->text) - n, "%s%s: %s", n ? "; " : "", what, why);
}

static bool is_on(const struct sandbox_policy *p, const char *id)
{
	for (char *const *on = p->policy.resolved.on; on && *on; on++)
		if (strcmp(*on, id) == 0)
			return true;
	return false;
}

static void warn_of_permission(struct warnings *w, const struct sandbox_policy *p,
			       const struct permission *one)
{
	if (is_on(p, one->id) || !(one->asks || one->personal))
		return;
	warn(w, one->id, one->warning ? one->warning : "it uses a credential of yours");
}

static void warn_of_base(struct warnings *w, const struct sandbox_policy *p, const char *base)
{
	const struct preset *preset = catalogue_preset(p->sources.catalogue, base);

	if (strcmp(network_base_name(p->policy.network), base) == 0)
		return;
	if (preset && preset->asks)
		warn(w, base, preset->warning ? preset->warning : preset->says);
	else if (strcmp(base, network_base_name(NET_ANY)) == 0)
		warn(w, base, "everything is forwarded, private addresses included");
}

int change_question_ask(const char *name, const struct change_request *r, bool yes, struct err *e)
{
	struct warnings w = {.text = ""};
	struct sandbox_policy p;

	if (sandbox_policy_read(name, &p, e))
		return EXIT_SANDGATE;
	if (r->change.preset)
		warn_of_base(&w, &p, r->change.preset);
	for (const char *const *item = r->change.allow; item && *item; item++) {
		const struct permission *one = catalogue_permission(p.sources.catalogue, *item);

		if (one)
			warn_of_permission(&w, &p, one);
		else
			warn_of_base(&w, &p, *item);
	}
	sandbox_policy_free(&p);
	return *w.text && question_ask(w.text, yes || r->dry_run, e) ? EXIT_USAGE : 0;
}
