/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "sandbox/control/client.h"
#include "sandbox/control/control.h"
#include "sandbox/runtime_dir.h"
#include "person.h"

static char runtime[64];

static int make_person(void **state)
{
	return person_become("XDG_RUNTIME_DIR", runtime);
}

static int remove_person(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/sandgate", runtime);
	rmdir(path);
	return rmdir(runtime);
}

static void claim(struct runtime_dir *d, const char *wanted, const char *path)
{
	struct err e;

	if (runtime_dir_claim(d, wanted, path, &e))
		fail_msg("%s", e.text);
}

/* A supervisor of its own, whose locks are its own; SIGUSR1 is its orderly end. */
struct other {
	pid_t pid;
	char name[SANDBOX_NAME_SIZE];
};

static void sg_noreturn be_other(const char *wanted, int say, const sigset_t *end)
{
	struct runtime_dir d;
	int signo;

	if (runtime_dir_claim(&d, wanted, "/srv/project", NULL) ||
	    write(say, d.name, sizeof(d.name)) < 0)
		_exit(1);
	sigwait(end, &signo);
	runtime_dir_release(&d);
	_exit(0);
}

static void start_other(struct other *o, const char *wanted)
{
	sigset_t end;
	int said[2];

	sigemptyset(&end);
	sigaddset(&end, SIGUSR1);
	sigprocmask(SIG_BLOCK, &end, NULL);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	o->pid = fork();
	if (o->pid == 0)
		be_other(wanted, said[1], &end);
	close(said[1]);
	assert_int_equal(read(said[0], o->name, sizeof(o->name)), sizeof(o->name));
	close(said[0]);
}

static void end_other(struct other *o, int signo)
{
	kill(o->pid, signo);
	assert_int_equal(waitpid(o->pid, NULL, 0), o->pid);
}

static void assert_names(const char *first, const char *second)
{
	struct err e;
	char **names = client_list_names(&e);

	assert_non_null(names);
	if (first)
		assert_string_equal(names[0], first);
	else
		assert_null(names[0]);
	if (first && second)
		assert_string_equal(names[1], second);
	else if (first)
		assert_null(names[1]);
	client_free_names(names);
}

static void a_made_name_gets_a_number_when_it_is_taken(void **state)
{
	struct other a, b;

	assert_names(NULL, NULL);
	start_other(&a, NULL);
	start_other(&b, NULL);
	assert_string_equal(a.name, "project");
	assert_string_equal(b.name, "project-2");
	assert_names("project", "project-2");
	end_other(&a, SIGUSR1);
	assert_names("project-2", NULL);
	end_other(&b, SIGUSR1);
	assert_names(NULL, NULL);
}

static void a_wanted_name_that_is_taken_is_refused(void **state)
{
	struct runtime_dir d;
	struct other a;
	struct err e;

	start_other(&a, "box");
	assert_int_equal(runtime_dir_claim(&d, "box", "/x", &e), -EEXIST);
	assert_non_null(strstr(e.text, "box"));
	assert_int_equal(runtime_dir_claim(&d, "ls", "/x", &e), -1);
	assert_int_equal(runtime_dir_claim(&d, "Box", "/x", &e), -1);
	end_other(&a, SIGUSR1);
}

struct held {
	int go, said; /* of the one that wants the name; -1: none does */
	int calls, answer;
};

/* Who wants the name meanwhile has not got it before this returns. */
static int hold(void *ctx, struct err *e)
{
	struct held *h = ctx;
	struct pollfd f = {.fd = h->said, .events = POLLIN};

	h->calls++;
	if (h->go < 0)
		return h->answer;
	assert_int_equal(write(h->go, "", 1), 1);
	assert_int_equal(poll(&f, 1, 100), 0);
	return h->answer;
}

