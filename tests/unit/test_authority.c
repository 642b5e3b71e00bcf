/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/compiler.h"
#include "broker/certificate.h"
#include "tls_rig.h"

enum { HOUR = 3600, DAY = 24 * HOUR };

/* The clock of this program, OpenSSL's too: in the place of libc's. */
static time_t ahead;

time_t time(time_t *out)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec + ahead;
	return t.tv_sec + ahead;
}

static struct authority *authority_for(char *const *names, unsigned days)
{
	struct err e;
	struct authority *a = authority_new("box", names, days, &e);

	if (!a)
		print_error("%s\n", e.text);
	assert_non_null(a);
	return a;
}

static X509 *read_certificate(const struct authority *a)
{
	struct span pem = authority_certificate(a);
	BIO *in = BIO_new_mem_buf(pem.p, (int)pem.n);
	X509 *x = PEM_read_bio_X509(in, NULL, NULL, NULL);

	BIO_free(in);
	assert_non_null(x);
	return x;
}

static X509 *leaf_for(struct authority *a, const char *name)
{
	struct name n = name_of(name);
	struct leaf leaf;
	struct err e;

	assert_int_equal(authority_find_leaf(a, &n, &leaf, &e), 0);
	assert_int_equal(X509_check_private_key(leaf.certificate, leaf.key), 1);
	return leaf.certificate;
}

static void assert_text(X509 *x, const char *text, bool there)
{
	BIO *out = BIO_new(BIO_s_mem());
	char *p, *copy;
	long n;

	X509_print_ex(out, x, XN_FLAG_ONELINE, 0);
	n = BIO_get_mem_data(out, &p);
	copy = strndup(p, (size_t)n);
	if (!strstr(copy, text) == there) {
		print_error("%s\n%s: %s\n", copy, there ? "missing" : "too much", text);
		fail();
	}
	free(copy);
	BIO_free(out);
}

static void the_certificate_is_one_of_an_authority(void **state)
{
	struct authority *a = authority_for(NULL, 30);
	X509 *x = read_certificate(a);

	assert_text(x, "Subject: O = sandgate, CN = \"sandgate, sandbox box\"", true);
	assert_text(x, "X509v3 Basic Constraints: critical\n                CA:TRUE, pathlen:0",
		    true);
	assert_text(x, "X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign",
		    true);
	assert_text(x, "X509v3 Subject Key Identifier", true);
	assert_text(x, "ASN1 OID: prime256v1", true);
	assert_text(x, "Signature Algorithm: ecdsa-with-SHA256", true);
	assert_text(x, "X509v3 Name Constraints", false);
	assert_int_equal(X509_get_version(x), X509_VERSION_3);
	assert_true(X509_check_purpose(x, X509_PURPOSE_SSL_SERVER, 1) == 1);
	X509_free(x);
	authority_free(a);
}

static time_t time_of(const ASN1_TIME *t)
{
	struct tm tm;

	assert_int_equal(ASN1_TIME_to_tm(t, &tm), 1);
	return timegm(&tm);
}

static void assert_validity(X509 *x, time_t from, time_t to)
{
	time_t now = time(NULL);

	assert_in_range(time_of(X509_get0_notBefore(x)) - (now + from) + 60, 0, 120);
	assert_in_range(time_of(X509_get0_notAfter(x)) - (now + to) + 60, 0, 120);
}

static void it_begins_an_hour_ago(void **state)
{
	struct authority *a = authority_for(NULL, 30);
	X509 *x = read_certificate(a);
	struct err e;

	assert_validity(x, -HOUR, 30 * DAY);
	X509_free(x);
	authority_free(a);
	assert_null(authority_new("box", NULL, 0, &e));
	assert_null(authority_new("box", NULL, AUTHORITY_DAYS_MAX + 1, &e));
	assert_string_equal(e.text,
			    "cannot make the sandbox's authority: it is to be valid for 1 to 3650 "
			    "days, not 3651");
}

