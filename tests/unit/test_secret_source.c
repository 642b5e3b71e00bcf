/* SPDX-License-Identifier: Apache-2.0 */
/* Where secrets come from (docs/policy.md, "Credentials"); what fails names the source and never
 * the secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "sandbox/secret/secret_source.h"

#define SECRET "the-s3cret-value"

struct place {
	char folder[64];
	char *path; /* PATH as it was */
};

static uint8_t room[SECRET_SOURCE_MAX];
static struct buf out;
static struct err e;

static int read_at(const char *from, const char *host)
{
	struct secret_request r = {.from = from, .host = host, .timeout_ms = 20000};

	memset(room, 0, sizeof(room));
	out = buf_of(room, sizeof(room));
	return secret_source_read(&r, &out, &e);
}

static int read_source(const char *from)
{
	return read_at(from, "api.github.com");
}

static void assert_gives(const char *from, const char *text)
{
	if (read_source(from))
		fail_msg("%s", e.text);
	if (!span_equal(buf_span(&out), span_of_string(text)))
		fail_msg("%s: %.*s", from, (int)out.n, (const char *)out.p);
}

static void assert_fails(const char *from, const char *says)
{
	assert_int_equal(read_source(from), -1);
	if (!strstr(e.text, says) || strncmp(e.text, from, strlen(from)) != 0)
		fail_msg("%s\n  want: %s\n  got: %s", from, says, e.text);
	assert_null(strstr(e.text, SECRET));
	assert_int_equal(out.n, 0);
	assert_null(memmem(room, sizeof(room), SECRET, strlen(SECRET)));
}

static char *put_file(const struct place *p, const char *name, const char *text, mode_t mode)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", p->folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static int begin(void **state)
{
	static struct place p;

	strcpy(p.folder, "/tmp/sandgate-source-XXXXXX");
	if (!mkdtemp(p.folder))
		return -1;
	p.path = strdup(getenv("PATH"));
	*state = &p;
	return 0;
}

static int end(void **state)
{
	struct place *p = *state;
	char command[128];

	setenv("PATH", p->path, 1);
	free(p->path);
	snprintf(command, sizeof(command), "rm -r %s", p->folder);
	return system(command);
}

static void a_file_is_the_persons_alone(void **state)
{
	static const mode_t open_modes[] = {0644, 0640, 0604, 0620, 0601};
	struct place *p = *state;
	char from[256];

	snprintf(from, sizeof(from), "file:%s", put_file(p, "a", SECRET "\n", 0600));
	assert_gives(from, SECRET "\n");
	for (size_t i = 0; i < sg_array_len(open_modes); i++) {
		chmod(from + 5, open_modes[i]);
		assert_fails(from, "other users may use the file");
		assert_non_null(strstr(e.text, "chmod 600"));
	}
	chmod(from + 5, 0400);
	assert_gives(from, SECRET "\n");
	if (geteuid() == 0) {
		assert_int_equal(chown(from + 5, 12345, 0), 0);
		assert_fails(from, "belongs to another user");
	}
	snprintf(from, sizeof(from), "file:%s", p->folder);
	assert_fails(from, "not a regular file");
	snprintf(from, sizeof(from), "file:%s/none", p->folder);
	assert_fails(from, "No such file");
}

static void a_file_is_found_at_home(void **state)
{
	struct place *p = *state;
	char *before = getenv("HOME") ? strdup(getenv("HOME")) : NULL;

	put_file(p, "token", SECRET, 0600);
	setenv("HOME", p->folder, 1);
	assert_gives("file:~/token", SECRET);
	if (before)
		setenv("HOME", before, 1);
	free(before);
}

/* What blocks whoever opens it is refused, not waited for. */
static void a_pipe_is_no_file(void **state)
{
	struct place *p = *state;
	char from[256];

	snprintf(from, sizeof(from), "file:%s/fifo", p->folder);
	assert_int_equal(mkfifo(from + 5, 0600), 0);
	assert_fails(from, "not a regular file");
}

static void what_is_too_big_is_no_secret(void **state)
{
	static char big[SECRET_SOURCE_MAX + 2];
	struct place *p = *state;
	char from[256];

	memset(big, 'x', SECRET_SOURCE_MAX + 1);
	snprintf(from, sizeof(from), "file:%s", put_file(p, "big", big, 0600));
	assert_fails(from, "more than 16384 octets");
	snprintf(from, sizeof(from), "command:cat %s/big", p->folder);
	assert_fails(from, "more than 16384 octets");
}

static char *script(const struct place *p, const char *name, const char *text)
{
	static char from[256];
	char whole[1024];

	snprintf(whole, sizeof(whole), "#!/bin/sh\n%s\n", text);
	snprintf(from, sizeof(from), "command:%s", put_file(p, name, whole, 0700));
	return from;
}

static void a_command_is_run_without_a_shell(void **state)
{
	struct place *p = *state;

	assert_gives("command:printf %s-%s a b", "a-b");
	assert_gives("command:/bin/echo  x   y ", "x y\n");
	assert_gives(script(p, "in", "cat; echo got; ls /proc/self/fd | wc -l"), "got\n4\n");
	assert_fails("command:sandgate-no-such-program x", "there is no program");
}

