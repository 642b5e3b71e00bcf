/* SPDX-License-Identifier: Apache-2.0 */
/* config.yaml: read strictly, shown, and changed in its text so that all other lines stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sandbox/settings/settings.h"

static size_t key_of(const char *name)
{
	struct err e;
	int key = settings_find(name, &e);

	if (key < 0)
		fail_msg("%s", e.text);
	return (size_t)key;
}

static void assert_value(const struct settings *s, const char *key, const char *wanted)
{
	char *text = settings_value_text(s, key_of(key));

	assert_string_equal(text, wanted);
	free(text);
}

static struct settings parsed(const char *text)
{
	struct settings s;
	struct err e;

	settings_init(&s);
	if (settings_parse(span_of_string(text), "f", SETTING_PERSON, &s, &e))
		fail_msg("%s: %s", text, e.text);
	return s;
}

static void every_setting_is_read(void **state)
{
	struct settings s = parsed("defaults:\n"
				   "  network: locked\n"
				   "  permissions: [install:rust, -error-reports]\n"
				   "  agent_network: none\n"
				   "audit:\n"
				   "  anchor: 'command:/usr/bin/push one two'\n"
				   "  keep_segments: 7\n"
				   "  on_full: continue\n"
				   "  connections_mb: 128\n"
				   "resolver: [192.0.2.53, '[2001:db8::53]:5353']\n");

	assert_int_equal(s.network, NET_LOCKED);
	assert_int_equal(s.agent_network, NET_NONE);
	assert_string_equal(s.permissions[0], "install:rust");
	assert_string_equal(s.permissions[1], "-error-reports");
	assert_null(s.permissions[2]);
	assert_string_equal(s.anchor_command[0], "/usr/bin/push");
	assert_string_equal(s.anchor_command[2], "two");
	assert_null(s.anchor_command[3]);
	assert_int_equal(s.audit_keep_segments, 7);
	assert_true(s.audit_continue);
	assert_int_equal(s.connections_mb, 128);
	assert_int_equal(s.n_resolver, 2);
	assert_int_equal(s.resolver[0].port, 53);
	assert_int_equal(s.resolver[1].port, 5353);
	assert_true(settings_has(&s, "resolver"));
	settings_free(&s);
}

static void without_a_file_the_defaults_hold(void **state)
{
	static const char *const nothing[] = {"", "# only a remark\n", "---\n"};

	for (size_t i = 0; i < sg_array_len(nothing); i++) {
		struct settings s = parsed(nothing[i]);

		assert_value(&s, "defaults.network", "standard");
		assert_value(&s, "defaults.agent_network", "deny");
		assert_value(&s, "defaults.permissions", "");
		assert_value(&s, "audit.anchor", "none");
		assert_value(&s, "audit.keep_segments", "0");
		assert_value(&s, "audit.on_full", "refuse");
		assert_value(&s, "audit.connections_mb", "64");
		assert_value(&s, "resolver", "");
		assert_false(settings_has(&s, "defaults.network"));
		settings_free(&s);
	}
}

static void the_person_goes_before_the_system(void **state)
{
	static const char system[] = "defaults: {network: locked}\naudit: {anchor: syslog}\n";
	static const char own[] = "defaults: {network: deny}\n";
	struct settings s;
	struct err e;

	settings_init(&s);
	assert_int_equal(settings_parse(span_of_string(system), "f", SETTING_SYSTEM, &s, &e), 0);
	assert_int_equal(settings_parse(span_of_string(own), "f", SETTING_PERSON, &s, &e), 0);
	assert_value(&s, "defaults.network", "deny");
	assert_int_equal(s.from[key_of("defaults.network")], SETTING_PERSON);
	assert_value(&s, "audit.anchor", "syslog");
	assert_int_equal(s.from[key_of("audit.anchor")], SETTING_SYSTEM);
	settings_free(&s);
}

/* Every value that is allocated, over each of two more files: none is shared with what is freed. */
static void every_value_outlives_a_second_file(void **state)
{
	static const char first[] = "defaults:\n  permissions: [install:rust]\n"
				    "audit:\n  anchor: 'command:/usr/bin/push'\n"
				    "upstream_proxy: http://proxy.example:3128\n"
				    "upstream_proxy_from: env:PROXY\n"
				    "no_proxy: [intern.example]\n";
	struct settings s = parsed(first);
	struct err e;

	for (int i = 0; i < 2; i++)
		assert_int_equal(settings_parse(span_of_string("resolver: [192.0.2.53]\n"), "f",
						SETTING_PERSON, &s, &e),
				 0);
	assert_value(&s, "defaults.permissions", "install:rust");
	assert_value(&s, "audit.anchor", "command:/usr/bin/push");
	assert_value(&s, "upstream_proxy", "http://proxy.example:3128");
	assert_value(&s, "upstream_proxy_from", "env:PROXY");
	assert_value(&s, "no_proxy", "intern.example");
	settings_free(&s);
}

