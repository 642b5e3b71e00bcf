/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operations: runs one table of requests (tests/golden/operations-NAME.txt) and prints each line
 * that differs.
 *
 * Lines that begin with `%` are a policy in YAML, from the next request on; `%@agent NAME` says for
 * which agent it is resolved. The sandbox is called `demo`. A request and what must come of it:
 *
 *     METHOD URL [| NAME: VALUE]... [|| BODY] => admit PERMISSION[: OPERATION]
 *                                             => refuse REASON [PERMISSION[: OPERATION]]
 *
 * A host may be written as the catalogue groups it, `[part before it].DOMAIN`. PERMISSION is `-`
 * when none stands there; one of a refusal must be in the remedy, and without one no operation has
 * a remedy. Each request is read from the octets of HTTP/1.1, and is asked about before its body is
 * there as well: where the body does not decide, that is the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/http1_head.h"
#include "broker/judge_request.h"
#include "policy/permission.h"

enum { TEXT_MAX = 8192, VERDICT_MAX = 512 };

struct table {
	const char *file;
	unsigned line, checked, failed;
	char yaml[TEXT_MAX];
	bool in_policy;
	const struct agent *agent;
	struct ruleset *rules;
	struct policy policy;
};

static void broken(const struct table *t, const char *what)
{
	fprintf(stderr, "%s:%u: the table is broken: %s\n", t->file, t->line, what);
	exit(1);
}

/* ---- Policies ---- */

static void add_policy_line(struct table *t, const char *s)
{
	size_t n;

	if (!t->in_policy) {
		t->yaml[0] = 0;
		t->agent = NULL;
	}
	t->in_policy = true;
	if (strncmp(s, "@agent ", 7) == 0) {
		t->agent = catalogue_agent(catalogue_builtin(), s + 7);
		return;
	}
	n = strlen(t->yaml);
	snprintf(t->yaml + n, sizeof(t->yaml) - n, "%s\n", s);
}

static void compile(struct table *t)
{
	struct policy_sources sources = {.catalogue = catalogue_builtin(), .agent = t->agent};
	struct err e;

	ruleset_free(t->rules);
	policy_free(&t->policy);
	if (policy_parse(span_of_string(t->yaml), POLICY_YAML, t->file, &t->policy, &e) ||
	    policy_resolve(&t->policy, &sources, &e) ||
	    !(t->rules = ruleset_compile(&t->policy, 1, &e)))
		broken(t, e.text);
	t->in_policy = false;
}

/* ---- Requests ---- */

static char *cut(char *s, const char *at)
{
	char *found = strstr(s, at);

	if (!found)
		return NULL;
	*found = 0;
	return found + strlen(at);
}

/* "[part].domain" becomes "part.domain". */
static void join_host(const char *from, char out[TEXT_MAX])
{
	size_t n = 0;

	for (; *from; from++)
		if (*from != '[' && *from != ']')
			out[n++] = *from;
	out[n] = 0;
}

/* "GET https://host/path | name: value" as a section of HTTP/1.1. */
static void print_head(const struct table *t, char *line, const char *body, char out[TEXT_MAX])
{
	char *fields = cut(line, " | "), *url = cut(line, " "), *host, *path;
	char joined[TEXT_MAX];
	size_t n;

	host = url ? cut(url, "://") : NULL;
	path = host ? strchr(host, '/') : NULL;
	if (!path)
		broken(t, "not METHOD URL");
	*path++ = 0;
	join_host(host, joined);
	n = (size_t)snprintf(out, TEXT_MAX, "%s /%s HTTP/1.1\r\nhost: %s\r\n", line, path, joined);
	while (fields) {
		char *next = cut(fields, " | ");

		n += (size_t)snprintf(out + n, TEXT_MAX - n, "%s\r\n", fields);
		fields = next;
	}
	if (body && !strstr(out, "\r\ncontent-length:"))
		n += (size_t)snprintf(out + n, TEXT_MAX - n, "content-length: %zu\r\n",
				      strlen(body));
	snprintf(out + n, TEXT_MAX - n, "\r\n");
}

static void print_verdict(const struct request_verdict *v, char out[VERDICT_MAX])
{
	static const char *const words[] = {"admit", "refuse", "wait"};
	size_t n = (size_t)snprintf(out, VERDICT_MAX, "%s", words[v->what]);

	if (v->what == REQUEST_REFUSED)
		n += (size_t)snprintf(out + n, VERDICT_MAX - n, " %s", reason_word(v->reason));
	if (v->what == REQUEST_ADMITTED || v->permission)
		n += (size_t)snprintf(out + n, VERDICT_MAX - n, " %s",
				      v->permission ? v->permission : "-");
	if (v->operation)
		snprintf(out + n, VERDICT_MAX - n, ": %s", v->operation);
}

static bool has_right_remedy(const struct request_verdict *v)
{
	char want[REMEDY_MAX] = "";

	if (v->what == REQUEST_REFUSED && v->reason != REASON_OPERATION_NOT_ALLOWED &&
	    !v->permission)
		return true;
	if (v->what == REQUEST_REFUSED && v->permission)
		snprintf(want, sizeof(want), "sandgate net allow demo %s", v->permission);
	return strcmp(v->remedy, want) == 0;
}

static void ask(const struct table *t, const struct message *m, const char *body,
		struct request_verdict *out)
{
	struct request_judge j = {.rules = t->rules,
				  .catalogue = catalogue_builtin(),
				  .remedy_for = {.sandbox = "demo",
						 .catalogue = catalogue_builtin(),
						 .on = t->policy.resolved.on}};

	judge_request(&j, m, span_of(NULL, 0), false, out);
	if (out->what == REQUEST_NEEDS_BODY)
		judge_request(&j, m, span_of_string(body ? body : ""), true, out);
}

static void check(struct table *t, char *line)
{
	char *want = cut(line, " => "), *body = cut(line, " || ");
	char head[TEXT_MAX], got[VERDICT_MAX], *shown = strdup(line);
	struct request_verdict v;
	struct http1_hop hop;
	struct message m;
	const char *why;

	if (!want || !t->rules || !shown)
		broken(t, "no ` => `, or no policy before");
	print_head(t, line, body, head);
	message_init(&m);
	if (http1_read_request(span_of_string(head), true, &m, &hop, &why))
		broken(t, why);
	ask(t, &m, body, &v);
	print_verdict(&v, got);
	t->checked++;
	if (strcmp(got, want) != 0 || !has_right_remedy(&v)) {
		fprintf(stderr, "%s:%u: %s\n    want: %s\n    got:  %s (%s; %s)\n", t->file,
			t->line, shown, want, got, v.remedy, v.why ? v.why : "");
		t->failed++;
	}
	message_free(&m);
	free(shown);
}

static void read_line(struct table *t, char *line)
{
	line[strcspn(line, "\n")] = 0;
	t->line++;
	if (line[0] == '%') {
		add_policy_line(t, line + 1);
		return;
	}
	if (line[0] == 0 || line[0] == '#')
		return;
	if (t->in_policy)
		compile(t);
	check(t, line);
}

int main(int argc, char **argv)
{
	struct table t = {.file = argc > 1 ? argv[1] : ""};
	FILE *f = fopen(t.file, "re");
	char *line = NULL;
	size_t room = 0;

	policy_init(&t.policy);
	if (!f)
		broken(&t, "cannot be opened");
	while (getline(&line, &room, f) > 0)
		read_line(&t, line);
	free(line);
	fclose(f);
	ruleset_free(t.rules);
	policy_free(&t.policy);
	printf("%u checked, %u failed\n", t.checked, t.failed);
	return t.failed || !t.checked;
}
