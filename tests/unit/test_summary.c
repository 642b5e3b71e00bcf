/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/refused.h"
#include "sandbox/summary.h"

static const struct agent *agent_of(const char *name)
{
	return name ? catalogue_agent(catalogue_builtin(), name) : NULL;
}

static void assert_first_line_of(struct policy *p, const char *agent, const char *line,
				 const char *policy)
{
	static char *const rust[] = {"install:rust", NULL};
	struct policy_sources sources = {
		.catalogue = catalogue_builtin(), .agent = agent_of(agent), .languages = rust};
	struct err e;
	char *text;

	if (policy_resolve(p, &sources, &e))
		fail_msg("%s", e.text);
	text = summary_first_line(p, &sources);
	assert_string_equal(text, line);
	free(text);
	text = summary_policy(p);
	assert_string_equal(text, policy);
	free(text);
	policy_free(p);
}

static void assert_first_line(struct policy *p, const char *line, const char *policy)
{
	assert_first_line_of(p, NULL, line, policy);
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
	p = of(NET_BROKERED, EFFECT_ALLOW, two);
	assert_first_line(
		&p, "network limited to api.example.com, 10.20.0.0/16, through the proxy port",
		"allow: api.example.com, 10.20.0.0/16 (brokered)");
	p = of(NET_BROKERED, EFFECT_ALLOW, NULL);
	assert_first_line(&p, "network denied", "brokered");
	p = of(NET_DENY, EFFECT_ALLOW, NULL);
	p.host_ports = malloc(sizeof(port));
	p.host_ports[0] = port;
	p.n_host_ports = 1;
	assert_first_line(&p, "network limited to host.sandgate.internal:8080",
			  "allow: host.sandgate.internal:8080 (deny)");
}

static struct policy with(enum network_base base, const char *const *items)
{
	struct policy p;
	struct err e;

	policy_init(&p);
	p.network = base;
	for (; *items; items++)
		if (policy_add_item(&p, catalogue_builtin(), EFFECT_ALLOW, *items, &e))
			fail_msg("%s", e.text);
	return p;
}

#define ITEMS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Permissions are said by their names, the model by the agent's; what opens nothing is not said. */
static void permissions_are_said_by_name(void **state)
{
	struct policy p =
		with(NET_DENY, ITEMS("github", "model", "registry.example.com", "update"));

	assert_first_line_of(
		&p, "claude",
		"network closed except: the agent's model (anthropic), update, github, "
		"registry.example.com",
		"allow: registry.example.com, github, model, update (deny)");
	p = with(NET_STANDARD, ITEMS("-error-reports"));
	assert_first_line_of(
		&p, "claude",
		"network closed except: the agent's model (anthropic), update, github, "
		"install:rust, install:system",
		"deny: error-reports (standard)");
	p = with(NET_LOCKED, ITEMS("api.example.com"));
	assert_first_line_of(&p, NULL, "network limited to api.example.com",
			     "allow: api.example.com (locked)");
	p = with(NET_LOCKED, (const char *const[]){NULL});
	assert_first_line_of(&p, NULL, "network denied", "locked");
	p = with(NET_DENY, ITEMS("install"));
	assert_first_line_of(&p, NULL, "network closed except: install", "allow: install (deny)");
	p = with(NET_DENY, ITEMS("web", "10.20.0.0/16"));
	assert_first_line_of(
		&p, NULL, "network open to every website and 10.20.0.0/16, connections are logged",
		"allow: 10.20.0.0/16, web (deny)");
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
	text = summary_first_line(&p, &(struct policy_sources){.catalogue = catalogue_builtin()});
	assert_non_null(strstr(text, "h15.example.com and 4 more"));
	assert_null(strstr(text, "h16."));
	free(text);
	policy_free(&p);
}

static char *make_check[] = {"make", "check", NULL};
static const struct run_options plain = {.argv = make_check};

