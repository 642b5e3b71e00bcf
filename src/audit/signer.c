/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/signer.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <sys/stat.h>

#include "audit/disk.h"

enum { PRIVATE_MAX = 4096 };

/* The contents of key.pub. False when it cannot be made. */
static bool print_public(const struct verifier *v, char out[SIGNER_PUBLIC_MAX])
{
	EVP_PKEY *key =
		EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, v->key, NOTE_KEY_OCTETS);
	BIO *bio = BIO_new(BIO_s_mem());
	bool good = key && bio && PEM_write_bio_PUBKEY(bio, key) == 1;
	char line[VERIFIER_TEXT_MAX], *pem;
	long n = good ? BIO_get_mem_data(bio, &pem) : 0;

	verifier_print(v, line);
	good = good &&
	       snprintf(out, SIGNER_PUBLIC_MAX, "%s\n%.*s", line, (int)n, pem) < SIGNER_PUBLIC_MAX;
	BIO_free(bio);
	EVP_PKEY_free(key);
	return good;
}

int signer_read_public(int dir, struct verifier *out, struct err *e)
{
	char *text, again[SIGNER_PUBLIC_MAX];
	size_t n;
	int r = disk_read(dir, "key.pub", SIGNER_PUBLIC_MAX, &text, &n);
	bool good;

	if (r < 0) {
		err_set(e, "key.pub: %s", r == -ENOENT ? "missing" : err_why(-r));
		return r;
	}
	good = verifier_parse(span_of(text, n), out, e) == 0 && out->name[0] &&
	       print_public(out, again) && span_equal(span_of(text, n), span_of_string(again));
	free(text);
	if (good)
		return 0;
	err_set(e, "key.pub: was changed: it does not hold one key in its two forms");
	return -EBADMSG;
}

/* What others could have read signs nothing any more. */
static int check_private(int dir, struct err *e)
{
	struct stat st;

	if (fstatat(dir, "key", &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? err_set(e, "key: it is gone, and nothing can be sealed "
						    "without it; move the log's folder away, "
						    "and a new one begins")
				       : err_set(e, "key: %s", err_why(errno));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return err_set(e,
			       "key: others may read it; it must be a file of your own with mode "
			       "0600");
	return 0;
}

static EVP_PKEY *read_private(int dir, struct err *e)
{
	EVP_PKEY *key;
	BIO *bio;
	char *text;
	size_t n;
	int r;

	if (check_private(dir, e) < 0)
		return NULL;
	r = disk_read(dir, "key", PRIVATE_MAX, &text, &n);
	if (r < 0) {
		err_set(e, "key: cannot be read: %s", err_why(-r));
		return NULL;
	}
	bio = BIO_new_mem_buf(text, (int)n);
	key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, "") : NULL;
	BIO_free(bio);
	OPENSSL_cleanse(text, n);
	free(text);
	if (!key)
		err_set(e, "key: is no private key (PEM)");
	return key;
}

static EVP_PKEY *make_private(int dir, bool fleeting, struct err *e)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	BIO *bio = BIO_new(BIO_s_secmem());
	char *text = NULL;
	int r = -ENOMEM;

	if (key && bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1) {
		long n = BIO_get_mem_data(bio, &text);

		r = disk_replace(dir, "key", span_of(text, (size_t)n), 0600, fleeting);
		OPENSSL_cleanse(text, (size_t)n);
	}
	BIO_free(bio);
	if (r == 0)
		return key;
	EVP_PKEY_free(key);
	err_set(e, "key: cannot be made: %s", err_why(-r));
	return NULL;
}

static int make_public(int dir, EVP_PKEY *key, const char *origin, bool fleeting, struct err *e)
{
	char text[SIGNER_PUBLIC_MAX];
	struct verifier v;
	int r;

	if (!verifier_of_key(key, origin, &v) || !print_public(&v, text))
		return err_set(e, "%s: no name for a log's key: no spaces, no plus", origin);
	r = disk_replace(dir, "key.pub", span_of_string(text), 0644, fleeting);
	return r < 0 ? err_set(e, "key.pub: cannot be made: %s", err_why(-r)) : 0;
}

int signer_open(struct signer *s, int dir, const char *origin, enum signer_make how, struct err *e)
{
	bool make = how != SIGNER_READ, fleeting = how == SIGNER_MAKE_FLEETING;
	struct verifier own;

	if (make && faccessat(dir, "key", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		s->key = make_private(dir, fleeting, e);
	else
		s->key = read_private(dir, e);
	if (!s->key)
		return -1;
	if (make && faccessat(dir, "key.pub", F_OK, AT_SYMLINK_NOFOLLOW) != 0 &&
	    make_public(dir, s->key, origin, fleeting, e) < 0)
		return -1;
	if (signer_read_public(dir, &s->verifier, e) < 0)
		return -1;
	if (!verifier_of_key(s->key, s->verifier.name, &own) ||
	    memcmp(own.key, s->verifier.key, NOTE_KEY_OCTETS) != 0)
		return err_set(e, "key: is not the one of key.pub");
	return 0;
}

void signer_free(struct signer *s)
{
	EVP_PKEY_free(s->key);
	s->key = NULL;
}
