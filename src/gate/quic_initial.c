/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * The first packet of an attempt gives the version and, by its destination
 * connection id, the keys; all Initials that the client sends before the server
 * answers are protected with the same. Each datagram is a run of packets. Those
 * that are not the client's Initials or do not decrypt are passed over, as anyone
 * may have sent them (RFC 9001, 5.2); the frames of the others are read.
 *
 * CRYPTO frames are written to their place in `crypto`, whatever their order. An
 * octet that comes twice must be the same both times, since the server may keep
 * either. When the octets from the first on hold a whole hello, it is parsed.
 *
 * The algorithms are fetched once, into a library context of their own, and used
 * once against a published vector. They and the room for one decrypted packet serve
 * all attempts: the gate has one thread, and nothing of a packet outlives a call.
 */
#include "gate/quic_initial.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "base/buf.h"

enum {
	CONNECTION_ID_MAX = 20, /* RFC 9000, 17.2 */
	SECRET_OCTETS = 32,	/* SHA-256 */
	SAMPLE_OCTETS = 16,	/* RFC 9001, 5.4.2 */
	NUMBER_OCTETS_MAX = 4,	/* of a packet number */
	TAG_OCTETS = 16,	/* AES-128-GCM */
	NONCE_OCTETS = 12,
	PACKET_MAX = 65536, /* no datagram is larger */
};

/* The first octet of a long header (RFC 9000, 17.2). */
enum {
	LONG_HEADER = 0x80,
	FIXED_BIT = 0x40,
	TYPE_SHIFT = 4,
	TYPE_MASK = 3,
	PROTECTED_BITS = 0x0f,
	NUMBER_LENGTH_MASK = 3,
};

enum { FRAME_PADDING, FRAME_PING, FRAME_ACK, FRAME_ACK_ECN, FRAME_CRYPTO = 6, FRAME_CLOSE = 0x1c };

/* What differs between the versions (RFC 9001, 5.2 and 5.1; RFC 9369, 3). */
struct version {
	uint32_t number;
	uint8_t initial, retry; /* packet types */
	uint8_t salt[20];
	const char *key, *iv, *hp; /* labels */
};

static const struct version versions[] = {
	{.number = 0x00000001,
	 .initial = 0,
	 .retry = 3,
	 .salt = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17,
		  0x9a, 0xe6, 0xa4, 0xc8, 0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a},
	 .key = "quic key",
	 .iv = "quic iv",
	 .hp = "quic hp"},
	{.number = 0x6b3343cf,
	 .initial = 1,
	 .retry = 0,
	 .salt = {0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93,
		  0x81, 0xbe, 0x6e, 0x26, 0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9},
	 .key = "quicv2 key",
	 .iv = "quicv2 iv",
	 .hp = "quicv2 hp"},
};

static struct {
	OSSL_LIB_CTX *library;
	EVP_CIPHER *ecb, *gcm;
	EVP_CIPHER_CTX *mask, *open;
	EVP_KDF_CTX *hkdf;
	uint8_t plain[PACKET_MAX];
} crypto;

static EVP_KDF_CTX *new_hkdf(OSSL_LIB_CTX *library)
{
	EVP_KDF *kdf = EVP_KDF_fetch(library, "HKDF", NULL);
	EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);

	EVP_KDF_free(kdf);
	return ctx;
}

void quic_initial_begin(struct quic_initial *q)
{
	q->version = 0;
	q->datagrams = 0;
	q->ready = 0;
	memset(q->have, 0, sizeof(q->have));
}

/* ---- Keys ---- */

static bool hkdf(int mode, struct span key, struct span salt, struct span info, uint8_t *out,
		 size_t n)
{
	char digest[] = "SHA256";
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key.p, key.n),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt.p, salt.n),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info.p, info.n),
		OSSL_PARAM_construct_end(),
	};

	EVP_KDF_CTX_reset(crypto.hkdf);
	return EVP_KDF_derive(crypto.hkdf, out, n, params) == 1;
}

/* HKDF-Expand-Label with no context (RFC 8446, 7.1). */
static bool expand_label(const uint8_t secret[SECRET_OCTETS], const char *label, uint8_t *out,
			 uint16_t n)
{
	static const char prefix[] = "tls13 ";
	uint8_t text[64];
	struct buf info = buf_of(text, sizeof(text));

	buf_put_u16(&info, n);
	buf_put_u8(&info, (uint8_t)(strlen(prefix) + strlen(label)));
	buf_put_text(&info, prefix);
	buf_put_text(&info, label);
	buf_put_u8(&info, 0);
	return hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, span_of(secret, SECRET_OCTETS), span_of("", 0),
		    buf_span(&info), out, n);
}

