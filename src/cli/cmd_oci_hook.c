/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sandgate oci-hook`: run by a container's runtime, with the container's state on standard input; with
 * --precreate by its engine, with the configuration that it will give the runtime. Status 0 lets the container go on, any other refuses it. What it says on standard error some
 * runtimes show and some throw away, so a refusal is in the system's log as well.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/hook_attach.h"
#include "cli/hook_precreate.h"
#include "sandbox/engine/container_offer.h"
#include "sandbox/files/hook_file.h"
#include "sandbox/engine/netns.h"
#include "sandbox/run.h"

/* 0 and the text, allocated; -1 with the message. */
static int read_state(char **out, size_t *n, struct err *e)
{
	size_t cap = OCI_STATE_MAX + 1;
	ssize_t got = 1;

	*n = 0;
	*out = malloc(cap);
	if (!*out)
		return err_set(e, "out of memory");
	while (*n < cap && got) {
		got = read(STDIN_FILENO, *out + *n, cap - *n);
		if (got < 0 && errno != EINTR)
			return err_set(e, "standard input: %s", err_why(errno));
		*n += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

/* `sandgate run --engine podman` waits for it. */
static int offer(const struct oci_state *s, struct err *e)
{
	int alive, netns = netns_open_pid(s->pid, &alive, e), rc;

	if (netns < 0)
		return -1;
	rc = netns_check(netns, e);
	if (rc == 0)
		rc = container_offer_make(s->say[OCI_SANDBOX], netns, alive, e);
	close(netns);
	close(alive);
	return rc;
}

static int hold(struct err *e)
{
	struct oci_state s;
	char *text;
	size_t n;
	int rc = read_state(&text, &n, e);

	if (rc == 0)
		rc = oci_state_parse(span_of(text, n), &s, e);
	free(text);
	if (rc)
		return -1;
	if (s.asks)
		rc = s.say[OCI_SANDBOX] ? offer(&s, e) : hook_attach(&s, e);
	if (rc)
		err_prefix(e, "container %.12s", s.id);
	oci_state_free(&s);
	return rc;
}

/* Of the container's configuration on standard input what takes its place, on standard output. */
static int add(struct err *e)
{
	char *text, *added = NULL;
	size_t n;
	int rc = read_state(&text, &n, e);

	if (rc == 0)
		added = hook_precreate(span_of(text, n), e);
	free(text);
	if (!added)
		return -1;
	rc = fputs(added, stdout) == EOF || fflush(stdout) == EOF;
	free(added);
	return rc ? err_set(e, "the container's configuration could not be written") : 0;
}

static int print_config(bool precreate)
{
	struct err e;
	char *text = hook_file_text(precreate ? HOOK_PRECREATE : HOOK_CREATE_RUNTIME, &e);

	if (!text)
		return cli_fail(EXIT_SANDGATE, &e);
	puts(text);
	free(text);
	return 0;
}

int cmd_oci_hook(const struct args *a)
{
	bool precreate = args_has(a, OCI_HOOK_PRECREATE);
	struct err e;

	if (args_has(a, OCI_HOOK_PRINT_CONFIG))
		return print_config(precreate);
	if ((precreate ? add(&e) : hold(&e)) == 0)
		return 0;
	syslog(LOG_AUTHPRIV | LOG_ERR, "%s", e.text);
	return cli_fail(EXIT_SANDGATE, &e);
}
