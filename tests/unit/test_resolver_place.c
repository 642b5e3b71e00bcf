/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/files/resolver_place.h"

static char root[] = "/tmp/sandgate-root-XXXXXX";

static int make_root(void **state)
{
	char etc[64];

	strcpy(root + strlen(root) - 6, "XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(etc, sizeof(etc), "%s/etc", root);
	return mkdir(etc, 0755);
}

static const char *at(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static int remove_root(void **state)
{
	unlink(at("etc/resolv.conf"));
	unlink(at("elsewhere"));
	rmdir(at("etc"));
	return rmdir(root);
}

static int place(struct err *e)
{
	char config[128];

	snprintf(config, sizeof(config), "{\"root\":{\"path\":\"%s\"}}", root);
	return resolver_place(span_of_string(config), e);
}

static void assert_holds(const char *name, const char *text)
{
	char got[128] = "";
	int fd = open(at(name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, got, sizeof(got) - 1), strlen(text));
	assert_string_equal(got, text);
	close(fd);
}

static void write_file(const char *name, const char *text)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void the_gate_where_nobody_is_named(void **state)
{
	struct err e;

	assert_int_equal(place(&e), 0);
	assert_holds("etc/resolv.conf", "nameserver 192.0.0.1\n");
	write_file("etc/resolv.conf", "# nobody\n");
	assert_int_equal(place(&e), 0);
	assert_holds("etc/resolv.conf", "nameserver 192.0.0.1\n");
}

static void servers_of_the_image_stay(void **state)
{
	struct err e;

	write_file("etc/resolv.conf", "nameserver 9.9.9.9\n");
	assert_int_equal(place(&e), 0);
	assert_holds("etc/resolv.conf", "nameserver 9.9.9.9\n");
}

/* Also where it leads to what is not there yet. */
static void a_link_leads_into_the_image(void **state)
{
	struct err e;

	assert_int_equal(symlink("/elsewhere", at("etc/resolv.conf")), 0);
	assert_int_equal(place(&e), 0);
	assert_holds("elsewhere", "nameserver 192.0.0.1\n");
	assert_int_equal(place(&e), 0);
}

/* A reader sees an end of the pipe when a writer has been there. */
static void what_is_no_file_is_not_opened(void **state)
{
	struct pollfd p = {.events = POLLIN};
	struct err e;

	assert_int_equal(mkfifo(at("etc/resolv.conf"), 0666), 0);
	p.fd = open(at("etc/resolv.conf"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(p.fd >= 0);
	assert_int_equal(place(&e), -1);
	assert_non_null(strstr(e.text, "/etc/resolv.conf of the container"));
	assert_int_equal(poll(&p, 1, 0), 0);
	close(p.fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_gate_where_nobody_is_named),
		TEST(servers_of_the_image_stay),
		TEST(a_link_leads_into_the_image),
		TEST(what_is_no_file_is_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