static void what_is_not_understood_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"default:\n  network: deny\n",
		 "f:1:1: unknown key `default`; did you mean `defaults`?"},
		{"defaults:\n  netwrk: deny\n",
		 "f:2:3: unknown key `netwrk`; did you mean `network`?"},
		{"defaults:\n  network: opne\n",
		 "f:2:12: `opne` is not a network; did you mean `open`?"},
		{"defaults:\n  network:\n", "f:2:11: there is no value"},
		{"defaults: deny\n", "f:1:11: one value stands where a map belongs"},
		{"defaults:\n  permissions: gitlab\n", "f:2:16: one value stands where a list"},
		{"defaults:\n  permissions: ['a b']\n", "f:2:17: `a b` is no permission"},
		{"defaults:\n  network: deny\n  network: any\n", "f:3:3: a second key `network`"},
		{"audit:\n  keep_segments: many\n", "f:2:18: `many` is not a number"},
		{"audit:\n  connections_mb: 0\n", "f:2:19: `0` is not a number from 1"},
		{"audit:\n  anchor: file:relative\n", "f:2:11: an anchor is"},
		{"audit:\n  anchor: command:relative\n", "f:2:11: an anchor is"},
		{"audit:\n  on_full: stop\n", "f:2:12: write `refuse` or `continue`, not `stop`"},
		{"resolver: [example.com]\n", "f:1:12: `example.com` is no address of a resolver"},
		{"resolver: ['192.0.2.1:0']\n", "f:1:12: `192.0.2.1:0` is no address"},
		{"resolver: ['192.0.2.1:70000']\n", "is no address"},
		{"resolver: ['2001:db8::1:53']\n", NULL}, /* an address, however it reads */
		{"resolver: [1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,1.1.1.1,"
		 "1.1.1.1]\n",
		 "f:1:11: more than 8 resolvers"},
		{"upstream_proxy: proxy:3128\n", "f:1:17: it is no URL of the scheme http"},
		{"upstream_proxy: http://me:secret@proxy:3128\n", "a password does not belong"},
		{"upstream_proxy_from: secret\n", "f:1:22: "},
		{"upstream_proxy_from: git\n", "no password of a proxy"},
		{"no_proxy: intern.example\n", "f:1:11: one value stands where a list"},
		{"no_proxy: [ok.example, 10.0.0.1/8]\n", "f:1:24: `10.0.0.1/8`"},
		{"pcap: {max_mb: 4, files: 1, keys: true}\n", NULL},
		{"pcap: {max_mb: 0}\n", "f:1:16: "},
		{"pcap: {files: 10001}\n", "f:1:15: "},
		{"pcap: {keys: maybe}\n", "f:1:14: "},
		{"- a\n", "f:1:1: a list stands where a map belongs"},
		{"defaults: [\n", "f:2:1: not YAML"},
		{"defaults: &a {network: deny}\n", "an anchor (`&`)"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct settings s, usual;
		struct err e;
		int rc;

		settings_init(&s);
		settings_init(&usual);
		rc = settings_parse(span_of_string(rows[i].text), "f", SETTING_PERSON, &s, &e);
		if (rc == 0 && !rows[i].says) {
			settings_free(&s);
			continue;
		}
		if (rc == 0 || !rows[i].says || !strstr(e.text, rows[i].says))
			fail_msg("%s\n  want: %s\n  got:  %s", rows[i].text, rows[i].says,
				 rc ? e.text : "accepted");
		assert_memory_equal(&s, &usual, sizeof(s));
	}
}

/* A command of `words` words of `each` octets: is it taken? What is taken is kept whole. */
static bool takes_command(size_t words, size_t each)
{
	char text[32768] = "audit: {anchor: 'command:/", *at = text + strlen(text);
	struct settings s;
	struct err e;
	int rc;

	for (size_t i = 0; i < words; i++) {
		memset(at, 'w', each);
		at += each;
		*at++ = i + 1 < words ? ' ' : '\'';
	}
	strcpy(at, "}\n");
	settings_init(&s);
	rc = settings_parse(span_of_string(text), "f", SETTING_PERSON, &s, &e);
	if (rc == 0) {
		size_t n = 0;

		while (s.anchor_command[n])
			n++;
		assert_int_equal(n, words);
		*strrchr(text, '\'') = 0;
		assert_value(&s, "audit.anchor", strchr(text, '\'') + 1);
	} else {
		assert_non_null(strstr(e.text, "put what is longer into a script"));
	}
	settings_free(&s);
	return rc == 0;
}

static void a_long_command_is_whole_or_refused(void **state)
{
	assert_true(takes_command(64, 1));
	assert_false(takes_command(65, 1));
	assert_true(takes_command(1, 8000));
	assert_true(takes_command(1, 8191 - 9));
	assert_false(takes_command(1, 8192 - 9));
	assert_false(takes_command(60, 500));
}

