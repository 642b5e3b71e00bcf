/* SPDX-License-Identifier: Apache-2.0 */
/* print: a policy as canonical JSON, a rule as its short form and as a sentence. */
#include "policy/print.h"

#include <stdio.h>

#include "base/buf.h"
#include "policy/credential_entry.h"
#include "policy/host_entry.h"
#include "policy/rule.h"
#include "policy/wire.h"

static void put_number(struct buf *b, unsigned v)
{
	char digits[12];

	snprintf(digits, sizeof(digits), "%u", v);
	buf_put_text(b, digits);
}

static void put_range(struct buf *b, const struct port_range *r)
{
	put_number(b, r->lo);
	if (r->hi != r->lo) {
		buf_put_text(b, "-");
		put_number(b, r->hi);
	}
}

/* Ends the text: what did not fit is cut, which RULE_TEXT_MAX makes impossible for a rule. */
static char *end_text(struct buf *b)
{
	b->p[b->n < b->cap ? b->n : b->cap - 1] = 0;
	return (char *)b->p;
}

static void put_target(struct buf *b, const struct rule *r, bool brackets)
{
	bool v4 = addr_is_v4(&r->prefix.addr) && r->prefix.bits >= 96;
	char text[PREFIX_TEXT_MAX];

	if (r->kind != TARGET_PREFIX) {
		buf_put_text(b, r->kind == TARGET_WILDCARD ? "*." : "");
		buf_put_text(b, rule_name(r));
		return;
	}
	buf_put_text(b, brackets && !v4 ? "[" : "");
	buf_put_text(b, r->prefix.bits == 128 ? addr_format(&r->prefix.addr, text)
					      : prefix_format(&r->prefix, text));
	buf_put_text(b, brackets && !v4 ? "]" : "");
}

static void put_ports(struct buf *b, const struct rule *r)
{
	size_t n;
	const struct port_range *ports = rule_ports(r, &n);

	if (r->any_port)
		buf_put_text(b, "*");
	for (size_t i = 0; !r->any_port && i < n; i++) {
		buf_put_text(b, i ? "," : "");
		put_range(b, &ports[i]);
	}
}

static void put_protos(struct buf *b, uint8_t protos, const char *between)
{
	static const struct {
		uint8_t bit;
		const char *word;
	} words[] = {{PROTO_TCP, "tcp"}, {PROTO_UDP, "udp"}, {PROTO_ICMP, "icmp"}};
	bool more = false;

	for (size_t i = 0; i < sg_array_len(words); i++) {
		if (!(protos & words[i].bit))
			continue;
		buf_put_text(b, more ? between : "");
		buf_put_text(b, words[i].word);
		more = true;
	}
}

char *rule_format(const struct rule *r, char out[RULE_TEXT_MAX])
{
	struct buf b = buf_of(out, RULE_TEXT_MAX - 1);

	put_target(&b, r, r->ports_written);
	if (r->ports_written) {
		buf_put_text(&b, ":");
		put_ports(&b, r);
	}
	if (r->raw || r->protos)
		buf_put_text(&b, "/");
	if (r->raw)
		buf_put_text(&b, "raw");
	put_protos(&b, r->protos, "+");
	return end_text(&b);
}

/* ---- A sentence ---- */

static void describe_target(struct buf *b, const struct rule *r)
{
	if (r->kind == TARGET_WILDCARD) {
		buf_put_text(b, "every name below ");
		buf_put_text(b, rule_name(r));
		return;
	}
	if (r->kind == TARGET_PREFIX && r->prefix.bits != 128)
		buf_put_text(b, "network ");
	else if (r->kind == TARGET_PREFIX)
		buf_put_text(b, "address ");
	put_target(b, r, false);
}

static void describe_scope(struct buf *b, const struct rule *r)
{
	struct rule_scope s = rule_scope_of(r);
	bool every_port = s.n == 1 && s.ports[0].lo == 1 && s.ports[0].hi == UINT16_MAX;

	if (s.protos == PROTO_ANY && every_port) {
		buf_put_text(b, ", every port and protocol");
		return;
	}
	buf_put_text(b, ", ");
	put_protos(b, s.protos, " and ");
	if (!(s.protos & (PROTO_TCP | PROTO_UDP)))
		return;
	buf_put_text(b, every_port				     ? " on every port"
			: s.n == 1 && s.ports[0].lo == s.ports[0].hi ? " on port "
								     : " on ports ");
	for (size_t i = 0; !every_port && i < s.n; i++) {
		buf_put_text(b, i ? ", " : "");
		put_range(b, &s.ports[i]);
	}
}

