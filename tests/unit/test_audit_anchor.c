/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "audit/anchor.h"
#include "audit/anchors.h"
#include "audit_folder.h"

static const struct audit_log_options options = {.origin = "sandgate/test/alpha"};

struct rig {
	struct folder log, out;
	char path[128];	  /* in `out` */
	char *checkpoint; /* of the log */
};

static struct rig rig_make(void)
{
	struct rig r = {.log = folder_make(), .out = folder_make()};
	struct audit_log *l = log_open(&r.log, &options);

	assert_int_equal(log_add(l, 1), 0);
	audit_log_close(l);
	r.checkpoint = folder_read(r.log.fd, "checkpoint", NULL);
	snprintf(r.path, sizeof(r.path), "%s/kept", r.out.path);
	return r;
}

static void rig_end(struct rig *r)
{
	free(r->checkpoint);
	folder_remove(&r->log);
	folder_remove(&r->out);
}

/* The log holds against what was kept. */
static void assert_anchors(const struct rig *r, const char *kept, unsigned n)
{
	struct audit_verdict v;
	struct err e;

	if (audit_verify(r->log.fd, span_of_string(kept), span_of("", 0), &v, &e) < 0)
		fail_msg("%s", e.text);
	assert_true(v.holds);
	assert_int_equal(v.anchors, n);
}

static void a_file_collects_checkpoints(void **state)
{
	struct rig r = rig_make();
	const struct audit_anchor a = {.file = r.path};
	struct err e;
	char *kept;

	assert_int_equal(audit_anchor_push(&a, "alpha", r.checkpoint, &e), 0);
	assert_int_equal(audit_anchor_push(&a, "alpha", r.checkpoint, &e), 0);
	kept = folder_read(r.out.fd, "kept", NULL);
	assert_anchors(&r, kept, 2);
	free(kept);
	rig_end(&r);
}

/* The disk was full in the middle of a note: the next one is read, and nobody is accused. */
static void a_part_of_a_checkpoint_says_nothing(void **state)
{
	struct rig r = rig_make();
	const struct audit_anchor a = {.file = r.path};
	size_t n = strlen(r.checkpoint);

	for (size_t cut = 1; cut <= n; cut++) {
		struct err e;
		char *kept;

		folder_write(r.out.fd, "kept", r.checkpoint, cut);
		assert_int_equal(audit_anchor_push(&a, "alpha", r.checkpoint, &e), 0);
		assert_int_equal(audit_anchor_push(&a, "alpha", r.checkpoint, &e), 0);
		kept = folder_read(r.out.fd, "kept", NULL);
		/* All but its last newline is all of it. */
		assert_anchors(&r, kept, cut >= n - 1 ? 3 : 2);
		free(kept);
	}
	rig_end(&r);
}

/* Alone it is no anchor, and that is said. */
static void parts_alone_are_no_anchor(void **state)
{
	struct rig r = rig_make();
	struct audit_verdict v;

	for (size_t cut = 1; cut + 1 < strlen(r.checkpoint); cut++) {
		struct err e = {""};

		assert_int_equal(
			audit_verify(r.log.fd, span_of(r.checkpoint, cut), span_of("", 0), &v, &e),
			-1);
		assert_non_null(strstr(e.text, "is in it"));
	}
	rig_end(&r);
}

static void a_command_gets_it_as_its_input(void **state)
{
	struct rig r = rig_make();
	char script[400];
	char *const command[] = {"/bin/sh", "-c", script, NULL};
	const struct audit_anchor a = {.command = command};
	struct err e;
	char *kept;

	snprintf(script, sizeof(script),
		 "cat >%s; echo $SANDGATE_NAME >>%s; echo noise; echo noise >&2", r.path, r.path);
	assert_int_equal(audit_anchor_push(&a, "alpha", r.checkpoint, &e), 0);
	kept = folder_read(r.out.fd, "kept", NULL);
	assert_non_null(strstr(kept, "\nalpha\n"));
	assert_anchors(&r, kept, 1);
	free(kept);
	rig_end(&r);
}

static void a_command_that_fails_is_said(void **state)
{
	static const struct {
		const char *script, *why;
	} bad[] = {
		{"exit 3", "audit.anchor: /bin/sh: ended with status 3"},
		{"kill -9 $$", "audit.anchor: /bin/sh: was ended by signal 9"},
	};
	char *const missing[] = {"/nonexistent/anchor", NULL};
	const struct audit_anchor none = {.command = missing};
	struct err e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *const command[] = {"/bin/sh", "-c", (char *)bad[i].script, NULL};
		const struct audit_anchor a = {.command = command};

		assert_int_equal(audit_anchor_push(&a, "alpha", "x", &e), -1);
		assert_string_equal(e.text, bad[i].why);
	}
	assert_int_equal(audit_anchor_push(&none, "alpha", "x", &e), -1);
	assert_string_equal(e.text,
			    "audit.anchor: /nonexistent/anchor: cannot be run; is it there, and "
			    "executable?");
}

