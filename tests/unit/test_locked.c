/* SPDX-License-Identifier: Apache-2.0 */
/* Where secrets lie, as the kernel tells it (proc_pid_smaps(5)), and what of a key lies
 * elsewhere. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>

#include "base/compiler.h"
#include "broker/locked.h"
#include "tls_rig.h"

/* Nothing hands out the key of an authority, so the test is made of the same file. */
#include "broker/authority.c"

struct mapping {
	uintptr_t from, to;
	bool readable, writable;
	char flags[128]; /* "rd wr mr mw me lo ac dd wf " */
};

/* The next of an open smaps. False: the end. */
static bool next_mapping(FILE *smaps, struct mapping *m)
{
	char line[512], permissions[8];
	uintptr_t from, to; /* a line of another kind may begin like a number */
	bool found = false;

	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, permissions) == 3) {
			m->from = from;
			m->to = to;
			m->readable = permissions[0] == 'r';
			m->writable = permissions[1] == 'w';
			found = true;
		} else if (found && strncmp(line, "VmFlags: ", 9) == 0) {
			snprintf(m->flags, sizeof(m->flags), "%.120s", line + 9);
			return true;
		}
	}
	return false;
}

static bool has_flag(const struct mapping *m, const char *flag)
{
	return strstr(m->flags, flag) != NULL;
}

static struct mapping mapping_of(const void *p)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	struct mapping m = {0};

	assert_non_null(smaps);
	while (next_mapping(smaps, &m))
		if ((uintptr_t)p >= m.from && (uintptr_t)p < m.to)
			break;
	fclose(smaps);
	assert_in_range((uintptr_t)p, m.from, m.to - 1);
	return m;
}

static void assert_protected(const void *p)
{
	struct mapping m = mapping_of(p);

#ifndef __SANITIZE_ADDRESS__ /* whose runtime makes nothing of mlock() */
	assert_true(has_flag(&m, "lo "));
#endif
	assert_true(has_flag(&m, "dd "));
	assert_true(has_flag(&m, "wf "));
}

static void a_secret_is_locked_and_not_dumped(void **state)
{
	static const size_t sizes[] = {0, 1, 32, 4095, 4096, 4097, 65536};

	for (size_t i = 0; i < sg_array_len(sizes); i++) {
		struct err e;
		uint8_t *p = locked_new(sizes[i], &e);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p[k], 0);
		memset(p, 0xa5, sizes[i]);
		if (sizes[i])
			assert_protected(p);
		locked_free(p, sizes[i]);
	}
	locked_free(NULL, 5);
}

/* The signal that a child ends with when it touches the octet; 0: none. */
static int signal_of_touch(volatile uint8_t *octet)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		*octet = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void an_octet_too_far_is_found(void **state)
{
	struct err e;
	uint8_t *p = locked_new(64, &e);

	assert_int_equal(signal_of_touch(p + 63), 0);
#ifndef __SANITIZE_ADDRESS__
	assert_int_equal(signal_of_touch(p + 64), SIGSEGV);
	assert_int_equal(signal_of_touch((uint8_t *)((uintptr_t)p & ~4095ul) - 1), SIGSEGV);
#endif
	locked_free(p, 64);
}

static void a_child_has_none_of_it(void **state)
{
	struct err e;
	uint8_t *p = locked_new(32, &e);
	pid_t child;
	int status;

	memset(p, 0x5a, 32);
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 32; i++)
			if (p[i])
				_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(p[31], 0x5a);
	locked_free(p, 32);
}

static void too_much_is_said(void **state)
{
	struct err e;

	assert_null(locked_new(SIZE_MAX, &e));
	assert_non_null(strstr(e.text, "too many"));
}

/* A sanitizer's own memory is terabytes, and holds copies. */
#ifndef __SANITIZE_ADDRESS__
static bool memory_holds(const struct mapping *m, const uint8_t *what, size_t n)
{
	const uint8_t *at = (const uint8_t *)m->from, *hit;
	size_t left = m->to - m->from;

	while ((hit = memmem(at, left, what, n))) {
		if (hit != what)
			return true;
		left -= (size_t)(hit + 1 - at);
		at = hit + 1;
	}
	return false;
}

/* In how many mappings that a core file would have do the octets lie? `what` itself does not
 * count. */
