/* SPDX-License-Identifier: Apache-2.0 */
/* podman_words, container_offer: what podman is told, and whose container it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sandbox/engine/container_offer.h"
#include "sandbox/name_list.h"
#include "sandbox/engine/podman_words.h"

static const char *const hook_folders[] = {"/etc/h", "/run/s/podman", NULL};
static char *env[] = {"A=1 2", "TERM=x", NULL}, *command[] = {"sh", "-c", "x", NULL};

static struct mount mounts[] = {
	{.kind = MOUNT_RW, .dest = "/w", .source = "/w"},
	{.kind = MOUNT_RO,
	 .rank = RANK_PROTECT,
	 .dest = "/w/.git/hooks",
	 .source = "/w/.git/hooks"},
	{.kind = MOUNT_TMPFS, .rank = RANK_HOME, .dest = "/home/u"},
	{.kind = MOUNT_BLANK, .rank = RANK_HIDE, .dest = "/w/secret"},
};
static struct file_plan plan = {.mounts = mounts, .n = sg_array_len(mounts), .workdir = "/w"};

static struct podman_request request(void)
{
	return (struct podman_request){
		.image = "image",
		.name = "web",
		.hook_folders = hook_folders,
		.ticket = "web/00",
		.plan = &plan,
		.env = env,
		.argv = command,
		.rootless = true,
		.gid = 1000,
	};
}

static char **made(const struct podman_request *r)
{
	struct err e;
	char **words = podman_words_make(r, &e);

	if (!words)
		fail_msg("%s", e.text);
	return words;
}

static size_t place(char **words, const char *word)
{
	for (size_t i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return i + 1;
	return 0;
}

static void a_container_has_no_network_and_no_rights(void **state)
{
	struct podman_request r = request();
	char **words = made(&r);

	assert_true(place(words, "--network=none"));
	assert_true(place(words, "--cap-drop=ALL"));
	assert_true(place(words, "--security-opt=no-new-privileges"));
	assert_true(place(words, "--annotation=sandgate.sandbox=web/00"));
	assert_true(place(words, "--userns=keep-id"));
	assert_true(place(words, "--sysctl=net.ipv4.ping_group_range=1000 1000"));
	assert_false(place(words, "--tty"));
	name_list_free(words);
	r.as_root = true;
	r.ticket = NULL;
	words = made(&r);
	assert_true(place(words, "--user=0:0"));
	assert_true(place(words, "--cap-add=CAP_CHOWN"));
	for (size_t i = 0; words[i]; i++) {
		assert_null(strstr(words[i], "NET_ADMIN"));
		assert_null(strstr(words[i], "NET_RAW"));
		assert_null(strstr(words[i], "--annotation"));
	}
	name_list_free(words);
}

static void the_image_and_the_command_come_last(void **state)
{
	struct podman_request r = request();
	char **words = made(&r);
	size_t end = place(words, "--");

	assert_true(end);
	assert_string_equal(words[end], "image");
	assert_string_equal(words[end + 1], "sh");
	assert_string_equal(words[end + 3], "x");
	assert_null(words[end + 4]);
	/* Options of podman's own before its command, ours last: of two it takes the later. */
	assert_true(place(words, "--hooks-dir=/etc/h") < place(words, "--hooks-dir=/run/s/podman"));
	assert_true(place(words, "--hooks-dir=/run/s/podman") < place(words, "run"));
	assert_true(place(words, "--env=A=1 2"));
	name_list_free(words);
}

static void folders_are_mounted_as_they_are_planned(void **state)
{
	struct podman_request r = request();
	char **words = made(&r);

	assert_true(place(words, "--mount=type=bind,src=/w,dst=/w,bind-propagation=rprivate"));
	assert_true(place(words, "--mount=type=bind,src=/w/.git/hooks,dst=/w/.git/hooks,"
				 "bind-propagation=rprivate,ro=true"));
	assert_true(place(words, "--mount=type=tmpfs,dst=/home/u,tmpfs-mode=1777"));
	assert_true(place(words, "--mount=type=bind,src=/dev/null,dst=/w/secret,"
				 "bind-propagation=rprivate,ro=true"));
	assert_true(place(words, "--workdir=/w"));
	name_list_free(words);
}

static void a_path_that_podman_would_take_apart_is_refused(void **state)
{
	static const char *const paths[] = {"/a,b", "/a\"b", "/a\nb", "/a,dst=/etc"};

	for (size_t i = 0; i < sg_array_len(paths); i++) {
		struct mount one = {
			.kind = MOUNT_RW, .dest = (char *)paths[i], .source = (char *)paths[i]};
		struct file_plan bad = {.mounts = &one, .n = 1, .workdir = "/"};
		struct podman_request r = request();
		struct err e;

		r.plan = &bad;
		assert_null(podman_words_make(&r, &e));
		assert_non_null(strstr(e.text, "rename it"));
	}
}

static void a_ticket_is_a_name_and_a_token(void **state)
{
	char ticket[OFFER_TICKET_SIZE], other[OFFER_TICKET_SIZE];
	char name[SANDBOX_NAME_SIZE], token[OFFER_TOKEN_SIZE];
	struct err e;

	assert_int_equal(container_offer_ticket("web", ticket, &e), 0);
	assert_int_equal(container_offer_ticket("web", other, &e), 0);
	assert_string_not_equal(ticket, other);
	assert_true(container_offer_parse(ticket, name, token));
	assert_string_equal(name, "web");
	assert_int_equal(strlen(token), 2 * OFFER_TOKEN_OCTETS);
}

static void what_is_no_ticket_is_refused(void **state)
{
	static const char too_long[] =
		"abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789/"
		"00112233445566778899aabbccddeeff";
	static const char *const tickets[] = {
		"",
		"web",
		"web/",
		"web/00",
		"/00112233445566778899aabbccddeeff",
		"../00112233445566778899aabbccddeeff",
		"web/00112233445566778899aabbccddeefg",
		"web/00112233445566778899aabbccddeeff0",
		"web/0011223344556677/899aabbccddeeff0",
		"Web/00112233445566778899aabbccddeeff",
		too_long,
	};
	char name[SANDBOX_NAME_SIZE], token[OFFER_TOKEN_SIZE];

	for (size_t i = 0; i < sg_array_len(tickets); i++)
		if (container_offer_parse(tickets[i], name, token))
			fail_msg("taken: %s", tickets[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_has_no_network_and_no_rights),
		cmocka_unit_test(the_image_and_the_command_come_last),
		cmocka_unit_test(folders_are_mounted_as_they_are_planned),
		cmocka_unit_test(a_path_that_podman_would_take_apart_is_refused),
		cmocka_unit_test(a_ticket_is_a_name_and_a_token),
		cmocka_unit_test(what_is_no_ticket_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