static bool derive_keys(const struct version *v, struct span connection_id, struct quic_keys *k)
{
	uint8_t initial[SECRET_OCTETS], client[SECRET_OCTETS];

	return hkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, connection_id,
		    span_of(v->salt, sizeof(v->salt)), span_of("", 0), initial, sizeof(initial)) &&
	       expand_label(initial, "client in", client, sizeof(client)) &&
	       expand_label(client, v->key, k->key, sizeof(k->key)) &&
	       expand_label(client, v->iv, k->iv, sizeof(k->iv)) &&
	       expand_label(client, v->hp, k->hp, sizeof(k->hp));
}

/* ---- Packets ---- */

/* RFC 9000, 16. */
static uint64_t take_varint(struct reader *r)
{
	uint8_t first = reader_u8(r);
	uint64_t v = first & 0x3f;

	for (unsigned more = (1U << (first >> 6)) - 1; more; more--)
		v = v << 8 | reader_u8(r);
	return v;
}

static struct span take_octets(struct reader *r, uint64_t n)
{
	return reader_take(r, n < SIZE_MAX ? (size_t)n : SIZE_MAX);
}

/* A long-header packet as it lies in a datagram. */
struct packet {
	const struct version *version;
	uint8_t type;
	struct span connection_id; /* the destination's */
	struct span header;	   /* up to the packet number */
	struct span rest;	   /* packet number and payload, protected */
};

static const struct version *find_version(uint32_t number)
{
	for (size_t i = 0; i < sg_array_len(versions); i++)
		if (versions[i].number == number)
			return &versions[i];
	return NULL;
}

/* Version and connection ids; false when this is no long header that we know (RFC 9000, 17.2). */
static bool take_long_header(struct reader *r, struct packet *p)
{
	uint8_t first = reader_u8(r), n;

	p->version = find_version(reader_u32(r));
	p->type = first >> TYPE_SHIFT & TYPE_MASK;
	n = reader_u8(r);
	p->connection_id = reader_take(r, n);
	n = reader_u8(r);
	if (reader_take(r, n).n > CONNECTION_ID_MAX || p->connection_id.n > CONNECTION_ID_MAX)
		return false;
	return !r->bad && p->version && first & LONG_HEADER && first & FIXED_BIT;
}

/* The next packet of the datagram; false when there is none that says its length. */
static bool take_packet(struct reader *r, struct packet *p)
{
	size_t start = r->at;
	uint64_t length;

	if (!take_long_header(r, p) || p->type == p->version->retry)
		return false;
	if (p->type == p->version->initial)
		take_octets(r, take_varint(r)); /* the token */
	length = take_varint(r);
	p->header = span_of(r->p + start, r->at - start);
	p->rest = take_octets(r, length);
	return !r->bad;
}

/* RFC 9001, 5.4.3. */
static bool make_mask(const struct quic_keys *k, const uint8_t *sample, uint8_t mask[SAMPLE_OCTETS])
{
	int n;

	return EVP_EncryptInit_ex2(crypto.mask, crypto.ecb, k->hp, NULL, NULL) == 1 &&
	       EVP_CIPHER_CTX_set_padding(crypto.mask, 0) == 1 &&
	       EVP_EncryptUpdate(crypto.mask, mask, &n, sample, SAMPLE_OCTETS) == 1 &&
	       n == SAMPLE_OCTETS;
}

/* A packet's header and number without their protection. */
struct bare {
	uint8_t first;
	uint8_t number[NUMBER_OCTETS_MAX];
	unsigned number_n;
};

static bool unprotect_header(const struct quic_keys *k, const struct packet *p, struct bare *b)
{
	uint8_t mask[SAMPLE_OCTETS];

	if (p->rest.n < NUMBER_OCTETS_MAX + SAMPLE_OCTETS ||
	    !make_mask(k, p->rest.p + NUMBER_OCTETS_MAX, mask))
		return false;
	b->first = p->header.p[0] ^ (mask[0] & PROTECTED_BITS);
	b->number_n = (b->first & NUMBER_LENGTH_MASK) + 1U;
	for (unsigned i = 0; i < b->number_n; i++)
		b->number[i] = p->rest.p[i] ^ mask[1 + i];
	return true;
}

