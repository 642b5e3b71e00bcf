/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include <stdio.h>

#include "audit/tree.h"

/*
 * The eight entries that implementations of RFC 6962 are tried with, and the roots of the first n.
 */
static const struct {
	const char *octets;
	size_t n;
} entries[] = {
	{"", 0},
	{"\x00", 1},
	{"\x10", 1},
	{"\x20\x21", 2},
	{"\x30\x31", 2},
	{"\x40\x41\x42\x43", 4},
	{"\x50\x51\x52\x53\x54\x55\x56\x57", 8},
	{"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16},
};
static const char *const roots[] = {
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
	"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
	"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
	"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
	"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
	"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
	"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
	"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
};

static void assert_digest(const struct digest *d, const char *hex)
{
	char text[65];

	for (int i = 0; i < DIGEST_OCTETS; i++)
		snprintf(text + 2 * i, 3, "%02x", d->b[i]);
	assert_string_equal(text, hex);
}

static void the_roots_are_those_of_rfc_6962(void **state)
{
	struct tree t = {.size = 0};

	for (size_t i = 0; i <= 8; i++) {
		struct digest root = tree_root(&t), leaf;

		assert_digest(&root, roots[i]);
		if (i == 8)
			break;
		leaf = tree_leaf(span_of(entries[i].octets, entries[i].n));
		tree_append(&t, &leaf);
	}
}

/* Leaf i of a tree of any size. */
static int leaf_of(void *asked, uint64_t i, struct digest *out)
{
	*out = tree_leaf(span_of(&i, sizeof(i)));
	if (asked)
		++*(uint64_t *)asked;
	return 0;
}

static struct digest root_of(uint64_t size)
{
	struct tree t = {.size = 0};
	struct digest leaf;

	for (uint64_t i = 0; i < size; i++) {
		leaf_of(NULL, i, &leaf);
		tree_append(&t, &leaf);
	}
	return tree_root(&t);
}

/* The paths of section 2.1.3 of RFC 6962, for the tree of seven leaves that is drawn there. */
static void the_paths_are_those_of_rfc_6962(void **state)
{
	struct digest d[7], ab, cd, ef, parts[2];
	struct tree_path path;
	static const uint8_t one[] = {1};

	for (uint64_t i = 0; i < 7; i++)
		leaf_of(NULL, i, &d[i]);
	for (int i = 0; i < 3; i++) {
		const struct span node[] = {span_of(one, 1), span_of(d[2 * i].b, DIGEST_OCTETS),
					    span_of(d[2 * i + 1].b, DIGEST_OCTETS)};

		*(struct digest *[]){&ab, &cd, &ef}[i] = digest_of(node, 3);
	}
	assert_int_equal(tree_find_path(leaf_of, NULL, 6, 7, &path), 0);
	assert_int_equal(path.n, 2);
	assert_true(digest_equal(&path.at[0], &ef));
	parts[0] = ab;
	parts[1] = cd;
	{
		const struct span node[] = {span_of(one, 1), span_of(parts[0].b, DIGEST_OCTETS),
					    span_of(parts[1].b, DIGEST_OCTETS)};
		struct digest k = digest_of(node, 3);

		assert_true(digest_equal(&path.at[1], &k));
	}
	assert_int_equal(tree_find_path(leaf_of, NULL, 0, 7, &path), 0);
	assert_int_equal(path.n, 3);
	assert_true(digest_equal(&path.at[0], &d[1]));
	assert_true(digest_equal(&path.at[1], &cd));
}

static void every_path_leads_to_its_root_alone(void **state)
{
	for (uint64_t size = 1; size <= 40; size++) {
		struct digest root = root_of(size), leaf, other;

		for (uint64_t i = 0; i < size; i++) {
			struct tree_path path;
			uint64_t asked = 0;

			assert_int_equal(tree_find_path(leaf_of, &asked, i, size, &path), 0);
			assert_int_equal(asked, size - 1);
			leaf_of(NULL, i, &leaf);
			leaf_of(NULL, i + 1, &other);
			assert_true(tree_path_holds(&leaf, i, size, &path, &root));
			assert_false(tree_path_holds(&other, i, size, &path, &root));
			assert_false(tree_path_holds(&leaf, i, size, &path, &other));
			if (i + 1 < size)
				assert_false(tree_path_holds(&leaf, i + 1, size, &path, &root));
			if (path.n) {
				path.n--;
				assert_false(tree_path_holds(&leaf, i, size, &path, &root));
			}
		}
	}
}

static void a_leaf_that_is_not_there_has_no_path(void **state)
{
	struct tree_path path = {.n = 0};
	struct digest d = root_of(1);

	assert_int_equal(tree_find_path(leaf_of, NULL, 3, 3, &path), -ERANGE);
	assert_int_equal(tree_find_path(leaf_of, NULL, 0, 0, &path), -ERANGE);
	assert_false(tree_path_holds(&d, 0, 0, &path, &d));
	assert_false(tree_path_holds(&d, 1, 1, &path, &d));
	assert_true(tree_path_holds(&d, 0, 1, &path, &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_roots_are_those_of_rfc_6962),
		cmocka_unit_test(the_paths_are_those_of_rfc_6962),
		cmocka_unit_test(every_path_leads_to_its_root_alone),
		cmocka_unit_test(a_leaf_that_is_not_there_has_no_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