/* Whether the rule's TCP ports include one that is looked into. */
static bool is_looked_into(const struct rule *r)
{
	struct rule_scope s = rule_scope_of(r);

	if (r->effect == EFFECT_DENY || r->kind == TARGET_PREFIX || r->raw ||
	    !(s.protos & PROTO_TCP))
		return false;
	for (size_t i = 0; i < s.n; i++)
		if ((s.ports[i].lo <= 80 && s.ports[i].hi >= 80) ||
		    (s.ports[i].lo <= 443 && s.ports[i].hi >= 443))
			return true;
	return false;
}

static void describe_list(struct buf *b, const char *what, char *const *list)
{
	if (!list)
		return;
	buf_put_text(b, what);
	for (size_t i = 0; list[i]; i++) {
		/* A long list is cut: the entry itself stands beside the sentence. */
		if (b->cap - b->n < strlen(list[i]) + 16) {
			buf_put_text(b, ", ...");
			return;
		}
		buf_put_text(b, i ? ", " : "");
		buf_put_text(b, list[i]);
	}
}

char *rule_describe(const struct rule *r, char out[RULE_TEXT_MAX])
{
	struct buf b = buf_of(out, RULE_TEXT_MAX - 1);

	describe_target(&b, r);
	describe_scope(&b, r);
	if (is_looked_into(r))
		buf_put_text(&b, "; on 80 and 443 the name inside is checked");
	if (r->raw)
		buf_put_text(&b, "; nothing inside is checked");
	if (r->private_ok)
		buf_put_text(&b, "; it may resolve to a private address");
	if (r->detail) {
		describe_list(&b, "; methods ", r->detail->methods);
		describe_list(&b, "; paths ", r->detail->paths);
	}
	return end_text(&b);
}

/* ---- JSON ---- */

/* `json_*_new` steal what they are given, also when they fail: one NULL shows up at the end. */
static bool put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value) == 0;
}

json_t *strings_print_json(char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; list[i]; i++)
		if (json_array_append_new(array, json_string(list[i])) != 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static bool has_short_form(const struct rule *r)
{
	const struct rule_detail *d = r->detail;

	return !r->private_ok && (!d || (!d->methods && !d->paths && !d->note));
}

static json_t *text_json(struct buf *b)
{
	return json_string(end_text(b));
}

/* The pieces of the short form under the keys of the long one. */
static bool put_pieces(json_t *object, const struct rule *r)
{
	char text[RULE_TEXT_MAX];
	struct buf target = buf_of(text, sizeof(text) - 1);
	const char *key = r->kind != TARGET_PREFIX ? "host"
			  : r->prefix.bits == 128  ? "address"
						   : "network";
	bool ok;

	put_target(&target, r, false);
	ok = put(object, key, text_json(&target));
	if (r->ports_written) {
		struct buf ports = buf_of(text, sizeof(text) - 1);

		put_ports(&ports, r);
		ok = put(object, "ports", text_json(&ports)) && ok;
	}
	if (r->protos || r->raw) {
		struct buf proto = buf_of(text, sizeof(text) - 1);

		buf_put_text(&proto, r->raw ? "raw" : "");
		put_protos(&proto, r->protos, "+");
		ok = put(object, "proto", text_json(&proto)) && ok;
	}
	return ok;
}

/* The short form where it says all, else an object with the keys of the long form. */
static json_t *print_rule(const struct rule *r)
{
	const struct rule_detail *d = r->detail;
	char text[RULE_TEXT_MAX];
	json_t *object;
	bool ok;

	if (has_short_form(r))
		return json_string(rule_format(r, text));
	object = json_object();
	ok = put_pieces(object, r);
	if (d && d->methods)
		ok = put(object, "methods", strings_print_json(d->methods)) && ok;
	if (d && d->paths)
		ok = put(object, "paths", strings_print_json(d->paths)) && ok;
	if (r->private_ok)
		ok = put(object, "private", json_true()) && ok;
	if (d && d->note)
		ok = put(object, "note", json_string(d->note)) && ok;
	if (ok)
		return object;
	json_decref(object);
	return NULL;
}

bool json_put_unless_empty(json_t *object, const char *key, json_t *array)
{
	if (array && json_array_size(array) > 0)
		return put(object, key, array);
	json_decref(array);
	return array != NULL;
}

json_t *rules_print_json(const struct rule *rules, size_t n, enum effect effect)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < n; i++)
		if (rules[i].effect == effect &&
		    json_array_append_new(array, print_rule(&rules[i])) != 0) {
			json_decref(array);
			array = NULL;
		}
	return array;
}

json_t *ports_print_json(const uint16_t *ports, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < n; i++)
		if (json_array_append_new(array, json_integer(ports[i])) != 0) {
			json_decref(array);
			array = NULL;
		}
	return array;
}

