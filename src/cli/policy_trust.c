/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy_trust.h"

#include <stdlib.h>
#include <string.h>

#include "cli/question.h"
#include "policy/print_yaml.h"
#include "sandbox/engine/exposure.h"
#include "sandbox/path.h"
#include "sandbox/run.h"

/* --- who could have written it --- */

/* What goes round was read all the same: it has changed since. */
static bool is_exposed(const char *path, const struct trust *trust)
{
	const struct exposure x = {.trust = *trust};

	return exposure_has(&x, path);
}

/* --- looking, asking, recording --- */

int policy_trust_look(struct policy_trust *p, const char *cwd, const char *file,
		      const struct digest *octets, const struct policy *policy,
		      const struct trust *trust, struct err *e)
{
	char joined[PATH_MAX];

	*p = (struct policy_trust){.digest = *octets};
	if (strcmp(file, "-") == 0 || !trust->root || (*file != '/' && !cwd))
		return 0;
	if (!path_join(cwd ? cwd : "/", file, joined) || !path_tidy(joined, p->path))
		return err_set(e, "%s: the path is too long", file), EXIT_USAGE;
	p->known = trust_has_file(trust, p->path, octets);
	p->differs = !p->known && trust_had_file(trust, p->path);
	if (p->known || !is_exposed(p->path, trust))
		return 0;
	p->written = policy_print_yaml(policy);
	return p->written ? 0 : (err_set(e, "out of memory"), EXIT_SANDGATE);
}

int policy_trust_confirm(const struct policy_trust *p, const struct policy_words *w, struct err *e)
{
	char text[PATH_MAX + 128];

	if (!p->written)
		return 0;
	question_show(p->path, p->written);
	snprintf(text, sizeof(text), "%s %s, and a sandbox may have written it", p->path,
		 p->differs ? "has changed" : "is not confirmed");
	if (w->unattended)
		return err_set(e, "%s; --unattended asks nobody, so it is refused", text),
		       EXIT_USAGE;
	return question_ask(text, w->yes, e) ? EXIT_USAGE : 0;
}

int policy_trust_record(const struct policy_trust *p, struct err *e)
{
	struct trust_entry entry = {.folder = p->path, .file = &p->digest};
	struct trust now;
	bool exposed;

	if (!*p->path || p->known)
		return 0;
	if (trust_read(&now, e))
		return -1;
	exposed = is_exposed(p->path, &now);
	trust_free(&now);
	return exposed ? trust_record(&entry, e) : 0;
}

void policy_trust_free(struct policy_trust *p)
{
	free(p->written);
	p->written = NULL;
}
