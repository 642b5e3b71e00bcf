/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_fetch, secret_reader and broker_link: what a broker wants is read by children, and handed to
 * it by pipes; what it says decides neither which source is read nor how often.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/passed_fd.h"
#include "sandbox/secret/secret_fetch.h"

#define SECRET "the-s3cret-value"

enum { PATIENT_MS = 20000 };

static struct credential_refresh refresh = {.client_secret = (char *)"env:SG_TEST_CLIENT"};
static struct credential credentials[] = {
	{.host = (char *)"a.example", .from = (char *)"env:SG_TEST_SECRET"},
	{.host = (char *)"b.example", .from = (char *)"command:/bin/echo " SECRET},
	{.host = (char *)"c.example", .from = (char *)"command:/bin/cat /nonexistent/\xc2\x9b[31m"},
	{.host = (char *)"d.example", .from = (char *)"env:SG_TEST_SECRET", .refresh = &refresh},
	{.host = (char *)"e.example", .from = (char *)"command:/bin/sleep 60"},
};
static struct broker_link broker;
static struct secret_fetches fetches;
static struct secret_keep keep;
static struct policy policy;
static int told; /* what the broker was given, a line each */

/* ---- The broker ---- */

static void note_secret(int to, const json_t *o, int passed)
{
	const char *why = json_string_value(json_object_get(o, "why"));
	char value[256] = "", line[600];
	ssize_t n = passed >= 0 ? read(passed, value, sizeof(value) - 1) : 0;
	char more;

	if (n > 0 && value[n - 1] == '\n')
		value[n - 1] = 0;
	/* All of it, and the end behind it. */
	if (passed >= 0 && read(passed, &more, 1) != 0)
		snprintf(value, sizeof(value), "not at its end");
	n = snprintf(line, sizeof(line), "%s %d %s %s", json_string_value(json_object_get(o, "op")),
		     (int)json_integer_value(json_object_get(o, "credential")),
		     json_string_value(json_object_get(o, "part")), why ? why : value);
	(void)!send(to, line, (size_t)n, 0);
}

static void serve(const void *setup, int fd, pid_t supervisor)
{
	static const char ready[] = "{\"op\":\"ready\",\"authority\":\"PEM\"}";
	int to = *(const int *)setup, passed;
	char text[4096], peek;

	alarm(60);
	(void)!send(fd, ready, strlen(ready), 0);
	while (recv(fd, &peek, 1, MSG_PEEK) > 0) {
		ssize_t n = passed_fd_receive(fd, text, sizeof(text), &passed);
		json_t *o = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
		char answer[128];

		note_secret(to, o, passed);
		snprintf(answer, sizeof(answer), "{\"op\":\"%s\",\"ok\":true}",
			 json_string_value(json_object_get(o, "op")));
		(void)!send(fd, answer, strlen(answer), 0);
		json_decref(o);
		if (passed >= 0)
			close(passed);
	}
	_exit(0);
}

static void heard_of(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);

	assert_non_null(o);
	broker.process.heard(&broker, o);
	json_decref(o);
}