static json_t *publish_json(const struct policy *p)
{
	json_t *array = json_array();
	char text[16];

	for (size_t i = 0; array && i < p->n_publish; i++) {
		snprintf(text, sizeof(text), "%u:%u", p->publish[i].host, p->publish[i].sandbox);
		if (json_array_append_new(array, json_string(text)) != 0) {
			json_decref(array);
			array = NULL;
		}
	}
	return array;
}

static bool put_ports_lists(json_t *object, const struct policy *p)
{
	return json_put_unless_empty(object, "host_ports",
				     ports_print_json(p->host_ports, p->n_host_ports)) &&
	       json_put_unless_empty(object, "publish", publish_json(p));
}

static bool put_limit(json_t *limits, const char *key, uint64_t value, uint64_t usual)
{
	return value == usual || put(limits, key, json_integer((json_int_t)value));
}

static bool put_limits(json_t *object, const struct limits *l)
{
	struct policy usual;
	json_t *limits = json_object();
	bool ok;

	policy_init(&usual);
	ok = put_limit(limits, "flows", l->flows, usual.limits.flows);
	ok = put_limit(limits, "flows_per_second", l->flows_per_second,
		       usual.limits.flows_per_second) &&
	     ok;
	ok = put_limit(limits, "flows_burst", l->flows_burst, usual.limits.flows_burst) && ok;
	ok = put_limit(limits, "wildcard_names_per_minute", l->wildcard_names_per_minute,
		       usual.limits.wildcard_names_per_minute) &&
	     ok;
	ok = put_limit(limits, "wildcard_name_length", l->wildcard_name_length,
		       usual.limits.wildcard_name_length) &&
	     ok;
	ok = put_limit(limits, "wildcard_label_length", l->wildcard_label_length,
		       usual.limits.wildcard_label_length) &&
	     ok;
	ok = put_limit(limits, "bytes_out", l->bytes_out, usual.limits.bytes_out) && ok;
	ok = put_limit(limits, "bytes_out_per_host", l->bytes_out_per_host,
		       usual.limits.bytes_out_per_host) &&
	     ok;
	if (ok && json_object_size(limits) > 0)
		return put(object, "limits", limits);
	json_decref(limits);
	return ok;
}

static bool put_hosts(json_t *object, const struct policy *p)
{
	bool ok = !p->inspect_all || put(object, "inspect", json_string("all"));

	return json_put_unless_empty(object, "inspect", host_list_print_json(&p->inspect)) &&
	       json_put_unless_empty(object, "splice", host_list_print_json(&p->splice)) && ok;
}

/* The settings that differ from the defaults. */
static bool put_settings(json_t *object, const struct policy *p)
{
	bool ok = true;

	if (p->dns_off)
		ok = put(object, "dns", json_string("off")) && ok;
	if (p->dns_answers == DNS_ANSWERS_SYNTHETIC)
		ok = put(object, "dns_answers", json_string("synthetic")) && ok;
	if (p->dns_refusal == DNS_REFUSAL_NXDOMAIN)
		ok = put(object, "dns_refusal", json_string("nxdomain")) && ok;
	if (p->quic_allow)
		ok = put(object, "quic", json_string("allow")) && ok;
	if (p->ech_refuse)
		ok = put(object, "ech", json_string("refuse")) && ok;
	return put_hosts(object, p) && put_ports_lists(object, p) &&
	       put_limits(object, &p->limits) && ok;
}

/* `standard` is what a policy has that says nothing. */
static bool put_network(json_t *object, const struct policy *p)
{
	return p->network == NET_STANDARD ||
	       put(object, "network", json_string(network_base_name(p->network)));
}

static json_t *policy_json(const struct policy *p)
{
	json_t *object = json_object();

	if (put(object, "version", json_integer(POLICY_FORMAT_VERSION)) && put_network(object, p) &&
	    (!p->permissions || put(object, "permissions", strings_print_json(p->permissions))) &&
	    json_put_unless_empty(object, "allow",
				  rules_print_json(p->rules, p->n_rules, EFFECT_ALLOW)) &&
	    json_put_unless_empty(object, "deny",
				  rules_print_json(p->rules, p->n_rules, EFFECT_DENY)) &&
	    json_put_unless_empty(object, "credentials", credentials_print_json(&p->credentials)) &&
	    put_settings(object, p))
		return object;
	json_decref(object);
	return NULL;
}

static char *print_and_free(json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	return text;
}

char *policy_print_json(const struct policy *p)
{
	return print_and_free(policy_json(p));
}

char *policy_print_wire(const struct policy *p)
{
	json_t *object = policy_json(p);

	if (object && p->resolved.done &&
	    !put(object, "resolved", wire_print_resolved(&p->resolved))) {
		json_decref(object);
		object = NULL;
	}
	return print_and_free(object);
}
