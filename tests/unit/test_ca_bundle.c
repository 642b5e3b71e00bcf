/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a sandbox trusts: the files, their blocks for the authorities, and where they are seen. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509v3.h>

#include "sandbox/files/ca_bundle.h"
#include "sandbox/files/ca_store.h"

static char base[] = "/tmp/sandgate-test-ca-XXXXXX";
static char host_file[PATH_MAX], host_pem[8192];

/* --- certificates --- */

static X509 *certificate(const char *name, size_t padding)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *n = X509_get_subject_name(x);
	char *text = calloc(1, padding + 1);

	memset(text, 'x', padding);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 7);
	X509_gmtime_adj(X509_getm_notBefore(x), 0);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_NAME_add_entry_by_txt(n, "CN", MBSTRING_ASC, (const uint8_t *)name, -1, -1, 0);
	X509_set_issuer_name(x, n);
	X509_set_pubkey(x, key);
	if (padding) {
		X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_netscape_comment, text);

		X509_add_ext(x, e, -1);
		X509_EXTENSION_free(e);
	}
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	EVP_PKEY_free(key);
	free(text);
	return x;
}

/* PEM at the end of `text`, of `cap` octets. */
static void add_pem(char *text, size_t cap, const char *name, size_t padding)
{
	X509 *x = certificate(name, padding);
	BIO *b = BIO_new(BIO_s_mem());
	size_t at = strlen(text);
	char *p;
	long n;

	assert_int_equal(PEM_write_bio_X509(b, x), 1);
	n = BIO_get_mem_data(b, &p);
	assert_true(n > 0 && (size_t)n < cap - at);
	memcpy(text + at, p, (size_t)n);
	text[at + (size_t)n] = 0;
	BIO_free(b);
	X509_free(x);
}

static size_t names_of(STACK_OF(X509) * list, char *out, size_t cap)
{
	size_t n = (size_t)(list ? sk_X509_num(list) : 0);
	char name[64];

	*out = 0;
	for (size_t i = 0; i < n; i++) {
		X509_NAME_get_text_by_NID(X509_get_subject_name(sk_X509_value(list, (int)i)),
					  NID_commonName, name, sizeof(name));
		strncat(out, name, cap - strlen(out) - 1);
		strncat(out, " ", cap - strlen(out) - 1);
	}
	sk_X509_pop_free(list, X509_free);
	return n;
}

/* The names in a file of PEM, in order. */
static const char *pem_names(const char *path, char *out, size_t cap)
{
	STACK_OF(X509) *list = sk_X509_new_null();
	BIO *b = BIO_new_file(path, "r");
	X509 *x;

	assert_non_null(b);
	while ((x = PEM_read_bio_X509(b, NULL, NULL, NULL)))
		sk_X509_push(list, x);
	BIO_free(b);
	names_of(list, out, cap);
	return out;
}

/* The same of a PKCS#12 store, as OpenSSL reads it. */
static const char *store_names(const char *path, char *out, size_t cap)
{
	STACK_OF(X509) *list = NULL;
	BIO *b = BIO_new_file(path, "rb");
	PKCS12 *p = d2i_PKCS12_bio(b, NULL);
	STACK_OF(PKCS7) * safes;
	struct stat st;

	assert_non_null(p);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(i2d_PKCS12(p, NULL), st.st_size);
	assert_int_equal(PKCS12_mac_present(p), 0);
	safes = PKCS12_unpack_authsafes(p);
	assert_int_equal(sk_PKCS7_num(safes), 2);
	list = sk_X509_new_null();
	for (int i = 0; i < 2; i++) {
		STACK_OF(PKCS12_SAFEBAG) *bags = PKCS12_unpack_p7data(sk_PKCS7_value(safes, i));

		assert_non_null(bags);
		for (int j = 0; j < sk_PKCS12_SAFEBAG_num(bags); j++) {
			PKCS12_SAFEBAG *bag = sk_PKCS12_SAFEBAG_value(bags, j);

			if (PKCS12_SAFEBAG_get_nid(bag) == NID_certBag)
				sk_X509_push(list, PKCS12_SAFEBAG_get1_cert(bag));
		}
		sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
	}
	sk_PKCS7_pop_free(safes, PKCS7_free);
	PKCS12_free(p);
	BIO_free(b);
	names_of(list, out, cap);
	return out;
}

/* --- the machine --- */

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static bool no_folder(const void *ctx, const char *path)
{
	return ctx && strncmp(path, ctx, strlen(ctx)) == 0;
}