/* The header as it is authenticated: unprotected, and put together without copying it. */
static bool add_header(const struct packet *p, const struct bare *b)
{
	int n;

	return EVP_DecryptUpdate(crypto.open, NULL, &n, &b->first, 1) == 1 &&
	       EVP_DecryptUpdate(crypto.open, NULL, &n, p->header.p + 1, (int)p->header.n - 1) ==
		       1 &&
	       EVP_DecryptUpdate(crypto.open, NULL, &n, b->number, (int)b->number_n) == 1;
}

/*
 * Decrypts into crypto.plain. The number is taken as it stands, the upper octets being 0: a
 * client's first packets have small ones (RFC 9000, 12.3).
 */
static bool open_packet(const struct quic_keys *k, const struct packet *p, struct span *plain)
{
	struct bare b;
	struct span sealed, tag;
	uint8_t nonce[NONCE_OCTETS];
	int n, last;

	if (!unprotect_header(k, p, &b))
		return false;
	sealed = span_of(p->rest.p + b.number_n, p->rest.n - b.number_n - TAG_OCTETS);
	tag = span_of(sealed.p + sealed.n, TAG_OCTETS);
	if (sealed.n > sizeof(crypto.plain))
		return false;
	memcpy(nonce, k->iv, sizeof(nonce));
	for (unsigned i = 0; i < b.number_n; i++)
		nonce[NONCE_OCTETS - b.number_n + i] ^= b.number[i];
	if (EVP_DecryptInit_ex2(crypto.open, crypto.gcm, k->key, nonce, NULL) != 1 ||
	    !add_header(p, &b) ||
	    EVP_DecryptUpdate(crypto.open, crypto.plain, &n, sealed.p, (int)sealed.n) != 1 ||
	    EVP_CIPHER_CTX_ctrl(crypto.open, EVP_CTRL_AEAD_SET_TAG, TAG_OCTETS, (void *)tag.p) !=
		    1 ||
	    EVP_DecryptFinal_ex(crypto.open, crypto.plain + n, &last) != 1)
		return false;
	*plain = span_of(crypto.plain, (size_t)n);
	return true;
}

/* ---- Frames ---- */

static bool have_octet(const struct quic_initial *q, size_t at)
{
	return q->have[at / 8] >> at % 8 & 1;
}

/* False when an octet that is there already differs. */
static bool put_crypto(struct quic_initial *q, size_t at, struct span data)
{
	for (size_t i = 0; i < data.n; i++, at++) {
		if (have_octet(q, at) && q->crypto[at] != data.p[i])
			return false;
		q->crypto[at] = data.p[i];
		q->have[at / 8] |= (uint8_t)(1 << at % 8);
	}
	while (q->ready < QUIC_CRYPTO_MAX && have_octet(q, q->ready))
		q->ready++;
	return true;
}

/* RFC 9000, 19.6. */
static enum quic_state read_crypto(struct quic_initial *q, struct reader *r)
{
	uint64_t at = take_varint(r);
	uint64_t n = take_varint(r);
	struct span data = take_octets(r, n);

	if (r->bad)
		return QUIC_MALFORMED;
	if (at > QUIC_CRYPTO_MAX || n > QUIC_CRYPTO_MAX - at)
		return QUIC_TOO_LARGE;
	return put_crypto(q, (size_t)at, data) ? QUIC_NEED_MORE : QUIC_MALFORMED;
}

/* RFC 9000, 19.3. */
static void pass_ack(struct reader *r, bool ecn)
{
	uint64_t ranges;

	take_varint(r); /* largest */
	take_varint(r); /* delay */
	ranges = take_varint(r);
	take_varint(r); /* first range */
	while (ranges-- && !r->bad) {
		take_varint(r);
		take_varint(r);
	}
	for (unsigned counts = ecn ? 3 : 0; counts; counts--)
		take_varint(r);
}

/* RFC 9000, 19.19, without the frames of the application. */
static void pass_close(struct reader *r)
{
	take_varint(r); /* error */
	take_varint(r); /* frame type */
	take_octets(r, take_varint(r));
}

/* The frames that an Initial may hold (RFC 9000, 17.2.2). */
static enum quic_state read_frame(struct quic_initial *q, struct reader *r)
{
	uint8_t type = reader_u8(r);