/* Forked before the lock is there: a copy of the lock's descriptor would hold it. */
static void start_one_that_waits(struct other *o, struct held *h)
{
	sigset_t end;
	int go[2], said[2];
	char octet;

	sigemptyset(&end);
	sigaddset(&end, SIGUSR1);
	sigprocmask(SIG_BLOCK, &end, NULL);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	o->pid = fork();
	if (o->pid == 0) {
		close(go[1]);
		if (read(go[0], &octet, 1) != 1)
			_exit(1);
		be_other("box", said[1], &end);
	}
	close(go[0]);
	close(said[1]);
	h->go = go[1];
	h->said = said[0];
}

static void nobody_takes_a_name_while_it_is_held_free(void **state)
{
	struct held h = {.answer = 7};
	struct other a;
	struct err e;

	start_one_that_waits(&a, &h);
	assert_int_equal(registry_while_free("box", hold, &h, &e), 7);
	assert_int_equal(h.calls, 1);
	assert_int_equal(read(h.said, a.name, sizeof(a.name)), sizeof(a.name));
	close(h.said);
	close(h.go);
	/* Now it is taken; another name is not. */
	h.go = -1;
	assert_int_equal(registry_while_free("box", hold, &h, &e), -EEXIST);
	assert_int_equal(h.calls, 1);
	assert_non_null(strstr(e.text, "box: a sandbox of that name runs"));
	assert_int_equal(registry_while_free("other", hold, &h, &e), 7);
	assert_int_equal(h.calls, 2);
	end_other(&a, SIGKILL);
	/* What is left of one that was killed is nobody's. */
	assert_int_equal(registry_while_free("box", hold, &h, &e), 7);
	assert_names(NULL, NULL);
}

static void a_reserved_word_as_a_folder_gets_a_number(void **state)
{
	struct runtime_dir d;

	claim(&d, NULL, "/home/u/net");
	assert_string_equal(d.name, "net-2");
	runtime_dir_release(&d);
}

static void what_a_killed_supervisor_left_is_taken_away(void **state)
{
	struct runtime_dir d;
	struct other a;
	char path[256];
	struct stat st;

	start_other(&a, "box");
	end_other(&a, SIGKILL);
	snprintf(path, sizeof(path), "%s/sandgate/box/lock", runtime);
	assert_int_equal(stat(path, &st), 0);
	assert_names(NULL, NULL);
	assert_int_equal(stat(path, &st), -1);

	start_other(&a, "box");
	end_other(&a, SIGKILL);
	claim(&d, "box", "/x");
	runtime_dir_release(&d);
}

