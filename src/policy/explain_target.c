/* SPDX-License-Identifier: Apache-2.0 */
/* explain_target: from a URL, or host, port and protocol, to a destination. */
#include <stdio.h>

#include "policy/explain.h"
#include "policy/quote.h"
#include "policy/rule.h"
#include "policy/rule_entry.h"

enum { HTTPS_PORT = 443 };

static const struct {
	const char *word;
	uint16_t port;
} schemes[] = {{"https", 443}, {"http", 80}, {"wss", 443}, {"ws", 80}};

static int set_host(struct span host, bool brackets, struct explain_target *t, struct err *e)
{
	struct rule r = {.effect = EFFECT_ALLOW};
	int rc = 0;

	t->has_addr = addr_parse((const char *)host.p, host.n, &t->addr) &&
		      !(brackets && addr_is_v4(&t->addr));
	if (t->has_addr)
		return 0;
	/* The rules' own reader knows what is wrong with a host, and says it. */
	if (rule_parse_target(host, brackets, &r, e))
		rc = -1;
	else if (r.kind != TARGET_NAME)
		rc = err_set(e, "a destination is one host; name one");
	else
		t->has_name = name_parse_ascii(rule_name(&r), r.name_n, &t->name) == NAME_OK;
	rule_clear(&r);
	return rc;
}

static int set_port(struct span text, struct explain_target *t, struct err *e)
{
	struct rule r = {0};
	const struct port_range *ports;
	size_t n;
	int rc = rule_parse_ports(text, &r, e);

	ports = rule_ports(&r, &n);
	if (rc == 0 && (n != 1 || ports[0].lo != ports[0].hi))
		rc = err_set(e, "a destination has one port");
	if (rc == 0)
		t->port = ports[0].lo;
	rule_clear(&r);
	return rc;
}

static int set_proto(struct span text, struct explain_target *t, struct err *e)
{
	struct rule r = {0};

	if (rule_parse_proto(text, &r, e))
		return -1;
	if (r.raw || (r.protos & (r.protos - 1)))
		return err_set(e, "a destination has one protocol, tcp, udp or icmp");
	t->proto = (enum proto)r.protos;
	return 0;
}

static int parse_plain(struct span text, struct explain_target *t, struct err *e)
{
	struct short_form f;

	if (rule_cut_short(text, &f, e) || set_host(f.target, f.brackets, t, e))
		return -1;
	if (f.has_proto && set_proto(f.proto, t, e))
		return -1;
	if (f.has_ports && t->proto == PROTO_ICMP)
		return err_set(e, "ICMP has no ports; leave the port out");
	if (f.has_ports)
		return set_port(f.ports, t, e);
	if (t->proto == PROTO_UDP)
		return err_set(e, "which UDP port? write `:PORT/udp`");
	t->port = t->proto == PROTO_ICMP ? 0 : HTTPS_PORT;
	return 0;
}

static int set_path(const char *path, struct explain_target *t, struct err *e)
{
	size_t n = strcspn(path, "#");

	if (n >= sizeof(t->path) - 1)
		return err_set(e, "the path is longer than %zu octets", sizeof(t->path) - 2);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)path[i] <= 0x20 || (unsigned char)path[i] >= 0x7f)
			return err_set(e, "the path holds a space or what is not ASCII; write it "
					  "percent-encoded");
	/* "http://host?query" has the path "/" (RFC 9112, 3.2.1). */
	snprintf(t->path, sizeof(t->path), "%s%.*s", path[0] == '/' ? "" : "/", (int)n, path);
	snprintf(t->method, sizeof(t->method), "GET");
	return 0;
}

static int parse_url(const char *text, size_t scheme, struct explain_target *t, struct err *e)
{
	const char *authority = text + strlen(schemes[scheme].word) + 3;
	const char *path = authority + strcspn(authority, "/?#");
	struct short_form f;

	if (memchr(authority, '@', (size_t)(path - authority)))
		return err_set(e, "a user name before the host is not judged; leave it out");
	if (rule_cut_short(span_of(authority, (size_t)(path - authority)), &f, e) ||
	    set_host(f.target, f.brackets, t, e))
		return -1;
	t->port = schemes[scheme].port;
	if (f.has_ports && set_port(f.ports, t, e))
		return -1;
	return set_path(path, t, e);
}

static int parse(const char *text, struct explain_target *t, struct err *e)
{
	const char *mark = strstr(text, "://");

	if (!mark)
		return parse_plain(span_of_string(text), t, e);
	for (size_t i = 0; i < sg_array_len(schemes); i++)
		if (strlen(schemes[i].word) == (size_t)(mark - text) &&
		    strncmp(text, schemes[i].word, (size_t)(mark - text)) == 0)
			return parse_url(text, i, t, e);
	return err_set(e, "only http, https, ws and wss URLs are known; write HOST:PORT");
}

int explain_parse_target(const char *text, struct explain_target *t, struct err *e)
{
	char shown[QUOTE_MAX];

	*t = (struct explain_target){.proto = PROTO_TCP};
	return parse(text, t, e) ? err_prefix(e, "%s", quote_string(text, shown)) : 0;
}

int explain_set_method(const char *method, struct explain_target *t, struct err *e)
{
	char shown[QUOTE_MAX];

	if (!t->path[0])
		return err_set(e, "%s is the method of a request; write its URL, `https://%s/`",
			       quote_string(method, shown), t->has_name ? t->name.s : "HOST");
	if (rule_check_method(method, e))
		return err_prefix(e, "%s", quote_string(method, shown));
	snprintf(t->method, sizeof(t->method), "%s", method);
	return 0;
}