static void an_unknown_setting_has_its_nearest(void **state)
{
	struct err e;

	assert_int_equal(settings_find("defaults.networks", &e), -1);
	assert_non_null(strstr(e.text, "did you mean `defaults.network`?"));
	assert_int_equal(settings_find("zzz", &e), -1);
	assert_non_null(strstr(e.text, "config list"));
	assert_int_equal(settings_find("pcap.max", &e), -1);
	assert_non_null(strstr(e.text, "did you mean `pcap.max_mb`?"));
}

/* ---- in the text ---- */

struct change {
	const char *before, *key, *value, *after;
};

static const struct change changes[] = {
	{"", "defaults.network", "deny", "defaults:\n  network: deny\n"},
	{"", "resolver", "192.0.2.1,192.0.2.2", "resolver: [192.0.2.1, 192.0.2.2]\n"},
	{"# mine\ndefaults:\n  # why\n  network: deny # old\n  agent_network: none # stays\n",
	 "defaults.network", "locked",
	 "# mine\ndefaults:\n  # why\n  network: locked\n  agent_network: none # stays\n"},
	{"defaults:\n    agent_network: none\n# end\n", "defaults.network", "deny",
	 "defaults:\n    network: deny\n    agent_network: none\n# end\n"},
	{"audit:\n  anchor: syslog", "defaults.network", "deny",
	 "audit:\n  anchor: syslog\ndefaults:\n  network: deny\n"},
	{"defaults:\n  permissions:\n    - gitlab\n    - time\n  network: deny\n",
	 "defaults.permissions", "-error-reports,install:rust",
	 "defaults:\n  permissions: ['-error-reports', 'install:rust']\n  network: deny\n"},
	{"defaults:\n  network: deny\n  agent_network: none\n", "defaults.network", NULL,
	 "defaults:\n  agent_network: none\n"},
	{"defaults:\n  network: deny\nresolver: [192.0.2.1]\n", "defaults.network", NULL,
	 "resolver: [192.0.2.1]\n"},
	{"# only this\n", "defaults.network", NULL, "# only this\n"},
	{"audit: \n  anchor: 'file:/a b'\n", "audit.anchor", "command:/it's here",
	 "audit: \n  anchor: 'command:/it''s here'\n"},
	{"defaults: {network: deny}\n", "defaults.network", "locked", NULL},
	{"defaults: {network: deny}\n", "defaults.agent_network", "none", NULL},
	{"defaults:\n  permissions: [\n    gitlab\n  ]\n", "defaults.permissions", "time", NULL},
	{"defaults:\n  netwrk: deny\n", "defaults.network", "locked", NULL},
};

static void a_change_leaves_the_other_lines(void **state)
{
	for (size_t i = 0; i < sg_array_len(changes); i++) {
		const struct change *c = &changes[i];
		struct err e;
		char *got =
			settings_edit(span_of_string(c->before), "f", key_of(c->key), c->value, &e);

		if (!c->after) {
			assert_null(got);
			assert_memory_equal(e.text, "f:", 2);
			continue;
		}
		if (!got)
			fail_msg("%s: %s", c->before, e.text);
		assert_string_equal(got, c->after);
		free(got);
	}
}

static void a_value_that_is_not_right_is_refused_by_its_key(void **state)
{
	struct err e;
	char *got = settings_edit(span_of("", 0), "f", key_of("audit.keep_segments"), "-1", &e);

	assert_null(got);
	assert_string_equal(e.text, "audit.keep_segments: `-1` is not a number from 0 to 1000000");
}

/* What is shown can be set again, and means the same. */
static void every_value_can_be_written_as_it_is_shown(void **state)
{
	struct settings s = parsed("defaults: {network: bake, permissions: [time, -github]}\n"
				   "audit: {anchor: 'file:/var/log/an anchor', keep_segments: 3}\n"
				   "resolver: ['192.0.2.1:5353', '2001:db8::1']\n");
	char *text = strdup("");

	for (size_t i = 0; i < settings_n_keys; i++) {
		char *value, *next;
		struct err e;

		if (!settings_key(i))
			continue;
		value = settings_value_text(&s, i);
		next = settings_edit(span_of_string(text), "f", i, value, &e);
		if (!next)
			fail_msg("%s: %s", settings_key(i), e.text);
		free(text);
		free(value);
		text = next;
	}
	struct settings again = parsed(text);
	for (size_t i = 0; i < settings_n_keys; i++)
		if (settings_key(i)) {
			char *one = settings_value_text(&s, i);

			assert_value(&again, settings_key(i), one);
			free(one);
		}
	settings_free(&again);
	settings_free(&s);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setting_is_read),
		cmocka_unit_test(without_a_file_the_defaults_hold),
		cmocka_unit_test(the_person_goes_before_the_system),
		cmocka_unit_test(every_value_outlives_a_second_file),
		cmocka_unit_test(what_is_not_understood_is_refused_with_its_place),
		cmocka_unit_test(a_long_command_is_whole_or_refused),
		cmocka_unit_test(an_unknown_setting_has_its_nearest),
		cmocka_unit_test(a_change_leaves_the_other_lines),
		cmocka_unit_test(a_value_that_is_not_right_is_refused_by_its_key),
		cmocka_unit_test(every_value_can_be_written_as_it_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