static int dumpable_copies(const uint8_t *what, size_t n)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	struct mapping m;
	int copies = 0;

	assert_non_null(smaps);
	while (next_mapping(smaps, &m))
		if (m.readable && m.writable && !has_flag(&m, "dd ") && memory_holds(&m, what, n))
			copies++;
	fclose(smaps);
	return copies;
}

/* Reads the private number without leaving a copy: into locked memory. */
static void read_key(EVP_PKEY *key, uint8_t *out, bool little)
{
	BIGNUM *n = BN_secure_new();

	assert_int_equal(EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &n), 1);
	assert_int_equal(little ? BN_bn2lebinpad(n, out, 32) : BN_bn2binpad(n, out, 32), 32);
	BN_clear_free(n);
}

/* Clears the stack that calls before this one used. */
static __attribute__((noinline)) void wipe_stack(void)
{
	volatile uint8_t below[65536];

	for (size_t i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

static void use(struct authority *a, SSL_CTX *client)
{
	struct name name = name_of("api.example.net");
	struct pair p;
	struct err e;

	pair_open(&p);
	p.ours = tls_accept_new(a, p.fds[0], &name, TLS_ALPN_HTTP1, &e);
	peer_start(&p, client, "api.example.net");
	assert_int_equal(pair_handshake(&p), TLS_DONE);
	pair_close(&p);
}

static void assert_only_locked(EVP_PKEY *key)
{
	struct err e;
	uint8_t *copy = locked_new(32, &e);

	for (int little = 0; little < 2; little++) {
		read_key(key, copy, little);
		wipe_stack();
		assert_int_equal(dumpable_copies(copy, 32), 0);
		/* OpenSSL keeps it as a number of 64-bit words, so half of it is to be found
		 * nowhere either. */
		assert_int_equal(dumpable_copies(copy + 8, 16), 0);
	}
	locked_free(copy, 32);
}

static void the_keys_of_an_authority_lie_nowhere_else(void **state)
{
	struct authority *a;
	SSL_CTX *client;
	struct leaf leaf;
	struct name name = name_of("api.example.net");
	struct err e;

	a = authority_new("box", NULL, 30, &e);
	assert_non_null(a);
	client = peer_client(authority_certificate(a));
	for (int i = 0; i < 20; i++)
		use(a, client);
	assert_int_equal(authority_find_leaf(a, &name, &leaf, &e), 0);
	assert_only_locked(leaf.key);
	assert_only_locked(a->key);
	X509_free(leaf.certificate);
	SSL_CTX_free(client);
	authority_free(a);
}

/* That the search finds what is there. */
static void a_key_in_plain_memory_is_found(void **state)
{
	struct err e;
	uint8_t *copy = locked_new(32, &e), *plain = malloc(4096);
	EVP_PKEY *key;

	assert_int_equal(locked_start_openssl(&e), 0);
	key = EVP_EC_gen("P-256");
	read_key(key, copy, false);
	memcpy(plain + 100, copy, 32);
	assert_int_equal(dumpable_copies(copy, 32), 1);
	explicit_bzero(plain, 4096);
	wipe_stack();
	assert_int_equal(dumpable_copies(copy, 32), 0);
	free(plain);
	EVP_PKEY_free(key);
	locked_free(copy, 32);
}
#endif

static void the_heap_of_openssl_is_protected_too(void **state)
{
	struct err e;
	void *p;

	assert_int_equal(locked_start_openssl(&e), 0);
	assert_int_equal(locked_start_openssl(&e), 0);
	p = OPENSSL_secure_malloc(32);
	assert_int_equal(CRYPTO_secure_allocated(p), 1);
	assert_protected(p);
	OPENSSL_secure_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_ADDRESS__
		/* First: the authority itself has to start OpenSSL's heap of secrets. */
		cmocka_unit_test(the_keys_of_an_authority_lie_nowhere_else),
		cmocka_unit_test(a_key_in_plain_memory_is_found),
#endif
		cmocka_unit_test(a_secret_is_locked_and_not_dumped),
		cmocka_unit_test(an_octet_too_far_is_found),
		cmocka_unit_test(a_child_has_none_of_it),
		cmocka_unit_test(too_much_is_said),
		cmocka_unit_test(the_heap_of_openssl_is_protected_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
