/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was looked at passes as it was then, however long the rest of it waits for the server: the
 * client's octets are pages of a file (sendfile(2)), which it writes to while they wait.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "gate_rig.h"

enum { HEAD = 60000, LATER = 100000 };

static const char policy[] = "network: deny\nallow: [good.example.com]\n";
static const char begins[] = "GET / HTTP/1.1\r\nHost: good.example.com\r\nX: ";
static const char ends[] = "\r\n\r\n";
static struct rig rig;

/* A page or more that are sent, and can be written to. */
struct shared {
	int fd;
	uint8_t *at;
};

static int end(void **state)
{
	rig_end(&rig);
	return 0;
}

static struct shared share(void)
{
	struct shared s = {.fd = memfd_create("pages", MFD_CLOEXEC)};

	assert_int_equal(ftruncate(s.fd, LATER), 0);
	s.at = mmap(NULL, LATER, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd, 0);
	assert_true(s.at != MAP_FAILED);
	return s;
}

static void unshare_pages(struct shared *s)
{
	munmap(s->at, LATER);
	close(s->fd);
}

/* A request of HEAD octets, nearly all of them one field. */
static void write_request(uint8_t *to, char fill)
{
	memset(to, fill, HEAD);
	memcpy(to, begins, strlen(begins));
	memcpy(to + HEAD - strlen(ends), ends, strlen(ends));
}

/* A flow to a server that does not read yet. */
static struct rig_flow open_narrow(void)
{
	struct rig_flow f;
	int world[2];

	rig_begin(&rig, policy);
	rig_bind(&rig, "good.example.com", "93.184.0.1");
	f = rig_open(&rig, "93.184.0.1", 80);
	rig_pair_with_room(world, 4096);
	loop_close(rig.gate->loop, &f.flow->out.watch);
	close(f.server);
	f.server = world[0];
	assert_int_equal(
		loop_add(rig.gate->loop, &f.flow->out.watch, world[1], FLOW_EVENTS | EPOLLET), 0);
	return f;
}

static void send_shared(const struct rig_flow *f, const struct shared *s, off_t from, size_t n)
{
	while (n) {
		ssize_t sent = sendfile(f->client, s->fd, &from, n);

		assert_true(sent > 0);
		n -= (size_t)sent;
	}
}

static void read_all(const struct rig_flow *f, uint8_t *to, size_t n)
{
	for (int turns = 0; n; turns++) {
		ssize_t got = recv(f->server, to, n, MSG_DONTWAIT);

		assert_true(got > 0 || (got < 0 && errno == EAGAIN));
		assert_true(turns < 100000);
		if (got > 0) {
			to += got;
			n -= (size_t)got;
		}
		rig_turns(&rig, 1);
	}
}

static void what_waits_is_what_was_judged(void **state)
{
	static uint8_t judged[HEAD], got[HEAD];
	struct rig_flow f = open_narrow();
	struct shared s = share();

	write_request(judged, 'x');
	memcpy(s.at, judged, HEAD);
	send_shared(&f, &s, 0, HEAD);
	rig_turns(&rig, 5);
	assert_true(f.flow->up.octets > 0 && f.flow->up.octets < HEAD);
	write_request(s.at, 'y');
	read_all(&f, got, HEAD);
	assert_memory_equal(got, judged, HEAD);
	assert_true(rig_is_open(&f));
	rig_close(&f);
	unshare_pages(&s);
}

/* The second request is judged while the first one's body still waits for the server. */
static void a_later_request_waits_as_it_was_judged(void **state)
{
	static const char first[] = "POST / HTTP/1.1\r\nHost: good.example.com\r\n"
				    "Content-Length: 30000\r\n\r\n";
	static const char second[] = "GET /good HTTP/1.1\r\nHost: good.example.com\r\n\r\n";
	enum { BODY = 30000, ALL = sizeof(first) - 1 + BODY + sizeof(second) - 1 };
	static uint8_t judged[ALL], got[ALL];
	struct rig_flow f = open_narrow();
	struct shared s = share();

	memset(judged, 'b', ALL);
	memcpy(judged, first, sizeof(first) - 1);
	memcpy(judged + ALL - (sizeof(second) - 1), second, sizeof(second) - 1);
	memcpy(s.at, judged, ALL);
	send_shared(&f, &s, 0, ALL);
	rig_turns(&rig, 5);
	assert_true(f.flow->up.octets > 0 && f.flow->up.octets < ALL);
	assert_int_equal(f.flow->peek.http.requests, 2);
	memset(s.at, 'y', ALL);
	read_all(&f, got, ALL);
	assert_memory_equal(got, judged, ALL);
	rig_close(&f);
	unshare_pages(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_waits_is_what_was_judged, end),
		cmocka_unit_test_teardown(a_later_request_waits_as_it_was_judged, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
