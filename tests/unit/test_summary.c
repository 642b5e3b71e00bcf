/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/summary.h"

static void assert_first_line(struct policy *p, const char *line, const char *policy)
{
	char *text = summary_first_line(p);

	assert_string_equal(text, line);
	free(text);
	text = summary_policy(p);
	assert_string_equal(text, policy);
	free(text);
	policy_free(p);
}

static struct policy of(enum network_base base, enum effect effect, const char *const *rules)
{
	struct policy p;
	struct err e;

	policy_init(&p);
	p.network = base;
	for (; rules && *rules; rules++)
		if (policy_add_rule(&p, effect, *rules, &e))
			fail_msg("%s", e.text);
	return p;
}

static void the_first_line_says_the_network(void **state)
{
	static const char *const two[] = {"api.example.com", "10.20.0.0/16", NULL};
	uint16_t port = 8080;
	struct policy p = of(NET_DENY, EFFECT_ALLOW, NULL);
	struct err e;

	assert_first_line(&p, "network denied", "deny");
	p = of(NET_DENY, EFFECT_DENY, two);
	assert_first_line(&p, "network denied", "deny: api.example.com, 10.20.0.0/16 (deny)");
	p = of(NET_OPEN, EFFECT_ALLOW, two);
	if (policy_add_rule(&p, EFFECT_DENY, "x.example.com", &e))
		fail_msg("%s", e.text);
	assert_first_line(&p,
			  "network open to every public address and api.example.com, 10.20.0.0/16, "
			  "connections are logged",
			  "allow: api.example.com, 10.20.0.0/16; deny: x.example.com (open)");
	p = of(NET_NONE, EFFECT_ALLOW, NULL);
	assert_first_line(&p, "network denied", "none");
	p = of(NET_ANY, EFFECT_ALLOW, NULL);
	assert_first_line(&p, "network UNRESTRICTED, connections are logged", "any");
	p = of(NET_OPEN, EFFECT_ALLOW, NULL);
	assert_first_line(&p, "network open to every public address, connections are logged",
			  "open");
	p = of(NET_OPEN, EFFECT_ALLOW, two);
	assert_first_line(&p,
			  "network open to every public address and api.example.com, 10.20.0.0/16, "
			  "connections are logged",
			  "allow: api.example.com, 10.20.0.0/16 (open)");
	p = of(NET_DENY, EFFECT_ALLOW, two);
	assert_first_line(&p, "network limited to api.example.com, 10.20.0.0/16",
			  "allow: api.example.com, 10.20.0.0/16 (deny)");
	p = of(NET_DENY, EFFECT_ALLOW, NULL);
	p.host_ports = malloc(sizeof(port));
	p.host_ports[0] = port;
	p.n_host_ports = 1;
	assert_first_line(&p, "network limited to host.sandgate.internal:8080",
			  "allow: host.sandgate.internal:8080 (deny)");
}

static void many_rules_are_counted(void **state)
{
	char rules[20][32];
	const char *list[21] = {NULL};
	struct policy p;
	char *text;

	for (int i = 0; i < 20; i++)
		list[i] = (snprintf(rules[i], sizeof(rules[i]), "h%d.example.com", i), rules[i]);
	p = of(NET_DENY, EFFECT_ALLOW, list);
	text = summary_first_line(&p);
	assert_non_null(strstr(text, "h15.example.com and 4 more"));
	assert_null(strstr(text, "h16."));
	free(text);
	policy_free(&p);
}

static char *make_check[] = {"make", "check", NULL};
static const struct run_options plain = {.argv = make_check};

static char *closing(const char *json)
{
	json_t *o = json_loads(json, 0, NULL);
	char *text;

	assert_non_null(o);
	text = summary_closing(o, NULL, &plain);
	json_decref(o);
	return text;
}

static void nothing_refused_says_nothing(void **state)
{
	assert_null(closing("{\"refusals\":[],\"other\":0}"));
	assert_null(closing("{}"));
	assert_null(summary_closing(NULL, NULL, &plain));
}

static void what_was_refused_is_counted_and_one_command_allows_it(void **state)
{
	char *text = closing(
		"{\"refusals\":["
		"{\"proto\":\"dns\",\"name\":\"registry.example.com\",\"address\":null,\"port\":0,"
		"\"reason\":\"not-in-policy\",\"count\":3,"
		"\"remedy\":\"sandgate run --allow registry.example.com ...\"},"
		"{\"proto\":\"tcp\",\"name\":\"db.example.com\",\"address\":\"203.0.113.5\",\"port\":5432,"
		"\"reason\":\"port-not-allowed\",\"count\":1,"
		"\"remedy\":\"sandgate run --allow db.example.com:5432 ...\"},"
		"{\"proto\":\"tcp\",\"name\":\"registry.example.com\",\"address\":null,\"port\":443,"
		"\"reason\":\"not-in-policy\",\"count\":1,"
		"\"remedy\":\"sandgate run --allow registry.example.com ...\"},"
		"{\"proto\":\"tcp\",\"name\":null,\"address\":\"2001:db8::1\",\"port\":22,"
		"\"reason\":\"limit-rate\",\"count\":2,\"remedy\":null}"
		"],\"other\":5}");

	assert_non_null(strstr(text, "sandgate: refused 12 times:\n"));
	assert_non_null(strstr(text, "  registry.example.com (lookup, 3 times): "));
	assert_non_null(strstr(text, "  db.example.com:5432 at 203.0.113.5 (tcp, 1 time): "));
	assert_non_null(strstr(text, "  others (5 times)\n"));
	assert_non_null(strstr(text, "sandgate: to allow it: sandgate run --allow "
				     "registry.example.com,db.example.com:5432 -- make check\n"));
	free(text);
}

