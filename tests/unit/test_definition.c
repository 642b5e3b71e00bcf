/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/compiler.h"
#include "sandbox/definition.h"
#include "sandbox/state_dir.h"
#include "person.h"

static char folder[64], base[128];

static int make_person(void **state)
{
	if (person_become("XDG_STATE_HOME", folder))
		return -1;
	snprintf(base, sizeof(base), "%s/sandgate", folder);
	return 0;
}

static int remove_person(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sandboxes", base);
	rmdir(path);
	rmdir(base);
	return rmdir(folder);
}

static void make(struct definition *d)
{
	struct err e;

	definition_init(d);
	d->generation = 7;
	d->created_ms = 1764441600000;
	d->agent = strdup("claude");
	d->engine = strdup("podman");
	d->image = strdup("docker.io/library/debian:12");
	d->workdir = strdup("/home/dev/work");
	d->languages = calloc(2, sizeof(char *));
	d->languages[0] = strdup("install:rust");
	d->env = calloc(2, sizeof(char *));
	d->env[0] = strdup("A=b=\"c\"\n\xc3\xa9");
	d->as_root = true;
	d->pcap = strdup("/var/tmp/one.pcapng");
	d->pcap_files = 3;
	d->pcap_keys = true;
	assert_int_equal(policy_set_network(&d->policy, "deny", &e), 0);
	assert_int_equal(policy_add_rule(&d->policy, EFFECT_ALLOW, "api.example.com", &e), 0);
	assert_int_equal(policy_add_rule(&d->policy, EFFECT_DENY, "bad.example.com:22", &e), 0);
}

static void save(const char *name, const struct definition *d)
{
	struct err e;

	if (definition_save(name, d, &e))
		fail_msg("%s", e.text);
}

static void take_away(const char *name)
{
	struct err e;

	if (state_dir_remove(name, &e))
		fail_msg("%s", e.text);
}

static void path_of(const char *name, const char *file, char out[512])
{
	snprintf(out, 512, "%s/sandboxes/%s/%s", base, name, file);
}

