/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/dns_svcb.h"

static bool has(const struct dns_svcb *s, enum svcb_key key)
{
	return s->present & 1u << key;
}

/* RFC 9460, 7.1: one or more protocol ids, each of 1..255 octets, filling the value exactly. */
static bool alpn_is_valid(struct span value)
{
	struct reader r = reader_of(value);

	if (value.n == 0)
		return false;
	while (reader_left(&r))
		if (reader_take(&r, reader_u8(&r)).n == 0)
			return false;
	return true;
}

/*
 * RFC 9460, 8: keys in ascending order, none twice, each of them there, key 0 not among them.
 * The keys that are there ascend as well: one walk over both.
 */
static bool mandatory_is_valid(struct span mandatory, struct span all)
{
	struct reader r = reader_of(mandatory), keys = reader_of(all);
	unsigned last = SVCB_MANDATORY;

	if (r.n == 0 || r.n % 2)
		return false;
	while (reader_left(&r)) {
		uint16_t want = reader_u16(&r);
		unsigned key = 0;

		while (key < want && reader_left(&keys)) {
			key = reader_u16(&keys);
			reader_take(&keys, reader_u16(&keys));
		}
		if (want <= last || key != want)
			return false;
		last = want;
	}
	return true;
}

static bool value_is_valid(uint16_t key, struct span value)
{
	switch (key) {
	case SVCB_ALPN:
		return alpn_is_valid(value);
	case SVCB_NO_DEFAULT_ALPN:
		return value.n == 0;
	case SVCB_PORT:
		return value.n == 2;
	case SVCB_IPV4HINT:
		return value.n && value.n % 4 == 0;
	case SVCB_IPV6HINT:
		return value.n && value.n % 16 == 0;
	default:
		return true;
	}
}

/* The parameters: keys strictly ascending (RFC 9460, 2.2), values as their keys want them. */
static bool parse_params(struct span all, struct dns_svcb *out)
{
	struct reader r = reader_of(all);
	int last = -1;

	while (reader_left(&r)) {
		uint16_t key = reader_u16(&r);
		struct span value = reader_take(&r, reader_u16(&r));

		if (r.bad || key <= last || !value_is_valid(key, value))
			return false;
		last = key;
		if (key < SVCB_KEYS) {
			out->present |= (uint8_t)(1u << key);
			out->value[key] = value;
		}
	}
	if (has(out, SVCB_NO_DEFAULT_ALPN) && !has(out, SVCB_ALPN))
		return false;
	return !has(out, SVCB_MANDATORY) || mandatory_is_valid(out->value[SVCB_MANDATORY], all);
}

/* Is a key that is not known here among the mandatory ones? */
static bool wants_unknown(const struct dns_svcb *s)
{
	struct reader r = reader_of(s->value[SVCB_MANDATORY]);

	while (has(s, SVCB_MANDATORY) && reader_left(&r))
		if (reader_u16(&r) >= SVCB_KEYS)
			return true;
	return false;
}

bool dns_svcb_parse(struct span message, size_t at, size_t rdata_end, struct dns_svcb *out)
{
	size_t end;

	if (rdata_end > message.n || at + 2 > rdata_end)
		return false;
	*out = (struct dns_svcb){.priority = (uint16_t)(message.p[at] << 8 | message.p[at + 1])};
	if (!dns_name_expand(message, at + 2, &out->target, &end) || end > rdata_end)
		return false;
	/* RFC 9460, 2.4.2: parameters in AliasMode are ignored. */
	if (out->priority == 0)
		return true;
	if (!parse_params(span_of(message.p + end, rdata_end - end), out))
		return false;
	out->unknown_mandatory = wants_unknown(out);
	return true;
}

static void put_param(struct buf *b, enum svcb_key key, struct span value)
{
	buf_put_u16(b, (uint16_t)key);
	buf_put_u16(b, (uint16_t)value.n);
	buf_put_span(b, value);
}

