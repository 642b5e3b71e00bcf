/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_broker: what the process that sees requests needs of the host. */
#include <string.h>
#include <sys/resource.h>

#include "cli/doctor.h"
#include "sandbox/files/host_bundle.h"

extern char **environ;

/* Keys and a page or two for each secret, src/broker/locked.h. */
static const rlim_t locked_need = 1024 * 1024;

static const char without_it[] =
	"what needs requests to be seen, github and other permissions with operations, does not start";

/* The limit holds for root's broker as well: it has no capability. */
void doctor_locked_memory(struct finding *f)
{
	struct rlimit locked;

	if (getrlimit(RLIMIT_MEMLOCK, &locked))
		locked.rlim_max = 0;
	if (locked.rlim_max == RLIM_INFINITY)
		finding_ok(f, "as much as there is");
	else if (locked.rlim_max >= locked_need)
		finding_ok(f, "%llu KiB at most", (unsigned long long)locked.rlim_max / 1024);
	else
		finding_bad(f, FINDING_MISSING,
			    "raise the hard limit \"memlock\" to 1024 (KiB), see limits.conf(5)",
			    "%llu KiB at most; %s", (unsigned long long)locked.rlim_max / 1024,
			    without_it);
}

static size_t count(struct span text, const char *mark)
{
	size_t n = 0, length = strlen(mark);
	const uint8_t *at;

	while ((at = memmem(text.p, text.n, mark, length))) {
		text = span_of(at + length, text.n - (size_t)(at - text.p) - length);
		n++;
	}
	return n;
}

/* Also whom the programs in a sandbox trust. */
void doctor_certificates(struct finding *f)
{
	const struct host_bundle_request r = {.host = &host_tree, .person = environ};
	struct host_bundle b;
	struct err e;
	size_t n;

	if (host_bundle_read(&r, &b, &e)) {
		finding_bad(f, FINDING_MISSING, "mend it", "%s", e.text);
		return;
	}
	n = count(trusted_span(&b.text), "BEGIN CERTIFICATE");
	if (n)
		finding_ok(f, "%zu authorities are trusted", n);
	else
		finding_bad(f, FINDING_MISSING, "apt-get install ca-certificates",
			    "no authority is trusted on this host; %s", without_it);
	host_bundle_free(&b);
}
