/* SPDX-License-Identifier: Apache-2.0 */
/* policy_file: from a document to a policy; one function a key. */
#include <stdio.h>

#include "policy/credential_entry.h"
#include "policy/host_conflict.h"
#include "policy/host_entry.h"
#include "policy/credential_personal.h"
#include "policy/permission.h"
#include "policy/quote.h"
#include "policy/rule_entry.h"
#include "policy/wire.h"

enum {
	PERMISSION_MAX_OCTETS = 63,
	LIMIT_MAX = 1 << 20,
	LABEL_MAX = 63,
	PUBLISH_MAX = 256,
	HOST_PORTS_MAX = 256
};

struct file {
	struct value_reader v;
	struct policy *p;
	const struct catalogue *catalogue; /* that knows every permission; NULL: found later */
	const struct node *network;	   /* the node that set the base; NULL: none did */
	/* Where each was written: the lists of rules, and the entries of the lists of hosts. */
	const struct node *allow, *deny;
	const struct node *inspect[HOST_LIST_MAX], *splice[HOST_LIST_MAX];
};

static int read_version(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;
	uint64_t version;

	if (value_number(&f->v, value, 0, UINT32_MAX, &version))
		return -1;
	if (version > POLICY_FORMAT_VERSION)
		return node_error(f->v.d, value, f->v.e,
				  "a policy of format version %llu needs a sandgate that knows "
				  "version %llu; this one knows versions up to %d",
				  (unsigned long long)version, (unsigned long long)version,
				  POLICY_FORMAT_VERSION);
	f->p->format = (uint8_t)version;
	return 0;
}

static int read_network(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;
	const char *word;

	if (value_string(&f->v, value, &word))
		return -1;
	f->network = value;
	return policy_set_network(f->p, word, f->v.e) ? node_prefix(f->v.d, value, f->v.e) : 0;
}

/* An id of the catalogue, or "-id". */
static bool is_permission_word(const char *word)
{
	const char *id = word[0] == '-' ? word + 1 : word;

	return *id >= 'a' && *id <= 'z' && strlen(id) <= PERMISSION_MAX_OCTETS &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-:") == strlen(id);
}

static int refuse_permission_word(struct file *f, const struct node *n, const char *word)
{
	char shown[QUOTE_MAX];

	quote_string(word, shown);
	if (strncmp(word, "site:", 5) == 0 || strpbrk(word, "./*"))
		return node_error(f->v.d, n, f->v.e,
				  "%s is a host and no permission; write it under `allow`", shown);
	return node_error(f->v.d, n, f->v.e,
			  "%s is no permission: an id is lower-case letters, digits, `-` and `:`, "
			  "with a `-` before it to take it away",
			  shown);
}

static int add_permission(struct file *f, const struct node *n, const char *word)
{
	const char *id = word[0] == '-' ? word + 1 : word;

	if (f->catalogue && !catalogue_knows(f->catalogue, id))
		catalogue_refuse_unknown(f->catalogue, id, f->v.e);
	else if (policy_add_permission(f->p, word, f->v.e) == 0)
		return 0;
	return node_prefix(f->v.d, n, f->v.e);
}

static int read_permissions(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;
	const char *word;

	if (value_list(&f->v, value, true))
		return -1;
	for (size_t i = 0; i < value->n; i++) {
		const struct node *n = &value->items[i];

		if (value_string(&f->v, n, &word))
			return -1;
		if (!is_permission_word(word) || strncmp(word, "site:", 5) == 0)
			return refuse_permission_word(f, n, word);
		if (add_permission(f, n, word))
			return -1;
	}
	return 0;
}

static int read_rules(struct file *f, const struct node *value, enum effect effect)
{
	struct rule r;

	for (size_t i = 0; i < value->n; i++) {
		if (rule_entry_read(&f->v, &value->items[i], effect, &r))
			return -1;
		if (policy_take_rule(f->p, &r, f->v.e))
			return node_prefix(f->v.d, &value->items[i], f->v.e);
	}
	return 0;
}

