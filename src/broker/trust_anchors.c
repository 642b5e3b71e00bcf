/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * Of each certificate its DER is kept, and where its subject is in that. OpenSSL asks the store's
 * lookups for a subject that its cache does not have. The subjects are decoded at the first question,
 * since a sandbox waits for its broker's start and many ask nothing; all certificates of the subject
 * are decoded then, and put into the store, from where it finds them from that time on. One that
 * cannot be decoded is not trusted.
 */
#include "broker/trust_anchors.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "broker/tls_link.h"

struct anchor {
	uint8_t *der;
	long n;
	bool with_trust; /* "TRUSTED CERTIFICATE": what it is trusted for stands behind it */
	struct span subject_der;
	X509_NAME *subject; /* NULL: not decoded yet, or it cannot be */
};

struct trust_anchors {
	X509_LOOKUP_METHOD *method;
	struct anchor *v;
	size_t n, cap;
	bool decoded; /* the subjects are, where they can be */
};

/* ---- The subject of a certificate (RFC 5280, 4.1) ---- */

/* The contents of the element at the front, or what is behind it; false: it is of another tag. */
static bool take(struct span *at, int class, int tag, struct span *contents)
{
	const unsigned char *p = at->p;
	int form, is_tag, is_class;
	long n;

	if (at->n == 0 || at->n > LONG_MAX)
		return false;
	form = ASN1_get_object(&p, &n, &is_tag, &is_class, (long)at->n);
	if (form & 0x81 || is_tag != tag || is_class != class)
		return false;
	*contents = span_of(p, (size_t)n);
	*at = span_of(p + n, at->n - (size_t)(p - at->p) - (size_t)n);
	return true;
}

static bool take_universal(struct span *at, int tag, struct span *contents)
{
	return take(at, V_ASN1_UNIVERSAL, tag, contents);
}

/* version, serialNumber, signature, issuer, validity, subject: with its tag, as it is decoded. */
static bool find_subject(struct span der, struct span *subject)
{
	struct span all, tbs, piece;

	if (!take_universal(&der, V_ASN1_SEQUENCE, &all) ||
	    !take_universal(&all, V_ASN1_SEQUENCE, &tbs))
		return false;
	(void)take(&tbs, V_ASN1_CONTEXT_SPECIFIC, 0, &piece);
	if (!take_universal(&tbs, V_ASN1_INTEGER, &piece) ||
	    !take_universal(&tbs, V_ASN1_SEQUENCE, &piece) ||
	    !take_universal(&tbs, V_ASN1_SEQUENCE, &piece) ||
	    !take_universal(&tbs, V_ASN1_SEQUENCE, &piece))
		return false;
	*subject = tbs;
	if (!take_universal(&tbs, V_ASN1_SEQUENCE, &piece))
		return false;
	subject->n -= tbs.n;
	return true;
}

/* ---- Reading the bundle ---- */

static struct anchor *add(struct trust_anchors *a)
{
	if (a->n == a->cap) {
		size_t cap = a->cap ? 2 * a->cap : 128;
		struct anchor *v = reallocarray(a->v, cap, sizeof(*v));

		if (!v)
			return NULL;
		a->v = v;
		a->cap = cap;
	}
	a->v[a->n] = (struct anchor){0};
	return &a->v[a->n++];
}

/* False: it is none, without memory as well. The DER is taken. */
static bool keep(struct trust_anchors *a, uint8_t *der, long n, bool with_trust)
{
	struct anchor *new = add(a);

	if (!new) {
		OPENSSL_free(der);
		return false;
	}
	*new = (struct anchor){.der = der, .n = n, .with_trust = with_trust};
	return find_subject(span_of(der, (size_t)n), &new->subject_der);
}

static bool keep_named(struct trust_anchors *a, const char *name, uint8_t *der, long n)
{
	bool with_trust = strcmp(name, PEM_STRING_X509_TRUSTED) == 0;

	if (with_trust || strcmp(name, PEM_STRING_X509) == 0 ||
	    strcmp(name, PEM_STRING_X509_OLD) == 0)
		return keep(a, der, n, with_trust);
	OPENSSL_free(der);
	return true;
}

