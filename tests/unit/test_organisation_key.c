/* SPDX-License-Identifier: Apache-2.0 */
/* The organisation's signature: right for the exact octets and the one key, and for nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/settings/organisation_key.h"

/* RFC 8410, 10.3 and 10.1: a private key, and its public key. */
static const char rfc_private[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
	"-----END PRIVATE KEY-----\n";
static const char rfc_public[] = "-----BEGIN PUBLIC KEY-----\n"
				 "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
				 "-----END PUBLIC KEY-----\n";
/* A key of another kind, which libcrypto reads as well. */
static const char p256_public[] =
	"-----BEGIN PUBLIC KEY-----\n"
	"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqdTTRAKTaZSNiAdd/IJR6ZtsJAQr\n"
	"c9047uMw30Ot7hR2fDCo+FyqeZEd0Lzz+nomgz1nO4zQXH8O0q7Vn/pT0w==\n"
	"-----END PUBLIC KEY-----\n";
static const char policy[] = "{\"deny\": [\"evil.example.com\"]}\n";

static int verify(const char *key, const char *text, const char *signature, struct err *e)
{
	return organisation_key_verify(span_of_string(key), "policy.pub", span_of_string(text),
				       span_of_string(signature), e);
}

static void sign(const char *key, const char *text, char out[ORGANISATION_SIGNATURE_TEXT + 2])
{
	struct err e;

	if (organisation_key_sign(span_of_string(key), "policy.key", span_of_string(text), out, &e))
		fail_msg("%s", e.text);
	assert_int_equal(strlen(out), ORGANISATION_SIGNATURE_TEXT + 1);
}

static void what_is_signed_is_verified(void **state)
{
	char signature[ORGANISATION_SIGNATURE_TEXT + 2], *private_pem, *public_pem;
	struct err e;

	sign(rfc_private, policy, signature);
	assert_int_equal(verify(rfc_public, policy, signature, &e), 0);
	signature[ORGANISATION_SIGNATURE_TEXT] = 0; /* without the newline */
	assert_int_equal(verify(rfc_public, policy, signature, &e), 0);
	assert_int_equal(organisation_key_make(&private_pem, &public_pem, &e), 0);
	sign(private_pem, policy, signature);
	assert_int_equal(verify(public_pem, policy, signature, &e), 0);
	assert_int_equal(verify(rfc_public, policy, signature, &e), -1);
	organisation_key_free(private_pem);
	organisation_key_free(public_pem);
}

/* As openssl pkeyutl -sign -rawin makes it (RFC 8032: Ed25519 has one signature). */
static void the_signature_is_the_standard_s(void **state)
{
	static const char signature[] =
		"zCZ7cLvb1O3rDiYgEln93dXE6ZliQPu8h1wB23fQGU4p2ZBPA2FJdDPLrvsscdctPRi7mmKP"
		"inkqlPR4ZoXeBA==\n";
	struct err e;

	assert_int_equal(verify(rfc_public, "hello\n", signature, &e), 0);
}

static void every_flipped_bit_is_seen(void **state)
{
	char signature[ORGANISATION_SIGNATURE_TEXT + 2], text[sizeof(policy)];
	struct err e;

	sign(rfc_private, policy, signature);
	for (size_t bit = 0; bit < 8 * (sizeof(policy) - 1); bit++) {
		memcpy(text, policy, sizeof(policy));
		text[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(organisation_key_verify(span_of_string(rfc_public), "k",
							 span_of(text, sizeof(policy) - 1),
							 span_of_string(signature), &e),
				 -1);
	}
	for (size_t bit = 0; bit < 8 * ORGANISATION_SIGNATURE_TEXT; bit++) {
		char flipped[sizeof(signature)];

		memcpy(flipped, signature, sizeof(flipped));
		flipped[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(organisation_key_verify(
					 span_of_string(rfc_public), "k", span_of_string(policy),
					 span_of(flipped, ORGANISATION_SIGNATURE_TEXT), &e),
				 -1);
	}
	assert_int_equal(organisation_key_verify(span_of_string(rfc_public), "k",
						 span_of(policy, sizeof(policy) - 2),
						 span_of_string(signature), &e),
			 -1);
}

static void what_is_no_signature_or_key_is_said(void **state)
{
	char signature[ORGANISATION_SIGNATURE_TEXT + 2];
	struct err e;

	assert_int_equal(verify(rfc_public, policy, "", &e), -1);
	assert_non_null(strstr(e.text, "not 64 octets in base64"));
	assert_int_equal(verify(rfc_public, policy, "AAAA", &e), -1);
	assert_non_null(strstr(e.text, "not 64 octets in base64"));
	sign(rfc_private, policy, signature);
	assert_int_equal(verify(p256_public, policy, signature, &e), -1);
	assert_non_null(strstr(e.text, "no public Ed25519 key"));
	assert_int_equal(verify("", policy, signature, &e), -1);
	assert_int_equal(verify(rfc_private, policy, signature, &e), -1);
	assert_int_equal(organisation_key_sign(span_of_string(rfc_public), "policy.key",
					       span_of_string(policy), signature, &e),
			 -1);
	assert_non_null(strstr(e.text, "policy.key: it is no private Ed25519 key"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_signed_is_verified),
		cmocka_unit_test(the_signature_is_the_standard_s),
		cmocka_unit_test(every_flipped_bit_is_seen),
		cmocka_unit_test(what_is_no_signature_or_key_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
