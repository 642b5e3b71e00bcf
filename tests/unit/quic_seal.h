/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quic_seal: makes protected Initial packets of a client, for tests and fuzzing.
 *
 * The keys are derived here with HMAC alone and not with the code under test.
 */
#ifndef SG_TESTS_QUIC_SEAL_H
#define SG_TESTS_QUIC_SEAL_H

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { SEAL_SECRET = 32, SEAL_TAG = 16, SEAL_NUMBER = 4, SEAL_V1 = 1, SEAL_V2 = 0x6b3343cf };

static inline void seal_check(int ok)
{
	if (!ok)
		abort();
}

/* HKDF-Expand-Label of at most one block (RFC 8446, 7.1; RFC 5869, 2.3). */
static inline void seal_expand(const uint8_t secret[SEAL_SECRET], const char *label, uint8_t *out,
			       uint16_t n)
{
	uint8_t text[80], block[SEAL_SECRET];
	struct buf b = buf_of(text, sizeof(text));
	size_t label_n = strlen(label);

	buf_put_u16(&b, n);
	buf_put_u8(&b, (uint8_t)(6 + label_n));
	buf_put(&b, "tls13 ", 6);
	buf_put(&b, label, label_n);
	buf_put(&b, "\0\1", 2);
	seal_check(HMAC(EVP_sha256(), secret, SEAL_SECRET, text, b.n, block, NULL) != NULL);
	memcpy(out, block, n);
}

struct seal_keys {
	uint8_t key[16], iv[12], hp[16];
};

static inline struct seal_keys seal_derive(uint32_t version, struct span connection_id)
{
	static const uint8_t salt_v1[] = {0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34,
					  0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8,
					  0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a};
	static const uint8_t salt_v2[] = {0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6,
					  0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26,
					  0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9};
	uint8_t initial[SEAL_SECRET], client[SEAL_SECRET];
	int v2 = version == SEAL_V2;
	struct seal_keys k;

	seal_check(HMAC(EVP_sha256(), v2 ? salt_v2 : salt_v1, sizeof(salt_v1), connection_id.p,
			connection_id.n, initial, NULL) != NULL);
	seal_expand(initial, "client in", client, sizeof(client));
	seal_expand(client, v2 ? "quicv2 key" : "quic key", k.key, sizeof(k.key));
	seal_expand(client, v2 ? "quicv2 iv" : "quic iv", k.iv, sizeof(k.iv));
	seal_expand(client, v2 ? "quicv2 hp" : "quic hp", k.hp, sizeof(k.hp));
	return k;
}

static inline void seal_gcm(const struct seal_keys *k, uint8_t number, struct span header,
			    struct span plain, uint8_t *out)
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t nonce[12];
	int n;

	memcpy(nonce, k->iv, sizeof(nonce));
	nonce[11] ^= number;
	seal_check(c && EVP_EncryptInit_ex(c, EVP_aes_128_gcm(), NULL, k->key, nonce));
	seal_check(EVP_EncryptUpdate(c, NULL, &n, header.p, (int)header.n));
	seal_check(EVP_EncryptUpdate(c, out, &n, plain.p, (int)plain.n));
	seal_check(EVP_EncryptFinal_ex(c, out + n, &n));
	seal_check(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG, out + plain.n));
	EVP_CIPHER_CTX_free(c);
}

static inline void seal_mask(const struct seal_keys *k, const uint8_t *sample, uint8_t mask[16])
{
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int n;

	seal_check(c && EVP_EncryptInit_ex(c, EVP_aes_128_ecb(), NULL, k->hp, NULL));
	seal_check(EVP_EncryptUpdate(c, mask, &n, sample, 16));
	EVP_CIPHER_CTX_free(c);
}

/* Appends one Initial with these frames; they must be 4 octets or more, for the sample. */
static inline void seal_initial(struct buf *out, uint32_t version, struct span connection_id,
				uint8_t number, struct span frames)
{
	struct seal_keys k = seal_derive(version, connection_id);
	uint8_t sealed[65536], mask[16];
	size_t start = out->n, at;

	buf_put_u8(out, version == SEAL_V2 ? 0xd3 : 0xc3);
	buf_put_u32(out, version);
	buf_put_u8(out, (uint8_t)connection_id.n);
	buf_put_span(out, connection_id);
	buf_put_u8(out, 0);
	buf_put_u8(out, 0); /* no token */
	buf_put_u32(out, 0x80000000 | (uint32_t)(SEAL_NUMBER + frames.n + SEAL_TAG));
	at = out->n;
	buf_put_u32(out, number);
	seal_check(!out->full && frames.n + SEAL_TAG <= sizeof(sealed));
	seal_gcm(&k, number, span_of(out->p + start, out->n - start), frames, sealed);
	buf_put(out, sealed, frames.n + SEAL_TAG);
	seal_check(!out->full);
	seal_mask(&k, sealed, mask);
	out->p[start] ^= mask[0] & 0x0f;
	for (int i = 0; i < SEAL_NUMBER; i++)
		out->p[at + (size_t)i] ^= mask[1 + i];
}

#endif
