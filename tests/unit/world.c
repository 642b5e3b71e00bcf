/* SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "policy/host_conflict.h"
#include "policy/host_entry.h"
#include "policy/rule.h"

static uint64_t seed = 0x2545f4914f6cdd1d;

void world_seed(uint64_t given)
{
	seed = given | 1;
}

unsigned world_pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 16) % n);
}

/* The first words more often than the last, so that rules have targets in common. */
static const char *one_of(const char *const *words, size_t n)
{
	unsigned a = world_pick((unsigned)n), b = world_pick((unsigned)n),
		 c = world_pick((unsigned)n);
	unsigned least = a < b ? a : b;

	return words[least < c ? least : c];
}
#define ONE_OF(words) one_of((words), sg_array_len(words))

static const char *const names[] = {
	"example.com",
	"a.example.com",
	"b.example.com",
	"a.a.example.com",
	"b.a.example.com",
	"a.b.example.com",
	"a.a.a.example.com",
	"other.org",
	"a.other.org",
	"quad9.net",
	"www.quad9.net",
	"dns.quad9.net",
	"dns9.quad9.net",
	"dns.google",
	"a.rather-long-label-that-does-not-fit-in-a-rule.example.com",
};
static const char *const wildcards[] = {
	"*.example.com",
	"*.a.example.com",
	"*.b.example.com",
	"*.a.a.example.com",
	"*.other.org",
	"*.quad9.net",
	"*.rather-long-label-that-does-not-fit-in-a-rule.example.com",
};
static const char *const addresses[] = {
	"93.184.0.0",
	"93.184.0.1",
	"93.184.1.1",
	"10.0.0.1",
	"10.0.1.1",
	"192.168.0.1",
	"169.254.169.254",
	"169.254.0.1",
	"127.0.0.1",
	"8.8.8.8",
	"2a00::1",
	"2a00::2",
	"2a00:1::1",
	"fd00::1",
	"fd00:ec2::254",
	"64:ff9b::93.184.0.1",
	"64:ff9b::10.0.0.1",
	"::93.184.1.1",
	"2002:a00:1::",
	"2a00::5efe:1.2.3.4",
	"fe80::1",
	"::1",
	"2001:db8::1",
	"64:ff9b:1::1",
	"::",
	"::ffff:0:10.0.1.1",
	"fd00::200:5efe:1.2.3.4",
};
static const char *const networks[] = {
	"93.184.0.0/16", "93.184.0.0/24", "93.184.0.1",	    "93.184.1.0/31",  "10.0.0.0/8",
	"10.0.0.0/24",	 "10.0.0.1",	  "128.0.0.0/1",    "8.8.8.8",	      "2a00::/16",
	"2a00::/127",	 "2a00::1",	  "fd00::/8",	    "169.254.0.0/16", "169.254.169.254",
	"2000::/3",	 "fd00:ec2::254", "192.168.0.0/24", "fe80::/10",
};
static const char *const host_has[] = {"93.184.0.1/32", "93.184.0.0/24",  "10.0.1.0/24",
				       "2a00::/64",	"192.168.0.1/32", "fd00::1/128"};
static const char *const port_texts[] = {"",   "",	  "",	    ":443",    ":80",  ":22",
					 ":*", ":22,443", ":1-100", ":80,443", ":853", ":1-65535"};
static const char *const proto_texts[] = {"",	  "",	  "",	   "",	   "",
					  "/tcp", "/udp", "/icmp", "/raw", "/tcp+udp"};
static const unsigned ports[] = {0, 22, 80, 100, 443, 853, 5432};

/* ---- A world: a catalogue, an organisation, a person's policy ---- */

