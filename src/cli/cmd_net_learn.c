/* SPDX-License-Identifier: Apache-2.0 */
/* net learn: the smallest policy that would have admitted what was seen, as a diff. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/sandbox_policy.h"
#include "cli/seen_log.h"
#include "policy/diff.h"
#include "policy/learn.h"
#include "policy/print_yaml.h"
#include "sandbox/control/client.h"
#include "sandbox/refused.h"
#include "sandbox/run.h"
#include "sandbox/log/seen_row.h"

/* --- what was seen --- */

/*
 * The gate's own count knows of refusals whose lines the log had no room for; those it had are
 * there.
 */
static int add_refusals(const char *name, struct seen_list *l, struct err *e)
{
	json_t *answer = client_ask(name, "refusals", e), *row;
	size_t i;
	int rc = 0;

	if (!answer)
		return -1;
	json_array_foreach(json_object_get(answer, "refusals"), i, row)
	{
		struct seen s;

		if (rc == 0 && seen_row_read(row, &s) && s.reason != REASON_NONE &&
		    !refused_is_own(&s) && !seen_list_has(l, &s))
			rc = seen_list_add(l, &s);
	}
	json_decref(answer);
	return rc ? err_set(e, "out of memory") : 0;
}

static int learn(const char *name, const struct sandbox_policy *p, struct learned *out,
		 struct err *e)
{
	struct policy_sources s = sandbox_policy_sources(p);
	struct seen_list seen;
	int rc;

	if (seen_log_read(name, &seen, e))
		return -1;
	rc = p->runs ? add_refusals(name, &seen, e) : 0;
	if (rc == 0)
		rc = learn_policy(&p->policy, &s, seen.v, seen.n, out, e);
	seen_list_free(&seen);
	return rc;
}

/* --- what is shown --- */

/* "db.example.com:5432", "10.0.0.1:53/udp", "tracker.example.com (lookup)" */
static void target_text(const struct seen *s, char *out, size_t n)
{
	char host[NAME_MAX_OCTETS + 1];
	const char *proto = s->proto == PROTO_UDP ? "/udp" : "";

	seen_host(s, host);
	if (s->lookup)
		snprintf(out, n, "%s (lookup)", host);
	else if (s->proto == PROTO_ICMP || !s->port)
		snprintf(out, n, "%s/icmp", host);
	else if (!s->has_name && !addr_is_v4(&s->addr))
		snprintf(out, n, "[%s]:%u%s", host, (unsigned)s->port, proto);
	else
		snprintf(out, n, "%s:%u%s", host, (unsigned)s->port, proto);
}

static void print_left(const struct learned *l)
{
	char target[NAME_MAX_OCTETS + 32];

	if (l->n_left)
		puts("\nleft out:");
	for (size_t i = 0; i < l->n_left; i++) {
		const struct left_out *o = &l->left[i];

		target_text(&o->what, target, sizeof(target));
		printf("  %s, %llu time%s: %s\n", target, (unsigned long long)o->what.count,
		       o->what.count == 1 ? "" : "s", o->why);
	}
}

static void print_hints(const struct learned *l)
{
	for (size_t i = 0; i < l->n_hints; i++)
		printf("\n%zu names are below %s: *.%s would admit them and all others there\n",
		       l->hints[i].names, l->hints[i].domain, l->hints[i].domain);
}

static json_t *left_model(const struct learned *l)
{
	char address[ADDR_TEXT_MAX];
	json_t *rows = json_array();

	for (size_t i = 0; i < l->n_left; i++) {
		const struct seen *s = &l->left[i].what;
		const char *proto = s->lookup		     ? "dns"
				    : s->proto == PROTO_UDP  ? "udp"
				    : s->proto == PROTO_ICMP ? "icmp"
							     : "tcp";

		json_array_append_new(rows,
				      json_pack("{s:s?, s:s?, s:i, s:s, s:I, s:s}", "name",
						s->has_name ? s->name.s : NULL, "address",
						s->has_addr ? addr_format(&s->addr, address) : NULL,
						"port", (int)s->port, "proto", proto, "count",
						(json_int_t)s->count, "why", l->left[i].why));
	}
	return rows;
}

