/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the containers of a network trust: in real folders, below a /run of this process's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/files/shared_trust.h"
#include "sandbox/runtime_dir.h"

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END   "\n-----END CERTIFICATE-----\n"
/* Three that differ: a SEQUENCE of one number. */
#define ONE   BEGIN "MAMCAQE=" END
#define TWO   BEGIN "MAMCAQI=" END
#define THREE BEGIN "MAMCAQM=" END
#define HOST  "# the host's\n" BEGIN "MAMCAQk=" END

#define BASE   SHARED_TRUST_BASE
#define NET    BASE "/net1"
#define BUNDLE NET "/ca/bundle.pem"
#define EXTRA  NET "/ca/extra.pem"

enum { STRANGER = 54321, TEXT_MAX = 4096 };

/* --- the place --- */

static int own_mounts(void **state)
{
	return unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
		       ? -1
		       : 0;
}

static int make_run(void **state)
{
	return mount("tmpfs", "/run", "tmpfs", 0, "mode=755");
}

static int end_run(void **state)
{
	return umount2("/run", MNT_DETACH);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void assert_holds(const char *path, const char *text)
{
	char got[TEXT_MAX] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, text);
	close(fd);
}

static void assert_gone(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), -1);
	assert_int_equal(errno, ENOENT);
}

static void assert_mode(const char *path, mode_t mode)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	if ((st.st_mode & 07777) != mode)
		fail_msg("%s: %o", path, st.st_mode & 07777);
}

/* --- what is asked --- */

static int put_of(const char *sandbox, const char *pem, struct err *e)
{
	const struct host_bundle host = {.text = {HOST, strlen(HOST)}};

	return shared_trust_put("net1", sandbox, &host, span_of_string(pem), e);
}

static void put(const char *sandbox, const char *pem)
{
	struct err e;

	if (put_of(sandbox, pem, &e))
		fail_msg("%s", e.text);
}

static void assert_refused(const char *why)
{
	struct err e = {""};

	assert_int_equal(put_of("own", ONE, &e), -1);
	if (!strstr(e.text, why) || !strstr(e.text, BASE "/net1"))
		fail_msg("%s", e.text);
}

