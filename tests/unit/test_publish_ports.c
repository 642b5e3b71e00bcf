/* SPDX-License-Identifier: Apache-2.0 */
/* Where the host listens for what is inside, and that a failure leaves nothing listening. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sandbox/attach.h"
#include "sandbox/engine/publish_ports.h"

static struct endpoint endpoint_of(const char *text, uint16_t port)
{
	return (struct endpoint){.addr = airlock_address(text), .port = port};
}

static int connect_to(const char *text, uint16_t port)
{
	struct endpoint at = endpoint_of(text, port);
	struct sockaddr_storage a;
	socklen_t n = endpoint_to_sockaddr(&at, &a);
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	assert_true(fd >= 0);
	rc = connect(fd, (struct sockaddr *)&a, n) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static bool has_ipv6(void)
{
	return connect_to("::1", 1) == -ECONNREFUSED;
}

/* One that nobody has: the kernel gives it out, and not again at once. */
static uint16_t free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	close(fd);
	return ntohs(a.sin_port);
}

static int open_ports(const struct policy *p, const struct attach_publish *v, size_t n_v,
		      struct gate_publish **out, size_t *n, struct err *e)
{
	struct attach_request r = {.publish = v, .n_publish = n_v};
	struct run_options o = {.policy = (struct policy *)p, .attach = v ? &r : NULL};

	return publish_ports_open(&o, out, n, e);
}

static void a_policy_s_ports_are_on_the_loopback_alone(void **state)
{
	struct publish one = {.host = free_port(), .sandbox = 3000};
	struct policy p = {.publish = &one, .n_publish = 1};
	struct gate_publish *v;
	struct err e;
	size_t n;

	assert_int_equal(open_ports(&p, NULL, 0, &v, &n, &e), 0);
	assert_int_equal(n, has_ipv6() ? 2 : 1);
	assert_int_equal(v[0].sandbox_port, 3000);
	assert_int_equal(connect_to("127.0.0.1", one.host), 0);
	assert_int_equal(connect_to("127.0.0.2", one.host), -ECONNREFUSED);
	publish_ports_close(v, n);
	assert_int_equal(connect_to("127.0.0.1", one.host), -ECONNREFUSED);
}

static void what_is_attached_listens_where_it_was_asked_to(void **state)
{
	uint16_t any = free_port(), one = free_port();
	struct attach_publish want[] = {
		{endpoint_of("0.0.0.0", any), 80},
		{endpoint_of("127.0.0.2", one), 81},
		{endpoint_of("::", any), 82},
	};
	struct policy p = {0};
	struct gate_publish *v;
	struct err e;
	size_t n, wanted = has_ipv6() ? 3 : 2;

	assert_int_equal(open_ports(&p, want, wanted, &v, &n, &e), 0);
	assert_int_equal(n, wanted);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(v[i].sandbox_port, 80 + i);
	assert_int_equal(connect_to("127.0.0.9", any), 0);
	assert_int_equal(connect_to("127.0.0.2", one), 0);
	assert_int_equal(connect_to("127.0.0.1", one), -ECONNREFUSED);
	if (wanted == 3)
		assert_int_equal(connect_to("::1", any), 0);
	publish_ports_close(v, n);
	assert_int_equal(connect_to("127.0.0.9", any), -ECONNREFUSED);
}

static void one_that_is_taken_leaves_none(void **state)
{
	uint16_t first = free_port(), second = free_port();
	struct attach_publish holder[] = {{endpoint_of("127.0.0.3", second), 1}};
	struct attach_publish want[] = {{endpoint_of("127.0.0.3", first), 80},
					{endpoint_of("127.0.0.3", second), 81}};
	struct policy p = {0};
	struct gate_publish *held, *v;
	struct err e;
	size_t n_held, n;

	assert_int_equal(open_ports(&p, holder, 1, &held, &n_held, &e), 0);
	assert_int_equal(open_ports(&p, want, 2, &v, &n, &e), -1);
	assert_non_null(strstr(e.text, "127.0.0.3"));
	assert_non_null(strstr(e.text, "take another host port"));
	assert_null(v);
	assert_int_equal(n, 0);
	assert_int_equal(connect_to("127.0.0.3", first), -ECONNREFUSED);
	publish_ports_close(held, n_held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_s_ports_are_on_the_loopback_alone),
		cmocka_unit_test(what_is_attached_listens_where_it_was_asked_to),
		cmocka_unit_test(one_that_is_taken_leaves_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