/* An entry of PATH that is no whole path is in a folder that a sandbox may write. */
static void a_command_is_not_found_beside_us(void **state)
{
	struct place *p = *state;
	char before[4096];

	assert_non_null(getcwd(before, sizeof(before)));
	script(p, "planted", "echo planted");
	assert_int_equal(chdir(p->folder), 0);
	setenv("PATH",
	       ".::"
	       "bin:",
	       1);
	assert_fails("command:planted", "there is no program `planted`; write its whole path");
	assert_int_equal(chdir(before), 0);
	setenv("PATH", p->path, 1);
}

static void a_command_that_fails_says_what_it_said(void **state)
{
	struct place *p = *state;

	assert_fails(
		script(p, "a", "echo " SECRET "; echo one >&2; echo 'not signed in' >&2; exit 3"),
		"it ended with status 3: not signed in");
	assert_fails(script(p, "b", "printf 'bad \\033[31m' >&2; exit 1"), "status 1: bad ?[31m");
	assert_fails(script(p, "c", "kill -9 $$"), "ended by signal 9");
	assert_fails(
		script(p, "d",
		       "head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2; exit 1"),
		"status 1: end");
}

static void a_command_has_its_time(void **state)
{
	struct place *p = *state;
	struct secret_request r = {.host = "a.example", .timeout_ms = 300};

	r.from = script(p, "slow", "echo " SECRET "; exec sleep 1000");
	out = buf_of(room, sizeof(room));
	assert_int_equal(secret_source_read(&r, &out, &e), -1);
	assert_non_null(strstr(e.text, "it did not end within 1 seconds; it was ended"));
	assert_int_equal(out.n, 0);
}

static bool has_ended(const char *pid)
{
	char path[64], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return !text[0] || strstr(text, ") Z");
}

static void assert_ends(const char *pid)
{
	for (unsigned i = 0; i < 1000 && !has_ended(pid); i++)
		usleep(10000);
	assert_true(has_ended(pid));
}

/* Its own end counts, not that of what it leaves behind with its output open. */
static void what_it_leaves_is_ended(void **state)
{
	struct place *p = *state;
	char pid[32];

	assert_int_equal(read_source(script(p, "leaves", "sleep 1000 & echo $!")), 0);
	snprintf(pid, sizeof(pid), "%d", atoi((char *)room));
	assert_ends(pid);
}

static void plant(struct place *p, const char *name, const char *text)
{
	char path[4200];

	script(p, name, text);
	snprintf(path, sizeof(path), "%s:%s", p->folder, p->path);
	setenv("PATH", path, 1);
}

static void a_keyring_is_asked(void **state)
{
	struct place *p = *state;

	setenv("PATH", p->folder, 1);
	assert_fails("keyring:example/me", "apt-get install libsecret-tools");
	plant(p, "secret-tool", "echo $#:$1:$2:$3:$4:$5");
	assert_gives("keyring:example/me", "5:lookup:service:example:account:me\n");
	assert_gives("keyring:example", "3:lookup:service:example::\n");
	plant(p, "secret-tool", "exit 0");
	assert_fails("keyring:example", "the keyring has no such secret");
	setenv("PATH", p->path, 1);
}

static void gh_is_asked_and_then_git(void **state)
{
	struct place *p = *state;

	plant(p, "gh", "echo $1-$2-$3-$4");
	assert_gives("git", "auth-token---hostname-github.com\n");
	plant(p, "gh", "echo 'not logged in' >&2; exit 1");
	plant(p, "git",
	      "cat >&2; test \"$GIT_TERMINAL_PROMPT\" = 0 && printf "
	      "'protocol=https\\nusername=me\\npassword=" SECRET "\\n'");
	assert_gives("git", SECRET);
	plant(p, "git", "sed -n 's/^host=/username=/p'");
	assert_fails("git", "gh: it ended with status 1: not logged in; git: git has no password");
	assert_non_null(strstr(e.text, "sign in with gh or git outside"));
	plant(p, "gh", "echo the-token-of-gh");
	assert_gives("git", "the-token-of-gh\n");
	assert_int_equal(read_at("git", "gitlab.com"), -1);
	assert_non_null(strstr(e.text, "gh: it is for GitHub"));
	setenv("PATH", p->path, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_the_persons_alone, begin, end),
		cmocka_unit_test_setup_teardown(a_file_is_found_at_home, begin, end),
		cmocka_unit_test_setup_teardown(a_pipe_is_no_file, begin, end),
		cmocka_unit_test_setup_teardown(what_is_too_big_is_no_secret, begin, end),
		cmocka_unit_test_setup_teardown(a_command_is_run_without_a_shell, begin, end),
		cmocka_unit_test_setup_teardown(a_command_is_not_found_beside_us, begin, end),
		cmocka_unit_test_setup_teardown(a_command_that_fails_says_what_it_said, begin, end),
		cmocka_unit_test_setup_teardown(a_command_has_its_time, begin, end),
		cmocka_unit_test_setup_teardown(what_it_leaves_is_ended, begin, end),
		cmocka_unit_test_setup_teardown(a_keyring_is_asked, begin, end),
		cmocka_unit_test_setup_teardown(gh_is_asked_and_then_git, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
