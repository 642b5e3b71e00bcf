/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/rule.h"

#include <errno.h>

#include "policy/address.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443 };

struct rule_detail *rule_need_detail(struct rule *r, struct err *e)
{
	if (!r->detail)
		r->detail = calloc(1, sizeof(*r->detail));
	if (!r->detail)
		err_set(e, "out of memory");
	return r->detail;
}

void rule_clear(struct rule *r)
{
	if (r->detail) {
		string_list_free(r->detail->methods);
		string_list_free(r->detail->paths);
		free(r->detail->note);
		free(r->detail->permission);
		free(r->detail);
	}
	if (r->name_n >= RULE_NAME_INLINE)
		free(r->long_name);
	*r = (struct rule){0};
}

static bool copy_detail(const struct rule_detail *from, struct rule_detail *to)
{
	*to = *from;
	to->methods = from->methods ? string_list_copy(from->methods) : NULL;
	to->paths = from->paths ? string_list_copy(from->paths) : NULL;
	to->note = from->note ? strdup(from->note) : NULL;
	to->permission = from->permission ? strdup(from->permission) : NULL;
	return !to->methods == !from->methods && !to->paths == !from->paths &&
	       !to->note == !from->note && !to->permission == !from->permission;
}

int rule_copy(const struct rule *from, struct rule *to)
{
	bool ok = true;

	*to = *from;
	to->detail = NULL;
	if (from->name_n >= RULE_NAME_INLINE) {
		to->long_name = strdup(from->long_name);
		ok = to->long_name != NULL;
	}
	if (ok && from->detail) {
		to->detail = calloc(1, sizeof(*to->detail));
		ok = to->detail && copy_detail(from->detail, to->detail);
	}
	if (!ok)
		rule_clear(to);
	return ok ? 0 : -ENOMEM;
}

bool rule_has_same_target(const struct rule *a, const struct rule *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == TARGET_PREFIX)
		return a->prefix.bits == b->prefix.bits &&
		       addr_equal(&a->prefix.addr, &b->prefix.addr);
	return a->name_n == b->name_n && memcmp(rule_name(a), rule_name(b), a->name_n) == 0;
}

bool rule_says_same(const struct rule *a, const struct rule *b)
{
	struct rule_scope sa = rule_scope_of(a), sb = rule_scope_of(b);
	const struct rule_detail *da = a->detail, *db = b->detail;

	return rule_has_same_target(a, b) && a->effect == b->effect && a->raw == b->raw &&
	       a->private_ok == b->private_ok && sa.protos == sb.protos && sa.n == sb.n &&
	       memcmp(sa.ports, sb.ports, sa.n * sizeof(*sa.ports)) == 0 &&
	       string_list_equal(da ? da->methods : NULL, db ? db->methods : NULL) &&
	       string_list_equal(da ? da->paths : NULL, db ? db->paths : NULL);
}

/*
 * The defaults of docs/policy.md, "Rules". A deny without ports covers every port and protocol: a
 * person who denies a host does not mean two of its ports.
 */
struct rule_scope rule_scope_of(const struct rule *r)
{
	static const struct port_range web[] = {{HTTP_PORT, HTTP_PORT}, {HTTPS_PORT, HTTPS_PORT}};
	static const struct port_range all[] = {{1, UINT16_MAX}};
	struct rule_scope s = {.protos = r->protos};

	if (r->ports_written && !r->any_port) {
		s.ports = rule_ports(r, &s.n);
		s.protos = s.protos ? s.protos : PROTO_TCP;
	} else if (r->any_port || r->kind == TARGET_PREFIX || r->effect == EFFECT_DENY) {
		s.ports = all;
		s.n = sg_array_len(all);
		s.protos = s.protos ? s.protos : PROTO_ANY;
	} else {
		s.ports = web;
		s.n = sg_array_len(web);
		s.protos = s.protos ? s.protos : PROTO_TCP;
	}
	return s;
}

static bool covers_port(const struct rule *r, uint16_t port)
{
	struct rule_scope s = rule_scope_of(r);

	for (size_t i = 0; i < s.n; i++)
		if (port >= s.ports[i].lo && port <= s.ports[i].hi)
			return true;
	return false;
}

static int check_protocol(const struct rule *r, struct err *e)
{
	if (r->any_port && r->detail && r->detail->n_ports)
		return err_set(e, "`*` is every port; leave the others out");
	if ((r->protos & PROTO_ICMP) && r->ports_written)
		return err_set(e, "ICMP has no ports; leave the ports out");
	if ((r->protos & PROTO_UDP) && !r->ports_written && r->kind != TARGET_PREFIX &&
	    r->effect == EFFECT_ALLOW)
		return err_set(e, "which UDP port? write `:PORT/udp`, or `:*/udp` for every one");
	return 0;
}