/* One that fails does not keep the checkpoint from the others. */
static void every_place_is_tried(void **state)
{
	struct rig r = rig_make();
	char script[400];
	char *const command[] = {"/bin/sh", "-c", script, NULL};
	const struct audit_anchor a = {.file = "/nonexistent/anchor", .command = command};
	struct err e;
	char *kept;

	snprintf(script, sizeof(script), "cat >%s", r.path);
	assert_int_equal(audit_anchor_push(&a, "alpha", r.checkpoint, &e), -1);
	assert_string_equal(e.text, "audit.anchor: /nonexistent/anchor: No such file or directory");
	kept = folder_read(r.out.fd, "kept", NULL);
	assert_string_equal(kept, r.checkpoint);
	free(kept);
	rig_end(&r);
}

/* What syslog writes, with whatever it puts before it, is an anchor as it is. */
static void a_line_of_syslog_is_an_anchor(void **state)
{
	struct rig r = rig_make();
	char line[ANCHORS_LINE_MAX], log[4096];

	assert_true(anchors_print_line(span_of_string(r.checkpoint), line));
	for (const char *c = line; *c; c++)
		assert_in_range(*c, 0x20, 0x7e);
	snprintf(log, sizeof(log),
		 "Nov 29 18:00:00 host cron[1]: something else\n"
		 "Nov 29 18:00:01 host sandgate[2]: %s\n\n%s\nNov 29 18:00:02 host cron[1]: more\n"
		 "2026-11-29T18:00:01.123+00:00 host sandgate[2]: %s\n",
		 line, r.checkpoint, line);
	assert_anchors(&r, log, 3);
	rig_end(&r);
}

/* Where syslog() sends to, in a /dev of this process's own. */
static int listen_as_syslog(void)
{
	const struct sockaddr_un at = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	const struct timeval limit = {.tv_sec = 10};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", "/dev", "tmpfs", 0, NULL) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0)
		return -1;
	return fd;
}

static int push_to_own_syslog(const struct rig *r)
{
	const struct audit_anchor a = {.syslog = true};
	char got[2048];
	struct err e;
	int fd = listen_as_syslog();
	ssize_t n;

	assert_true(fd >= 0);
	assert_int_equal(audit_anchor_push(&a, "alpha", r->checkpoint, &e), 0);
	n = recv(fd, got, sizeof(got) - 2, 0);
	assert_true(n > 0);
	got[n] = '\n';
	got[n + 1] = 0;
	assert_non_null(strstr(got, "sandgate["));
	assert_anchors(r, got, 1);
	return 0;
}

static void syslog_gets_a_line(void **state)
{
	struct rig r = rig_make();
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(push_to_own_syslog(&r));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rig_end(&r);
}

static void a_forged_line_is_found(void **state)
{
	struct rig r = rig_make();
	char line[ANCHORS_LINE_MAX + 1], *size;
	struct audit_verdict v;
	struct err e;

	assert_true(anchors_print_line(span_of_string(r.checkpoint), line));
	strcat(line, "\n");
	size = strstr(line, " 1 ");
	assert_non_null(size);
	size[1] = '2';
	assert_int_equal(audit_verify(r.log.fd, span_of_string(line), span_of("", 0), &v, &e), 0);
	assert_false(v.holds);
	assert_non_null(strstr(v.why.text, "its signature is bad"));
	rig_end(&r);
}

static void what_is_no_checkpoint_has_no_line(void **state)
{
	const struct audit_anchor a = {.syslog = true};
	char line[ANCHORS_LINE_MAX];
	struct err e;

	assert_false(anchors_print_line(span_of_string("text\n"), line));
	assert_int_equal(audit_anchor_push(&a, "alpha", "text\n", &e), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_collects_checkpoints),
		cmocka_unit_test(a_part_of_a_checkpoint_says_nothing),
		cmocka_unit_test(parts_alone_are_no_anchor),
		cmocka_unit_test(a_command_gets_it_as_its_input),
		cmocka_unit_test(a_command_that_fails_is_said),
		cmocka_unit_test(every_place_is_tried),
		cmocka_unit_test(a_line_of_syslog_is_an_anchor),
		cmocka_unit_test(syslog_gets_a_line),
		cmocka_unit_test(a_forged_line_is_found),
		cmocka_unit_test(what_is_no_checkpoint_has_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