/* A supervisor of its own, which puts its authority and lives on. */
static pid_t start_other(const char *name, const char *pem)
{
	int said[2];
	pid_t pid;
	char octet;

	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		struct runtime_dir d;
		struct err e;

		if (runtime_dir_claim(&d, name, "/", &e) || put_of(name, pem, &e) ||
		    write(said[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(said[1]);
	assert_int_equal(read(said[0], &octet, 1), 1);
	close(said[0]);
	return pid;
}

static void end_other(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* --- good ones --- */

static void an_authority_stands_before_the_host_s(void **state)
{
	char path[PATH_MAX];

	put("own", ONE);
	assert_string_equal(shared_trust_path("net1", path), NET "/ca");
	assert_holds(BUNDLE, ONE "\n" HOST);
	assert_holds(EXTRA, ONE "\n");
	put("own", TWO);
	assert_holds(BUNDLE, TWO "\n" HOST);
	put("own", "");
	assert_holds(BUNDLE, "\n" HOST);
}

/* Whoever may open it for reading may lock it. */
static void nobody_but_root_opens_more_than_is_mounted(void **state)
{
	put("own", ONE);
	assert_mode(BASE, 0755);
	assert_mode(NET, 0711);
	assert_mode(NET "/ca", 0755);
	assert_mode(NET "/of", 0700);
	assert_mode(NET "/of/own", 0400);
	assert_mode(BUNDLE, 0444);
	/* Where dockerd was first. */
	assert_int_equal(mkdir(BASE "/net2", 0755), 0);
	assert_int_equal(shared_trust_refresh("net2", &(struct err){""}), 0);
	assert_mode(BASE "/net2", 0711);
}

static void those_that_live_are_trusted(void **state)
{
	pid_t other = start_other("other", TWO);
	struct err e;

	put("own", ONE);
	assert_holds(NET "/of/other", TWO);
	assert_true(strlen(ONE) == strlen(TWO));
	{
		char got[TEXT_MAX] = "";
		int fd = open(BUNDLE, O_RDONLY | O_CLOEXEC);

		assert_true(read(fd, got, sizeof(got) - 1) > 0);
		close(fd);
		assert_non_null(strstr(got, ONE "\n"));
		assert_non_null(strstr(got, TWO "\n"));
		assert_int_equal(strlen(got), strlen(ONE "\n" TWO "\n" HOST));
	}
	end_other(other);
	put("own", THREE);
	assert_holds(BUNDLE, THREE "\n" HOST);
	assert_gone(NET "/of/other");
	/* To the driver, who is no sandbox, this one lives no more either: it has no name. */
	setenv("SSL_CERT_FILE", "/run/host.pem", 1);
	write_file("/run/host.pem", HOST);
	assert_int_equal(shared_trust_refresh("net1", &e), 0);
	unsetenv("SSL_CERT_FILE");
	assert_holds(BUNDLE, HOST);
	assert_gone(NET "/of/own");
}

static void what_a_write_left_half_made_goes(void **state)
{
	put("own", ONE);
	write_file(NET "/of/.own.1.new", TWO);
	write_file(NET "/of/Not_a_name", TWO);
	put("own", ONE);
	assert_holds(BUNDLE, ONE "\n" HOST);
	assert_gone(NET "/of/.own.1.new");
	assert_gone(NET "/of/Not_a_name");
}

static void it_waits_for_who_is_changing_it(void **state)
{
	struct pollfd f = {.events = POLLIN};
	int said[2], lock, status;
	pid_t pid;

	put("own", ONE);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char octet;

		/* Not before the parent has the lock, of which a child would hold a copy. */
		if (read(said[0], &octet, 1) != 1 || put_of("own", TWO, &(struct err){""}))
			_exit(1);
		_exit(0);
	}
	lock = open(NET, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(lock, LOCK_EX), 0);
	assert_int_equal(write(said[1], "", 1), 1);
	poll(&f, 0, 100);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	assert_holds(BUNDLE, ONE "\n" HOST);
	close(lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_holds(BUNDLE, TWO "\n" HOST);
	close(said[0]);
	close(said[1]);
}

static void all_of_it_is_taken_away(void **state)
{
	struct err e;

	assert_int_equal(shared_trust_remove("net1", &e), 0);
	put("own", ONE);
	assert_int_equal(shared_trust_remove("net1", &e), 0);
	assert_gone(NET);
	assert_int_equal(shared_trust_remove("net1", &e), 0);
	/* What was made only by half. */
	assert_int_equal(mkdir(NET, 0755), 0);
	assert_int_equal(shared_trust_remove("net1", &e), 0);
	assert_gone(NET);
}

/* --- hostile ones --- */

static void what_is_no_certificate_is_not_put(void **state)
{
	static char large[CA_BUNDLE_HEAD + sizeof(ONE)];
	const char *const wrong[] = {"x",
				     ONE "x",
				     HOST,
				     "-----BEGIN PRIVATE KEY-----\nMAMCAQE=\n"
				     "-----END PRIVATE KEY-----\n",
				     BEGIN "MAMCAQ" END,
				     large};
	struct err e;

	memset(large, '\n', sizeof(large) - 1);
	memcpy(large, ONE, strlen(ONE));
	for (size_t i = 0; i < sg_array_len(wrong); i++) {
		assert_int_equal(put_of("own", wrong[i], &e), -1);
		assert_non_null(strstr(e.text, "no certificate"));
	}
	assert_gone(BASE);
}

/* Each folder in turn is a link to one that is root's, which would be as good. */
static void a_link_in_the_place_of_a_folder_is_refused(void **state)
{
	static const char *const links[] = {BASE, NET, NET "/ca", NET "/of"};
	struct err e;

	for (size_t i = 0; i < sg_array_len(links); i++) {
		assert_int_equal(mkdir("/run/elsewhere", 0755), 0);
		write_file("/run/elsewhere/own", "untouched");
		for (size_t j = 0; j < i && j < 2; j++)
			assert_int_equal(mkdir(links[j], 0755), 0);
		assert_int_equal(symlink("/run/elsewhere", links[i]), 0);
		assert_refused(strerror(ENOTDIR));
		assert_int_equal(shared_trust_remove("net1", &e), -1);
		assert_holds("/run/elsewhere/own", "untouched");
		assert_int_equal(end_run(state) || make_run(state), 0);
	}
}

/* The names in a folder that a container may be able to write are given new files. */
static void a_link_in_the_place_of_a_file_is_not_followed(void **state)
{
	pid_t other = start_other("other", TWO);

	write_file("/run/secret", THREE);
	put("own", ONE);
	assert_int_equal(unlink(BUNDLE) || symlink("/run/secret", BUNDLE), 0);
	assert_int_equal(unlink(NET "/of/own") || symlink("/run/secret", NET "/of/own"), 0);
	assert_int_equal(unlink(NET "/of/other") || symlink("/run/secret", NET "/of/other"), 0);
	put("own", ONE);
	assert_holds("/run/secret", THREE);
	assert_holds(BUNDLE, ONE "\n" HOST);
	assert_holds(NET "/of/own", ONE);
	assert_gone(NET "/of/other");
	assert_mode(BUNDLE, 0444);
	end_other(other);
}

/* Nothing of them waits for who opens it. */
static void what_is_no_file_is_not_read(void **state)
{
	pid_t other = start_other("other", TWO);
	struct err e;

	assert_int_equal(unlink(NET "/of/other") || mkfifo(NET "/of/other", 0600), 0);
	put("own", ONE);
	assert_holds(BUNDLE, ONE "\n" HOST);
	assert_gone(NET "/of/other");
	end_other(other);
	/* A folder in a file's place is not emptied: it is nobody's of ours. */
	assert_int_equal(unlink(BUNDLE) || mkdir(BUNDLE, 0700), 0);
	write_file(BUNDLE "/in", "untouched");
	assert_refused(strerror(EISDIR));
	assert_int_equal(shared_trust_remove("net1", &e), -1);
	assert_holds(BUNDLE "/in", "untouched");
}

static void folders_of_others_are_refused(void **state)
{
	static const char *const folders[] = {BASE, NET, NET "/ca", NET "/of"};
	struct err e;

	for (size_t i = 0; i < sg_array_len(folders); i++) {
		put("own", TWO);
		assert_int_equal(chown(folders[i], STRANGER, 0), 0);
		assert_refused("it must be root's alone to write");
		assert_int_equal(shared_trust_remove("net1", &e), -1);
		assert_int_equal(chown(folders[i], 0, STRANGER) || chmod(folders[i], 0770), 0);
		assert_refused("it must be root's alone to write");
		assert_int_equal(chown(folders[i], 0, 0) || chmod(folders[i], 0757), 0);
		assert_refused("it must be root's alone to write");
		assert_holds(BUNDLE, TWO "\n" HOST);
		assert_int_equal(end_run(state) || make_run(state), 0);
	}
}

static void a_file_of_another_s_is_not_believed(void **state)
{
	pid_t other = start_other("other", TWO);

	assert_int_equal(chown(NET "/of/other", STRANGER, 0), 0);
	put("own", ONE);
	assert_holds(BUNDLE, ONE "\n" HOST);
	assert_gone(NET "/of/other");
	end_other(other);
	other = start_other("another", TWO);
	assert_int_equal(chmod(NET "/of/another", 0606), 0);
	put("own", ONE);
	assert_holds(BUNDLE, ONE "\n" HOST);
	end_other(other);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_run, end_run)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_authority_stands_before_the_host_s),
		TEST(nobody_but_root_opens_more_than_is_mounted),
		TEST(those_that_live_are_trusted),
		TEST(what_a_write_left_half_made_goes),
		TEST(it_waits_for_who_is_changing_it),
		TEST(all_of_it_is_taken_away),
		TEST(what_is_no_certificate_is_not_put),
		TEST(a_link_in_the_place_of_a_folder_is_refused),
		TEST(a_link_in_the_place_of_a_file_is_not_followed),
		TEST(what_is_no_file_is_not_read),
		TEST(folders_of_others_are_refused),
		TEST(a_file_of_another_s_is_not_believed),
	};

	/* docker's driver is root's alone: its folders are nobody else's to make. */
	if (geteuid() != 0) {
		puts("shared_trust: needs root");
		return 77;
	}
	return cmocka_run_group_tests(tests, own_mounts, NULL);
}