static void the_folder_is_private(void **state)
{
	struct runtime_dir d;
	struct stat st;
	struct err e;
	struct registry r;
	char path[128];
	static const mode_t wrong_modes[] = {0755, 0500};

	claim(&d, "box", "/x");
	assert_int_equal(fstat(d.fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(fstat(d.registry.fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	runtime_dir_release(&d);

	snprintf(path, sizeof(path), "%s/sandgate", runtime);
	for (size_t i = 0; i < sg_array_len(wrong_modes); i++) {
		assert_int_equal(chmod(path, wrong_modes[i]), 0);
		assert_int_not_equal(registry_open(&r, true, &e), 0);
		assert_non_null(strstr(e.text, "with mode 0700; remove it"));
	}
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/tmp", path), 0);
	assert_int_not_equal(registry_open(&r, true, &e), 0);
	assert_non_null(strstr(e.text, "with mode 0700; remove it"));
	assert_int_equal(unlink(path), 0);
	setenv("XDG_RUNTIME_DIR", "/", 1);
	assert_int_not_equal(registry_open(&r, true, &e), 0);
	assert_non_null(strstr(e.text, "not yours"));
	setenv("XDG_RUNTIME_DIR", runtime, 1);
}

/* A umask is for what the command makes; the folder stays its owner's, and the mask what it was. */
static void a_umask_shuts_nobody_out(void **state)
{
	mode_t before = umask(0777);
	struct runtime_dir d;

	claim(&d, "box", "/x");
	assert_int_equal(faccessat(d.fd, "lock", R_OK | W_OK, 0), 0);
	assert_int_equal(umask(before), 0777);
	runtime_dir_release(&d);
}

/* --- the control socket --- */

static json_t *echo(void *ctx, const json_t *request, const struct ucred *who)
{
	return json_pack("{s:O}", "asked", json_object_get(request, "op"));
}

static void serve_until(struct control *c, bool (*done)(void *ctx), void *ctx)
{
	mono_t end = mono_add_ms(mono_now(), 8000);

	while (!done(ctx) && mono_before(mono_now(), end)) {
		struct pollfd fds[CONTROL_FDS];
		size_t n = control_poll(c, fds);

		poll(fds, n, 20);
		control_serve(c, fds, n, mono_now());
	}
}

static bool child_has_ended(void *ctx)
{
	return waitpid(*(pid_t *)ctx, NULL, WNOHANG) != 0;
}

static void a_question_gets_its_answer(void **state)
{
	struct runtime_dir d;
	struct control *c;
	struct err e;
	int said[2];
	char text[64] = "";
	pid_t pid;

	claim(&d, "box", "/x");
	c = control_open(d.fd, echo, NULL, &e);
	assert_non_null(c);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		json_t *m = client_ask("box", "egress", &e);
		const char *s = json_string_value(json_object_get(m, "asked"));

		_exit(s && write(said[1], s, strlen(s)) > 0 ? 0 : 1);
	}
	close(said[1]);
	serve_until(c, child_has_ended, &pid);
	assert_true(read(said[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "egress");
	close(said[0]);
	control_close(c);
	runtime_dir_release(&d);
	assert_null(client_ask("box", "ls", &e));
	assert_non_null(strstr(e.text, "no sandbox of that name"));
}

/* What is not a request is answered with an error or dropped; the server goes on. */
static void hostile_peers_do_not_hold_it_up(void **state)
{
	static const struct {
		const char *octets;
		size_t n;
	} rows[] = {
		{"\0\0\0\2[]", 6},	{"\0\0\0\0", 4}, {"\xff\xff\xff\xff", 4},
		{"\0\0\0\x05hello", 9}, {"\0", 1},	 {"\0\0\0\x7f{\"op\":", 10},
		{"\0\1\0\1x", 5},
	};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct runtime_dir d;
	struct control *c;
	struct err e;
	mono_t at;

	claim(&d, "box", "/x");
	c = control_open(d.fd, echo, NULL, &e);
	assert_non_null(c);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/sandgate/box/control", runtime);
	for (size_t i = 0; i < 10 * sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		struct pollfd fds[CONTROL_FDS];

		if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
			assert_true(send(fd, rows[i % 7].octets, rows[i % 7].n, MSG_NOSIGNAL) > 0);
		for (int turn = 0; turn < 4; turn++) {
			size_t n = control_poll(c, fds);

			poll(fds, n, 0);
			control_serve(c, fds, n, mono_now());
		}
		if (i % 3)
			close(fd);
	}
	assert_true(control_next_deadline(c, &at));
	control_serve(c, NULL, 0, mono_add_ms(mono_now(), 60000));
	assert_false(control_next_deadline(c, &at));
	control_close(c);
	runtime_dir_release(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_made_name_gets_a_number_when_it_is_taken),
		cmocka_unit_test(a_wanted_name_that_is_taken_is_refused),
		cmocka_unit_test(nobody_takes_a_name_while_it_is_held_free),
		cmocka_unit_test(a_reserved_word_as_a_folder_gets_a_number),
		cmocka_unit_test(what_a_killed_supervisor_left_is_taken_away),
		cmocka_unit_test(the_folder_is_private),
		cmocka_unit_test(a_umask_shuts_nobody_out),
		cmocka_unit_test(a_question_gets_its_answer),
		cmocka_unit_test(hostile_peers_do_not_hold_it_up),
	};

	return cmocka_run_group_tests(tests, make_person, remove_person);
}
