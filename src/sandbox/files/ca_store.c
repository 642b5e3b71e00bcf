/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/ca_store.h"

#include <stdio.h>
#include <stdlib.h>

#include "sandbox/files/pem.h"

/* Tags of X.690 and the like. */
enum {
	INTEGER = 0x02,
	OCTETS = 0x04,
	OID = 0x06,
	BMP_STRING = 0x1e,
	SEQUENCE = 0x30,
	SET = 0x31,
	EXPLICIT_0 = 0xa0,
};

/* Object identifiers, with tag and length. */
static const uint8_t oid_data[] = {OID, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 1};
static const uint8_t oid_cert_bag[] = {OID,  11,   0x2a, 0x86, 0x48, 0x86, 0xf7,
				       0x0d, 0x01, 0x0c, 0x0a, 0x01, 0x03};
static const uint8_t oid_x509[] = {OID, 10, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 22, 1};
static const uint8_t oid_friendly_name[] = {OID, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 20};
/* A UUID's (2.25.bb5fb0bc-ef34-493c-8fad-7a9736a83608): of no type of bag that anybody knows. */
static const uint8_t oid_filler[] = {OID,  20,	 0x69, 0x82, 0xf6, 0xdf, 0xd8, 0xaf,
				     0x9d, 0xf3, 0xa2, 0xa4, 0xf9, 0x8f, 0xd6, 0xde,
				     0xd2, 0xf3, 0xb5, 0xa0, 0xec, 0x08};

/*
 * What makes a certificate a trusted one to Java: an attribute of Oracle's (2.16.840.1.113894.
 * 746875.1.1) with the use that it is trusted for, any (RFC 5280, 4.2.1.12).
 */
static const uint8_t trusted[] = {SEQUENCE, 22,	  OID,	12,   0x60, 0x86, 0x48, 0x01,
				  0x86,	    0xf9, 0x66, 0xad, 0xca, 0x7b, 1,	1,
				  SET,	    6,	  OID,	4,    0x55, 0x1d, 0x25, 0x00};

/* --- lengths: the shortest form, as DER has it --- */

static size_t length_size(size_t n)
{
	return n < 0x80 ? 1 : n < 0x100 ? 2 : n < 0x10000 ? 3 : n < 0x1000000 ? 4 : 5;
}

/* Of tag, length and n octets. */
static size_t whole(size_t n)
{
	return 1 + length_size(n) + n;
}

static void put_tag(struct buf *b, uint8_t tag, size_t n)
{
	size_t more = length_size(n) - 1;

	buf_put_u8(b, tag);
	buf_put_u8(b, more ? (uint8_t)(0x80 | more) : (uint8_t)n);
	for (size_t i = more; i-- > 0;)
		buf_put_u8(b, (uint8_t)(n >> 8 * i));
}

/* --- bags --- */

static void put_name(struct buf *b, const char *name, size_t n)
{
	buf_put(b, oid_friendly_name, sizeof(oid_friendly_name));
	put_tag(b, SET, whole(2 * n));
	put_tag(b, BMP_STRING, 2 * n);
	for (size_t i = 0; i < n; i++)
		buf_put_u16(b, (uint8_t)name[i]);
}

/* The attributes in the order of a SET OF: the shorter first. */
static void put_attributes(struct buf *b, const char *name)
{
	size_t n = strlen(name);
	size_t name_n = sizeof(oid_friendly_name) + whole(whole(2 * n));

	put_tag(b, SET, sizeof(trusted) + whole(name_n));
	buf_put(b, trusted, sizeof(trusted));
	put_tag(b, SEQUENCE, name_n);
	put_name(b, name, n);
}

/* SafeBag of a CertBag (RFC 7292, 4.2.3). */
static void put_certificate(struct buf *b, struct span der, const char *name)
{
	uint8_t room[256];
	struct buf attributes = buf_of(room, sizeof(room));
	size_t octets = whole(der.n), cert = sizeof(oid_x509) + whole(octets);

	put_attributes(&attributes, name);
	put_tag(b, SEQUENCE, sizeof(oid_cert_bag) + whole(whole(cert)) + attributes.n);
	buf_put(b, oid_cert_bag, sizeof(oid_cert_bag));
	put_tag(b, EXPLICIT_0, whole(cert));
	put_tag(b, SEQUENCE, cert);
	buf_put(b, oid_x509, sizeof(oid_x509));
	put_tag(b, EXPLICIT_0, octets);
	put_tag(b, OCTETS, der.n);
	buf_put_span(b, der);
	buf_put_span(b, buf_span(&attributes));
}