static char *closing_of(const char *json, const json_t *status, const struct run_options *o,
			const char *lasting)
{
	json_t *answer = json ? json_loads(json, 0, NULL) : NULL;
	struct suggestions refused = {.catalogue = catalogue_builtin()};
	struct summary_end end = {.refused = &refused,
				  .others = refused_read(answer, &refused),
				  .status = status,
				  .o = o,
				  .lasting = lasting};
	char *text;

	assert_true(answer || !json);
	text = summary_closing(&end);
	suggest_free(&refused);
	json_decref(answer);
	return text;
}

static char *closing(const char *json)
{
	return closing_of(json, NULL, &plain, NULL);
}

static void nothing_refused_says_nothing(void **state)
{
	assert_null(closing("{\"refusals\":[],\"other\":0}"));
	assert_null(closing("{}"));
	assert_null(closing(NULL));
}

#define ROW(proto, name, address, port, reason, count)                                      \
	"{\"proto\":\"" proto "\",\"name\":" name ",\"address\":" address ",\"port\":" port \
	",\"reason\":\"" reason "\",\"count\":" count                                       \
	",\"remedy\":\"sandgate is not to read this\"}"

#define SEVERAL                                                                                                \
	"{\"refusals\":[" ROW("dns", "\"registry.example.com\"", "null", "0", "not-in-policy", "3") "," ROW(   \
		"tcp", "\"db.example.com\"", "\"93.184.1.5\"", "5432", "port-not-allowed",                     \
		"1") "," ROW("dns", "\"pypi.org\"", "null", "0", "not-in-policy",                              \
			     "2") "," ROW("tcp", "\"registry.example.com\"", "null", "443",                    \
					  "not-in-policy",                                                     \
					  "1") "," ROW("dns", "\"files.pythonhosted.org\"",                    \
						       "null", "0", "not-in-policy",                           \
						       "1") "," ROW("tcp", "\"db.example.com\"",               \
								    "\"93.184.1.5\"", "22",                    \
								    "not-in-policy",                           \
								    "1") "," ROW("tcp", "null",                \
										 "\"192.0.0.1\"",              \
										 "8080",                       \
										 "special-address",            \
										 "4") "," ROW("tcp",           \
											      "null",          \
											      "\"2a00:1::1\"", \
											      "22",            \
											      "limit-rate",    \
											      "2") "],\"other\":5}"

static void what_was_refused_is_counted_and_one_command_allows_it(void **state)
{
	char *text = closing(SEVERAL);

	assert_non_null(strstr(text, "sandgate: refused 20 times:\n"));
	assert_non_null(strstr(text, "  registry.example.com (lookup, tcp 443, 4 times): no rule"));
	assert_non_null(strstr(text, "  db.example.com (tcp 5432, tcp 22, 2 times): "));
	assert_non_null(
		strstr(text, "  the agent tried to install Python packages (PyPI), 3 times\n"));
	assert_non_null(strstr(text, "  2a00:1::1 (tcp 22, 2 times): too many new"));
	assert_non_null(strstr(text, "  others (9 times)\n"));
	assert_null(strstr(text, "192.0.0.1"));
	free(text);
}

/* The command line again for a sandbox that is gone, a change of one that stays. */
static void the_command_fits_the_sandbox(void **state)
{
	char *text = closing(SEVERAL);

	assert_non_null(strstr(text, "sandgate: to allow it: sandgate run --allow "));
	assert_non_null(strstr(text, "db.example.com:22,install:python"));
	assert_non_null(strstr(text, " -- make check\n"));
	free(text);
	text = closing_of(SEVERAL, NULL, &plain, "box");
	assert_non_null(strstr(text, "sandgate: to allow it: sandgate net allow box "));
	assert_non_null(strstr(text, "db.example.com:22 install:python"));
	assert_null(strstr(text, "make check"));
	free(text);
}

static void every_option_of_a_remedy_is_kept(void **state)
{
	char *text = closing("{\"refusals\":[" ROW(
		"tcp", "\"host.sandgate.internal\"", "null", "8080", "port-not-allowed",
		"1") "," ROW("dns", "\"a.example\"", "null", "0", "network-none",
			     "1") "],\"other\":0}");

	assert_non_null(strstr(text, "sandgate run --net deny --allow "));
	assert_non_null(strstr(text, "a.example --host-port 8080 -- make check\n"));
	free(text);
}

