/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "audit/checkpoint.h"

/*
 * Notes and keys that other programs made: Go's sumdb/note, and an example for
 * c2sp.org/signed-note.
 */
static const struct {
	const char *key, *text, *signature;
} vectors[] = {
	{"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
	 "If you think cryptography is the answer to your problem,\n"
	 "then you don't know what your problem is.\n",
	 "\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqf"
	 "qdngotpRZb6KE6RyyBwJnAM=\n"},
	{"example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k",
	 "This is an example message.\n",
	 "\xe2\x80\x94 example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYj"
	 "OBH3mFXmRKuwHjG1Yu72IneyaQM=\n"},
};

static int open_note(const char *key, const char *note, struct span *text, struct err *e)
{
	struct verifier v;

	assert_int_equal(verifier_parse(span_of_string(key), &v, e), 0);
	return note_open(span_of_string(note), &v, text, e);
}

static void notes_of_others_are_opened(void **state)
{
	for (size_t i = 0; i < sg_array_len(vectors); i++) {
		struct span text;
		struct verifier v;
		struct err e;
		char note[1024], again[VERIFIER_TEXT_MAX];

		snprintf(note, sizeof(note), "%s\n%s", vectors[i].text, vectors[i].signature);
		assert_int_equal(open_note(vectors[i].key, note, &text, &e), 0);
		assert_true(span_equal(text, span_of_string(vectors[i].text)));
		/* Parsed and printed, a key is what it was. */
		assert_int_equal(verifier_parse(span_of_string(vectors[i].key), &v, &e), 0);
		verifier_print(&v, again);
		assert_string_equal(again, vectors[i].key);
		/* The other one's key did not sign it. */
		assert_int_equal(open_note(vectors[1 - i].key, note, &text, &e), -1);
		assert_string_equal(e.text, "it is not signed with this key");
	}
}

/*
 * Signatures of unknown keys are passed over, before and after; a bad one of the known key is not.
 */
static void one_of_many_signatures_is_found(void **state)
{
	struct span text;
	struct err e;
	char note[2048];

	snprintf(note, sizeof(note), "%s\n%s%s", vectors[0].text, vectors[1].signature,
		 vectors[0].signature);
	assert_int_equal(open_note(vectors[0].key, note, &text, &e), 0);
	snprintf(note, sizeof(note), "%s\n%s%s", vectors[0].text, vectors[0].signature,
		 vectors[1].signature);
	assert_int_equal(open_note(vectors[0].key, note, &text, &e), 0);
	assert_int_equal(open_note(vectors[1].key, note, &text, &e), -1);
	assert_string_equal(e.text, "its signature is bad");
}

static void what_is_no_note_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"text\n",
		"text\n\n",
		"text\n\nno dash\n",
		"text\n\n\xe2\x80\x94 PeterNeumann x08g\n",
		"text\n\n\xe2\x80\x94 PeterNeumann\n",
		"text\n\n\xe2\x80\x94 Peter Neumann x08go/ZJkg==\n",
		"text\n\n\xe2\x80\x94 Peter+Neumann x08go/ZJkg==\n",
		"te\txt\n\n\xe2\x80\x94 PeterNeumann x08go/ZJkg==\n",
		"te\xffxt\n\n\xe2\x80\x94 PeterNeumann x08go/ZJkg==\n",
		"text\n\n\xe2\x80\x94 PeterNeumann x08go/ZJkg==",
		"text\n\n\xe2\x80\x94 PeterNeumann x08go/ZJkh==\n",
	};
	struct span text;
	struct err e;

	for (size_t i = 0; i < sg_array_len(bad); i++)
		if (open_note(vectors[0].key, bad[i], &text, &e) == 0)
			fail_msg("opened: %s", bad[i]);
}

static void what_is_no_key_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"PeterNeumann",
		"PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+AhpC2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy",
		"PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
	};
	struct verifier v;
	struct err e;

	for (size_t i = 0; i < sg_array_len(bad); i++)
		assert_int_equal(verifier_parse(span_of_string(bad[i]), &v, &e), -1);
}

static void what_is_signed_opens(void **state)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	struct tree t = {.size = 0};
	struct checkpoint c;
	struct verifier v;
	struct err e;
	char *note;

	assert_true(verifier_of_key(key, "sandgate/host/name", &v));
	assert_false(verifier_of_key(key, "no name", &v));
	assert_true(verifier_of_key(key, "sandgate/host/name", &v));
	note = checkpoint_sign(key, &v, &t);
	assert_non_null(note);
	assert_int_equal(checkpoint_open(span_of_string(note), &v, &c, &e), 0);
	assert_string_equal(c.origin, "sandgate/host/name");
	assert_int_equal(c.size, 0);
	/* A key without a name, as PEM has it, goes by the checkpoint's first line. */
	v.name[0] = 0;
	assert_int_equal(checkpoint_open(span_of_string(note), &v, &c, &e), 0);
	free(note);
	EVP_PKEY_free(key);
}

static void checkpoints_are_read_as_c2sp_has_them(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} texts[] = {
		{"example.com/behind-the-sofa\n20852163\n"
		 "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n",
		 true},
		{"o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\nan extension\n", true},
		{"o\n0\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n", true},
		{"o\n01\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n", false},
		{"o\n-1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n", false},
		{"o\n9223372036854775808\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n", false},
		{"\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n", false},
		{"o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I\n", false},
		{"o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n", false},
		{"o\n1\n", false},
		{"o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n", false},
		{"o\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=", false},
	};
	struct checkpoint c;

	for (size_t i = 0; i < sg_array_len(texts); i++)
		assert_int_equal(checkpoint_parse(span_of_string(texts[i].text), &c),
				 texts[i].good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_of_others_are_opened),
		cmocka_unit_test(one_of_many_signatures_is_found),
		cmocka_unit_test(what_is_no_note_is_refused),
		cmocka_unit_test(what_is_no_key_is_refused),
		cmocka_unit_test(what_is_signed_opens),
		cmocka_unit_test(checkpoints_are_read_as_c2sp_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
