/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/organisation_key.h"

#include <limits.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <string.h>

#include "base/base64.h"

enum { SIGNATURE_OCTETS = 64 };

/* --- keys --- */

/* What was written to the BIO, as a string of its own. */
static char *text_of(BIO *bio)
{
	char *data, *text;
	long n = BIO_get_mem_data(bio, &data);

	text = n > 0 ? OPENSSL_malloc((size_t)n + 1) : NULL;
	if (!text)
		return NULL;
	memcpy(text, data, (size_t)n);
	text[n] = 0;
	return text;
}

static char *print_key(EVP_PKEY *key, bool private)
{
	BIO *bio = BIO_new(private ? BIO_s_secmem() : BIO_s_mem());
	char *text = NULL;

	if (bio && (private ? PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL)
			    : PEM_write_bio_PUBKEY(bio, key)))
		text = text_of(bio);
	BIO_free(bio);
	return text;
}

int organisation_key_make(char **private_pem, char **public_pem, struct err *e)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

	*private_pem = key ? print_key(key, true) : NULL;
	*public_pem = key ? print_key(key, false) : NULL;
	EVP_PKEY_free(key);
	if (*private_pem && *public_pem)
		return 0;
	organisation_key_free(*private_pem);
	organisation_key_free(*public_pem);
	return err_set(e, "a new pair of keys: libcrypto could not make it");
}

void organisation_key_free(char *pem)
{
	if (pem)
		OPENSSL_clear_free(pem, strlen(pem));
}

/* A key that wants a passphrase is none that can be used here: nothing asks on the terminal. */
static int no_passphrase(char *out, int n, int write, void *ctx)
{
	return -1;
}

static EVP_PKEY *read_key(struct span pem, bool private, const char *file, struct err *e)
{
	BIO *bio = pem.n <= INT_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
	EVP_PKEY *key = NULL;

	if (bio)
		key = private ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL)
			      : PEM_read_bio_PUBKEY(bio, NULL, no_passphrase, NULL);
	BIO_free(bio);
	if (key && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519)
		return key;
	err_set(e, "%s: it is no %s Ed25519 key in PEM; `sandgate org keygen` makes a pair", file,
		private ? "private" : "public");
	EVP_PKEY_free(key);
	return NULL;
}

/* --- signatures --- */

int organisation_key_sign(struct span private_pem, const char *file, struct span text,
			  char out[ORGANISATION_SIGNATURE_TEXT + 2], struct err *e)
{
	EVP_PKEY *key = read_key(private_pem, true, file, e);
	EVP_MD_CTX *ctx = key ? EVP_MD_CTX_new() : NULL;
	unsigned char signature[SIGNATURE_OCTETS];
	size_t n = sizeof(signature);
	bool ok = ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) == 1 &&
		  EVP_DigestSign(ctx, signature, &n, text.p, text.n) == 1 && n == sizeof(signature);

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	if (!key)
		return -1;
	if (!ok)
		return err_set(e, "%s: libcrypto could not sign with it", file);
	base64_print(span_of(signature, n), out);
	memcpy(out + ORGANISATION_SIGNATURE_TEXT, "\n", 2);
	return 0;
}

/* At most a newline stands after it. */
static bool decode(struct span text, unsigned char out[SIGNATURE_OCTETS])
{
	size_t n;

	if (text.n && text.p[text.n - 1] == '\n')
		text.n--;
	return base64_parse(text, out, SIGNATURE_OCTETS, &n) && n == SIGNATURE_OCTETS;
}

int organisation_key_verify(struct span public_pem, const char *file, struct span text,
			    struct span signature, struct err *e)
{
	unsigned char octets[SIGNATURE_OCTETS];
	EVP_PKEY *key = read_key(public_pem, false, file, e);
	EVP_MD_CTX *ctx;
	bool ok;

	if (!key)
		return -1;
	if (!decode(signature, octets)) {
		EVP_PKEY_free(key);
		return err_set(e, "the signature is not 64 octets in base64; sign the file again");
	}
	ctx = EVP_MD_CTX_new();
	ok = ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
	     EVP_DigestVerify(ctx, octets, SIGNATURE_OCTETS, text.p, text.n) == 1;
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return ok ? 0
		  : err_set(e, "the signature is not that of the key over this file; "
			       "put back what was signed, or sign it again");
}