static void write_definition(const char *name, const char *text)
{
	struct definition d;
	char path[512];
	FILE *f;

	make(&d);
	save(name, &d);
	definition_free(&d);
	path_of(name, "sandbox.json", path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* --- reading and writing --- */

static void what_is_saved_is_loaded(void **state)
{
	struct definition d, again;
	struct err e;
	char *a, *b;

	make(&d);
	save("one", &d);
	assert_int_equal(definition_load("one", &again, &e), 0);
	a = definition_print(&d);
	b = definition_print(&again);
	assert_string_equal(a, b);
	assert_int_equal(again.generation, 7);
	assert_string_equal(again.env[0], d.env[0]);
	assert_string_equal(again.agent, "claude");
	assert_string_equal(again.engine, "podman");
	assert_string_equal(again.image, "docker.io/library/debian:12");
	assert_true(again.as_root);
	assert_string_equal(again.pcap, "/var/tmp/one.pcapng");
	assert_int_equal(again.pcap_max_mb, 0);
	assert_int_equal(again.pcap_files, 3);
	assert_true(again.pcap_keys);
	assert_null(again.rw);
	free(a);
	free(b);
	definition_free(&d);
	definition_free(&again);
	take_away("one");
}

static void its_files_are_for_nobody_else(void **state)
{
	struct definition d;
	struct stat st;
	char path[512];
	mode_t mask = umask(0);

	make(&d);
	save("one", &d);
	umask(mask);
	path_of("one", "sandbox.json", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	path_of("one", "", path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	definition_free(&d);
	take_away("one");
}

static void one_that_is_not_there_is_told_apart(void **state)
{
	struct definition d;
	struct err e;

	assert_int_equal(definition_load("nobody", &d, &e), -ENOENT);
	assert_int_equal(definition_load("../../etc", &d, &e), -ENOENT);
	assert_int_equal(definition_load("net", &d, &e), -ENOENT);
	assert_int_equal(definition_lock("nobody", &e), -1);
	assert_int_equal(state_dir_remove("nobody", &e), -1);
	assert_non_null(strstr(e.text, "nobody"));
}

static void what_is_not_utf8_is_refused(void **state)
{
	struct definition d;
	struct err e;

	make(&d);
	free(d.workdir);
	d.workdir = strdup("/srv/\xff");
	assert_int_equal(definition_save("one", &d, &e), -1);
	assert_non_null(strstr(e.text, "UTF-8"));
	definition_free(&d);
}

/* --- what somebody else may have made of it --- */

static void refuses(const char *text, const char *word)
{
	struct definition d;
	struct err e;

	write_definition("bad", text);
	if (definition_load("bad", &d, &e) != -1)
		fail_msg("taken: %s", text);
	if (!strstr(e.text, word))
		fail_msg("no \"%s\" in: %s", word, e.text);
	/* It names the file, and a way out that works. */
	assert_non_null(strstr(e.text, "sandboxes/bad/sandbox.json"));
	assert_non_null(strstr(e.text, "sandgate rm bad"));
	take_away("bad");
}

static void broken_files_are_refused_with_a_way_out(void **state)
{
	refuses("", "not JSON");
	refuses("{", "not JSON");
	refuses("[]", "not a JSON object");
	refuses("{}", "version");
	refuses("{\"version\":0}", "version");
	refuses("{\"version\":\"1\"}", "version");
	refuses("{\"version\":1,\"version\":1}", "not JSON");
	refuses("{\"version\":1,\"generation\":1,\"workdir\":\"/w\"}", "\"policy\" is missing");
	refuses("{\"version\":1,\"policy\":{\"version\":1,\"network\":\"deny\"},\"workdir\":\"/w\"}",
		"\"generation\" is missing");
	refuses("{\"version\":1,\"generation\":0}", "generation");
	refuses("{\"version\":1,\"generation\":-3}", "generation");
	refuses("{\"version\":1,\"workdir\":\"w\"}", "absolute");
	refuses("{\"version\":1,\"workdir\":\"/w\\u0000x\"}", "not JSON");
	refuses("{\"version\":1,\"surprise\":1}", "surprise");
	refuses("{\"version\":1,\"env\":[\"A\"]}", "KEY=VALUE");
	refuses("{\"version\":1,\"env\":\"A=b\"}", "env");
	refuses("{\"version\":1,\"rw\":[1]}", "rw");
	refuses("{\"version\":1,\"as_root\":1}", "as_root");
	refuses("{\"version\":3,\"pcap\":\"one.pcapng\"}", "absolute");
	refuses("{\"version\":3,\"pcap\":\"\"}", "\"pcap\"");
	refuses("{\"version\":3,\"pcap_max_mb\":0}", "pcap_max_mb");
	refuses("{\"version\":3,\"pcap_max_mb\":1048577}", "pcap_max_mb");
	refuses("{\"version\":3,\"pcap_files\":-1}", "pcap_files");
	refuses("{\"version\":3,\"pcap_files\":\"3\"}", "pcap_files");
	refuses("{\"version\":3,\"pcap_keys\":1}", "pcap_keys");
	refuses("{\"version\":1,\"policy\":{\"version\":1,\"allow\":[\"*\"]}}", "every name");
	refuses("{\"version\":1,\"policy\":{\"resolved\":{}}}", "resolved");
}

static void a_newer_format_says_what_is_needed(void **state)
{
	struct definition d;
	struct err e;

	write_definition("new", "{\"version\":99,\"unheard\":{\"of\":true}}");
	assert_int_equal(definition_load("new", &d, &e), -1);
	assert_non_null(strstr(e.text, "99"));
	assert_non_null(strstr(e.text, "newer sandgate"));
	take_away("new");
}

/* Its own words of before are shown as permissions, and written so with the next change. */
static void an_older_policy_is_read_as_what_it_amounts_to(void **state)
{
	struct definition d;
	struct err e;
	char *text;

	write_definition(
		"old",
		"{\"version\":1,\"generation\":3,\"workdir\":\"/w\",\"policy\":{\"version\":0,"
		"\"allow\":[\"pypi.org\",\"files.pythonhosted.org\",\"own.example.com\"]}}");
	for (int again = 0; again < 2; again++) {
		if (definition_load("old", &d, &e))
			fail_msg("%s", e.text);
		text = policy_print_json(&d.policy);
		assert_string_equal(text, "{\"version\":1,\"network\":\"deny\",\"permissions\":"
					  "[\"install:python\"],\"allow\":[\"own.example.com\"]}");
		free(text);
		save("old", &d);
		definition_free(&d);
	}
	take_away("old");
	refuses("{\"version\":1,\"policy\":{\"version\":2}}",
		"needs a sandgate that knows version 2");
}

static void a_link_in_its_place_is_not_followed(void **state)
{
	char path[512], target[512];
	struct definition d;
	struct err e;

	write_definition("other", "{}");
	write_definition("one", "{}");
	path_of("one", "sandbox.json", path);
	path_of("other", "sandbox.json", target);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(definition_load("one", &d, &e), -1);
	assert_non_null(strstr(e.text, "plain file"));

	/* Writing replaces the link, and not what it points to. */
	make(&d);
	save("one", &d);
	definition_free(&d);
	assert_int_equal(definition_load("one", &d, &e), 0);
	definition_free(&d);
	assert_int_equal(definition_load("other", &d, &e), -1);
	take_away("one");
	take_away("other");
}

static void a_fifo_in_its_place_is_not_waited_for(void **state)
{
	char path[512];
	struct definition d;
	struct err e;

	write_definition("one", "{}");
	path_of("one", "sandbox.json", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(definition_load("one", &d, &e), -1);
	assert_non_null(strstr(e.text, "plain file"));
	take_away("one");
}

static void a_folder_open_to_others_is_refused(void **state)
{
	char path[512];
	struct definition d;
	struct err e;

	write_definition("one", "{}");
	path_of("one", "", path);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(definition_load("one", &d, &e), -1);
	assert_non_null(strstr(e.text, "0700"));
	assert_int_equal(chmod(path, 0700), 0);
	take_away("one");
}

static void a_base_of_somebody_elses_is_refused(void **state)
{
	struct definition d;
	struct err e;

	/* /proc/1 and the like: a folder that is there, and is not the person's. */
	assert_int_equal(setenv("XDG_STATE_HOME", "/proc/1/task", 1), 0);
	assert_int_equal(definition_load("one", &d, &e), -ENOENT);
	make(&d);
	assert_int_equal(definition_save("one", &d, &e), -1);
	definition_free(&d);
	assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
}

static void a_link_in_the_place_of_the_base_is_refused(void **state)
{
	char moved[256];
	struct definition d;
	struct err e;

	write_definition("one", "{}");
	snprintf(moved, sizeof(moved), "%s.moved", base);
	assert_int_equal(rename(base, moved), 0);
	assert_int_equal(symlink(moved, base), 0);
	assert_int_equal(definition_load("one", &d, &e), -1);
	assert_non_null(strstr(e.text, "no link"));
	assert_int_equal(unlink(base), 0);
	assert_int_equal(rename(moved, base), 0);
	take_away("one");
}

static void the_state_is_in_the_home_if_there_is_one(void **state)
{
	char path[PATH_MAX], wanted[PATH_MAX];
	struct err e;

	unsetenv("XDG_STATE_HOME");
	setenv("HOME", folder, 1);
	snprintf(wanted, sizeof(wanted), "%s/.local/state/sandgate", folder);
	assert_int_equal(state_dir_path(path, &e), 0);
	assert_string_equal(path, wanted);
	/* Not absolute: as if it were not set (XDG Base Directory). */
	setenv("XDG_STATE_HOME", "state", 1);
	assert_int_equal(state_dir_path(path, &e), 0);
	assert_string_equal(path, wanted);
	unsetenv("XDG_STATE_HOME");

	snprintf(wanted, sizeof(wanted), "/var/tmp/sandgate-%u", (unsigned)geteuid());
	setenv("HOME", "/no/such/home", 1);
	assert_int_equal(state_dir_path(path, &e), 0);
	assert_string_equal(path, wanted);
	assert_int_equal(setenv("XDG_STATE_HOME", folder, 1), 0);
}

/* --- many at once --- */

/* Who is told that it takes too long tries again: it may, on a slow disk, with so many at once. */
static int lock_patiently(void)
{
	struct err e;
	int lock;

	while ((lock = definition_lock("one", &e)) < 0 && strstr(e.text, "try again"))
		;
	return lock;
}

static void sg_noreturn count_up(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct definition d;
		int lock = lock_patiently();

		if (lock < 0 || definition_load("one", &d, NULL))
			_exit(1);
		d.generation++;
		if (definition_save("one", &d, NULL))
			_exit(1);
		definition_free(&d);
		close(lock);
	}
	_exit(0);
}

static void no_change_is_lost_under_the_lock(void **state)
{
	enum { PROCESSES = 4, ROUNDS = 25 };
	struct definition d;
	struct err e;
	int status;

	make(&d);
	d.generation = 1;
	save("one", &d);
	definition_free(&d);
	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0)
			count_up(ROUNDS);
	for (int i = 0; i < PROCESSES; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(definition_load("one", &d, &e), 0);
	assert_int_equal(d.generation, 1 + PROCESSES * ROUNDS);
	definition_free(&d);
	take_away("one");
}

static void a_reader_sees_one_whole_definition_or_the_other(void **state)
{
	struct definition d;
	struct err e;
	pid_t writer;

	make(&d);
	save("one", &d);
	writer = fork();
	if (writer == 0)
		for (;;)
			if (definition_save("one", &d, NULL))
				_exit(1);
	for (int i = 0; i < 300; i++) {
		struct definition seen;

		if (definition_load("one", &seen, &e))
			fail_msg("%s", e.text);
		definition_free(&seen);
	}
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	definition_free(&d);
	/* Killed at any moment: the next one writes all the same. */
	make(&d);
	save("one", &d);
	definition_free(&d);
	take_away("one");
}

/* --- taking away what a sandbox made --- */

static void names_are_listed_in_order(void **state)
{
	static const char *const made[] = {"b", "a", "c9"};
	struct err e;
	char **names;

	for (size_t i = 0; i < sg_array_len(made); i++)
		write_definition(made[i], "{}");
	names = state_dir_list(&e);
	assert_non_null(names);
	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "b");
	assert_string_equal(names[2], "c9");
	assert_null(names[3]);
	for (char **p = names; *p; p++)
		free(*p);
	free(names);
	for (size_t i = 0; i < sg_array_len(made); i++)
		take_away(made[i]);
	names = state_dir_list(&e);
	assert_non_null(names);
	assert_null(names[0]);
	free(names);
}

static void all_that_a_home_may_hold_is_removed(void **state)
{
	enum { DEPTH = 3000 };
	char path[512];
	int home, at;

	write_definition("one", "{}");
	path_of("one", "home", path);
	assert_int_equal(mkdir(path, 0700), 0);
	home = open(path, O_RDONLY | O_DIRECTORY);
	/* Deeper than any path is long; */
	at = dup(home);
	for (int i = 0; i < DEPTH; i++) {
		int next;

		assert_int_equal(mkdirat(at, "d", 0700), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
	/* shut to its own owner, at several depths; */
	assert_int_equal(mkdirat(home, "shut", 0700), 0);
	assert_int_equal(mkdirat(home, "shut/inner", 0700), 0);
	assert_int_equal(mkdirat(home, "shut/inner/most", 0000), 0);
	assert_int_equal(fchmodat(home, "shut/inner", 0000, 0), 0);
	assert_int_equal(fchmodat(home, "shut", 0000, 0), 0);
	/* links out of it, and names that look like those of the removal. */
	assert_int_equal(symlinkat(folder, home, "out"), 0);
	assert_int_equal(mkdirat(home, ".0", 0700), 0);
	assert_int_equal(mkdirat(home, ".1", 0700), 0);
	close(home);
	take_away("one");
	path_of("one", "", path);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(access(folder, F_OK), 0);
}

static void what_a_link_points_to_stays(void **state)
{
	char path[512], kept[256];

	write_definition("one", "{}");
	snprintf(kept, sizeof(kept), "%s/kept", folder);
	assert_int_equal(mkdir(kept, 0700), 0);
	path_of("one", "home", path);
	assert_int_equal(symlink(kept, path), 0);
	take_away("one");
	assert_int_equal(rmdir(kept), 0);
}

static void a_removal_that_was_cut_short_is_no_sandbox(void **state)
{
	char path[512], gone[512];
	struct err e;
	char **names;

	write_definition("one", "{}");
	path_of("one", "", path);
	path[strlen(path) - 1] = 0;
	snprintf(gone, sizeof(gone), "%s/sandboxes/.one.removed", base);
	assert_int_equal(rename(path, gone), 0);
	names = state_dir_list(&e);
	assert_non_null(names);
	assert_null(names[0]);
	free(names);
	/* What is left does not stand in the way of another of that name. */
	write_definition("one", "{}");
	take_away("one");
	assert_int_equal(access(gone, F_OK), -1);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_saved_is_loaded),
		cmocka_unit_test(its_files_are_for_nobody_else),
		cmocka_unit_test(one_that_is_not_there_is_told_apart),
		cmocka_unit_test(what_is_not_utf8_is_refused),
		cmocka_unit_test(broken_files_are_refused_with_a_way_out),
		cmocka_unit_test(a_newer_format_says_what_is_needed),
		cmocka_unit_test(an_older_policy_is_read_as_what_it_amounts_to),
		cmocka_unit_test(a_link_in_its_place_is_not_followed),
		cmocka_unit_test(a_fifo_in_its_place_is_not_waited_for),
		cmocka_unit_test(a_folder_open_to_others_is_refused),
		cmocka_unit_test(a_base_of_somebody_elses_is_refused),
		cmocka_unit_test(a_link_in_the_place_of_the_base_is_refused),
		cmocka_unit_test(the_state_is_in_the_home_if_there_is_one),
		cmocka_unit_test(no_change_is_lost_under_the_lock),
		cmocka_unit_test(a_reader_sees_one_whole_definition_or_the_other),
		cmocka_unit_test(names_are_listed_in_order),
		cmocka_unit_test(all_that_a_home_may_hold_is_removed),
		cmocka_unit_test(what_a_link_points_to_stays),
		cmocka_unit_test(a_removal_that_was_cut_short_is_no_sandbox),
	};

	return cmocka_run_group_tests(tests, make_person, remove_person);
}