static void every_option_of_a_remedy_is_kept(void **state)
{
	char *text = closing(
		"{\"refusals\":["
		"{\"proto\":\"tcp\",\"name\":\"host.sandgate.internal\",\"address\":null,\"port\":80,"
		"\"reason\":\"not-in-policy\",\"count\":1,"
		"\"remedy\":\"sandgate run --host-port 80 ...\"},"
		"{\"proto\":\"dns\",\"name\":\"a.example\",\"address\":null,\"port\":0,"
		"\"reason\":\"network-none\",\"count\":1,"
		"\"remedy\":\"sandgate run --net deny --allow a.example ...\"}"
		"],\"other\":0}");

	assert_non_null(strstr(text, "sandgate run --net deny --allow a.example --host-port 80 -- "
				     "make check\n"));
	free(text);
}

#define REFUSED(remedy)                                                                         \
	"{\"refusals\":[{\"proto\":\"dns\",\"name\":\"b.example\",\"address\":null,\"port\":0," \
	"\"reason\":\"not-in-policy\",\"count\":1,\"remedy\":\"sandgate run " remedy " ...\"}]}"

static void assert_again(char **written, char **argv, const char *refusals, const char *line)
{
	struct run_options o = {.written = written, .argv = argv};
	json_t *object = json_loads(refusals, 0, NULL);
	char *text, *at;

	assert_non_null(object);
	while (written[o.n_written])
		o.n_written++;
	text = summary_closing(object, NULL, &o);
	at = strstr(text, "to allow it: ");
	assert_non_null(at);
	assert_string_equal(at, line);
	free(text);
	json_decref(object);
}

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

/* What is offered can be run as it stands, and takes nothing away. */
static void the_command_line_is_offered_again(void **state)
{
	char long_word[2000], escape[] = "\033[2J", accent[] = "\303\251";

	memset(long_word, 'a', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = 0;
	assert_again(WORDS("--allow", "a.example", "--env", "K=it's $x"),
		     WORDS("sh", "-c", "curl b.example; id", ""), REFUSED("--allow b.example"),
		     "to allow it: sandgate run --allow a.example --env 'K=it'\\''s $x' "
		     "--allow b.example -- sh -c 'curl b.example; id' ''\n");
	assert_again(WORDS("--only=a.example"), WORDS("id"), REFUSED("--allow b.example"),
		     "to allow it: sandgate run --only=a.example --only b.example -- id\n");
	assert_again(WORDS("--name", "x", "--net", "none", "--as-root"), WORDS("id"),
		     REFUSED("--net deny --allow b.example"),
		     "to allow it: sandgate run --name x --as-root --net deny "
		     "--allow b.example -- id\n");
	assert_again(WORDS("--net=none"), WORDS("id"), REFUSED("--net deny --allow b.example"),
		     "to allow it: sandgate run --net deny --allow b.example -- id\n");
	assert_again(WORDS("--env", escape), WORDS(accent), REFUSED("--allow b.example"),
		     "to allow it: sandgate run ... --allow b.example -- ...\n");
	assert_again(WORDS("--as-root"), WORDS(long_word), REFUSED("--allow b.example"),
		     "to allow it: sandgate run --as-root --allow b.example -- ...\n");
}

static void lookups_that_nobody_answered_are_told_apart(void **state)
{
	json_t *status = json_loads("{\"dns\":{\"failed\":2}}", 0, NULL);
	char *text = summary_closing(NULL, status, &plain);

	assert_non_null(text);
	assert_non_null(strstr(text, "resolver did not answer 2 lookups"));
	assert_null(strstr(text, "refused"));
	free(text);
	json_decref(status);
}

/* The gate reads the sandbox's octets: what it says must not reach a shell or terminal as it is. */
static void hostile_text_is_neither_printed_nor_offered(void **state)
{
	char *text = closing(
		"{\"refusals\":["
		"{\"proto\":\"d\\u001b[2Jns\",\"name\":\"a\\u001b]0;x\\u0007.\\u00e9\",\"port\":-7,"
		"\"reason\":\"\\u001b\",\"count\":1,"
		"\"remedy\":\"sandgate run --allow $(id) --allow a;b --name `x` ...\"},"
		"{\"proto\":7,\"name\":[],\"reason\":{},\"count\":\"x\"}, 5"
		"],\"other\":-3}");

	assert_non_null(text);
	for (const char *s = text; *s; s++)
		assert_true(*s == '\n' || (*s >= 0x20 && *s < 0x7f));
	assert_null(strstr(text, "to allow it"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_line_says_the_network),
		cmocka_unit_test(many_rules_are_counted),
		cmocka_unit_test(nothing_refused_says_nothing),
		cmocka_unit_test(what_was_refused_is_counted_and_one_command_allows_it),
		cmocka_unit_test(every_option_of_a_remedy_is_kept),
		cmocka_unit_test(the_command_line_is_offered_again),
		cmocka_unit_test(lookups_that_nobody_answered_are_told_apart),
		cmocka_unit_test(hostile_text_is_neither_printed_nor_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
