/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_target: the target of a rule, and a message of its own for each way it can be wrong
 * (docs/policy.md, "What is refused when it is written").
 */
#include <arpa/inet.h>
#include <stdio.h>

#include "policy/address.h"
#include "policy/quote.h"
#include "policy/rule.h"
#include "policy/suffix.h"

static const char *text_of(struct span s)
{
	return (const char *)s.p;
}

static bool span_has(struct span s, char c)
{
	return s.n && memchr(s.p, c, s.n) != NULL;
}

static bool is_ascii_print(uint8_t c)
{
	return c > 0x20 && c < 0x7f;
}

/* ---- Names ---- */

static int refuse_character(struct span text, size_t at, struct err *e)
{
	uint8_t c = at < text.n ? text.p[at] : 0;

	if (c == ' ' || c == '\t')
		return err_set(e, "there is a space at octet %zu; leave it out", at + 1);
	if (c == 0)
		return err_set(e, "there is a NUL at octet %zu; leave it out", at + 1);
	if (c >= 0x80)
		return err_set(e,
			       "the character at octet %zu is not allowed in a name, or only "
			       "looks like an ASCII letter, digit or dot; write the name in ASCII",
			       at + 1);
	if (!is_ascii_print(c))
		return err_set(e, "there is a control character at octet %zu; leave it out",
			       at + 1);
	return err_set(e,
		       "there is `%c` at octet %zu, and a name holds letters, digits, hyphens, "
		       "underscores and dots only",
		       c, at + 1);
}

static int refuse_name(enum name_error why, struct span text, size_t at, struct err *e)
{
	if (why == NAME_BAD_CHARACTER)
		return refuse_character(text, at, e);
	return err_set(e, "%s (at octet %zu); write the name as DNS has it", name_error_text(why),
		       at + 1);
}

/*
 * Names that are answered NXDOMAIN whatever a policy says (src/gate/dns_special.c): to allow one
 * would be a rule that is never kept.
 */
static const struct {
	const char *label, *document;
} never_looked_up[] = {
	{"alt", "RFC 9476"},   {"invalid", "RFC 6761"}, {"local", "RFC 6762"},
	{"onion", "RFC 7686"}, {"test", "RFC 6761"},
};

static int check_looked_up(const struct rule *r, const struct name *name, struct err *e)
{
	const char *dot = strrchr(name->s, '.');
	const char *last = dot ? dot + 1 : name->s;

	for (size_t i = 0; r->effect == EFFECT_ALLOW && i < sg_array_len(never_looked_up); i++)
		if (strcmp(last, never_looked_up[i].label) == 0)
			return err_set(e,
				       "names under `%s` are never looked up (%s); list the "
				       "address instead",
				       last, never_looked_up[i].document);
	return 0;
}

static int set_name(struct rule *r, const struct name *name, struct err *e)
{
	if (check_looked_up(r, name, e) != 0)
		return -1;
	if (name->n < RULE_NAME_INLINE) {
		memcpy(r->short_name, name->s, name->n + 1u);
	} else {
		r->long_name = strdup(name->s);
		if (!r->long_name)
			return err_set(e, "out of memory");
	}
	r->name_n = name->n;
	return 0;
}

/* ---- Addresses that only some programs understand ---- */

/* One part in the way of inet_aton: 0x hexadecimal, 0 octal (when `octal`), else decimal. */
static bool read_part(const char *s, size_t n, bool octal, uint64_t *out)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (n > 2 && s[0] == '0' && (s[1] | 0x20) == 'x') {
		base = 16;
		s += 2;
		n -= 2;
	} else if (n > 1 && s[0] == '0' && octal) {
		base = 8;
	}
	if (n == 0 || n > 16)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned c = (uint8_t)s[i] | 0x20u;
		unsigned digit = c >= 'a' ? c - 'a' + 10 : (uint8_t)s[i] - (unsigned)'0';

		if (digit >= base)
			return false;
		v = v * base + digit;
	}
	*out = v;
	return v <= UINT32_MAX;
}

/* The address that inet_aton and URL parsers read: 1 to 4 parts, the last fills what is left. */
static bool read_loose_v4(struct span text, bool octal, struct addr *out)
{
	uint64_t address = 0, part = 0;
	size_t from = 0;

	for (unsigned i = 0; i < 4; i++) {
		const char *s = text_of(text) + from;
		const char *dot = memchr(s, '.', text.n - from);
		size_t n = dot ? (size_t)(dot - s) : text.n - from;
		uint64_t limit = dot ? 0xff : UINT32_MAX >> (8 * i);

		if (!read_part(s, n, octal, &part) || part > limit)
			return false;
		if (!dot) {
			uint32_t v = htonl((uint32_t)(address | part));

			memcpy(out->b + 12, &v, 4);
			*out = addr_from_v4(out->b + 12);
			return true;
		}
		address |= part << (24 - 8 * i);
		from += n + 1;
	}
	return false;
}

