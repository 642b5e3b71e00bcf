/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/explain.h"

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "policy/permission.h"

enum { HTTP_PORT = 80, DNS_PORT = 53, TEXT_MAX = 8192 };

static const char *proto_word(enum proto p)
{
	return p == PROTO_UDP ? "udp" : p == PROTO_ICMP ? "icmp" : "tcp";
}

static const char *step_text(unsigned step)
{
	static const char *const text[] = {
		[1] = "the base",    [2] = "special addresses",
		[3] = "own rules",   [4] = "the organisation",
		[5] = "permissions", [6] = "the default of the base",
	};

	return step < sg_array_len(text) && text[step] ? text[step] : "unknown";
}

/* Where the proxy port is the only way, what is asked is whether that way is open. */
static bool goes_by_proxy(const struct ruleset *rs, const struct explain_target *t)
{
	return ruleset_policy(rs)->network == NET_BROKERED && t->proto == PROTO_TCP;
}

static struct destination destination_of(const struct ruleset *rs, const struct explain_target *t)
{
	return (struct destination){
		.kind = DEST_CONNECT,
		.name = t->has_name ? &t->name : NULL,
		.addr = t->has_addr ? &t->addr : NULL,
		.port = t->port,
		.proto = t->proto,
		.method = t->method[0] ? t->method : NULL,
		.path = t->path[0] ? t->path : NULL,
		.by_proxy = goes_by_proxy(rs, t),
	};
}

/* The questions of the data plane, in its order, until one is refused. */
static void ask(const struct ruleset *rs, const struct host_prefixes *host,
		const struct destination *d, struct verdict *v)
{
	struct destination asked = *d;

	if (d->name) {
		asked.kind = DEST_LOOKUP;
		decide(rs, host, &asked, v);
		if (!v->allow)
			return;
	}
	/* When a connection begins, its request is still to come. */
	asked.kind = DEST_CONNECT;
	asked.method = asked.path = NULL;
	decide(rs, host, &asked, v);
	/* One on port 80 that is not spelt out is judged when it comes. */
	if (!v->allow || !v->check_name || !d->name || (d->port == HTTP_PORT && !d->method))
		return;
	asked = *d;
	asked.kind = DEST_SERVER_NAME;
	decide(rs, host, &asked, v);
	v->check_name = true;
}

static void describe_special(const struct host_prefixes *host, struct explanation *out)
{
	char text[ADDR_TEXT_MAX];
	const char *special = address_special(host, &out->target.addr);

	snprintf(out->note, sizeof(out->note), "%s is %s", addr_format(&out->target.addr, text),
		 special ? special : "public");
}

/* The gate answers these itself, so no rule changes what becomes of them. */
static bool is_dns(const struct explain_target *t)
{
	return t->port == DNS_PORT && t->proto != PROTO_ICMP;
}

static bool is_about_requests(const struct rule *r)
{
	return r && r->detail && (r->detail->methods || r->detail->paths);
}

/* What is still open when the verdict is given; empty: nothing. */
static const char *note_of(const struct explanation *x)
{
	const struct explain_target *t = &x->target;
	const struct verdict *v = &x->verdict;

	if (is_dns(t))
		return "whatever the address, port 53 is answered by the gate itself";
	if (!v->allow)
		return "";
	if (t->path_unseen)
		return "on this port the path is not looked at";
	if (is_about_requests(v->rule) && !t->method[0])
		return "each request is judged by its method and path";
	if (t->has_name && !t->has_addr && !v->private_ok && !v->by_literal_address)
		return "as long as the name resolves to a public address";
	if (!t->has_name && v->check_name)
		return "as long as the name inside the connection is not denied";
	return "";
}

static bool is_about_host(const struct operation *o, const struct explain_target *t)
{
	return !o->host || (t->has_name && strcmp(o->host, t->name.s) == 0);
}

/* A permission may say which requests it is for; that is held once requests can be seen. */
static bool has_unheld_operations(const struct catalogue *c, const struct explanation *x)
{
	const struct permission *p =
		c && x->permission[0] ? catalogue_permission(c, x->permission) : NULL;

	for (size_t i = 0; p && x->verdict.allow && i < p->n_operations; i++)
		if (is_about_host(&p->operations[i], &x->target))
			return true;
	return false;
}