static struct host_bundle_request request(char *const *person)
{
	return (struct host_bundle_request){
		.host = &host_tree, .person = person, .was_shared = no_folder};
}

static int open_in(struct ca_bundle *b, char *const *person, int *dir, struct err *e)
{
	struct host_bundle_request r = request(person);

	*dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ca_bundle_open(b, &r, *dir, base, e);
}

static void close_in(struct ca_bundle *b, int dir)
{
	struct stat st;

	ca_bundle_close(b);
	ca_bundle_remove(dir);
	assert_int_equal(fstatat(dir, "ca", &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(fstatat(dir, "ca-layers", &st, AT_SYMLINK_NOFOLLOW), -1);
	close(dir);
}

static char *own_bundle(void)
{
	static char variable[PATH_MAX + 32];

	snprintf(variable, sizeof(variable), "SSL_CERT_FILE=%s", host_file);
	return variable;
}

static const char *in_folder(const struct ca_bundle *b, const char *name)
{
	static char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", b->folder, name);
	return path;
}

/* --- tests --- */

static void the_host_alone_at_first(void **state)
{
	char *person[] = {own_bundle(), NULL};
	struct ca_bundle b;
	struct err e;
	char names[256];
	struct stat st;
	int dir;

	assert_int_equal(open_in(&b, person, &dir, &e), 0);
	assert_null(b.host.notes[0]);
	assert_memory_equal(ca_bundle_host(&b).p, host_pem, strlen(host_pem));
	assert_string_equal(pem_names(b.bundle, names, sizeof(names)), "one two ");
	assert_string_equal(store_names(b.store, names, sizeof(names)), "one two ");
	assert_string_equal(pem_names(in_folder(&b, "extra.pem"), names, sizeof(names)), "");
	assert_int_equal(stat(b.bundle, &st), 0);
	assert_int_equal(st.st_size, CA_BUNDLE_HEAD + strlen(host_pem));
	assert_int_equal(st.st_mode & 0777, 0444);
	close_in(&b, dir);
}

static void an_authority_comes_first_and_another_takes_its_place(void **state)
{
	char *person[] = {own_bundle(), NULL};
	char pem[8192] = "", names[256], policy[CA_BUNDLE_HEAD + 1];
	struct ca_bundle b;
	struct stat before, after;
	struct err e;
	int dir, fd;

	assert_int_equal(open_in(&b, person, &dir, &e), 0);
	stat(b.store, &before);
	add_pem(pem, sizeof(pem), "mine", 0);
	assert_int_equal(ca_bundle_set_authority(&b, span_of_string(pem), &e), 0);
	assert_string_equal(pem_names(b.bundle, names, sizeof(names)), "mine one two ");
	add_pem(pem, sizeof(pem), "more", 1000);
	assert_int_equal(ca_bundle_set_authority(&b, span_of_string(pem), &e), 0);
	assert_string_equal(pem_names(b.bundle, names, sizeof(names)), "mine more one two ");
	assert_string_equal(store_names(b.store, names, sizeof(names)), "mine more one two ");
	assert_string_equal(pem_names(in_folder(&b, "extra.pem"), names, sizeof(names)),
			    "mine more ");
	stat(b.store, &after);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(before.st_ino, after.st_ino);
	fd = open(in_folder(&b, "policy.json"), O_RDONLY);
	assert_int_equal(read(fd, policy, sizeof(policy)), CA_BUNDLE_HEAD);
	close(fd);
	policy[CA_BUNDLE_HEAD] = 0;
	assert_ptr_equal(strstr(policy, "{\"CACertificates\": [\"MII"), policy);
	assert_non_null(strstr(policy, "\", \"MII"));
	assert_int_equal(strspn(strstr(policy, "]}") + 2, " \n"), strlen(strstr(policy, "]}") + 2));
	assert_int_equal(ca_bundle_set_authority(&b, span_of("", 0), &e), 0);
	assert_string_equal(pem_names(b.bundle, names, sizeof(names)), "one two ");
	assert_string_equal(store_names(b.store, names, sizeof(names)), "one two ");
	close_in(&b, dir);
}

static const char *in_layers(const struct ca_bundle *b, const char *name)
{
	static char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", b->layers, name);
	return path;
}

static void what_is_laid_over_an_image_has_another_authority_too(void **state)
{
	char *person[] = {own_bundle(), NULL};
	char pem[8192] = "", names[256];
	struct ca_bundle b;
	struct stat st;
	struct err e;
	int dir;

	assert_int_equal(open_in(&b, person, &dir, &e), 0);
	add_pem(pem, sizeof(pem), "mine", 0);
	assert_int_equal(ca_bundle_set_authority(&b, span_of_string(pem), &e), 0);
	assert_string_equal(
		pem_names(in_layers(&b, "bundle/ca-certificates.crt"), names, sizeof(names)),
		"mine one two ");
	assert_string_equal(store_names(in_layers(&b, "java/java/cacerts"), names, sizeof(names)),
			    "mine one two ");
	assert_int_equal(stat(in_layers(&b, "java/java"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	close_in(&b, dir);
}

static void what_is_no_certificate_changes_nothing(void **state)
{
	static const char *const wrong[] = {
		"x",
		"-----BEGIN CERTIFICATE-----\nMAA=\n",
		"-----BEGIN CERTIFICATE-----\nMAEA\n-----END CERTIFICATE-----\n# and more\n",
		"-----BEGIN CERTIFICATE-----\nMAI=\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\nAAA=\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\nM*A=\n-----END CERTIFICATE-----\n",
		"-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
	};
	char *person[] = {own_bundle(), NULL};
	char pem[8192] = "", names[256];
	struct ca_bundle b;
	struct err e;
	int dir;

	assert_int_equal(open_in(&b, person, &dir, &e), 0);
	add_pem(pem, sizeof(pem), "mine", 0);
	assert_int_equal(ca_bundle_set_authority(&b, span_of_string(pem), &e), 0);
	for (size_t i = 0; i < sg_array_len(wrong); i++) {
		assert_int_equal(ca_bundle_set_authority(&b, span_of_string(wrong[i]), &e), -1);
		assert_string_equal(e.text, "the sandbox's authority: it is no certificate");
	}
	assert_string_equal(pem_names(b.bundle, names, sizeof(names)), "mine one two ");
	close_in(&b, dir);
}

static void what_does_not_fit_changes_nothing(void **state)
{
	char *person[] = {own_bundle(), NULL};
	static char pem[2 * CA_BUNDLE_HEAD];
	struct ca_bundle b;
	struct err e;
	char names[256];
	int dir;

	assert_int_equal(open_in(&b, person, &dir, &e), 0);
	*pem = 0;
	add_pem(pem, sizeof(pem), "wide", 40000);
	assert_int_equal(ca_bundle_set_authority(&b, span_of_string(pem), &e), 0);
	assert_string_equal(store_names(b.store, names, sizeof(names)), "wide one two ");
	add_pem(pem, sizeof(pem), "wider", 10000);
	assert_int_equal(ca_bundle_set_authority(&b, span_of_string(pem), &e), -1);
	assert_string_equal(e.text, "the sandbox's authorities: more than 64 KiB of certificates");
	assert_string_equal(pem_names(b.bundle, names, sizeof(names)), "wide one two ");
	close_in(&b, dir);
}

/* All that PEM of that block can hold has room in the store, however small each is. */
static void the_store_has_room_for_all_of_the_pem(void **state)
{
	static char pem[2 * CA_BUNDLE_HEAD];
	static uint8_t head[CA_STORE_HEAD];
	char one[2048] = "";

	add_pem(one, sizeof(one), "some name", 0);
	*pem = 0;
	while (strlen(pem) + strlen(one) < CA_BUNDLE_HEAD)
		strcat(pem, one);
	assert_true(ca_store_head(span_of_string(pem), head));
}

static void a_host_with_comments_and_junk(void **state)
{
	char text[16384] = "# Issuer: one\n", names[256];
	struct ca_bundle b;
	struct err e;
	char *person[] = {own_bundle(), NULL};
	int dir;

	add_pem(text, sizeof(text), "good", 0);
	strcat(text, "# not one\n-----BEGIN CERTIFICATE-----\nnot base64\n"
		     "-----END CERTIFICATE-----\r\n");
	add_pem(text, sizeof(text), "last", 0);
	text[strlen(text) - 1] = 0; /* without the last line feed */
	write_file(host_file, text, 0644);
	assert_int_equal(open_in(&b, person, &dir, &e), 0);
	assert_string_equal(store_names(b.store, names, sizeof(names)), "good last ");
	close_in(&b, dir);
	write_file(host_file, host_pem, 0644);
}

/* --- whose word counts --- */

static void expect_note(const char *variable, const char *path, const char *workdir,
			const char *shared, const char *why)
{
	char pair[PATH_MAX + 64], wanted[2 * PATH_MAX];
	char *person[] = {pair, NULL};
	struct host_bundle_request r = request(person);
	struct host_bundle b;
	struct err e;

	snprintf(pair, sizeof(pair), "%s=%s", variable, path);
	r.workdir = workdir;
	r.was_shared_ctx = shared;
	assert_int_equal(host_bundle_read(&r, &b, &e), 0);
	snprintf(wanted, sizeof(wanted), "%s is %s: %s", variable, path, why);
	assert_non_null(b.notes[0]);
	assert_non_null(strstr(b.notes[0], wanted));
	assert_int_equal(b.extra.n, 0);
	host_bundle_free(&b);
}

static void a_variable_is_followed_only_to_what_no_sandbox_writes(void **state)
{
	char link[PATH_MAX], folder[PATH_MAX], file[2 * PATH_MAX];

	expect_note("SSL_CERT_FILE", "certs.pem", NULL, NULL, "it is no whole path");
	expect_note("SSL_CERT_FILE", "/nowhere/at/all.pem", NULL, NULL, "there is no such file");
	expect_note("SSL_CERT_FILE", "/dev/null", NULL, NULL, "/dev/null: it is no regular file");
	expect_note("SSL_CERT_FILE", host_file, base, NULL, "a sandbox may write it");
	expect_note("NODE_EXTRA_CA_CERTS", host_file, NULL, base, "a sandbox may write it");

	snprintf(link, sizeof(link), "%s/link", base);
	assert_int_equal(symlink("/etc/passwd", link), 0);
	expect_note("SSL_CERT_FILE", link, base, NULL, "a sandbox may write it");
	unlink(link);

	snprintf(folder, sizeof(folder), "%s/open", base);
	snprintf(file, sizeof(file), "%s/f.pem", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(chmod(folder, 0777), 0);
	write_file(file, host_pem, 0644);
	expect_note("SSL_CERT_FILE", file, NULL, NULL, folder);
	chmod(folder, 0700);
	chmod(file, 0666);
	expect_note("NODE_EXTRA_CA_CERTS", file, NULL, NULL, file);
	unlink(file);
	rmdir(folder);
}

static void node_is_given_what_it_has_outside(void **state)
{
	char pair[PATH_MAX + 64], names[256], pem[4096] = "";
	char *person[] = {own_bundle(), pair, NULL};
	struct ca_bundle b;
	struct err e;
	int dir;

	snprintf(pair, sizeof(pair), "NODE_EXTRA_CA_CERTS=%s", host_file);
	assert_true(host_bundle_is_named(person));
	assert_int_equal(open_in(&b, person, &dir, &e), 0);
	add_pem(pem, sizeof(pem), "mine", 0);
	assert_int_equal(ca_bundle_set_authority(&b, span_of_string(pem), &e), 0);
	assert_string_equal(pem_names(in_folder(&b, "extra.pem"), names, sizeof(names)),
			    "mine one two ");
	close_in(&b, dir);
}

static void nothing_is_made_over_what_is_there(void **state)
{
	char *person[] = {own_bundle(), NULL};
	struct ca_bundle b;
	struct err e;
	int dir = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC), second;

	assert_int_equal(symlinkat("/etc", dir, "ca"), 0);
	assert_int_equal(open_in(&b, person, &second, &e), -1);
	assert_non_null(strstr(e.text, "the certificates of the sandbox: File exists"));
	close(second);
	unlinkat(dir, "ca", 0);
	close(dir);
}

static int set_up(void **state)
{
	if (!mkdtemp(base))
		return -1;
	snprintf(host_file, sizeof(host_file), "%s/host.pem", base);
	add_pem(host_pem, sizeof(host_pem), "one", 0);
	add_pem(host_pem, sizeof(host_pem), "two", 0);
	write_file(host_file, host_pem, 0644);
	return 0;
}

static int take_down(void **state)
{
	unlink(host_file);
	return rmdir(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_host_alone_at_first),
		cmocka_unit_test(an_authority_comes_first_and_another_takes_its_place),
		cmocka_unit_test(what_is_laid_over_an_image_has_another_authority_too),
		cmocka_unit_test(what_is_no_certificate_changes_nothing),
		cmocka_unit_test(what_does_not_fit_changes_nothing),
		cmocka_unit_test(the_store_has_room_for_all_of_the_pem),
		cmocka_unit_test(a_host_with_comments_and_junk),
		cmocka_unit_test(a_variable_is_followed_only_to_what_no_sandbox_writes),
		cmocka_unit_test(node_is_given_what_it_has_outside),
		cmocka_unit_test(nothing_is_made_over_what_is_there),
	};

	return cmocka_run_group_tests(tests, set_up, take_down);
}