void dns_svcb_put(struct buf *b, const struct dns_svcb *s)
{
	buf_put_u16(b, s->priority);
	buf_put(b, s->target.b, s->target.n);
	for (unsigned key = 0; key < SVCB_KEYS; key++)
		if (has(s, key))
			put_param(b, key, s->value[key]);
}

static void drop(struct dns_svcb *s, enum svcb_key key)
{
	s->present &= (uint8_t) ~(1u << key);
}

static void set(struct dns_svcb *s, enum svcb_key key, struct span value)
{
	s->present |= (uint8_t)(1u << key);
	s->value[key] = value;
}

/* "h3" and its drafts "h3-29" and the like. */
static bool is_quic(struct span id)
{
	return id.n >= 2 && id.p[0] == 'h' && id.p[1] == '3' && (id.n == 2 || id.p[2] == '-');
}

/*
 * Takes the QUIC protocols out of alpn. False when none is left and the record says that there is
 * no other. `kept` holds the new value; it is never longer than the old one.
 */
static bool strip_quic(struct dns_svcb *s, struct buf *kept)
{
	struct reader r = reader_of(s->value[SVCB_ALPN]);

	if (!has(s, SVCB_ALPN))
		return true;
	while (reader_left(&r)) {
		struct span id = reader_take(&r, reader_u8(&r));

		if (is_quic(id))
			continue;
		buf_put_u8(kept, (uint8_t)id.n);
		buf_put_span(kept, id);
	}
	set(s, SVCB_ALPN, buf_span(kept));
	if (kept->n)
		return true;
	drop(s, SVCB_ALPN);
	return !has(s, SVCB_NO_DEFAULT_ALPN);
}

/* A hint is only ever replaced: a record that had none is not given one. */
static void replace_hint(struct dns_svcb *s, enum svcb_key key, const struct addr *addrs, size_t n,
			 struct buf *octets)
{
	if (!has(s, key))
		return;
	if (n == 0) {
		drop(s, key);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (key == SVCB_IPV4HINT)
			buf_put(octets, addr_v4_octets(&addrs[i]), 4);
		else
			buf_put(octets, addrs[i].b, 16);
	}
	set(s, key, buf_span(octets));
}

/* Mandatory keys that were taken out are no longer asked for; an empty list is not allowed. */
static void trim_mandatory(struct dns_svcb *s, struct buf *kept)
{
	struct reader r = reader_of(s->value[SVCB_MANDATORY]);

	if (!has(s, SVCB_MANDATORY))
		return;
	while (reader_left(&r)) {
		uint16_t key = reader_u16(&r);

		if (has(s, key))
			buf_put_u16(kept, key);
	}
	set(s, SVCB_MANDATORY, buf_span(kept));
	if (kept->n == 0)
		drop(s, SVCB_MANDATORY);
}

bool dns_svcb_rewrite(struct span rdata, const struct dns_svcb_admitted *a, struct buf *out)
{
	uint8_t alpn[512], v4[DNS_ADDRS_MAX * 4], v6[DNS_ADDRS_MAX * 16], mandatory[SVCB_KEYS * 2];
	struct buf alpn_buf = buf_of(alpn, sizeof(alpn)), v4_buf = buf_of(v4, sizeof(v4));
	struct buf v6_buf = buf_of(v6, sizeof(v6));
	struct buf mandatory_buf = buf_of(mandatory, sizeof(mandatory));
	struct dns_svcb s;

	if (!dns_svcb_parse(rdata, 0, rdata.n, &s) || s.unknown_mandatory)
		return false;
	drop(&s, SVCB_ECH);
	if (!a->quic && !strip_quic(&s, &alpn_buf))
		return false;
	replace_hint(&s, SVCB_IPV4HINT, a->v4, a->n_v4, &v4_buf);
	replace_hint(&s, SVCB_IPV6HINT, a->v6, a->n_v6, &v6_buf);
	trim_mandatory(&s, &mandatory_buf);
	if (alpn_buf.full || v4_buf.full || v6_buf.full || mandatory_buf.full)
		return false;
	dns_svcb_put(out, &s);
	return !out->full;
}