static void put_certificates(struct buf *b, struct span pem, const char *kind)
{
	uint8_t room[PEM_CERTIFICATE_MAX];
	char name[48];
	struct span der;

	for (unsigned i = 1; pem_next_certificate(&pem, room, &der); i++) {
		snprintf(name, sizeof(name), "%s-%u", kind, i);
		put_certificate(b, der, name);
	}
}

/* --- the block for the authorities --- */

enum {
	/* Three lengths of three octets each, and their tags. */
	FILLER_TAGS = 3 * 4 + sizeof(oid_filler),
	/* So long that those lengths are. */
	FILLER_MIN = FILLER_TAGS + 0x100,
	HEAD_CONTENT = CA_STORE_HEAD - 4,
};

/* All of its n octets but the zeros at its end. */
static void put_filler(struct buf *b, size_t n)
{
	put_tag(b, SEQUENCE, n - 4);
	buf_put(b, oid_filler, sizeof(oid_filler));
	put_tag(b, EXPLICIT_0, n - 8 - sizeof(oid_filler));
	put_tag(b, OCTETS, n - FILLER_TAGS);
}

bool ca_store_head(struct span authorities, uint8_t out[CA_STORE_HEAD])
{
	struct buf b = buf_of(out, CA_STORE_HEAD);

	memset(out, 0, CA_STORE_HEAD);
	put_tag(&b, SEQUENCE, HEAD_CONTENT);
	put_certificates(&b, authorities, "sandgate");
	if (b.full || CA_STORE_HEAD - b.n < FILLER_MIN)
		return false;
	put_filler(&b, CA_STORE_HEAD - b.n);
	return !b.full;
}

/* --- the file --- */

/* ContentInfo of n octets of data. */
static size_t info_size(size_t n)
{
	return sizeof(oid_data) + whole(whole(n));
}

static void put_info(struct buf *b, size_t n)
{
	put_tag(b, SEQUENCE, info_size(n));
	buf_put(b, oid_data, sizeof(oid_data));
	put_tag(b, EXPLICIT_0, whole(n));
	put_tag(b, OCTETS, n);
}

/* PFX (RFC 7292, 4) around the two SafeContents, of which the second is `bags` in a SEQUENCE. */
static void put_file(struct buf *b, struct span bags, size_t *head)
{
	static const uint8_t version[] = {INTEGER, 1, 3};
	uint8_t empty[CA_STORE_HEAD];
	size_t second = whole(bags.n);
	size_t safes = whole(info_size(CA_STORE_HEAD)) + whole(info_size(second));

	put_tag(b, SEQUENCE, sizeof(version) + whole(info_size(whole(safes))));
	buf_put(b, version, sizeof(version));
	put_info(b, whole(safes));
	put_tag(b, SEQUENCE, safes);
	put_info(b, CA_STORE_HEAD);
	*head = b->n;
	if (!ca_store_head(span_of("", 0), empty))
		b->full = true;
	buf_put(b, empty, sizeof(empty));
	put_info(b, second);
	put_tag(b, SEQUENCE, bags.n);
	buf_put_span(b, bags);
}

bool ca_store_make(struct span host, struct ca_store *out)
{
	/* The shortest block that is a certificate has fewer octets than what is put around it. */
	size_t cap = 3 * host.n + 1024, file_cap = cap + CA_STORE_HEAD + 1024;
	_cleanup_free_ uint8_t *room = malloc(cap);
	struct buf bags = buf_of(room, room ? cap : 0), file;

	*out = (struct ca_store){.p = malloc(file_cap)};
	file = buf_of(out->p, out->p ? file_cap : 0);
	put_certificates(&bags, host, "host");
	put_file(&file, buf_span(&bags), &out->head);
	out->n = file.n;
	if (room && !bags.full && !file.full)
		return true;
	ca_store_free(out);
	return false;
}

void ca_store_free(struct ca_store *s)
{
	free(s->p);
	*s = (struct ca_store){0};
}
