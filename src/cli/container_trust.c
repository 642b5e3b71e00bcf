/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/container_trust.h"

#include <stdio.h>

#include "policy/inspects.h"
#include "sandbox/path.h"
#include "sandbox/runtime_dir.h"

bool container_trust_is_wanted(const struct run_policy *p, const struct sources *s)
{
	return policy_needs_broker(&p->policy, s->catalogue);
}

static int find_certificates(const char *sandbox, struct ca_bundle *out, struct err *e)
{
	char path[PATH_MAX];
	struct registry r;
	int rc;

	if (registry_open(&r, false, e))
		return -1;
	rc = path_join(r.path, sandbox, path) ? ca_bundle_find(out, path, e)
					      : err_set(e, "%s: the path is too long", r.path);
	registry_close(&r);
	return rc;
}

int container_trust_place(const char *sandbox, const struct trust_target *t,
			  struct trust_placed *out, struct err *e)
{
	struct ca_bundle ca;

	*out = (struct trust_placed){0};
	return find_certificates(sandbox, &ca, e) ? -1 : trust_place(&ca, t, out, e);
}

/* --- what is said --- */

static void say_by_hand(const struct ca_bundle *ca)
{
	fprintf(stderr,
		"sandgate: whom its programs trust is theirs: mount or copy %s there, or keep TLS "
		"closed with --splice\n",
		ca->bundle);
}

/* What no file of the system tells, with the programs that people meet first. */
static void say_variables(const struct trust_placed *p)
{
	if (p->first)
		fprintf(stderr, "sandgate: its programs trust that authority by %s\n", p->first);
	else
		fputs("sandgate: its image has no file that says whom to trust\n", stderr);
	fputs("sandgate: programs with a list of their own, such as npm and pip, want variables: "
	      "NODE_EXTRA_CA_CERTS=" SANDBOX_CA_EXTRA " SSL_CERT_FILE=" SANDBOX_CA_BUNDLE
	      " REQUESTS_CA_BUNDLE=" SANDBOX_CA_BUNDLE " PIP_CERT=" SANDBOX_CA_BUNDLE "\n",
	      stderr);
}

void container_trust_attach(const char *sandbox, int process)
{
	const struct trust_target t = {.process = process};
	struct trust_placed placed;
	struct ca_bundle ca;
	struct err e;
	int rc;

	if (find_certificates(sandbox, &ca, &e)) {
		fprintf(stderr, "sandgate: %s\n", e.text);
		return;
	}
	rc = process < 0 ? 1 : trust_place(&ca, &t, &placed, &e);
	if (rc == 0) {
		say_variables(&placed);
		return;
	}
	if (rc < 0)
		fprintf(stderr, "sandgate: %s\n", e.text);
	say_by_hand(&ca);
}
