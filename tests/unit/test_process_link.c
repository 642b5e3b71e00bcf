/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_link: a process at the other end that answers, is late, talks unasked, floods, hangs or
 * dies. Whatever it does, the caller gets on within its deadline.
 */
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
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "io/passed_fd.h"
#include "sandbox/process_link.h"

enum { PATIENT_MS = 20000, SHORT_MS = 50 };

static struct process_link link_;
static unsigned n_heard;
static char last_heard[64];

static void heard(void *ctx, const json_t *message)
{
	const char *word = json_string_value(json_object_get(message, "word"));

	n_heard++;
	snprintf(last_heard, sizeof(last_heard), "%s", word ? word : "");
}

/* ---- The other end ---- */

static void say(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* What each of its answers is made of; it ends when the socket closes. */
typedef void answer_fn(int fd, const char *op, int passed);

static const char *op_of(const char *text, char out[32])
{
	json_t *o = json_loads(text, 0, NULL);

	snprintf(out, 32, "%s", json_string_value(json_object_get(o, "op")));
	json_decref(o);
	return out;
}

static void serve(const void *setup, int fd, pid_t supervisor)
{
	answer_fn *const *answer = setup;
	char text[4096], op[32];
	int passed;
	ssize_t n;

	alarm(60);
	say(fd, "{\"op\":\"ready\",\"word\":\"here\"}");
	for (;;) {
		char peek;

		if (recv(fd, &peek, 1, MSG_PEEK) <= 0)
			_exit(0);
		n = passed_fd_receive(fd, text, sizeof(text) - 1, &passed);
		if (n <= 0)
			_exit(0);
		text[n] = 0;
		(*answer)(fd, op_of(text, op), passed);
		if (passed >= 0)
			close(passed);
	}
}

static void start(answer_fn *answer)
{
	static answer_fn *kept;
	json_t *ready;
	struct err e;

	kept = answer;
	n_heard = 0;
	link_ = (struct process_link){.what = "gate", .heard = heard};
	assert_int_equal(process_link_fork(&link_, serve, &kept, &e), 0);
	ready = process_link_await_ready(&link_, &e);
	assert_non_null(ready);
	assert_string_equal(json_string_value(json_object_get(ready, "word")), "here");
	json_decref(ready);
}

static int end(void **state)
{
	struct err how;

	if (link_.pid > 0)
		process_link_bury(&link_, &how);
	return 0;
}

static json_t *request(const char *op)
{
	return json_pack("{s:s}", "op", op);
}

/* ---- Answers ---- */

static void answer_plainly(int fd, const char *op, int passed)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"op\":\"%s\",\"ok\":%s,\"why\":\"no\\u001bway\",\"fd\":%d}",
		 op, strcmp(op, "refuse") == 0 ? "false" : "true", passed >= 0);
	say(fd, text);
}

static void an_answer_is_one_with_ok(void **state)
{
	json_t *m;

	start(answer_plainly);
	m = process_link_ask(&link_, request("status"), PATIENT_MS);
	assert_non_null(m);
	json_decref(m);
	assert_null(process_link_ask(&link_, request("refuse"), PATIENT_MS));
	m = process_link_exchange(&link_, request("refuse"), -1, PATIENT_MS);
	assert_true(json_is_false(json_object_get(m, "ok")));
	json_decref(m);
}

static void a_refusal_is_told_in_its_words_and_harmless(void **state)
{
	struct err e;

	start(answer_plainly);
	assert_int_equal(process_link_tell(&link_, request("take"), -1, &e), 0);
	assert_int_equal(process_link_tell(&link_, request("refuse"), -1, &e), -1);
	assert_string_equal(e.text, "the gate refused `refuse`: no?way");
}

static void a_descriptor_goes_along(void **state)
{
	json_t *m;

	start(answer_plainly);
	m = process_link_exchange(&link_, request("gate"), STDIN_FILENO, PATIENT_MS);
	assert_int_equal(json_integer_value(json_object_get(m, "fd")), 1);
	json_decref(m);
}

static void talk_first(int fd, const char *op, int passed)
{
	say(fd, "{\"op\":\"wanted\",\"word\":\"one\"}");
	say(fd, "[1,2]");
	say(fd, "{\"op\":\"status\",\"word\":\"no answer: no ok\"}");
	say(fd, "{\"op\":\"other\",\"ok\":true}");
	say(fd, "{\"op\":\"authority\",\"word\":\"two\"}");
	answer_plainly(fd, op, passed);
	say(fd, "{\"op\":\"wanted\",\"word\":\"after it\"}");
}

static void what_is_said_unasked_is_heard_meanwhile(void **state)
{
	json_t *m;
	char peek;

	start(talk_first);
	m = process_link_ask(&link_, request("status"), PATIENT_MS);
	assert_non_null(m);
	json_decref(m);
	assert_int_equal(n_heard, 4);
	assert_string_equal(last_heard, "two");
	assert_int_equal(recv(link_.control, &peek, 1, MSG_PEEK), 1);
	process_link_hear(&link_);
	assert_int_equal(n_heard, 5);
	assert_string_equal(last_heard, "after it");
}