/* False with OpenSSL's errors, or none: a certificate makes no sense. */
static bool read_all(struct trust_anchors *a, BIO *in)
{
	char *name, *header;
	unsigned char *der;
	long n;

	while (PEM_read_bio(in, &name, &header, &der, &n)) {
		bool ok = keep_named(a, name, der, n);

		OPENSSL_free(name);
		OPENSSL_free(header);
		if (!ok)
			return false;
	}
	/* Where nothing begins any more is the end. */
	return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

static int read_bundle(struct trust_anchors *a, struct span bundle, struct err *e)
{
	BIO *in = bundle.n <= INT_MAX ? BIO_new_mem_buf(bundle.p, (int)bundle.n) : NULL;
	bool ok;

	ERR_clear_error();
	ok = in && read_all(a, in);
	BIO_free(in);
	if (!ok) {
		const char *reason = ERR_reason_error_string(ERR_peek_last_error());

		return err_set(
			e,
			"cannot read the host's certificate bundle: %s; put in order what it "
			"is made of (on Debian: update-ca-certificates --fresh)",
			reason ? reason : "a certificate in it is none");
	}
	ERR_clear_error();
	if (a->n == 0)
		return err_set(
			e, "the host's certificate bundle has no certificate in it; install one "
			   "(on Debian: the package ca-certificates)");
	return 0;
}

/* ---- Looking up ---- */

static X509 *decode(const struct anchor *a)
{
	const unsigned char *p = a->der;

	return a->with_trust ? d2i_X509_AUX(NULL, &p, a->n) : d2i_X509(NULL, &p, a->n);
}

/*
 * What a lookup has found is the store's, and its caller takes a reference of its own.
 * X509_OBJECT_set1_X509() takes one too, which is given back. The store has none of that subject yet,
 * else nobody would have asked.
 */
static bool put_first(X509_STORE *store, X509 *x, X509_OBJECT *found)
{
	bool ok = X509_STORE_add_cert(store, x) == 1 && X509_OBJECT_set1_X509(found, x) == 1;

	if (ok)
		X509_free(x);
	X509_free(x);
	return ok;
}

static void put_beside(X509_STORE *store, X509 *x)
{
	if (X509_STORE_add_cert(store, x) != 1)
		ERR_clear_error();
	X509_free(x);
}

static void decode_subjects(struct trust_anchors *a)
{
	for (size_t i = 0; !a->decoded && i < a->n; i++) {
		const unsigned char *p = a->v[i].subject_der.p;

		a->v[i].subject = d2i_X509_NAME(NULL, &p, (long)a->v[i].subject_der.n);
		if (!a->v[i].subject)
			ERR_clear_error();
	}
	a->decoded = true;
}

static bool is_of(const struct anchor *a, const X509_NAME *subject)
{
	return a->subject && X509_NAME_cmp(a->subject, subject) == 0;
}

static int find(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name,
		X509_OBJECT *found)
{
	struct trust_anchors *a = X509_LOOKUP_get_method_data(lookup);
	X509_STORE *store = X509_LOOKUP_get_store(lookup);
	bool any = false;

	decode_subjects(a);
	for (size_t i = 0; type == X509_LU_X509 && i < a->n; i++) {
		X509 *x = is_of(&a->v[i], name) ? decode(&a->v[i]) : NULL;

		if (!x)
			continue;
		if (any)
			put_beside(store, x);
		else
			any = put_first(store, x, found);
	}
	return any;
}

static bool add_lookup(struct trust_anchors *a, X509_STORE *store)
{
	X509_LOOKUP *lookup;

	a->method = X509_LOOKUP_meth_new("the host's anchors");
	if (!a->method || X509_LOOKUP_meth_set_get_by_subject(a->method, find) != 1)
		return false;
	lookup = X509_STORE_add_lookup(store, a->method);
	return lookup && X509_LOOKUP_set_method_data(lookup, a) == 1;
}

struct trust_anchors *trust_anchors_new(struct span bundle, X509_STORE *store, struct err *e)
{
	struct trust_anchors *a = calloc(1, sizeof(*a));

	if (!a) {
		err_set(e, "the host's certificate bundle: out of memory");
		return NULL;
	}
	if (read_bundle(a, bundle, e) == 0) {
		if (add_lookup(a, store))
			return a;
		tls_err_set(e, "the host's certificate bundle");
	}
	trust_anchors_free(a);
	return NULL;
}

void trust_anchors_free(struct trust_anchors *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++) {
		OPENSSL_free(a->v[i].der);
		X509_NAME_free(a->v[i].subject);
	}
	X509_LOOKUP_meth_free(a->method);
	free(a->v);
	free(a);
}
