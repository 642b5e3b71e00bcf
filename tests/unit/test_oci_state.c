/* SPDX-License-Identifier: Apache-2.0 */
/* oci_state: what a hook takes of a container's state, and of the image that it was made from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/engine/image_annotations.h"
#include "sandbox/engine/oci_state.h"

#define STATE(more) \
	"{\"ociVersion\":\"1.0.2\",\"id\":\"c-1.a_b+2\",\"pid\":42,\"bundle\":\"/b/u\"" more "}"
#define ANNOTATED(list) STATE(",\"annotations\":{" list "}")

static struct oci_state taken(const char *text)
{
	struct oci_state s;
	struct err e;

	if (oci_state_parse(span_of_string(text), &s, &e))
		fail_msg("%s", e.text);
	return s;
}

static void assert_refused(const char *text, const char *word)
{
	struct oci_state s;
	struct err e;

	if (oci_state_parse(span_of_string(text), &s, &e) == 0)
		fail_msg("taken: %s", text);
	if (!strstr(e.text, word))
		fail_msg("\"%s\" is not in: %s", word, e.text);
	assert_null(s.id);
}

static void a_container_without_annotations_asks_for_nothing(void **state)
{
	struct oci_state s = taken(STATE(""));

	assert_int_equal(s.pid, 42);
	assert_string_equal(s.id, "c-1.a_b+2");
	assert_string_equal(s.bundle, "/b/u");
	assert_false(s.asks);
	assert_false(s.of_podman);
	oci_state_free(&s);
	s = taken(ANNOTATED("\"org.example\":\"x\",\"sandgatelike\":\"y\""));
	assert_false(s.asks);
	oci_state_free(&s);
}

static void annotations_are_taken_by_their_names(void **state)
{
	struct oci_state s = taken(
		ANNOTATED("\"io.container.manager\":\"libpod\","
			  "\"io.kubernetes.cri-o.SandboxID\":\"pod1\","
			  "\"sandgate.policy\":\"standard\",\"sandgate.allow\":\"a.example,-npm\","
			  "\"sandgate.name\":\"web\""));

	assert_true(s.asks);
	assert_true(s.of_podman);
	assert_string_equal(s.pod, "pod1");
	assert_string_equal(s.say[OCI_POLICY], "standard");
	assert_string_equal(s.say[OCI_ALLOW], "a.example,-npm");
	assert_string_equal(s.say[OCI_NAME], "web");
	assert_null(s.say[OCI_DENY]);
	oci_state_free(&s);
}

static void what_is_not_known_is_refused(void **state)
{
	assert_refused(ANNOTATED("\"sandgate.polcy\":\"deny\""), "did you mean sandgate.policy?");
	assert_refused(ANNOTATED("\"sandgate.zzzzzzz\":\"deny\""), "is unknown");
	assert_refused(ANNOTATED("\"sandgate.\":\"deny\""), "is unknown");
	assert_refused(ANNOTATED("\"sandgate.policy\":\"\""), "one line of text");
	assert_refused(ANNOTATED("\"sandgate.policy\":\"a\\nb\""), "one line of text");
	assert_refused(ANNOTATED("\"sandgate.policy\":\"\\u001b[2J\""), "one line of text");
	assert_refused(ANNOTATED("\"sandgate.policy\":1"), "one line of text");
	assert_refused(ANNOTATED("\"sandgate.policy\":\"a\",\"sandgate.policy\":\"b\""), "JSON");
	assert_refused(ANNOTATED("\"sandgate.allow\":\"a.example\""), "sandgate.policy is missing");
	assert_refused(ANNOTATED("\"sandgate.sandbox\":\"x\",\"sandgate.allow\":\"a.example\""),
		       "do not go together");
}

static void a_state_that_cannot_be_one_is_refused(void **state)
{
	assert_refused("", "JSON");
	assert_refused("[]", "not a JSON object");
	assert_refused("{\"id\":\"a\",\"bundle\":\"/b\"}", "no process");
	assert_refused("{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":0}", "no process");
	assert_refused("{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":4294967297}", "no process");
	assert_refused("{\"id\":\"../a\",\"bundle\":\"/b\",\"pid\":1}", "no id");
	assert_refused("{\"id\":\"a/b\",\"bundle\":\"/b\",\"pid\":1}", "no id");
	assert_refused("{\"id\":\"a\",\"bundle\":\"b\",\"pid\":1}", "no bundle");
	assert_refused(STATE(",\"annotations\":[]"), "no JSON object");
}

static void a_long_annotation_is_refused(void **state)
{
	char text[OCI_WORDS_MAX + 256], long_words[OCI_WORDS_MAX + 2];

	memset(long_words, 'a', sizeof(long_words) - 1);
	long_words[sizeof(long_words) - 1] = 0;
	snprintf(text, sizeof(text), ANNOTATED("\"sandgate.policy\":\"%s\""), long_words);
	assert_refused(text, "one line of text");
}

/* --- where its network is from --- */