static void describe_rest(const struct ruleset *rs, const struct host_prefixes *host,
			  const struct catalogue *c, struct explanation *out)
{
	static const char through_proxy[] = "through the proxy port only";
	bool by_proxy = out->verdict.allow && goes_by_proxy(rs, &out->target);
	size_t n;

	if (out->verdict.reason == REASON_SPECIAL_ADDRESS && out->target.has_addr) {
		describe_special(host, out);
		return;
	}
	snprintf(out->note, sizeof(out->note), "%s%s%s", by_proxy ? through_proxy : "",
		 by_proxy && *note_of(out) ? "; " : "", note_of(out));
	n = strlen(out->note);
	if (has_unheld_operations(c, out))
		snprintf(out->note + n, sizeof(out->note) - n,
			 "%shost-level until requests are inspected: methods and paths of `%s` are "
			 "not looked at yet",
			 n ? "; " : "", out->permission);
}

static void describe_rule(struct explanation *out)
{
	const struct verdict *v = &out->verdict;

	if (v->rule)
		rule_format(v->rule, out->rule);
	if (v->permission)
		snprintf(out->permission, sizeof(out->permission), "%s", v->permission);
}

void explain_decide(const struct ruleset *rs, const struct host_prefixes *host,
		    const struct remedy_for *who, const struct explain_target *t,
		    struct explanation *out)
{
	struct destination d;

	*out = (struct explanation){.target = *t};
	d = destination_of(rs, &out->target);
	ask(rs, host, &d, &out->verdict);
	describe_rule(out);
	/* The remedy is for the connection that was asked for, though its lookup was refused. */
	if (!out->verdict.allow && !is_dns(t)) {
		d.kind = DEST_CONNECT;
		remedy_format(who, &d, out->verdict.reason, out->remedy);
	}
	describe_rest(rs, host, who->catalogue, out);
}

static json_t *string_or_null(const char *s)
{
	return s && *s ? json_string(s) : json_null();
}

char *explain_print_json(const struct explanation *x)
{
	const struct explain_target *t = &x->target;
	char addr[ADDR_TEXT_MAX] = "";
	json_t *object;
	char *text;

	if (t->has_addr)
		addr_format(&t->addr, addr);
	object = json_pack("{s:s, s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:i, s:s, s:o, s:o}",
			   "verdict", x->verdict.allow ? "allow" : "deny", "step", x->verdict.step,
			   "rule", string_or_null(x->rule), "permission",
			   string_or_null(x->permission), "reason", reason_word(x->verdict.reason),
			   "remedy", string_or_null(x->remedy), "note", string_or_null(x->note),
			   "name", string_or_null(t->has_name ? t->name.s : NULL), "address",
			   string_or_null(addr), "port", t->port, "proto", proto_word(t->proto),
			   "method", string_or_null(t->method), "path", string_or_null(t->path));
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	return text;
}

static void put_line(struct buf *b, const char *label, const char *first, const char *between,
		     const char *second)
{
	buf_put_text(b, label);
	buf_put_text(b, first);
	buf_put_text(b, between);
	buf_put_text(b, second);
	buf_put_text(b, "\n");
}

/* "allow db.example.com port 5432 over tcp". */
static void put_headline(struct buf *b, const struct explanation *x)
{
	const struct explain_target *t = &x->target;
	char text[ADDR_TEXT_MAX + 16];

	buf_put_text(b, x->verdict.allow ? "allow   " : "deny    ");
	buf_put_text(b, t->has_name ? t->name.s : addr_format(&t->addr, text));
	if (t->proto != PROTO_ICMP) {
		snprintf(text, sizeof(text), ", port %u", t->port);
		buf_put_text(b, text);
	}
	put_line(b, ", ", proto_word(t->proto), "", "");
	if (t->method[0])
		put_line(b, "request ", t->method, " ", t->path);
}

char *explain_print_text(const struct explanation *x)
{
	char *text = malloc(TEXT_MAX);
	struct buf b = buf_of(text, TEXT_MAX - 1);
	char step[8];

	if (!text)
		return NULL;
	put_headline(&b, x);
	if (!x->verdict.allow)
		put_line(&b, "reason  ", reason_word(x->verdict.reason), ": ",
			 reason_sentence(x->verdict.reason));
	snprintf(step, sizeof(step), "%u", x->verdict.step);
	put_line(&b, "step    ", step, ", ", step_text(x->verdict.step));
	if (x->permission[0])
		put_line(&b, "rule    ", x->rule, " of permission ", x->permission);
	else if (x->rule[0])
		put_line(&b, "rule    ", x->rule, "", "");
	if (x->note[0])
		put_line(&b, "note    ", x->note, "", "");
	if (x->remedy[0])
		put_line(&b, "remedy  ", x->remedy, "", "");
	text[b.n] = 0;
	return text;
}