static int refuse_loose_address(struct span text, struct err *e)
{
	struct addr octal, decimal;
	char a[ADDR_TEXT_MAX], b[ADDR_TEXT_MAX];
	bool as_octal = read_loose_v4(text, true, &octal);
	bool as_decimal = read_loose_v4(text, false, &decimal);

	if (as_octal && as_decimal && !addr_equal(&octal, &decimal))
		return err_set(e,
			       "not a canonical address: some programs read it as %s, others "
			       "as %s; write the one you mean",
			       addr_format(&octal, a), addr_format(&decimal, b));
	if (as_octal || as_decimal)
		return err_set(e, "not a canonical address; write `%s`",
			       addr_format(as_octal ? &octal : &decimal, a));
	return err_set(e, "it ends in a number, as an address does, but it is not an address; "
			  "write four numbers from 0 to 255, or a name");
}

/* The text as inet_pton reads it, when it does. */
static bool read_v6(struct span text, uint8_t b[16])
{
	char s[ADDR_TEXT_MAX];

	if (text.n >= sizeof(s) || memchr(text.p, 0, text.n))
		return false;
	memcpy(s, text.p, text.n);
	s[text.n] = 0;
	return inet_pton(AF_INET6, s, b) == 1;
}

/* `bits` is the prefix length that was written, 128 for an address. */
static int refuse_v6(struct span text, unsigned bits, struct err *e)
{
	char shown[PREFIX_TEXT_MAX];
	uint8_t b[16];
	struct prefix v4;

	if (span_has(text, '%'))
		return err_set(e, "a zone (`%%...`) has a meaning on one machine only; write the "
				  "address without it");
	if (!read_v6(text, b))
		return err_set(e, "not an IPv6 address; with ports it stands in brackets, "
				  "`[2001:db8::10]:443`");
	v4 = (struct prefix){.addr = addr_from_v4(b + 12), .bits = (uint8_t)bits};
	v4.addr = addr_masked(&v4.addr, bits < 96 ? 96 : bits);
	if (bits < 96)
		return err_set(e,
			       "it holds IPv4 addresses in an IPv6 spelling; write them as IPv4");
	return err_set(e, "it is IPv4 in an IPv6 spelling; write `%s`",
		       bits == 128 ? addr_format(&v4.addr, shown) : prefix_format(&v4, shown));
}

/* The IPv4 address that would be judged is the one to write. */
static int refuse_embedded(const struct prefix *p, struct err *e)
{
	struct addr inner = address_unwrap(&p->addr);
	struct prefix v4 = {.addr = inner, .bits = p->bits};
	char shown[PREFIX_TEXT_MAX];

	if (p->bits == 128)
		return err_set(e,
			       "it holds an IPv4 address, and that is what is judged; write `%s`",
			       addr_format(&inner, shown));
	if (p->bits > 96)
		return err_set(e,
			       "it holds IPv4 addresses, and those are what is judged; write "
			       "`%s`",
			       prefix_format(&v4, shown));
	return err_set(e, "it holds IPv4 addresses, and those are what is judged; write them as "
			  "IPv4");
}

static int check_embedded(const struct rule *r, struct err *e)
{
	if (!addr_is_v4(&r->prefix.addr) && r->prefix.bits >= 96 &&
	    address_classify(&r->prefix.addr).kind != SPECIAL_LOOPBACK) {
		struct addr inner = address_unwrap(&r->prefix.addr);

		if (!addr_equal(&inner, &r->prefix.addr))
			return refuse_embedded(&r->prefix, e);
	}
	return 0;
}

/* ---- Networks ---- */

/* The prefix length after the slash, at most `max`. */
static bool read_bits(struct span text, unsigned max, unsigned *bits)
{
	unsigned v = 0;

	if (text.n == 0 || text.n > 3 || (text.n > 1 && text.p[0] == '0'))
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		v = v * 10 + (text.p[i] - (unsigned)'0');
	}
	*bits = v;
	return v <= max;
}

static int refuse_network_address(struct span address, struct span length, struct err *e)
{
	unsigned bits = 128;

	struct addr unused;
	struct name name;

	if (span_has(address, ':'))
		return read_bits(length, 128, &bits) ? refuse_v6(address, bits, e)
						     : refuse_v6(address, 128, e);
	if (read_loose_v4(address, true, &unused) || read_loose_v4(address, false, &unused))
		return refuse_loose_address(address, e);
	if (name_parse(text_of(address), address.n, &name, NULL) == NAME_OK)
		return err_set(e, "a name has no prefix length; ports go after a colon, "
				  "a path goes in `paths`");
	return err_set(e, "what stands before the slash is not an address");
}