/* What no item would allow is counted, and no command is offered. */
static void a_limit_has_no_remedy(void **state)
{
	char *text =
		closing("{\"refusals\":[" ROW("tcp", "\"a.example\"", "null", "443", "limit-rate",
					      "9") "," ROW("tcp", "\"b.example\"", "null", "443",
							   "denied-by-rule", "1") "],\"other\":0}");

	assert_non_null(strstr(text, "a.example (tcp 443, 9 times): too many"));
	assert_non_null(strstr(text, "b.example (tcp 443, 1 time): a rule"));
	assert_null(strstr(text, "to allow it"));
	free(text);
}

#define REFUSED \
	"{\"refusals\":[" ROW("dns", "\"b.example\"", "null", "0", "not-in-policy", "1") "]}"
#define WITHOUT_LINK \
	"{\"refusals\":[" ROW("dns", "\"b.example\"", "null", "0", "network-none", "1") "]}"

static void assert_again(char **written, char **argv, const char *refusals, const char *line)
{
	struct run_options o = {.written = written, .argv = argv};
	char *text, *at;

	while (written[o.n_written])
		o.n_written++;
	text = closing_of(refusals, NULL, &o, NULL);
	at = strstr(text, "to allow it: ");
	assert_non_null(at);
	assert_string_equal(at, line);
	free(text);
}

#define WORDS(...) ((char *[]){__VA_ARGS__, NULL})

/* What is offered can be run as it stands, and takes nothing away. */
static void the_command_line_is_offered_again(void **state)
{
	char long_word[2000], escape[] = "\033[2J", accent[] = "\303\251";

	memset(long_word, 'a', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = 0;
	assert_again(WORDS("--allow", "a.example", "--env", "K=it's $x"),
		     WORDS("sh", "-c", "curl b.example; id", ""), REFUSED,
		     "to allow it: sandgate run --allow a.example --env 'K=it'\\''s $x' "
		     "--allow b.example -- sh -c 'curl b.example; id' ''\n");
	assert_again(WORDS("--only=a.example"), WORDS("id"), REFUSED,
		     "to allow it: sandgate run --only=a.example --only b.example -- id\n");
	assert_again(WORDS("--name", "x", "--net", "none", "--as-root"), WORDS("id"), WITHOUT_LINK,
		     "to allow it: sandgate run --name x --as-root --net deny "
		     "--allow b.example -- id\n");
	assert_again(WORDS("--net=none"), WORDS("id"), WITHOUT_LINK,
		     "to allow it: sandgate run --net deny --allow b.example -- id\n");
	assert_again(WORDS("--env", escape), WORDS(accent), REFUSED,
		     "to allow it: sandgate run ... --allow b.example -- ...\n");
	assert_again(WORDS("--as-root"), WORDS(long_word), REFUSED,
		     "to allow it: sandgate run --as-root --allow b.example -- ...\n");
}

static void lookups_that_nobody_answered_are_told_apart(void **state)
{
	json_t *status = json_loads("{\"dns\":{\"failed\":2}}", 0, NULL);
	char *text = closing_of(NULL, status, &plain, NULL);

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
		cmocka_unit_test(permissions_are_said_by_name),
		cmocka_unit_test(many_rules_are_counted),
		cmocka_unit_test(nothing_refused_says_nothing),
		cmocka_unit_test(what_was_refused_is_counted_and_one_command_allows_it),
		cmocka_unit_test(the_command_fits_the_sandbox),
		cmocka_unit_test(every_option_of_a_remedy_is_kept),
		cmocka_unit_test(a_limit_has_no_remedy),
		cmocka_unit_test(the_command_line_is_offered_again),
		cmocka_unit_test(lookups_that_nobody_answered_are_told_apart),
		cmocka_unit_test(hostile_text_is_neither_printed_nor_offered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