static void talk_nonsense(int fd, const char *op, int passed)
{
	say(fd, "this is no JSON");
	answer_plainly(fd, op, passed);
}

static void who_talks_nonsense_has_not_answered(void **state)
{
	start(talk_nonsense);
	assert_null(process_link_exchange(&link_, request("status"), -1, PATIENT_MS));
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(n_heard, 0);
}

static int word[2]; /* what one that is late waits for */

static void be_late(int fd, const char *op, int passed)
{
	static unsigned n;
	char text[64];

	if (n++ == 0 && read(word[0], text, 1) != 1)
		_exit(1);
	snprintf(text, sizeof(text), "{\"op\":\"%s\",\"ok\":true,\"n\":%u}", op, n);
	say(fd, text);
}

static void a_late_answer_is_not_that_of_the_next_request(void **state)
{
	json_t *m;
	char peek;

	assert_int_equal(pipe2(word, O_CLOEXEC), 0);
	start(be_late);
	assert_null(process_link_ask(&link_, request("status"), SHORT_MS));
	assert_int_equal(write(word[1], "", 1), 1);
	assert_int_equal(recv(link_.control, &peek, 1, MSG_PEEK), 1);
	m = process_link_ask(&link_, request("status"), PATIENT_MS);
	assert_int_equal(json_integer_value(json_object_get(m, "n")), 2);
	json_decref(m);
	close(word[0]);
	close(word[1]);
}

static void flood(int fd, const char *op, int passed)
{
	for (;;)
		say(fd, "{\"op\":\"wanted\",\"credential\":1}");
}

static void one_that_never_stops_talking_holds_nobody(void **state)
{
	mono_t begun;

	start(flood);
	/* It may need longer than that to begin. */
	do {
		begun = mono_now();
		assert_null(process_link_ask(&link_, request("status"), 4 * SHORT_MS));
		process_link_hear(&link_);
		assert_true(mono_ms_until(begun, mono_now()) < PATIENT_MS);
	} while (n_heard == 0);
}

static void say_nothing(int fd, const char *op, int passed)
{
}

static void one_that_does_not_take_a_policy_is_replaced(void **state)
{
	struct policy p;
	struct err e;

	start(answer_plainly);
	kill(link_.pid, SIGKILL);
	while (process_link_ask(&link_, request("status"), PATIENT_MS))
		;
	policy_init(&p);
	assert_int_equal(process_link_set_policy(&link_, &p, 2, &e), -1);
	policy_free(&p);
	assert_non_null(strstr(e.text, "the gate did not take the policy, and is replaced"));
	process_link_bury(&link_, &e);
	assert_string_equal(e.text, "the gate was ended by signal 9");
	assert_int_equal(link_.pid, 0);
	assert_int_equal(link_.pidfd, -1);
}

/* Its queue fills, and then nothing is sent any more: nothing waits either. */
static void one_that_hangs_costs_each_its_deadline(void **state)
{
	mono_t begun;

	start(say_nothing);
	kill(link_.pid, SIGSTOP);
	begun = mono_now();
	for (int i = 0; i < 4; i++)
		assert_null(process_link_ask(&link_, request("status"), SHORT_MS));
	assert_true(mono_ms_until(begun, mono_now()) < PATIENT_MS);
}

/* ---- The start ---- */

static void fail_in_words(const void *setup, int fd, pid_t supervisor)
{
	say(fd, "{\"op\":\"failed\",\"why\":\"no memory for keys\"}");
	_exit(1);
}

static void end_without_a_word(const void *setup, int fd, pid_t supervisor)
{
	_exit(1);
}

static void one_that_does_not_start_says_why(void **state)
{
	static const struct {
		process_become_fn *become;
		const char *says;
	} rows[] = {
		{fail_in_words, "no memory for keys"},
		{end_without_a_word, "the broker did not start: Connection reset by peer"},
	};
	struct err e;

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		link_ = (struct process_link){.what = "broker"};
		assert_int_equal(process_link_fork(&link_, rows[i].become, NULL, &e), 0);
		assert_null(process_link_await_ready(&link_, &e));
		assert_string_equal(e.text, rows[i].says);
		assert_int_equal(link_.pid, 0);
		assert_int_equal(link_.control, -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_answer_is_one_with_ok, end),
		cmocka_unit_test_teardown(a_refusal_is_told_in_its_words_and_harmless, end),
		cmocka_unit_test_teardown(a_descriptor_goes_along, end),
		cmocka_unit_test_teardown(what_is_said_unasked_is_heard_meanwhile, end),
		cmocka_unit_test_teardown(who_talks_nonsense_has_not_answered, end),
		cmocka_unit_test_teardown(a_late_answer_is_not_that_of_the_next_request, end),
		cmocka_unit_test_teardown(one_that_never_stops_talking_holds_nobody, end),
		cmocka_unit_test_teardown(one_that_does_not_take_a_policy_is_replaced, end),
		cmocka_unit_test_teardown(one_that_hangs_costs_each_its_deadline, end),
		cmocka_unit_test_teardown(one_that_does_not_start_says_why, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