/* A rule as a person writes it; one that is refused as written is not made. */
static bool make_rule(enum effect effect, char text[TEXT_MAX], struct rule *r)
{
	unsigned kind = world_pick(10);
	const char *target = kind < 4	? ONE_OF(names)
			     : kind < 7 ? ONE_OF(wildcards)
					: ONE_OF(networks);
	const char *port = ONE_OF(port_texts);
	bool v6 = strchr(target, ':') != NULL;
	struct err e;

	snprintf(text, TEXT_MAX, v6 && *port ? "[%s]%s%s" : "%s%s%s", target, port,
		 ONE_OF(proto_texts));
	return rule_parse_short(span_of_string(text), effect, r, &e) == 0;
}

/* On 80, on 443, on both, or without ports. */
static bool may_be_about_requests(const struct rule *r)
{
	size_t n;
	const struct port_range *written = rule_ports(r, &n);

	if (r->raw || r->protos || r->any_port || r->kind == TARGET_PREFIX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (written[i].lo != written[i].hi || (written[i].lo != 80 && written[i].lo != 443))
			return false;
	return n || r->effect == EFFECT_ALLOW;
}

static void add_own_rule(struct policy *p, enum effect effect)
{
	char text[TEXT_MAX];
	struct rule r;
	struct err e;

	if (!make_rule(effect, text, &r))
		return;
	r.private_ok = effect == EFFECT_ALLOW && r.kind != TARGET_PREFIX && world_pick(4) == 0;
	if (may_be_about_requests(&r) && world_pick(2)) {
		if (!rule_need_detail(&r, &e))
			fail_msg("%s", e.text);
		r.detail->methods = calloc(2, sizeof(char *));
		r.detail->methods[0] = strdup(world_pick(2) ? "GET" : "POST");
	}
	if (policy_take_rule(p, &r, &e))
		fail_msg("%s", e.text);
}

/* "/a" and what is below, or everything; GET, POST, or any method; here or wherever. */
static void make_operations(struct world *w, unsigned i)
{
	static const char *const get[] = {"GET", NULL}, *const post[] = {"POST", NULL};
	static const char *const *const methods[] = {get, post, NULL};
	static const char *const a[] = {"/a*", NULL};
	struct permission *p = &w->permissions[i];

	p->operations = w->operations[i];
	for (unsigned k = world_pick(PERMISSION_OPERATIONS + 1); k > 0; k--)
		w->operations[i][p->n_operations++] =
			(struct operation){.says = "an operation",
					   .host = world_pick(3) ? NULL : ONE_OF(names),
					   .methods = methods[world_pick(3)],
					   .paths = world_pick(2) ? a : NULL};
}

/* Now and then a host of the permission before, which may have other operations there. */
static bool make_host(struct world *w, unsigned i, unsigned n, struct rule *r)
{
	char *text = w->rule_text[i][n];
	struct err e;

	if (i == 0 || !w->rules[i - 1][0] || world_pick(3))
		return make_rule(EFFECT_ALLOW, text, r);
	strcpy(text, w->rules[i - 1][0]);
	return rule_parse_short(span_of_string(text), EFFECT_ALLOW, r, &e) == 0;
}

static void make_permission(struct world *w, unsigned i)
{
	static const char *const ids[PERMISSIONS] = {"alpha", "beta", "gamma", "web"};
	unsigned n = 0;
	struct rule r;

	w->permissions[i] = (struct permission){
		.id = ids[i], .says = ids[i], .rules = w->rules[i], .web = i == PERMISSIONS - 1};
	if (world_pick(2))
		make_operations(w, i);
	for (unsigned k = world_pick(PERMISSION_RULES + 1); k > 0; k--)
		if (make_host(w, i, n, &r)) {
			/* Operations are not held for what is carried as it is. */
			if (!w->permissions[i].n_operations ||
			    (!r.raw && r.kind != TARGET_PREFIX)) {
				w->rules[i][n] = w->rule_text[i][n];
				n++;
			}
			rule_clear(&r);
		}
	w->rules[i][n] = NULL;
}

static void make_catalogue(struct world *w)
{
	static const char *const one[] = {"alpha", NULL}, *const two[] = {"alpha", "beta", NULL};
	static const struct preset presets[] = {{.name = "bake", .permissions = one},
						{.name = "locked", .permissions = one},
						{.name = "open", .permissions = one, .open = true},
						{.name = "standard", .permissions = two}};

	for (unsigned i = 0; i < PERMISSIONS; i++)
		make_permission(w, i);
	w->catalogue = (struct catalogue){.version = "test",
					  .permissions = w->permissions,
					  .n_permissions = PERMISSIONS,
					  .presets = presets,
					  .n_presets = sg_array_len(presets)};
}

/* A rule of an organisation in JSON; of a plain name now and then the long form. */
static void format_rule(const char *text, const struct rule *r, char out[2 * TEXT_MAX])
{
	bool plain = r->kind != TARGET_PREFIX && !r->ports_written && !r->protos && !r->raw;
	unsigned form = plain ? world_pick(4) : 0;

	if (form == 1 && r->effect == EFFECT_ALLOW)
		snprintf(out, 2 * TEXT_MAX, "{\"host\":\"%s\",\"private\":true}", text);
	else if (form == 2)
		snprintf(out, 2 * TEXT_MAX,
			 "{\"host\":\"%s\",\"ports\":[%s],\"methods\":[\"POST\"]}", text,
			 world_pick(2) ? "80" : "80,443");
	else
		snprintf(out, 2 * TEXT_MAX, "\"%s\"", text);
}

static void add_organisation_rules(char *text, size_t size, enum effect effect)
{
	char one[TEXT_MAX], entry[2 * TEXT_MAX];
	struct rule r;
	size_t n;

	for (unsigned k = world_pick(4); k > 0; k--) {
		if (!make_rule(effect, one, &r))
			continue;
		format_rule(one, &r, entry);
		rule_clear(&r);
		n = strlen(text);
		snprintf(text + n, size - n, "%s%s", text[n - 1] == '[' ? "" : ",", entry);
	}
}

/* In its JSON, as it is installed. */
static void make_organisation(struct world *w)
{
	char text[32 * TEXT_MAX] = "{\"allow\":[";
	struct err e;

	add_organisation_rules(text, sizeof(text), EFFECT_ALLOW);
	strcat(text, "],\"deny\":[");
	add_organisation_rules(text, sizeof(text), EFFECT_DENY);
	strcat(text, world_pick(6) ? "]}" : "],\"permissions_removed\":[\"beta\"]}");
	if (organisation_parse(span_of_string(text), "org", &w->catalogue, &w->organisation, &e))
		fail_msg("%s\n%s", text, e.text);
}

static void choose_permissions(struct policy *p)
{
	static const char *const words[] = {"gamma", "-alpha", "-beta", "alpha", "web", "-gamma"};
	struct err e;

	for (unsigned k = world_pick(4); k > 0; k--) {
		const char *word = words[world_pick(sg_array_len(words))];

		if (*word == '-' || (p->network != NET_ANY && p->network != NET_NONE))
			assert_int_equal(policy_add_permission(p, word, &e), 0);
	}
}

static void make_policy(struct policy *p)
{
	static const enum network_base bases[] = {NET_DENY,	NET_DENY,    NET_DENY, NET_DENY,
						  NET_OPEN,	NET_OPEN,    NET_ANY,  NET_STANDARD,
						  NET_STANDARD, NET_LOCKED,  NET_BAKE, NET_NONE,
						  NET_BROKERED, NET_BROKERED};
	unsigned rules = world_pick(12);

	policy_init(p);
	p->network = bases[world_pick(sg_array_len(bases))];
	p->quic_allow = world_pick(3) == 0;
	p->dns_off = world_pick(16) == 0;
	for (unsigned i = 0; i < rules; i++) {
		bool deny = p->network == NET_ANY || p->network == NET_NONE || world_pick(3) == 0;

		add_own_rule(p, deny ? EFFECT_DENY : EFFECT_ALLOW);
	}
	if (world_pick(2))
		choose_permissions(p);
	p->inspect_all = world_pick(16) == 0;
}

/* One at a time; those that contradict something are not taken. */
static void choose_hosts(struct policy *p, struct host_list *list)
{
	struct host_conflict at;
	struct err e;

	for (unsigned k = world_pick(3); k > 0; k--) {
		const char *host = world_pick(2) ? ONE_OF(names) : ONE_OF(wildcards);

		assert_int_equal(host_entry_add(list, span_of_string(host), &e), 0);
		if (host_conflict_find(p, &at, &e))
			host_list_free(list);
	}
}

static void make_prefixes(struct host_prefixes *host)
{
	host->n = 0;
	for (unsigned i = world_pick(4); i > 0; i--) {
		const char *prefix = ONE_OF(host_has);

		assert_true(prefix_parse(prefix, strlen(prefix), &host->prefix[host->n++]));
	}
}

void world_make(struct world *w)
{
	struct err e;

	make_catalogue(w);
	w->organisation = (struct organisation){0};
	if (world_pick(2))
		make_organisation(w);
	w->sources = (struct policy_sources){.catalogue = &w->catalogue,
					     .organisation = &w->organisation};
	make_policy(&w->policy);
	make_prefixes(&w->host);
	/* What the organisation removed cannot be named. */
	if (w->organisation.permissions_removed)
		string_list_remove(&w->policy.permissions, "beta");
	if (policy_resolve(&w->policy, &w->sources, &e))
		fail_msg("%s", e.text);
	if (!w->policy.inspect_all)
		choose_hosts(&w->policy, &w->policy.inspect);
	choose_hosts(&w->policy, &w->policy.splice);
}

void world_free(struct world *w)
{
	policy_free(&w->policy);
	organisation_free(&w->organisation);
}

/* ---- Questions ---- */

void question_make(struct question *q)
{
	static const enum proto protos[] = {PROTO_TCP, PROTO_TCP, PROTO_UDP, PROTO_ICMP};
	const char *name = ONE_OF(names), *addr = ONE_OF(addresses);

	memset(q, 0, sizeof(*q));
	assert_int_equal(name_parse(name, strlen(name), &q->name, NULL), NAME_OK);
	assert_true(addr_parse(addr, strlen(addr), &q->addr));
	q->d.kind = (enum destination_kind)world_pick(3);
	q->d.name = q->d.kind != DEST_CONNECT || world_pick(4) ? &q->name : NULL;
	q->d.addr = q->d.kind != DEST_LOOKUP && (!q->d.name || world_pick(6)) ? &q->addr : NULL;
	q->d.by_proxy = world_pick(2);
	if (q->d.kind == DEST_LOOKUP)
		return;
	q->d.proto = q->d.kind == DEST_SERVER_NAME ? PROTO_TCP
						   : protos[world_pick(sg_array_len(protos))];
	q->d.port = q->d.proto == PROTO_ICMP ? 0 : (uint16_t)ports[world_pick(sg_array_len(ports))];
	if (q->d.kind == DEST_SERVER_NAME && world_pick(2)) {
		q->d.method = world_pick(2) ? "GET" : "POST";
		q->d.path = world_pick(2) ? "/" : "/a";
	}
}

void question_show(const struct policy *p, const struct question *q)
{
	char *text = policy_print_wire(p), addr[ADDR_TEXT_MAX] = "-";

	if (q->d.addr)
		addr_format(q->d.addr, addr);
	print_error("%s\n%s %s %s port %u proto %d method %s%s\n", text,
		    q->d.kind == DEST_LOOKUP	? "lookup"
		    : q->d.kind == DEST_CONNECT ? "connect"
						: "inside",
		    q->d.name ? q->d.name->s : "-", addr, q->d.port, q->d.proto,
		    q->d.method ? q->d.method : "-", q->d.by_proxy ? " by proxy" : "");
	free(text);
}
