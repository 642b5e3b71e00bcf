/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/explain.h"

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"

enum { HTTP_PORT = 80, DNS_PORT = 53, TEXT_MAX = 8192 };

static const char *proto_word(enum proto p)
{
	return p == PROTO_UDP ? "udp" : p == PROTO_ICMP ? "icmp" : "tcp";
}

static const char *step_text(unsigned step)
{
	static const char *const text[] = {
		[1] = "the base",     [2] = "special addresses", [3] = "own rules",
		[4] = "organisation", [5] = "permissions",	 [6] = "the default of the base",
	};

	return step < sg_array_len(text) && text[step] ? text[step] : "unknown";
}

static struct destination destination_of(const struct explain_target *t)
{
	return (struct destination){
		.kind = DEST_CONNECT,
		.name = t->has_name ? &t->name : NULL,
		.addr = t->has_addr ? &t->addr : NULL,
		.port = t->port,
		.proto = t->proto,
		.method = t->method[0] ? t->method : NULL,
		.path = t->path[0] ? t->path : NULL,
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

/* What is still open when the verdict is given. */
static void describe_rest(const struct host_prefixes *host, struct explanation *out)
{
	const struct explain_target *t = &out->target;
	const char *note = "";

	if (out->verdict.reason == REASON_SPECIAL_ADDRESS && t->has_addr) {
		describe_special(host, out);
		return;
	}
	if (is_dns(t))
		note = "whatever the address, port 53 is answered by the gate itself";
	else if (!out->verdict.allow)
		note = "";
	else if (t->path_unseen)
		note = "on this port the path is not looked at";
	else if (is_about_requests(out->verdict.rule) && !t->method[0])
		note = "each request is judged by its method and path";
	else if (t->has_name && !t->has_addr && !out->verdict.private_ok &&
		 !out->verdict.by_literal_address)
		note = "as long as the name resolves to a public address";
	else if (!t->has_name && out->verdict.check_name)
		note = "as long as the name inside the connection is not denied";
	snprintf(out->note, sizeof(out->note), "%s", note);
}

void explain_decide(const struct ruleset *rs, const struct host_prefixes *host,
		    const struct remedy_for *who, const struct explain_target *t,
		    struct explanation *out)
{
	struct destination d;

	*out = (struct explanation){.target = *t};
	d = destination_of(&out->target);
	ask(rs, host, &d, &out->verdict);
	if (out->verdict.rule)
		rule_format(out->verdict.rule, out->rule);
	/* The remedy is for the connection that was asked for, though its lookup was refused. */
	if (!out->verdict.allow && !is_dns(t)) {
		d.kind = DEST_CONNECT;
		remedy_format(who, &d, out->verdict.reason, out->remedy);
	}
	describe_rest(host, out);
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
	object = json_pack("{s:s, s:i, s:o, s:s, s:o, s:o, s:o, s:i, s:s, s:o, s:o}", "verdict",
			   x->verdict.allow ? "allow" : "deny", "step", x->verdict.step, "rule",
			   string_or_null(x->rule), "reason", reason_word(x->verdict.reason),
			   "remedy", string_or_null(x->remedy), "name",
			   string_or_null(t->has_name ? t->name.s : NULL), "address",
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
	if (x->rule[0])
		put_line(&b, "rule    ", x->rule, "", "");
	if (x->note[0])
		put_line(&b, "note    ", x->note, "", "");
	if (x->remedy[0])
		put_line(&b, "remedy  ", x->remedy, "", "");
	text[b.n] = 0;
	return text;
}