static json_t *hints_model(const struct learned *l)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < l->n_hints; i++)
		json_array_append_new(rows, json_pack("{s:s, s:I}", "domain", l->hints[i].domain,
						      "names", (json_int_t)l->hints[i].names));
	return rows;
}

static int show_json(const char *name, const struct sandbox_policy *p, const struct learned *l,
		     const char *diff)
{
	_cleanup_free_ char *text = policy_print_json(&l->policy);
	json_t *policy = text ? json_loads(text, 0, NULL) : NULL;
	json_t *model = json_pack("{s:s, s:I, s:o, s:s, s:o, s:o}", "name", name, "generation",
				  (json_int_t)p->generation, "policy", policy, "diff", diff,
				  "left_out", left_model(l), "hints", hints_model(l));

	if (!model)
		return -1;
	output_json(model);
	json_decref(model);
	return 0;
}

static int show(const struct args *a, const struct sandbox_policy *p, const struct learned *l)
{
	const char *name = a->words[0];
	_cleanup_free_ char *from = policy_print_yaml(&p->policy), *label = NULL, *diff = NULL;
	_cleanup_free_ char *to = policy_print_yaml(&l->policy);

	if (asprintf(&label, "%s, generation %llu", name, (unsigned long long)p->generation) < 0)
		label = NULL;
	diff = from && to && label ? diff_unified(from, to, label, "what was seen") : NULL;
	if (!diff)
		return -1;
	if (args_has(a, NET_LEARN_JSON))
		return show_json(name, p, l, diff);
	output_text(*diff ? diff : "The policy admits what was seen, and no more.\n", STYLE_PLAIN);
	print_left(l);
	print_hints(l);
	return 0;
}

/* --- the file --- */

static bool is_json(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

static int write_all(int fd, const char *text)
{
	size_t n = strlen(text);

	while (n) {
		ssize_t w = write(fd, text, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		text += w;
		n -= (size_t)w;
	}
	return 0;
}

/*
 * Where a link or another's file stands in the way it is not followed, and without --force not
 * replaced.
 */
static int write_file(const char *path, bool force, const struct policy *p, struct err *e)
{
	_cleanup_free_ char *text = is_json(path) ? policy_print_json(p) : policy_print_yaml(p);
	int how =
		O_WRONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | (force ? O_TRUNC : O_EXCL);
	_cleanup_fd_ int fd = text ? open(path, how, 0666) : -1;
	int rc;

	if (!text)
		return err_set(e, "out of memory");
	if (fd < 0 && errno == EEXIST)
		return err_set(e, "%s: it is there already; name another file, or add --force",
			       path);
	if (fd < 0)
		return err_set(e, "%s: %s", path, err_why(errno));
	rc = write_all(fd, text);
	if (rc == 0 && is_json(path))
		rc = write_all(fd, "\n");
	return rc ? err_set(e, "%s: %s", path, err_why(-rc)) : 0;
}

int cmd_net_learn(const struct args *a)
{
	const char *file = args_value(a, NET_LEARN_WRITE);
	struct sandbox_policy p;
	struct learned l;
	struct err e;
	int status = 0;

	if (args_has(a, NET_LEARN_FORCE) && !file) {
		err_set(&e, "net learn: --force is for --write FILE; add it, or leave --force out");
		return cli_fail(EXIT_USAGE, &e);
	}
	if (sandbox_policy_read(a->words[0], &p, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	if (learn(a->words[0], &p, &l, &e)) {
		sandbox_policy_free(&p);
		return cli_fail(EXIT_SANDGATE, &e);
	}
	if (show(a, &p, &l)) {
		err_set(&e, "out of memory");
		status = cli_fail(EXIT_SANDGATE, &e);
	} else if (file && write_file(file, args_has(a, NET_LEARN_FORCE), &l.policy, &e)) {
		status = cli_fail(EXIT_USAGE, &e);
	}
	learned_free(&l);
	sandbox_policy_free(&p);
	return status;
}