static int read_allow(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	if (value_list(&f->v, value, true))
		return -1;
	if (value->n == 0)
		return node_error(f->v.d, key, f->v.e,
				  "an empty `allow` list allows nothing; leave it out and say "
				  "`network: deny`");
	f->allow = value;
	return read_rules(f, value, EFFECT_ALLOW);
}

static int read_deny(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	if (value_list(&f->v, value, true))
		return -1;
	f->deny = value;
	return read_rules(f, value, EFFECT_DENY);
}

/* ---- Settings of one word ---- */

static int read_choice(struct file *f, const struct node *value, const char *usual,
		       const char *other, bool *is_other)
{
	const char *words[] = {usual, other};
	size_t index;

	if (value_word(&f->v, value, words, sg_array_len(words), &index))
		return -1;
	*is_other = index == 1;
	return 0;
}

static int read_dns(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_choice(f, value, "on", "off", &f->p->dns_off);
}

static int read_dns_answers(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;
	bool synthetic;

	if (read_choice(f, value, "real", "synthetic", &synthetic))
		return -1;
	f->p->dns_answers = synthetic ? DNS_ANSWERS_SYNTHETIC : DNS_ANSWERS_REAL;
	return 0;
}

static int read_dns_refusal(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;
	bool nxdomain;

	if (read_choice(f, value, "refused", "nxdomain", &nxdomain))
		return -1;
	f->p->dns_refusal = nxdomain ? DNS_REFUSAL_NXDOMAIN : DNS_REFUSAL_REFUSED;
	return 0;
}

static int read_quic(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_choice(f, value, "refuse", "allow", &f->p->quic_allow);
}

static int read_ech(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_choice(f, value, "allow", "refuse", &f->p->ech_refuse);
}

/* ---- Ports of the host ---- */

static bool has_host_port(const struct policy *p, uint64_t port)
{
	for (size_t i = 0; i < p->n_host_ports; i++)
		if (p->host_ports[i] == port)
			return true;
	return false;
}

static int read_host_ports(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;
	uint64_t port;

	if (value_list(&f->v, value, true))
		return -1;
	if (value->n > HOST_PORTS_MAX)
		return node_error(f->v.d, value, f->v.e, "more than %d ports", HOST_PORTS_MAX);
	f->p->host_ports = calloc(value->n + 1, sizeof(*f->p->host_ports));
	if (!f->p->host_ports)
		return node_error(f->v.d, value, f->v.e, "out of memory");
	for (size_t i = 0; i < value->n; i++) {
		if (value_number(&f->v, &value->items[i], 1, UINT16_MAX, &port))
			return -1;
		if (!has_host_port(f->p, port))
			f->p->host_ports[f->p->n_host_ports++] = (uint16_t)port;
	}
	return 0;
}

/* "8080:3000", both from 1 to 65535. */
static bool parse_publish(const char *text, struct publish *out)
{
	unsigned host, sandbox;
	char again[16];

	if (sscanf(text, "%5u:%5u", &host, &sandbox) != 2 || host == 0 || sandbox == 0 ||
	    host > UINT16_MAX || sandbox > UINT16_MAX)
		return false;
	snprintf(again, sizeof(again), "%u:%u", host, sandbox);
	*out = (struct publish){.host = (uint16_t)host, .sandbox = (uint16_t)sandbox};
	return strcmp(again, text) == 0;
}

static int add_publish(struct file *f, const struct node *value)
{
	struct publish one;
	char shown[QUOTE_MAX];
	const char *text;

	if (value_string(&f->v, value, &text))
		return -1;
	if (!parse_publish(text, &one))
		return node_error(f->v.d, value, f->v.e,
				  "%s is not HOST:SANDBOX, two ports from 1 to 65535; write "
				  "\"8080:3000\"",
				  quote_string(text, shown));
	for (size_t i = 0; i < f->p->n_publish; i++)
		if (f->p->publish[i].host == one.host)
			return node_error(f->v.d, value, f->v.e,
					  "port %u of the host is published twice; leave one out",
					  one.host);
	f->p->publish[f->p->n_publish++] = one;
	return 0;
}

