/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authority: two keys, made at the start, and certificates made with them.
 *
 * The CA's key signs; all leaves share the other one. A key for each leaf would lie in the same
 * memory of the same process, so it would protect nothing, and cost each new name a key.
 *
 * A leaf is good for LEAF_DAYS, is not older than the CA, and does not outlive it. One that has
 * less than a day left is made anew, unless it ends with the CA. When the CA has expired there
 * are no leaves of it any more; its successor was made long before (authorities.h).
 */
#include "broker/authority.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "broker/certificate.h"
#include "broker/name_cache.h"
#include "broker/tls_link.h"

enum {
	HOUR = 60 * 60, /* clocks inside a virtual machine are behind that much at most */
	DAY = 24 * HOUR,
	LEAF_DAYS = 7,
	LEAVES_MAX = 1024,
};

struct authority {
	EVP_PKEY *key, *leaf_key;
	X509 *certificate;
	struct validity validity;
	char *pem;
	size_t pem_n;
	struct name *names; /* that it is constrained to; none: any */
	size_t n_names;
	struct name_cache *leaves; /* of struct cached */
	SSL_CTX *context;
};

struct cached {
	X509 *certificate;
	time_t to;
};

static void cached_free(void *kept)
{
	struct cached *c = kept;

	X509_free(c->certificate);
	free(c);
}

/* "*.example.com" is constrained to as "example.com". */
static bool read_pattern(const char *pattern, struct name *out)
{
	const char *s = pattern + strspn(pattern, "*");

	s += s != pattern && *s == '.';
	return name_parse_ascii(s, strlen(s), out) == NAME_OK;
}

static int read_names(struct authority *a, char *const *names, struct err *e)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	if (n == 0)
		return 0;
	a->names = calloc(n, sizeof(*a->names));
	if (!a->names)
		return err_set(e, "cannot make the sandbox's authority: out of memory");
	for (; a->n_names < n; a->n_names++)
		if (!read_pattern(names[a->n_names], &a->names[a->n_names]))
			return err_set(e, "cannot make the sandbox's authority: not a host: %s",
				       names[a->n_names]);
	return 0;
}

static int write_pem(struct authority *a)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *p = NULL;
	long n = 0;

	if (out && PEM_write_bio_X509(out, a->certificate) == 1)
		n = BIO_get_mem_data(out, &p);
	if (n > 0)
		a->pem = malloc((size_t)n);
	if (a->pem) {
		memcpy(a->pem, p, (size_t)n);
		a->pem_n = (size_t)n;
	}
	BIO_free(out);
	return a->pem ? 0 : -1;
}

static int make(struct authority *a, const char *sandbox, unsigned days)
{
	time_t now = time(NULL);

	a->validity = (struct validity){now - HOUR, now + (time_t)days * DAY};
	a->key = certificate_new_key();
	a->leaf_key = certificate_new_key();
	if (!a->key || !a->leaf_key)
		return -1;
	a->certificate =
		certificate_new_authority(a->key, sandbox, a->names, a->n_names, a->validity);
	a->leaves = name_cache_new(LEAVES_MAX, cached_free);
	return a->certificate && a->leaves ? write_pem(a) : -1;
}

struct authority *authority_new(const char *sandbox, char *const *names, unsigned days,
				struct err *e)
{
	struct authority *a;

	if (days == 0 || days > AUTHORITY_DAYS_MAX) {
		err_set(e,
			"cannot make the sandbox's authority: it is to be valid for 1 to "
			"%d days, not %u",
			AUTHORITY_DAYS_MAX, days);
		return NULL;
	}
	if (tls_start(e) != 0)
		return NULL;
	a = calloc(1, sizeof(*a));
	if (!a) {
		err_set(e, "cannot make the sandbox's authority: out of memory");
		return NULL;
	}
	ERR_clear_error();
	if (read_names(a, names, e) != 0)
		goto fail;
	if (make(a, sandbox, days) != 0) {
		tls_err_set(e, "the sandbox's authority");
		goto fail;
	}
	a->context = tls_accept_context_new(e);
	if (a->context)
		return a;
fail:
	authority_free(a);
	return NULL;
}

void authority_free(struct authority *a)
{
	if (!a)
		return;
	SSL_CTX_free(a->context);
	name_cache_free(a->leaves);
	X509_free(a->certificate);
	EVP_PKEY_free(a->leaf_key);
	EVP_PKEY_free(a->key);
	free(a->names);
	free(a->pem);
	free(a);
}

struct span authority_certificate(const struct authority *a)
{
	return span_of(a->pem, a->pem_n);
}

SSL_CTX *authority_context(const struct authority *a)
{
	return a->context;
}

time_t authority_end(const struct authority *a)
{
	return a->validity.to;
}

bool authority_may_sign(const struct authority *a, const struct name *name)
{
	for (size_t i = 0; i < a->n_names; i++)
		if (name_equal(name, &a->names[i]) || name_is_below(name, &a->names[i]))
			return true;
	return a->n_names == 0;
}

bool authority_covers(const struct authority *a, const char *pattern)
{
	struct name name;

	return a->n_names == 0 || (read_pattern(pattern, &name) && authority_may_sign(a, &name));
}

static struct validity leaf_validity(const struct authority *a, time_t now)
{
	struct validity v = {now - HOUR, now + (time_t)LEAF_DAYS * DAY};

	if (v.from < a->validity.from)
		v.from = a->validity.from;
	if (v.to > a->validity.to)
		v.to = a->validity.to;
	return v;
}

static struct cached *mint(struct authority *a, const struct name *name, struct validity v)
{
	struct cached *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->to = v.to;
	c->certificate = certificate_new_leaf(a->leaf_key, name, v, a->certificate, a->key);
	if (!c->certificate) {
		free(c);
		return NULL;
	}
	name_cache_put(a->leaves, name, c);
	return c;
}

int authority_find_leaf(struct authority *a, const struct name *name, struct leaf *out,
			struct err *e)
{
	time_t now = time(NULL);
	struct validity v = leaf_validity(a, now);
	struct cached *c;

	if (now >= a->validity.to)
		return err_set(e, "the sandbox's authority has expired; start the sandbox again");
	if (!authority_may_sign(a, name))
		return err_set(
			e, "the sandbox's authority was not made for %s; start the sandbox again",
			name->s);
	c = name_cache_find(a->leaves, name);
	if (!c || (c->to - now < DAY && c->to < v.to))
		c = mint(a, name, v);
	if (!c || X509_up_ref(c->certificate) != 1)
		return tls_err_set(e, "a certificate");
	*out = (struct leaf){c->certificate, a->leaf_key};
	return 0;
}