static int parse_network(struct span text, struct rule *r, struct err *e)
{
	const uint8_t *slash = memchr(text.p, '/', text.n);
	struct span address = span_of(text.p, (size_t)(slash - text.p));
	struct span length = span_of(slash + 1, text.n - address.n - 1);
	char shown[PREFIX_TEXT_MAX];
	struct addr masked;
	unsigned bits;
	bool v4;

	if (!addr_parse(text_of(address), address.n, &r->prefix.addr))
		return refuse_network_address(address, length, e);
	v4 = addr_is_v4(&r->prefix.addr);
	if (!read_bits(length, v4 ? 32 : 128, &bits))
		return err_set(e, "the prefix length is a number from 0 to %d", v4 ? 32 : 128);
	r->kind = TARGET_PREFIX;
	r->prefix.bits = (uint8_t)(v4 ? 96 + bits : bits);
	masked = addr_masked(&r->prefix.addr, r->prefix.bits);
	if (!addr_equal(&masked, &r->prefix.addr)) {
		r->prefix.addr = masked;
		return err_set(e, "host bits are set; write `%s` for the network",
			       prefix_format(&r->prefix, shown));
	}
	return check_embedded(r, e);
}

/* ---- Wildcards ---- */

static int refuse_every_name(const struct rule *r, struct err *e)
{
	if (r->effect == EFFECT_DENY)
		return err_set(e, "it would deny every name; say `network: deny`");
	return err_set(e, "it would allow every name; use `open` or `any`, or list `*.domain`");
}

static int refuse_suffix(const struct name *name, const struct suffix_match *m, struct err *e)
{
	if (strcmp(m->suffix, name->s) == 0)
		return err_set(e,
			       "`%s` is %s: strangers can register names under it; name the "
			       "host, or a domain below it",
			       m->suffix, m->list);
	return err_set(e,
		       "it covers `%s`, %s: strangers can register names under that; name the "
		       "host, or a domain below it",
		       m->suffix, m->list);
}

static int parse_wildcard(struct span text, struct rule *r, struct err *e)
{
	struct span below = span_of(text.p + 2, text.n - 2);
	struct suffix_match m;
	struct addr unused;
	struct name name;
	enum name_error why;
	size_t at;

	if (addr_parse(text_of(below), below.n, &unused) || below.p[0] == '[' ||
	    span_has(below, ':') || span_has(below, '/'))
		return err_set(e, "a wildcard over an address matches nothing; list the network, "
				  "such as `10.0.0.0/8`");
	why = name_parse(text_of(below), below.n, &name, &at);
	if (why == NAME_NUMERIC)
		return err_set(e, "a wildcard over an address matches nothing; list the network, "
				  "such as `10.0.0.0/8`");
	if (why != NAME_OK)
		return refuse_name(why, text, at + 2, e);
	/* To deny such names is no danger. */
	if (r->effect == EFFECT_ALLOW && suffix_is_shared(&name, &m))
		return refuse_suffix(&name, &m, e);
	r->kind = TARGET_WILDCARD;
	return set_name(r, &name, e);
}

static int refuse_inner_wildcard(struct span text, struct err *e)
{
	const uint8_t *star = memrchr(text.p, '*', text.n);
	struct span rest = span_of(star + 1, (size_t)(text.p + text.n - star - 1));
	const uint8_t *dot = rest.n ? memchr(rest.p, '.', rest.n) : NULL;
	char shown[QUOTE_MAX];

	if (dot)
		rest = span_of(dot + 1, (size_t)(rest.p + rest.n - dot - 1));
	if (rest.n == 0)
		return err_set(e, "a wildcard is the whole first label; write `*.domain`");
	quote_span(rest, shown);
	return err_set(e, "a wildcard is the whole first label; write `*.%s", shown + 1);
}

/* ---- All of them ---- */

static int parse_name_or_address(struct span text, bool brackets, struct rule *r, struct err *e)
{
	struct name name;
	enum name_error why;
	size_t at;

	if (addr_parse(text_of(text), text.n, &r->prefix.addr)) {
		r->kind = TARGET_PREFIX;
		r->prefix.bits = 128;
		return check_embedded(r, e);
	}
	if (span_has(text, ':') || brackets)
		return refuse_v6(text, 128, e);
	why = name_parse(text_of(text), text.n, &name, &at);
	if (why == NAME_NUMERIC)
		return refuse_loose_address(text, e);
	if (why != NAME_OK)
		return refuse_name(why, text, at, e);
	r->kind = TARGET_NAME;
	return set_name(r, &name, e);
}

int rule_parse_target(struct span text, bool brackets, struct rule *r, struct err *e)
{
	if (text.n == 0)
		return err_set(e, "the host is missing; write a name, an address or a network");
	if (brackets && !span_has(text, ':'))
		return err_set(e, "brackets are for IPv6 addresses; leave them out");
	if (span_equal(text, span_of_string("*")))
		return refuse_every_name(r, e);
	if (text.n > 2 && text.p[0] == '*' && text.p[1] == '.' &&
	    !memchr(text.p + 1, '*', text.n - 1))
		return parse_wildcard(text, r, e);
	if (span_has(text, '*'))
		return refuse_inner_wildcard(text, e);
	if (span_has(text, '/'))
		return parse_network(text, r, e);
	return parse_name_or_address(text, brackets, r, e);
}
