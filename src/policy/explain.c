/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/explain.h"

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "policy/permission.h"
#include "policy/rule.h"

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
	bool own = t->has_name && (name_is_host_alias(&t->name) || name_is_gateway(&t->name));

	return ruleset_policy(rs)->network == NET_BROKERED && t->proto == PROTO_TCP && !own;
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

/* A request is seen inside what is opened, and in plain HTTP that is looked into. */
static void drop_request(struct explanation *x, struct destination *d)
{
	struct explain_target *t = &x->target;
	bool usual = strcmp(t->method, "GET") == 0 && t->path[strspn(t->path, "/")] == 0;

	x->request_unseen = t->method[0] && !usual;
	t->method[0] = t->path[0] = 0;
	d->method = d->path = NULL;
}

/* The questions of the data plane, in its order, until one is refused. */
static void ask(const struct ruleset *rs, const struct host_prefixes *host, struct destination *d,
		struct explanation *x)
{
	struct destination asked = *d;
	struct verdict *v = &x->verdict;
	bool check_name;

	if (x->inspects == INSPECTS_NOT && (d->port != HTTP_PORT || d->proto != PROTO_TCP))
		drop_request(x, d);
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
	if (!v->allow)
		return;
	check_name = v->check_name;
	/* What is carried whole is opened for what is wanted of the host itself, and for no rule. */
	if (!check_name && (x->inspects == INSPECTS_RULES || x->inspects == INSPECTS_OPERATIONS))
		x->inspects = INSPECTS_NOT;
	if (!check_name && x->inspects == INSPECTS_NOT) {
		drop_request(x, d);
		return;
	}
	/* One on port 80 that is not spelt out is judged when it comes. */
	if (!d->name || (d->port == HTTP_PORT && !d->method))
		return;
	asked = *d;
	asked.kind = DEST_SERVER_NAME;
	decide(rs, host, &asked, v);
	v->check_name = check_name;
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

/* What is still open when the verdict is given; empty: nothing. */
static const char *note_of(const struct explanation *x)
{
	const struct explain_target *t = &x->target;
	const struct verdict *v = &x->verdict;

	if (is_dns(t))
		return "whatever the address, port 53 is answered by the gate itself";
	if (!v->allow)
		return "";
	if (t->has_name && name_is_host_alias(&t->name))
		return "a port of the host's own loopback";
	if (t->has_name && name_is_gateway(&t->name))
		return "the proxy port, which judges what it is asked for";
	if (x->request_unseen)
		return "its requests are not seen: method and path are not looked at";
	if (!t->method[0] && ((v->rule && rule_is_about_requests(v->rule)) ||
			      x->inspects == INSPECTS_RULES || x->inspects == INSPECTS_OPERATIONS))
		return "each request is judged by its method and path";
	if (t->has_name && !t->has_addr && !v->private_ok && !v->by_literal_address)
		return "as long as the name resolves to a public address";
	if (!t->has_name && v->check_name)
		return "as long as the name inside the connection is not denied";
	return "";
}

static void describe_rest(const struct ruleset *rs, const struct host_prefixes *host,
			  struct explanation *out)
{
	static const char through_proxy[] = "through the proxy port only";
	bool by_proxy = out->verdict.allow && goes_by_proxy(rs, &out->target);

	if (out->verdict.reason == REASON_SPECIAL_ADDRESS && out->target.has_addr) {
		describe_special(host, out);
		return;
	}
	snprintf(out->note, sizeof(out->note), "%s%s%s", by_proxy ? through_proxy : "",
		 by_proxy && *note_of(out) ? "; " : "", note_of(out));
}

static void describe_rule(struct explanation *out)
{
	const struct verdict *v = &out->verdict;

	if (v->rule)
		rule_format(v->rule, out->rule);
	if (v->permission)
		snprintf(out->permission, sizeof(out->permission), "%s", v->permission);
}

static enum inspects_why find_inspects(const struct ruleset *rs, const struct host_prefixes *host,
				       const struct catalogue *c, const struct destination *d)
{
	if (d->proto != PROTO_TCP)
		return INSPECTS_NOT;
	return policy_inspects(rs, c ? c : catalogue_builtin(), host, d->name, d->addr, d->port);
}

void explain_decide(const struct ruleset *rs, const struct host_prefixes *host,
		    const struct remedy_for *who, const struct explain_target *t,
		    struct explanation *out)
{
	struct destination d;

	*out = (struct explanation){.target = *t};
	d = destination_of(rs, &out->target);
	out->inspects = find_inspects(rs, host, who->catalogue, &d);
	ask(rs, host, &d, out);
	describe_rule(out);
	/* The remedy is for the connection that was asked for, though its lookup was refused. */
	if (!out->verdict.allow && !is_dns(t)) {
		d.kind = DEST_CONNECT;
		remedy_format(who, &d, out->verdict.reason, out->remedy);
	}
	describe_rest(rs, host, out);
}

static json_t *string_or_null(const char *s)
{
	return s && *s ? json_string(s) : json_null();
}

/* Of what is refused nothing is opened. */
static const char *inspected_word(const struct explanation *x)
{
	static const char *const words[] = {
		[INSPECTS_RULES] = "rules",
		[INSPECTS_OPERATIONS] = "operations",
		[INSPECTS_CREDENTIALS] = "credentials",
		[INSPECTS_LISTED] = "listed",
	};
	bool opened = x->verdict.allow || x->target.method[0];

	return opened ? words[x->inspects] : NULL;
}

char *explain_print_json(const struct explanation *x)
{
	const struct explain_target *t = &x->target;
	char addr[ADDR_TEXT_MAX] = "";
	json_t *object;
	char *text;

	if (t->has_addr)
		addr_format(&t->addr, addr);
	object = json_pack(
		"{s:s, s:i, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:i, s:s, s:o, s:o, "
		"s:o, s:o, s:o, s:o}",
		"verdict", x->verdict.allow ? "allow" : "deny", "step", x->verdict.step, "rule",
		string_or_null(x->rule), "permission", string_or_null(x->permission), "reason",
		reason_word(x->verdict.reason), "remedy", string_or_null(x->remedy), "note",
		string_or_null(x->note), "name", string_or_null(t->has_name ? t->name.s : NULL),
		"address", string_or_null(addr), "port", t->port, "proto", proto_word(t->proto),
		"method", string_or_null(t->method), "path", string_or_null(t->path), "inspected",
		string_or_null(inspected_word(x)), "operation", string_or_null(x->operation),
		"operation_of", string_or_null(x->operation_of), "credential",
		string_or_null(x->credential));
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	return text;
}

static const char *inspected_text(const struct explanation *x)
{
	static const char *const text[] = {
		[INSPECTS_RULES] = "its requests are seen: a rule is about methods or paths",
		[INSPECTS_OPERATIONS] =
			"its requests are seen: the permission is for some operations only",
		[INSPECTS_CREDENTIALS] = "its requests are seen: a credential is added to some",
		[INSPECTS_LISTED] = "its requests are seen: `inspect` lists it",
	};

	return inspected_word(x) ? text[x->inspects] : NULL;
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
	if (x->operation_of[0])
		put_line(&b, "request ", x->operation[0] ? x->operation : "any", ", of permission ",
			 x->operation_of);
	if (inspected_text(x))
		put_line(&b, "inspect ", inspected_text(x), "", "");
	if (x->credential[0])
		put_line(&b, "added   ", x->credential, "", "");
	if (x->note[0])
		put_line(&b, "note    ", x->note, "", "");
	if (x->remedy[0])
		put_line(&b, "remedy  ", x->remedy, "", "");
	text[b.n] = 0;
	return text;
}
