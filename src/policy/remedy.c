/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remedy: the command that would let a refused destination through.
 *
 * Exact or not at all: where no command alone would do (a deny rule stands in
 * the way, a limit is a key of the policy file), there is none.
 *
 * A sandbox with a name is changed while it runs, by `net allow`. What only a new start can change
 * (a link where there was none, a port of the host) is a `run` for it as well.
 */
#include <stdio.h>

#include "base/buf.h"
#include "policy/decide.h"
#include "policy/permission.h"

static void put_port(struct buf *b, uint16_t port)
{
	char digits[8];

	snprintf(digits, sizeof(digits), "%u", port);
	buf_put_text(b, digits);
}

static void put_host(struct buf *b, const struct destination *d, bool brackets)
{
	char text[ADDR_TEXT_MAX];

	if (d->name) {
		buf_put_text(b, d->name->s);
		return;
	}
	brackets = brackets && !addr_is_v4(d->addr);
	buf_put_text(b, brackets ? "[" : "");
	buf_put_text(b, addr_format(d->addr, text));
	buf_put_text(b, brackets ? "]" : "");
}

/* Without a dot it could be read as a permission. */
static bool needs_site(const struct destination *d)
{
	return d->name && !strchr(d->name->s, '.');
}

/* Which ports and protocol a rule must write for this destination. */
static void put_rule(struct buf *b, const struct destination *d, bool raw, bool site)
{
	bool icmp = d->kind != DEST_LOOKUP && d->proto == PROTO_ICMP;
	bool web = d->name && (d->kind == DEST_LOOKUP ||
			       (d->proto == PROTO_TCP && (d->port == 80 || d->port == 443)));
	bool ports = !icmp && (raw || !web) && d->port != 0;

	buf_put_text(b, d->name && (site || needs_site(d)) ? "site:" : "");
	put_host(b, d, ports);
	if (ports) {
		buf_put_text(b, ":");
		put_port(b, d->port);
	}
	if (icmp)
		buf_put_text(b, "/icmp");
	else if (raw)
		buf_put_text(b, "/raw");
	else if (ports && d->proto == PROTO_UDP)
		buf_put_text(b, "/udp");
}

/* Only where a rule of any kind would do: no permission is raw, or lists a special address. */
static bool may_be_permission(enum reason r)
{
	return r == REASON_NOT_IN_POLICY || r == REASON_PORT_NOT_ALLOWED ||
	       r == REASON_METHOD_NOT_ALLOWED || r == REASON_PATH_NOT_ALLOWED ||
	       r == REASON_NETWORK_NONE;
}

static void put_item(struct buf *b, const struct remedy_for *who, const struct destination *d,
		     enum reason r, bool site)
{
	const struct permission *p = NULL;

	if (who->catalogue && may_be_permission(r))
		p = catalogue_covering(who->catalogue, d, who->on);
	if (p)
		buf_put_text(b, p->id);
	else
		put_rule(b, d,
			 r == REASON_NO_SERVER_NAME || r == REASON_NOT_TLS || r == REASON_NOT_HTTP,
			 site);
}

static bool is_host_alias(const struct destination *d)
{
	return d->name && name_is_host_alias(d->name);
}

static bool has_name(const struct remedy_for *who)
{
	return who->sandbox && *who->sandbox;
}

static void put_net_allow(struct buf *b, const struct remedy_for *who)
{
	buf_put_text(b, "sandgate net allow ");
	buf_put_text(b, who->sandbox);
	buf_put_text(b, " ");
}

static void put_change(struct buf *b, const struct remedy_for *who, const struct destination *d,
		       enum reason r)
{
	put_net_allow(b, who);
	put_item(b, who, d, r, true);
}

static void put_start(struct buf *b, const struct remedy_for *who, const struct destination *d,
		      enum reason r)
{
	buf_put_text(b, "sandgate run");
	if (has_name(who)) {
		buf_put_text(b, " --name ");
		buf_put_text(b, who->sandbox);
	}
	if (is_host_alias(d)) {
		buf_put_text(b, " --host-port ");
		put_port(b, d->port);
	} else {
		buf_put_text(b, r == REASON_NETWORK_NONE ? " --net deny --allow " : " --allow ");
		put_item(b, who, d, r, false);
	}
	buf_put_text(b, " ...");
}

/* Whether one more rule would change the verdict, and it is known which. */
static bool has_remedy(const struct destination *d, enum reason r)
{
	switch (r) {
	case REASON_SPECIAL_ADDRESS:
		return d->addr != NULL;
	case REASON_NO_SERVER_NAME:
	case REASON_NOT_TLS:
	case REASON_NOT_HTTP:
		return d->name != NULL && d->port != 0;
	case REASON_NOT_IN_POLICY:
	case REASON_PORT_NOT_ALLOWED:
	case REASON_METHOD_NOT_ALLOWED:
	case REASON_PATH_NOT_ALLOWED:
	case REASON_QUIC_REFUSED:
	case REASON_ENCRYPTED_DNS:
	case REASON_NETWORK_NONE:
		break;
	default:
		return false;
	}
	/* The proxy port, and nothing else of the gate. */
	if (d->name && name_is_gateway(d->name))
		return false;
	if (is_host_alias(d))
		return d->kind != DEST_LOOKUP && d->proto == PROTO_TCP && d->port != 0;
	return d->name || d->addr;
}

char *remedy_format(const struct remedy_for *who, const struct destination *d, enum reason r,
		    char out[REMEDY_MAX])
{
	struct buf b = buf_of(out, REMEDY_MAX - 1);
	struct destination by_address = *d;

	out[0] = 0;
	if (!has_remedy(d, r))
		return out;
	/* A name cannot point to a special address: the address itself must be listed. */
	if (r == REASON_SPECIAL_ADDRESS) {
		by_address.name = NULL;
		by_address.kind = DEST_CONNECT;
		d = &by_address;
	}
	if (has_name(who) && r != REASON_NETWORK_NONE && !is_host_alias(d))
		put_change(&b, who, d, r);
	else
		put_start(&b, who, d, r);
	out[b.full ? 0 : b.n] = 0;
	return out;
}

char *remedy_format_permission(const struct remedy_for *who, const char *id, char out[REMEDY_MAX])
{
	struct buf b = buf_of(out, REMEDY_MAX - 1);

	if (has_name(who))
		put_net_allow(&b, who);
	else
		buf_put_text(&b, "sandgate run --allow ");
	buf_put_text(&b, id);
	buf_put_text(&b, has_name(who) ? "" : " ...");
	out[b.full ? 0 : b.n] = 0;
	return out;
}