static int read_publish(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	if (value_list(&f->v, value, true))
		return -1;
	if (value->n > PUBLISH_MAX)
		return node_error(f->v.d, value, f->v.e, "more than %d ports", PUBLISH_MAX);
	f->p->publish = calloc(value->n + 1, sizeof(*f->p->publish));
	if (!f->p->publish)
		return node_error(f->v.d, value, f->v.e, "out of memory");
	for (size_t i = 0; i < value->n; i++)
		if (add_publish(f, &value->items[i]))
			return -1;
	return 0;
}

/* ---- Limits ---- */

static int read_limit(struct file *f, const struct node *value, uint64_t max, uint32_t *out)
{
	uint64_t v;

	if (value_number(&f->v, value, 1, max, &v))
		return -1;
	*out = (uint32_t)v;
	return 0;
}

static int read_bytes(struct file *f, const struct node *value, uint64_t *out)
{
	return value_number(&f->v, value, 0, INT64_MAX, out);
}

static int read_flows(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_limit(f, value, LIMIT_MAX, &f->p->limits.flows);
}

static int read_flows_per_second(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_limit(f, value, LIMIT_MAX, &f->p->limits.flows_per_second);
}

static int read_flows_burst(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_limit(f, value, LIMIT_MAX, &f->p->limits.flows_burst);
}

static int read_wildcard_names(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_limit(f, value, LIMIT_MAX, &f->p->limits.wildcard_names_per_minute);
}

static int read_wildcard_name(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_limit(f, value, NAME_MAX_OCTETS, &f->p->limits.wildcard_name_length);
}

static int read_wildcard_label(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_limit(f, value, LABEL_MAX, &f->p->limits.wildcard_label_length);
}

static int read_bytes_out(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_bytes(f, value, &f->p->limits.bytes_out);
}

static int read_bytes_per_host(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return read_bytes(f, value, &f->p->limits.bytes_out_per_host);
}

static int read_limits(void *context, const struct node *key, const struct node *value)
{
	static const struct value_key keys[] = {
		{"flows", read_flows},
		{"flows_per_second", read_flows_per_second},
		{"flows_burst", read_flows_burst},
		{"wildcard_names_per_minute", read_wildcard_names},
		{"wildcard_name_length", read_wildcard_name},
		{"wildcard_label_length", read_wildcard_label},
		{"bytes_out", read_bytes_out},
		{"bytes_out_per_host", read_bytes_per_host},
	};
	struct file *f = context;

	return value_map(&f->v, value, keys, sg_array_len(keys), f);
}

static int read_credentials(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return credentials_read(&f->v, value, &f->p->credentials);
}

/* ---- Which TLS is opened ---- */

static bool is_word(const struct node *n, const char *word)
{
	return n->kind == NODE_SCALAR && span_equal(node_span(n), span_of_string(word));
}

static int read_inspect(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	if (is_word(value, "all")) {
		f->p->inspect_all = true;
		return 0;
	}
	if (value->kind == NODE_LIST && value->n == 1 && is_word(&value->items[0], "all"))
		return node_error(f->v.d, value, f->v.e,
				  "a list names hosts; to open all, write `inspect: all`");
	if (value->kind != NODE_LIST)
		return node_error(f->v.d, value, f->v.e,
				  "`inspect` is a list of hosts, or `all`; write "
				  "`inspect: [api.example.com]`");
	return host_entries_read(&f->v, value, &f->p->inspect, f->inspect);
}

static int read_splice(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	if (value->kind != NODE_LIST)
		return node_error(f->v.d, value, f->v.e,
				  "`splice` is a list of hosts whose TLS stays closed; write "
				  "`splice: [bank.example.com]`");
	return host_entries_read(&f->v, value, &f->p->splice, f->splice);
}

/* What a policy will be able to say. Read over, it would be a setting that does nothing. */
static int refuse_future(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return node_error(f->v.d, key, f->v.e, "`%s` is not in this version; leave it out",
			  key->text);
}