static struct oci_network network(const char *namespaces)
{
	struct oci_network n;
	struct err e;
	char text[512];

	snprintf(text, sizeof(text), "{\"linux\":{\"namespaces\":[%s]}}", namespaces);
	if (oci_network_parse(span_of_string(text), &n, &e))
		fail_msg("%s", e.text);
	return n;
}

static void the_network_of_another_is_told_from_its_own(void **state)
{
	struct oci_network n = network("{\"type\":\"pid\"},{\"type\":\"network\"}");

	assert_int_equal(n.kind, OCI_NETWORK_OWN);
	n = network("{\"type\":\"network\",\"path\":\"/run/user/1000/netns/netns-1\"}");
	assert_int_equal(n.kind, OCI_NETWORK_OWN);
	n = network("{\"type\":\"network\",\"path\":\"/proc/4711/ns/net\"}");
	assert_int_equal(n.kind, OCI_NETWORK_OF);
	assert_int_equal(n.of, 4711);
	n = network("{\"type\":\"network\",\"path\":\"/proc/4711/ns/net/x\"}");
	assert_int_equal(n.kind, OCI_NETWORK_OWN);
	n = network("{\"type\":\"network\",\"path\":\"/proc/99999999999/ns/net\"}");
	assert_int_equal(n.kind, OCI_NETWORK_OWN);
	n = network("{\"type\":\"pid\"},{\"type\":\"mount\"}");
	assert_int_equal(n.kind, OCI_NETWORK_HOST);
}

static bool admin(const char *process)
{
	struct oci_network n;
	struct err e;
	char text[512];

	snprintf(text, sizeof(text), "{\"linux\":{}%s}", process);
	assert_int_equal(oci_network_parse(span_of_string(text), &n, &e), 0);
	return n.admin;
}

static void rights_over_the_network_are_there_unless_they_are_not(void **state)
{
	assert_false(admin(",\"process\":{\"capabilities\":{\"bounding\":[\"CAP_CHOWN\"]}}"));
	assert_false(admin(",\"process\":{\"capabilities\":{\"bounding\":[]}}"));
	assert_true(admin(",\"process\":{\"capabilities\":{\"bounding\":[\"CAP_CHOWN\","
			  "\"CAP_NET_ADMIN\"]}}"));
	assert_true(admin(",\"process\":{\"capabilities\":{\"bounding\":[12]}}"));
	assert_true(admin(",\"process\":{\"capabilities\":{}}"));
	assert_true(admin(",\"process\":{}"));
	assert_true(admin(""));
}

/* --- its image --- */

static void the_image_is_found_by_its_container(void **state)
{
	static const char list[] = "[{\"id\":\"a\",\"image\":\"00ff\"},{\"id\":\"b\"},"
				   "{\"id\":\"c\",\"image\":\"../etc\"}]";
	char image[IMAGE_ID_SIZE];

	assert_int_equal(image_of_container(span_of_string(list), "a", image), 1);
	assert_string_equal(image, "00ff");
	assert_int_equal(image_of_container(span_of_string(list), "b", image), 1);
	assert_string_equal(image, "");
	assert_int_equal(image_of_container(span_of_string(list), "c", image), -1);
	assert_int_equal(image_of_container(span_of_string(list), "d", image), 0);
	assert_int_equal(image_of_container(span_of_string("{}"), "d", image), -1);
}

static void an_image_with_our_annotations_is_known(void **state)
{
	static const char *const with = "{\"annotations\":{\"a\":\"b\",\"sandgate.allow\":\"x\"}}";
	static const char *const without = "{\"annotations\":{\"sandgatelike\":\"b\"},"
					   "\"config\":{\"sandgate.policy\":\"open\"}}";

	assert_int_equal(image_manifest_has_ours(span_of_string(with)), 1);
	assert_int_equal(image_manifest_has_ours(span_of_string(without)), 0);
	assert_int_equal(image_manifest_has_ours(span_of_string("{}")), 0);
	assert_int_equal(image_manifest_has_ours(span_of_string("[]")), -1);
	assert_int_equal(image_manifest_has_ours(span_of_string("no")), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_without_annotations_asks_for_nothing),
		cmocka_unit_test(annotations_are_taken_by_their_names),
		cmocka_unit_test(what_is_not_known_is_refused),
		cmocka_unit_test(a_state_that_cannot_be_one_is_refused),
		cmocka_unit_test(a_long_annotation_is_refused),
		cmocka_unit_test(the_network_of_another_is_told_from_its_own),
		cmocka_unit_test(rights_over_the_network_are_there_unless_they_are_not),
		cmocka_unit_test(the_image_is_found_by_its_container),
		cmocka_unit_test(an_image_with_our_annotations_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