	switch (type) {
	case FRAME_PADDING:
	case FRAME_PING:
		break;
	case FRAME_ACK:
	case FRAME_ACK_ECN:
		pass_ack(r, type == FRAME_ACK_ECN);
		break;
	case FRAME_CRYPTO:
		return read_crypto(q, r);
	case FRAME_CLOSE:
		pass_close(r);
		break;
	default:
		return QUIC_MALFORMED;
	}
	return r->bad ? QUIC_MALFORMED : QUIC_NEED_MORE;
}

/* ---- The whole ---- */

static enum quic_state read_frames(struct quic_initial *q, struct span plain)
{
	struct reader r = reader_of(plain);
	enum quic_state state = QUIC_NEED_MORE;

	while (state == QUIC_NEED_MORE && reader_left(&r))
		state = read_frame(q, &r);
	return state;
}

static enum quic_state parse_hello(const struct quic_initial *q, struct tls_hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	switch (tls_hello_parse_message(span_of(q->crypto, q->ready), hello)) {
	case HELLO_NEED_MORE:
		return q->datagrams < QUIC_DATAGRAMS_MAX ? QUIC_NEED_MORE : QUIC_TOO_LARGE;
	case HELLO_OK:
		return QUIC_HELLO;
	case HELLO_TOO_LARGE:
		return QUIC_TOO_LARGE;
	default:
		return QUIC_MALFORMED;
	}
}

/* The attempt is that of the first packet, when this proves to be protected by its own keys. */
static bool adopt(struct quic_initial *q, const struct packet *p, struct span *plain)
{
	if (p->type != p->version->initial ||
	    !derive_keys(p->version, p->connection_id, &q->keys) ||
	    !open_packet(&q->keys, p, plain))
		return false;
	q->version = p->version->number;
	return true;
}

enum quic_state quic_initial_feed(struct quic_initial *q, struct span datagram,
				  struct tls_hello *hello)
{
	struct reader r = reader_of(datagram);
	struct packet p;
	struct span plain;

	q->datagrams++;
	while (take_packet(&r, &p)) {
		enum quic_state state;

		if (q->version == 0) {
			if (!adopt(q, &p, &plain))
				return QUIC_NOT_INITIAL;
		} else if (p.version->number != q->version || p.type != p.version->initial ||
			   !open_packet(&q->keys, &p, &plain)) {
			continue;
		}
		state = read_frames(q, plain);
		if (state != QUIC_NEED_MORE)
			return state;
	}
	return q->version ? parse_hello(q, hello) : QUIC_NOT_INITIAL;
}

/* ---- Start ---- */

/* The key of RFC 9001, A.1, and a packet that is too small to be anyone's. */
static bool works(void)
{
	static const uint8_t id[] = {0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08};
	static const uint8_t key[] = {0x1f, 0x36, 0x96, 0x13, 0xdd, 0x76, 0xd5, 0x46,
				      0x77, 0x30, 0xef, 0xcb, 0xe3, 0xb1, 0xa2, 0x2d};
	static const uint8_t none[NUMBER_OCTETS_MAX + SAMPLE_OCTETS];
	struct packet p = {.header = span_of(id, sizeof(id)), .rest = span_of(none, sizeof(none))};
	struct quic_keys k;
	struct span plain;

	return derive_keys(&versions[0], span_of(id, sizeof(id)), &k) &&
	       memcmp(k.key, key, sizeof(key)) == 0 && !open_packet(&k, &p, &plain);
}

int quic_initial_init(struct err *e)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	crypto.library = OSSL_LIB_CTX_new();
	if (crypto.library) {
		crypto.ecb = EVP_CIPHER_fetch(crypto.library, "AES-128-ECB", NULL);
		crypto.gcm = EVP_CIPHER_fetch(crypto.library, "AES-128-GCM", NULL);
		crypto.hkdf = new_hkdf(crypto.library);
		crypto.mask = EVP_CIPHER_CTX_new();
		crypto.open = EVP_CIPHER_CTX_new();
	}
	if (!crypto.ecb || !crypto.gcm || !crypto.hkdf || !crypto.mask || !crypto.open || !works())
		return err_set(e, "OpenSSL's libcrypto has no working AES-128-GCM and HKDF: "
				  "install Debian's libssl3 anew");
	return 0;
}
