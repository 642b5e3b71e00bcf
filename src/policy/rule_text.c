/* SPDX-License-Identifier: Apache-2.0 */
/* rule_text: the short form of a rule, TARGET[:PORTS][/PROTO]. */
#include "base/nearest.h"
#include "policy/quote.h"
#include "policy/rule.h"

static struct span span_before(struct span s, const void *p)
{
	return span_of(s.p, (size_t)((const uint8_t *)p - s.p));
}

static struct span span_after(struct span s, const void *p)
{
	const uint8_t *next = (const uint8_t *)p + 1;

	return span_of(next, (size_t)(s.p + s.n - next));
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(uint8_t c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* ---- A URL in place of a rule ---- */

int rule_refuse_url(struct span text, struct err *e)
{
	const uint8_t *scheme = memmem(text.p, text.n, "://", 3);
	struct span host;
	char shown[QUOTE_MAX];

	if (!scheme)
		return 0;
	host = span_of(scheme + 3, (size_t)(text.p + text.n - scheme - 3));
	for (size_t i = 0; i < host.n; i++)
		if (strchr("/?#", host.p[i]))
			host.n = i;
	for (size_t i = host.n; i > 0; i--)
		if (host.p[i - 1] == '@') {
			host = span_of(host.p + i, host.n - i);
			break;
		}
	return err_set(e, "it is a URL; the host part is %s; paths go in `paths`",
		       quote_span(host, shown));
}

/* ---- Ports ---- */

/* 1 to 5 digits without a leading zero, 1..65535; the message says what it is instead. */
static int read_port(struct span text, uint16_t *out, struct err *e)
{
	char shown[QUOTE_MAX];
	unsigned v = 0;

	for (size_t i = 0; i < text.n; i++)
		if (!is_digit(text.p[i]))
			return err_set(e,
				       "%s is not a port; ports are written as `22`, `22,443`, "
				       "`1000-2000` or `*`",
				       quote_span(text, shown));
	if (text.n == 0)
		return err_set(e, "a port is missing; ports are written as `22`, `22,443`, "
				  "`1000-2000` or `*`");
	for (size_t i = 0; i < text.n && v <= UINT16_MAX; i++)
		v = v * 10 + (text.p[i] - (unsigned)'0');
	if (v == 0 || v > UINT16_MAX)
		return err_set(e, "port %s is not between 1 and 65535", quote_span(text, shown));
	if (text.p[0] == '0')
		return err_set(e, "port %s has a leading zero; write `%u`", quote_span(text, shown),
			       v);
	*out = (uint16_t)v;
	return 0;
}

static int read_range(struct span text, struct port_range *out, struct err *e)
{
	const uint8_t *dash = text.n ? memchr(text.p, '-', text.n) : NULL;

	if (read_port(dash ? span_before(text, dash) : text, &out->lo, e))
		return -1;
	out->hi = out->lo;
	if (dash && read_port(span_after(text, dash), &out->hi, e))
		return -1;
	if (out->hi < out->lo)
		return err_set(e, "the port range is backwards; write `%u-%u`", out->hi, out->lo);
	return 0;
}

static int add_range(struct rule *r, struct port_range range, struct err *e)
{
	struct rule_detail *d = rule_need_detail(r, e);

	if (!d)
		return -1;
	if (d->n_ports == RULE_PORTS_MAX)
		return err_set(e, "more than %d ports or ranges; write a second rule",
			       RULE_PORTS_MAX);
	d->ports[d->n_ports++] = range;
	return 0;
}

int rule_parse_ports(struct span text, struct rule *r, struct err *e)
{
	struct port_range range;
	const uint8_t *comma;

	r->ports_written = true;
	if (span_equal(text, span_of_string("*"))) {
		r->any_port = true;
		return 0;
	}
	do {
		comma = text.n ? memchr(text.p, ',', text.n) : NULL;
		if (read_range(comma ? span_before(text, comma) : text, &range, e) ||
		    add_range(r, range, e))
			return -1;
		if (comma)
			text = span_after(text, comma);
	} while (comma);
	return 0;
}

/* ---- Protocols ---- */

static const struct {
	const char *word;
	uint8_t bit; /* 0: raw */
} protocols[] = {{"tcp", PROTO_TCP}, {"udp", PROTO_UDP}, {"icmp", PROTO_ICMP}, {"raw", 0}};

static int refuse_proto(struct span word, struct err *e)
{
	char shown[QUOTE_MAX], written[16] = "";
	struct nearest near;

	if (word.n < sizeof(written))
		memcpy(written, word.p, word.n);
	near = nearest_to(written);
	for (size_t i = 0; i < sg_array_len(protocols); i++)
		nearest_offer(&near, protocols[i].word);
	if (near.word)
		return err_set(e, "%s is not a protocol; did you mean `%s`?",
			       quote_span(word, shown), near.word);
	return err_set(e, "%s is not a protocol (tcp, udp, icmp, raw); a path goes in `paths`",
		       quote_span(word, shown));
}

static int add_proto(struct span word, struct rule *r, struct err *e)
{
	for (size_t i = 0; i < sg_array_len(protocols); i++) {
		if (!span_equal(word, span_of_string(protocols[i].word)))
			continue;
		if (protocols[i].bit)
			r->protos |= protocols[i].bit;
		else
			r->raw = true;
		return 0;
	}
	return refuse_proto(word, e);
}

int rule_parse_proto(struct span text, struct rule *r, struct err *e)
{
	const uint8_t *plus;

	do {
		plus = text.n ? memchr(text.p, '+', text.n) : NULL;
		if (add_proto(plus ? span_before(text, plus) : text, r, e))
			return -1;
		if (plus)
			text = span_after(text, plus);
	} while (plus);
	if (r->raw && r->protos)
		return err_set(e, "`raw` is TCP without the look inside and stands alone");
	return 0;
}

/* ---- The whole ---- */

/* What follows the last slash is a protocol unless it is a prefix length, with ports perhaps. */
static void cut_proto(struct span *text, struct short_form *f)
{
	const uint8_t *slash = text->n ? memrchr(text->p, '/', text->n) : NULL;
	struct span after;

	if (!slash)
		return;
	after = span_after(*text, slash);
	if (after.n && !is_letter(after.p[0]))
		return;
	f->has_proto = true;
	f->proto = after;
	*text = span_before(*text, slash);
}

static int cut_brackets(struct span text, struct short_form *f, struct err *e)
{
	const uint8_t *end = memchr(text.p, ']', text.n);
	struct span after;

	if (!end)
		return err_set(e, "`[` without `]`; write `[2001:db8::10]:443`");
	after = span_after(text, end);
	f->brackets = true;
	f->target = span_before(span_of(text.p + 1, text.n - 1), end);
	if (after.n && after.p[0] == '/')
		return err_set(e, "the prefix length stands inside the brackets, "
				  "`[2001:db8::/32]:443`");
	if (after.n && after.p[0] != ':')
		return err_set(e, "after `]` only `:PORTS` may follow");
	f->has_ports = after.n > 0;
	if (f->has_ports)
		f->ports = span_after(after, after.p);
	return 0;
}

/* More than one colon without brackets is an IPv6 address without ports. */
static void cut_ports(struct span text, struct short_form *f)
{
	const uint8_t *first = text.n ? memchr(text.p, ':', text.n) : NULL;

	f->target = text;
	if (!first || memchr(first + 1, ':', (size_t)(text.p + text.n - first - 1)))
		return;
	f->has_ports = true;
	f->target = span_before(text, first);
	f->ports = span_after(text, first);
}

int rule_cut_short(struct span text, struct short_form *f, struct err *e)
{
	*f = (struct short_form){0};
	if (text.n >= 5 && memcmp(text.p, "site:", 5) == 0)
		text = span_of(text.p + 5, text.n - 5);
	if (text.n == 0)
		return err_set(e, "it is empty; write a name, an address or a network");
	if (rule_refuse_url(text, e))
		return -1;
	cut_proto(&text, f);
	if (text.n && text.p[0] == '[')
		return cut_brackets(text, f, e);
	cut_ports(text, f);
	return 0;
}

static int parse_pieces(struct span text, struct rule *r, struct err *e)
{
	struct short_form f;

	if (rule_cut_short(text, &f, e) || rule_parse_target(f.target, f.brackets, r, e))
		return -1;
	if (f.has_ports && rule_parse_ports(f.ports, r, e))
		return -1;
	if (f.has_proto && rule_parse_proto(f.proto, r, e))
		return -1;
	return rule_check(r, e);
}

int rule_parse_short(struct span text, enum effect effect, struct rule *r, struct err *e)
{
	char shown[QUOTE_MAX];

	*r = (struct rule){.effect = (uint8_t)effect};
	if (parse_pieces(text, r, e) == 0)
		return 0;
	rule_clear(r);
	return err_prefix(e, "%s", quote_span(text, shown));
}