static void no_two_are_alike(void **state)
{
	struct authority *a = authority_for(NULL, 30), *b = authority_for(NULL, 30);
	X509 *x = read_certificate(a), *y = read_certificate(b);
	X509 *p = leaf_for(a, "a.example"), *q = leaf_for(a, "b.example");

	assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(x), X509_get0_serialNumber(y)),
			     0);
	assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(p), X509_get0_serialNumber(q)),
			     0);
	assert_int_equal(ASN1_STRING_length(X509_get0_serialNumber(x)), 16);
	assert_int_equal(X509_verify(p, X509_get0_pubkey(x)), 1);
	assert_int_not_equal(X509_verify(p, X509_get0_pubkey(y)), 1);
	X509_free(x);
	X509_free(y);
	X509_free(p);
	X509_free(q);
	authority_free(a);
	authority_free(b);
}

static void a_leaf_is_one_of_a_server_with_that_name(void **state)
{
	struct authority *a = authority_for(NULL, 30);
	X509 *ca = read_certificate(a), *x = leaf_for(a, "api.example.net");

	assert_text(x, "DNS:api.example.net\n", true);
	assert_text(x, "TLS Web Server Authentication", true);
	assert_text(x, "CA:FALSE", true);
	assert_text(x, "X509v3 Key Usage: critical\n                Digital Signature\n", true);
	assert_text(x, "Subject: CN = api.example.net", true);
	assert_int_equal(X509_check_issued(ca, x), X509_V_OK);
	assert_non_null(X509_get0_authority_key_id(x));
	assert_int_equal(
		ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(x), X509_get0_subject_key_id(ca)),
		0);
	X509_free(ca);
	X509_free(x);
	authority_free(a);
}

/* A common name has room for 64 octets. */
static void a_long_name_stands_in_the_extension_alone(void **state)
{
	static const char label[] = "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvwxyz";
	struct authority *a = authority_for(NULL, 30);
	char name[256];
	X509 *x;

	snprintf(name, sizeof(name), "%s.%s.example", label, label);
	x = leaf_for(a, name);
	assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(x)), 0);
	assert_text(x, "X509v3 Subject Alternative Name: critical", true);
	assert_int_equal(
		X509_check_host(x, name, strlen(name), X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL),
		1);
	X509_free(x);
	authority_free(a);
}

static void names_are_constrained(void **state)
{
	char *names[] = {"api.example.net", "*.example.org", "**.deep.example", NULL};
	struct authority *a = authority_for(names, 30);
	X509 *x = read_certificate(a);
	static const char *const may[] = {"api.example.net", "a.example.org", "a.b.deep.example"};
	static const char *const may_not[] = {"example.net", "other.example", "xexample.org"};
	struct leaf leaf;
	struct err e;

	assert_text(x, "X509v3 Name Constraints: critical\n                Permitted:\n", true);
	assert_text(x, "DNS:api.example.net\n", true);
	assert_text(x, "DNS:example.org\n", true);
	assert_text(x, "DNS:deep.example\n", true);
	assert_text(x, "Excluded:\n                  IP:0.0.0.0/0.0.0.0\n", true);
	for (size_t i = 0; i < sg_array_len(may); i++)
		X509_free(leaf_for(a, may[i]));
	for (size_t i = 0; i < sg_array_len(may_not); i++) {
		struct name name = name_of(may_not[i]);
		char text[256];

		snprintf(text, sizeof(text),
			 "the sandbox's authority was not made for %s; start the sandbox again",
			 may_not[i]);
		assert_int_equal(authority_find_leaf(a, &name, &leaf, &e), -1);
		assert_string_equal(e.text, text);
	}
	X509_free(x);
	authority_free(a);
}

