/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where copies of a secret lie in this process: its memory is searched, as one would who reads a
 * core file or the swap. The secret is made of two halves that stand nowhere together, and is
 * searched for in halves.
 */
#include "vault_rig.h"

#include <stdio.h>

#define CREDENTIALS                                                                                    \
	"  - {host: a.example.com, header: Authorization, value: 'Bearer ${secret}', from: 'env:T'}\n" \
	"  - {host: b.example.com, basic: user, from: 'env:T'}\n"                                      \
	"  - {host: c.example.com, query: token, from: 'env:T'}\n"                                     \
	"  - {host: d.s3.amazonaws.com, aws: {region: us-east-1, service: s3}, from: 'env:T'}\n"

static const char first[] = "Zq81vTnQ4x", second[] = "kW0pLr6YbE";

struct region {
	uintptr_t from, upto;
	bool locked;
};

/*
 * A line of smaps: "7f00-7f01 rw-p ..." begins a region, and "VmFlags: ... wf ..." says that it is
 * wiped in a child, as only locked.h has it: a sanitizer does not lock what it is asked to.
 */
static size_t read_regions(struct region *out, size_t max)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long from, upto;
	char line[512], mode[8];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &upto, mode) == 3) {
			assert_true(n < max);
			out[n++] = (struct region){
				from, mode[1] == 'w' && mode[0] == 'r' ? upto : from, false};
		} else if (n && strncmp(line, "VmFlags:", 8) == 0) {
			out[n - 1].locked = strstr(line, " wf") != NULL;
		}
	}
	fclose(f);
	return n;
}

/*
 * Octet by octet, so that the search itself leaves no copy; and with memory that a sanitizer
 * guards, which is looked at like any other.
 */
#define unguarded __attribute__((no_sanitize("address", "undefined")))

unguarded static bool is_at(const volatile char *p)
{
	for (size_t i = sizeof(second) - 1; i > 0; i--)
		if (p[sizeof(first) - 1 + i - 1] != second[i - 1])
			return false;
	for (size_t i = 0; i < sizeof(first) - 1; i++)
		if (p[i] != first[i])
			return false;
	return true;
}

/* A larger region is the shadow of a sanitizer, which holds no data. */
static const size_t region_max = (size_t)1 << 30;

unguarded static size_t count_in(const struct region *r)
{
	size_t n = 0, length = sizeof(first) + sizeof(second) - 2;
	const volatile char *from = (const volatile char *)r->from;

	if (r->upto - r->from > region_max)
		return 0;
	for (size_t i = 0; i + length <= r->upto - r->from; i++)
		if (from[i] == first[0] && from[i + length - 1] == second[sizeof(second) - 2])
			n += is_at(from + i);
	return n;
}

static void count_copies(size_t *locked, size_t *elsewhere)
{
	static struct region regions[4096];
	size_t n = read_regions(regions, sg_array_len(regions));

	*locked = *elsewhere = 0;
	for (size_t i = 0; i < n; i++)
		*(regions[i].locked ? locked : elsewhere) += count_in(&regions[i]);
}

/* `format` has two %s; the text is wiped from where it was made. */
static void put_halves(struct rig *r, size_t i, const char *format)
{
	static char text[256];

	snprintf(text, sizeof(text), "%s%s%s%s", format, first, second,
		 *format == '{' ? "\"}" : "");
	rig_put(r, i, text);
	explicit_bzero(text, sizeof(text));
}

/* What stdio and deeper calls left on the stack below here is not of the vault's making. */
static void wipe_stack(void)
{
	volatile char room[65536];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

static void ask_all(struct rig *r)
{
	static const char *const urls[] = {"https://a.example.com/", "https://b.example.com/",
					   "https://c.example.com/?a=b",
					   "https://d.s3.amazonaws.com/"};

	for (size_t i = 0; i < sg_array_len(urls); i++) {
		rig_ask(r, "GET", urls[i], NULL);
		assert_int_equal(rig_apply(r), CREDENTIAL_INJECTED);
	}
	message_free(&r->m);
}

static void copies_lie_in_locked_memory_only(void **state)
{
	size_t locked, elsewhere;
	struct rig r;

	rig_begin(&r, CREDENTIALS);
	put_halves(&r, 0, "");
	put_halves(&r, 1, "{\"token\": \"");
	put_halves(&r, 2, "");
	put_halves(&r, 3, "AKIDEXAMPLE:");
	wipe_stack();
	count_copies(&locked, &elsewhere);
	assert_true(locked >= 4);
	assert_int_equal(elsewhere, 0);
	ask_all(&r);
	count_copies(&locked, &elsewhere);
	assert_true(locked >= 4);
	assert_int_equal(elsewhere, 0);
	rig_end(&r);
	count_copies(&locked, &elsewhere);
	assert_int_equal(locked + elsewhere, 0);
}

/* The search finds what there is to find: in a request that is not freed yet. */
static void a_copy_elsewhere_would_be_found(void **state)
{
	size_t locked, elsewhere;
	struct rig r;

	rig_begin(&r, CREDENTIALS);
	put_halves(&r, 0, "");
	rig_ask(&r, "GET", "https://a.example.com/", NULL);
	assert_int_equal(rig_apply(&r), CREDENTIAL_INJECTED);
	count_copies(&locked, &elsewhere);
	assert_int_equal(elsewhere, 1);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_lie_in_locked_memory_only),
		cmocka_unit_test(a_copy_elsewhere_would_be_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