static int begin(void **state)
{
	struct credential_list list = {credentials, sg_array_len(credentials)};
	static int theirs;
	int pair[2];
	struct err e;

	setenv("SG_TEST_SECRET", SECRET, 1);
	setenv("SG_TEST_CLIENT", "client-s3cret", 1);
	policy_init(&policy);
	if (credential_list_copy(&list, &policy.credentials) ||
	    secret_keep_take(&keep, &list, NULL, &e) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	told = pair[0];
	theirs = pair[1];
	broker = BROKER_LINK_NONE;
	broker_link_listen(&broker);
	if (credential_list_copy(&list, &broker.credentials) ||
	    process_link_fork(&broker.process, serve, &theirs, &e))
		return -1;
	return broker_link_await_ready(&broker, &e);
}

static int end(void **state)
{
	struct err how;

	secret_fetch_abandon(&fetches);
	broker_link_bury(&broker, &how);
	secret_keep_free(&keep);
	policy_free(&policy);
	close(told);
	return 0;
}

/* ---- Driving ---- */

static void turn(int ms)
{
	struct pollfd fds[SECRET_FETCHES_MAX];

	secret_fetch_begin(&fetches, &broker, &keep, &policy, mono_now());
	secret_fetch_poll(&fetches, fds);
	poll(fds, SECRET_FETCHES_MAX, ms);
	secret_fetch_serve(&fetches, &broker, fds, mono_now());
}

/* The next thing that the broker is told, or NULL when there is none in that time. */
static const char *next_told(int ms)
{
	static char line[700];
	mono_t until = mono_add_ms(mono_now(), ms);
	ssize_t n;

	do {
		turn(10);
		n = recv(told, line, sizeof(line) - 1, MSG_DONTWAIT);
	} while (n < 0 && mono_before(mono_now(), until));
	if (n < 0)
		return NULL;
	line[n] = 0;
	return line;
}

static void a_variable_is_handed_over_at_once(void **state)
{
	heard_of("{\"op\":\"wanted\",\"credential\":0}");
	assert_string_equal(next_told(PATIENT_MS), "secret 0 source " SECRET);
}

static void a_source_is_read_by_a_child(void **state)
{
	heard_of("{\"op\":\"wanted\",\"credential\":1}");
	assert_string_equal(next_told(PATIENT_MS), "secret 1 source " SECRET);
}

static void an_error_is_told_in_words_without_controls(void **state)
{
	const char *line;

	heard_of("{\"op\":\"wanted\",\"credential\":2}");
	line = next_told(PATIENT_MS);
	assert_non_null(strstr(line, "secret-failed 2 source command:/bin/cat /nonexistent/??[31m: "
				     "it ended with status 1"));
}

static void a_clients_secret_is_another_part(void **state)
{
	heard_of("{\"op\":\"wanted\",\"credential\":3,\"part\":\"client-secret\"}");
	assert_string_equal(next_told(PATIENT_MS), "secret 3 client-secret client-s3cret");
	heard_of("{\"op\":\"wanted\",\"credential\":1,\"part\":\"client-secret\"}");
	assert_string_equal(next_told(PATIENT_MS),
			    "secret-failed 1 client-secret the policy does not have it any more");
}

/* Whatever a broker says that has been taken over by what it reads. */
static void what_makes_no_sense_is_passed_over(void **state)
{
	heard_of("{\"op\":\"wanted\",\"credential\":-1}");
	heard_of("{\"op\":\"wanted\",\"credential\":5}");
	heard_of("{\"op\":\"wanted\",\"credential\":255}");
	heard_of("{\"op\":\"wanted\",\"credential\":256}");
	heard_of("{\"op\":\"wanted\",\"credential\":9223372036854775807}");
	heard_of("{\"op\":\"wanted\",\"credential\":\"1\"}");
	heard_of("{\"op\":\"wanted\",\"credential\":1,\"part\":\"command:/bin/sh\"}");
	heard_of("{\"op\":\"wanted\"}");
	heard_of("{\"op\":7}");
	heard_of("[]");
	assert_null(next_told(300));
}

/* A minute's sleep is ended at the end, with what it started. */
static void one_that_takes_long_holds_up_no_other(void **state)
{
	char comm[64], path[64];
	FILE *f;

	heard_of("{\"op\":\"wanted\",\"credential\":4}");
	turn(10);
	assert_true(fetches.v[0].reader.pid > 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/5", (int)fetches.v[0].reader.pid);
	heard_of("{\"op\":\"wanted\",\"credential\":1}");
	assert_string_equal(next_told(PATIENT_MS), "secret 1 source " SECRET);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)fetches.v[0].reader.pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(comm, sizeof(comm), f));
	fclose(f);
	secret_fetch_abandon(&fetches);
	assert_int_equal(access(path, F_OK), -1);
}

static void each_is_read_once_a_second(void **state)
{
	mono_t begun = mono_now();
	mono_t at;

	heard_of("{\"op\":\"wanted\",\"credential\":1}");
	assert_non_null(next_told(PATIENT_MS));
	heard_of("{\"op\":\"wanted\",\"credential\":1}");
	assert_true(secret_fetch_next_deadline(&fetches, &at));
	assert_non_null(next_told(PATIENT_MS));
	assert_true(mono_ms_until(begun, mono_now()) >= SECRET_FETCH_REST_MS);
}

static void what_the_policy_has_no_more_is_not_read(void **state)
{
	mono_t begun = mono_now();

	credential_list_free(&policy.credentials);
	for (int i = 0; i < 2; i++) {
		heard_of("{\"op\":\"wanted\",\"credential\":0}");
		assert_string_equal(next_told(PATIENT_MS),
				    "secret-failed 0 source the policy does not have it any more");
	}
	assert_true(mono_ms_until(begun, mono_now()) >= SECRET_FETCH_REST_MS);
}