/* What a key that got out could be used for: clients hold its certificates to the names. */
static void a_certificate_beyond_the_names_is_not_believed(void **state)
{
	static const struct {
		const char *name;
		int verdict;
	} rows[] = {
		{"api.example.net", X509_V_OK},
		{"a.example.org", X509_V_OK},
		{"other.example", X509_V_ERR_PERMITTED_VIOLATION},
		{"example.net", X509_V_ERR_PERMITTED_VIOLATION},
	};
	struct name names[] = {name_of("api.example.net"), name_of("example.org")};
	struct validity validity = {time(NULL) - HOUR, time(NULL) + DAY};
	EVP_PKEY *key = certificate_new_key();
	X509 *ca = certificate_new_authority(key, "box", names, 2, validity);
	X509_STORE *store = X509_STORE_new();

	X509_STORE_add_cert(store, ca);
	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct name name = name_of(rows[i].name);
		X509 *x = certificate_new_leaf(key, &name, validity, ca, key);
		X509_STORE_CTX *v = X509_STORE_CTX_new();

		X509_STORE_CTX_init(v, store, x, NULL);
		X509_verify_cert(v);
		assert_int_equal(X509_STORE_CTX_get_error(v), rows[i].verdict);
		X509_STORE_CTX_free(v);
		X509_free(x);
	}
	X509_STORE_free(store);
	X509_free(ca);
	EVP_PKEY_free(key);
}

static void what_is_no_name_is_refused(void **state)
{
	char *names[] = {"api.example.net", "*.", NULL};
	struct err e;

	assert_null(authority_new("box", names, 30, &e));
	assert_string_equal(e.text, "cannot make the sandbox's authority: not a host: *.");
}

/* The same certificate until a day before its end, then another; none after the authority's. */
static void a_leaf_is_kept_and_renewed(void **state)
{
	struct authority *a = authority_for(NULL, 10);
	struct name name = name_of("a.example");
	X509 *first = leaf_for(a, "a.example"), *same, *next, *last;
	struct leaf leaf;
	struct err e;

	assert_validity(first, -HOUR, 7 * DAY);
	ahead = 6 * DAY - HOUR;
	same = leaf_for(a, "a.example");
	assert_ptr_equal(same, first);
	ahead = 6 * DAY + HOUR;
	next = leaf_for(a, "a.example");
	assert_ptr_not_equal(next, first);
	/* The authority ends in 10 days, so the leaf does. */
	assert_validity(next, -HOUR, 4 * DAY - HOUR);
	ahead = 10 * DAY - HOUR;
	last = leaf_for(a, "a.example");
	assert_ptr_equal(last, next);
	ahead = 10 * DAY + 1;
	assert_int_equal(authority_find_leaf(a, &name, &leaf, &e), -1);
	assert_string_equal(e.text, "the sandbox's authority has expired; start the sandbox again");
	assert_null(tls_accept_new(a, 0, &name, TLS_ALPN_HTTP1, &e));
	assert_string_equal(e.text, "the sandbox's authority has expired; start the sandbox again");
	ahead = 0;
	X509_free(first);
	X509_free(same);
	X509_free(next);
	X509_free(last);
	authority_free(a);
}

/* A leaf is never older than its authority. */
static void a_leaf_begins_with_the_authority(void **state)
{
	struct authority *a = authority_for(NULL, 10);
	X509 *ca = read_certificate(a), *x = leaf_for(a, "a.example");

	assert_true(ASN1_TIME_compare(X509_get0_notBefore(x), X509_get0_notBefore(ca)) >= 0);
	X509_free(ca);
	X509_free(x);
	authority_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_certificate_is_one_of_an_authority),
		cmocka_unit_test(it_begins_an_hour_ago),
		cmocka_unit_test(no_two_are_alike),
		cmocka_unit_test(a_leaf_is_one_of_a_server_with_that_name),
		cmocka_unit_test(a_long_name_stands_in_the_extension_alone),
		cmocka_unit_test(names_are_constrained),
		cmocka_unit_test(a_certificate_beyond_the_names_is_not_believed),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(a_leaf_is_kept_and_renewed),
		cmocka_unit_test(a_leaf_begins_with_the_authority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