static int read_resolved(void *context, const struct node *key, const struct node *value)
{
	struct file *f = context;

	return wire_read_resolved(&f->v, value, &f->p->resolved);
}

/* The last is of the form between supervisor and gate alone. */
static const struct value_key keys[] = {
	{"version", read_version},
	{"network", read_network},
	{"permissions", read_permissions},
	{"allow", read_allow},
	{"deny", read_deny},
	{"dns", read_dns},
	{"dns_answers", read_dns_answers},
	{"dns_refusal", read_dns_refusal},
	{"quic", read_quic},
	{"ech", read_ech},
	{"host_ports", read_host_ports},
	{"publish", read_publish},
	{"limits", read_limits},
	{"credentials", read_credentials},
	{"inspect", read_inspect},
	{"splice", read_splice},
	{"tools", refuse_future},
	{"apps", refuse_future},
	{"resolved", read_resolved},
};
enum { FILE_KEYS = sg_array_len(keys) - 1 };
_Static_assert(sg_array_len(keys) <= VALUE_KEYS_MAX, "value_map remembers each key");

/*
 * Version 0 had no presets: what said nothing of the network, and what said `standard`, allowed
 * what it listed and nothing else.
 */
static void read_as_older(struct file *f)
{
	if (f->p->format == 0 && f->p->network == NET_STANDARD)
		f->p->network = NET_DENY;
}

/* The rules stand in the order of the lists, whichever was first. */
static const struct node *node_of_rule(const struct file *f, size_t index)
{
	enum effect effect = f->p->rules[index].effect;
	size_t before = 0;

	for (size_t i = 0; i < index; i++)
		before += f->p->rules[i].effect == effect;
	return &(effect == EFFECT_ALLOW ? f->allow : f->deny)->items[before];
}

static int check_hosts(const struct file *f)
{
	struct host_conflict at;
	const struct node *n;

	if (host_conflict_find(f->p, &at, f->v.e) == 0)
		return 0;
	n = at.list == CONFLICT_IN_RULES     ? node_of_rule(f, at.index)
	    : at.list == CONFLICT_IN_INSPECT ? f->inspect[at.index]
					     : f->splice[at.index];
	return node_prefix(f->v.d, n, f->v.e);
}

static int read_policy(struct file *f, const struct document *d, size_t n_keys)
{
	if (d->empty)
		return node_error(d, &d->root, f->v.e,
				  "the file is empty; to allow nothing, write `network: deny`");
	if (value_map(&f->v, &d->root, keys, n_keys, f))
		return -1;
	read_as_older(f);
	if (check_hosts(f))
		return -1;
	if (f->p->resolved.done && credentials_resolve(f->p))
		return node_error(d, &d->root, f->v.e, "out of memory");
	if (policy_validate(f->p, f->v.e))
		return node_prefix(d, f->network ? f->network : &d->root, f->v.e);
	return 0;
}

static int parse(struct file *f, struct span text, enum policy_syntax syntax, const char *file,
		 size_t n_keys)
{
	struct document d;
	int rc;

	policy_init(f->p);
	f->v.d = &d;
	if (document_parse(text, syntax, file, &d, f->v.e))
		return -1;
	rc = read_policy(f, &d, n_keys);
	document_free(&d);
	if (rc)
		policy_free(f->p);
	return rc;
}

int policy_parse(struct span text, enum policy_syntax syntax, const char *file, struct policy *p,
		 struct err *e)
{
	return policy_parse_known(text, syntax, file, NULL, p, e);
}

int policy_parse_known(struct span text, enum policy_syntax syntax, const char *file,
		       const struct catalogue *c, struct policy *p, struct err *e)
{
	struct file f = {.v = {.e = e}, .p = p, .catalogue = c};

	return parse(&f, text, syntax, file, FILE_KEYS);
}

int policy_parse_wire(struct span text, struct policy *p, struct err *e)
{
	struct file f = {.v = {.e = e}, .p = p};

	return parse(&f, text, POLICY_JSON, "policy", sg_array_len(keys));
}