/* It is kept until it is taken, and the last word counts. */
static void an_authority_is_kept(void **state)
{
	char *pem = broker_link_take_authority(&broker);

	assert_string_equal(pem, "PEM");
	free(pem);
	assert_null(broker_link_take_authority(&broker));
	heard_of("{\"op\":\"authority\",\"authority\":\"one\"}");
	heard_of("{\"op\":\"authority\",\"authority\":\"two\"}");
	heard_of("{\"op\":\"authority\",\"authority\":7}");
	pem = broker_link_take_authority(&broker);
	assert_string_equal(pem, "two");
	free(pem);
}

/* Once a minute for each, whatever the broker says. */
static void a_failure_is_told_once_a_minute(void **state)
{
	mono_t now = mono_now();
	size_t number;
	struct err why;

	assert_false(broker_link_take_failure(&broker, now, &number, &why));
	heard_of("{\"op\":\"failing\",\"credential\":3,\"why\":\"no \\u001b[31mtoken\"}");
	heard_of("{\"op\":\"failing\",\"credential\":77,\"why\":\"none such\"}");
	heard_of("{\"op\":\"failing\",\"credential\":0,\"why\":7}");
	assert_true(broker_link_take_failure(&broker, now, &number, &why));
	assert_int_equal(number, 3);
	assert_string_equal(why.text, "no ?[31mtoken");
	heard_of("{\"op\":\"failing\",\"credential\":3,\"why\":\"again\"}");
	assert_false(broker_link_take_failure(&broker, now, &number, &why));
	heard_of("{\"op\":\"failing\",\"credential\":3,\"why\":\"later\"}");
	assert_true(
		broker_link_take_failure(&broker, mono_add_ms(now, BROKER_TELL_MS), &number, &why));
	assert_string_equal(why.text, "later");
}

static void a_source_that_fails_is_a_failure(void **state)
{
	size_t number;
	struct err why;

	heard_of("{\"op\":\"wanted\",\"credential\":2}");
	assert_non_null(next_told(PATIENT_MS));
	assert_true(broker_link_take_failure(&broker, mono_now(), &number, &why));
	assert_int_equal(number, 2);
	assert_non_null(strstr(why.text, "it ended with status 1"));
}

/* One that was taken over: what it says is kept as far as a message goes, and told once a minute. */
static void a_broker_that_never_stops_complaining(void **state)
{
	static char text[200000], message[200100];
	mono_t now = mono_now();
	unsigned times = 0;
	size_t number;
	struct err why;

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < VAULT_MAX; i++) {
		snprintf(message, sizeof(message),
			 "{\"op\":\"failing\",\"credential\":%d,\"why\":\"%s\"}", i, text);
		heard_of(message);
		assert_true(strlen(broker.failing[i]) <= ERR_MAX);
	}
	while (broker_link_take_failure(&broker, now, &number, &why))
		assert_true(number < broker.credentials.n);
	for (int i = 0; i < 1000; i++) {
		heard_of(i % 2 ? "{\"op\":\"parent-refused\",\"status\":407}"
			       : "{\"op\":\"parent-refused\",\"status\":502}");
		times += broker_link_take_parent_trouble(&broker, mono_add_ms(now, i), &why);
	}
	assert_int_equal(times, 1);
	heard_of("{\"op\":\"parent-refused\",\"status\":407}");
	assert_true(
		broker_link_take_parent_trouble(&broker, mono_add_ms(now, BROKER_TELL_MS), &why));
	assert_non_null(strstr(why.text, "status 407"));
}

/* It is no credential's, though it has the number of one. */
static void a_parents_password_that_fails_is_its_own(void **state)
{
	size_t number;
	struct err why;

	broker_link_fail_secret(&broker, 0, BROKER_SECRET_PARENT, "it is not there");
	assert_false(broker_link_take_failure(&broker, mono_now(), &number, &why));
	assert_true(broker_link_take_parent_trouble(&broker, mono_now(), &why));
	assert_string_equal(why.text, "it is not there");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		T(a_variable_is_handed_over_at_once),
		T(a_source_is_read_by_a_child),
		T(an_error_is_told_in_words_without_controls),
		T(a_clients_secret_is_another_part),
		T(what_makes_no_sense_is_passed_over),
		T(one_that_takes_long_holds_up_no_other),
		T(each_is_read_once_a_second),
		T(what_the_policy_has_no_more_is_not_read),
		T(an_authority_is_kept),
		T(a_failure_is_told_once_a_minute),
		T(a_source_that_fails_is_a_failure),
		T(a_broker_that_never_stops_complaining),
		T(a_parents_password_that_fails_is_its_own),
	};
#undef T
	return cmocka_run_group_tests(tests, NULL, NULL);
}