static int check_raw(const struct rule *r, struct err *e)
{
	if (!r->raw)
		return 0;
	if (r->effect == EFFECT_DENY)
		return err_set(e, "`raw` widens what is allowed; leave it out of a deny");
	if (r->kind == TARGET_PREFIX)
		return err_set(e, "connections to an address are carried as bytes already; "
				  "leave `raw` out");
	if (!covers_port(r, HTTP_PORT) && !covers_port(r, HTTPS_PORT))
		return err_set(e, "only ports 80 and 443 are looked into, others are carried as "
				  "bytes already; leave `raw` out");
	return 0;
}

static int check_private(const struct rule *r, struct err *e)
{
	if (!r->private_ok)
		return 0;
	if (r->effect == EFFECT_DENY)
		return err_set(e, "`private` widens what is allowed; leave it out of a deny");
	if (r->kind == TARGET_PREFIX)
		return err_set(e, "an address that is listed needs no `private`; leave it out");
	return 0;
}

static bool has_single_ports(const struct rule *r)
{
	size_t n;
	const struct port_range *ports = rule_ports(r, &n);

	for (size_t i = 0; i < n; i++)
		if (ports[i].lo != ports[i].hi)
			return false;
	return !r->any_port;
}

/*
 * Requests are seen in plain HTTP on port 80, in TLS that is opened on 443, and on ports that the
 * policy has opened as well (host_conflict.h). A rule that also covered other connections would be
 * silently weaker than it reads.
 */
static int check_request(const struct rule *r, struct err *e)
{
	const struct rule_detail *d = r->detail;
	const char *what;

	if (!rule_is_about_requests(r))
		return 0;
	what = d->methods ? "methods" : "paths";
	if (r->kind == TARGET_PREFIX)
		return err_set(e,
			       "`%s` cannot be held for an address, where requests are not "
			       "looked at; name the host",
			       what);
	if (r->raw || r->protos & ~PROTO_TCP)
		return err_set(e, "`%s` are of HTTP over TCP; leave `proto` out", what);
	if (!has_single_ports(r))
		return err_set(e,
			       "`%s` need the requests of each port to be seen; write the ports "
			       "one by one, such as `ports: [80, 443]`",
			       what);
	if (r->effect == EFFECT_DENY && !r->ports_written)
		return err_set(e,
			       "a denial without ports is of every port, and `%s` are not seen on "
			       "all; write `ports: [80, 443]`",
			       what);
	return 0;
}

/* Loopback never leaves the sandbox: a rule for it would do nothing. */
static int check_address(const struct rule *r, struct err *e)
{
	unsigned whole = addr_is_v4(&r->prefix.addr) && r->prefix.bits >= 96 ? 96 : 0;

	if (r->kind != TARGET_PREFIX)
		return 0;
	if (r->prefix.bits == whole && r->effect == EFFECT_ALLOW)
		return err_set(e, "it would allow every address; use `open` (public addresses) or "
				  "`any`, or list the networks");
	if (address_classify(&r->prefix.addr).kind == SPECIAL_LOOPBACK)
		return err_set(e, "loopback inside a sandbox is the sandbox itself; for a port of "
				  "this machine's loopback use `host_ports`");
	return 0;
}

int rule_check(const struct rule *r, struct err *e)
{
	if (check_address(r, e) || check_protocol(r, e) || check_raw(r, e))
		return -1;
	return check_private(r, e) || check_request(r, e) ? -1 : 0;
}

/* ---- Lists ---- */

int rule_list_take(struct rule_list *list, struct rule *r, struct err *e)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? 2 * list->cap : 16;
		struct rule *more = reallocarray(list->v, cap, sizeof(*more));

		if (!more) {
			rule_clear(r);
			return err_set(e, "out of memory");
		}
		list->v = more;
		list->cap = cap;
	}
	list->v[list->n++] = *r;
	*r = (struct rule){0};
	return 0;
}

void rule_list_free(struct rule_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		rule_clear(&list->v[i]);
	free(list->v);
	*list = (struct rule_list){0};
}

int rule_list_copy(const struct rule *rules, size_t n, struct rule_list *to)
{
	*to = (struct rule_list){.v = n ? calloc(n, sizeof(*to->v)) : NULL};
	if (n && !to->v)
		return -ENOMEM;
	for (to->cap = n; to->n < n; to->n++)
		if (rule_copy(&rules[to->n], &to->v[to->n])) {
			rule_list_free(to);
			return -ENOMEM;
		}
	return 0;
}

int policy_take_rule(struct policy *p, struct rule *r, struct err *e)
{
	struct rule_list list = {.v = p->rules, .n = p->n_rules, .cap = p->cap_rules};
	int rc = rule_list_take(&list, r, e);

	p->rules = list.v;
	p->n_rules = list.n;
	p->cap_rules = list.cap;
	return rc;
}
