/* SPDX-License-Identifier: Apache-2.0 */
/* The connection log and its reader, beside each other, on a disk that is full at times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>

#include "audit/connection_log.h"
#include "audit/connection_reader.h"
#include "audit/segment.h"
#include "audit_folder.h"

struct world {
	struct folder f;
	struct connection_log *log;
	struct connection_reader reader;
	struct event_printer *printer;
};

static struct connection_log *open_log(const struct world *w, uint64_t bytes)
{
	struct err e;
	struct connection_log *c = connection_log_open(w->f.fd, bytes, &e);

	if (!c)
		fail_msg("%s", e.text);
	return c;
}

static struct world make_world(uint64_t bytes)
{
	struct world w = {.f = folder_make(), .printer = event_printer_new("box", NULL)};

	w.log = open_log(&w, bytes);
	assert_int_equal(connection_reader_open(&w.reader, w.f.fd, NULL), 0);
	return w;
}

static void end_world(struct world *w)
{
	connection_log_close(w->log);
	connection_reader_close(&w->reader);
	event_printer_free(w->printer);
	folder_remove(&w->f);
}

/* A line whose length is told by `path`, and whose number by its port. */
static void put(struct world *w, uint16_t port, size_t path)
{
	struct record r = {.kind = RECORD_ALLOW,
			   .proto = RECORD_HTTP,
			   .time_ms = INT64_C(1796040000123),
			   .port = port,
			   .has_name = true};

	assert_int_equal(name_parse_ascii("a.example", 9, &r.name), NAME_OK);
	memset(r.path, '/', path);
	connection_log_put(w->log, w->printer, &r, mono_now());
}

static uint64_t number_in(struct span line, const char *key)
{
	json_t *o = json_loadb((const char *)line.p, line.n, JSON_REJECT_DUPLICATES, NULL);
	uint64_t n;

	if (!o)
		fail_msg("no line: %.*s", (int)line.n, (const char *)line.p);
	n = (uint64_t)json_integer_value(json_object_get(o, key));
	json_decref(o);
	return n;
}

/* Reads a line: it has this port, and says that so many before it were dropped. */
static void assert_line(struct world *w, uint64_t seq, uint16_t port, uint64_t dropped)
{
	struct span line;

	assert_int_equal(connection_reader_next(&w->reader, &line), 1);
	assert_int_equal(number_in(line, "seq"), seq);
	assert_int_equal(number_in(line, "port"), port);
	assert_int_equal(number_in(line, "suppressed"), dropped);
}

static void assert_no_line(struct world *w)
{
	struct span line;

	assert_int_equal(connection_reader_next(&w->reader, &line), 0);
}

/* No file of this process becomes longer than so many octets; a write is cut there. */
static void limit_files(rlim_t octets)
{
	struct rlimit l;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
	l.rlim_cur = octets;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void lines_come_as_they_went(void **state)
{
	struct world w = make_world(0);

	assert_no_line(&w);
	put(&w, 1, 10);
	assert_no_line(&w);
	connection_log_flush(w.log);
	assert_line(&w, 0, 1, 0);
	put(&w, 2, 200);
	put(&w, 3, 0);
	connection_log_flush(w.log);
	assert_line(&w, 1, 2, 0);
	assert_line(&w, 2, 3, 0);
	assert_no_line(&w);
	connection_log_close(w.log);
	w.log = open_log(&w, 0);
	put(&w, 4, 0);
	connection_log_flush(w.log);
	assert_line(&w, 3, 4, 0);
	end_world(&w);
}

static void files_rotate_and_the_reader_goes_along(void **state)
{
	struct world w = make_world(UINT64_C(8) * 1000);
	uint64_t *first;
	size_t n;

	for (uint16_t i = 1; i <= 200; i++) {
		put(&w, i, i);
		connection_log_flush(w.log);
		assert_line(&w, i - 1, i, 0);
	}
	assert_int_equal(segment_list(w.f.fd, &first, &n), 0);
	assert_int_equal(n, CONNECTION_LOG_FILES);
	assert_true(first[0] > 0);
	free(first);
	end_world(&w);
}

/* Of a line that did not fit nothing stays, and a reader that saw a part of it sees the next whole. */
static void a_line_that_was_taken_back_is_not_read(void **state)
{
	static const char half[] = "{\"seq\":1,\"half of a line";
	struct world w = make_world(0);
	struct stat st;
	int fd;

	put(&w, 1, 10);
	connection_log_flush(w.log);
	assert_line(&w, 0, 1, 0);
	/* What a reader finds between the write and its taking back. */
	fd = openat(w.f.fd, "00000000000000000000.jsonl", O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(write(fd, half, sizeof(half) - 1), sizeof(half) - 1);
	assert_no_line(&w);
	assert_int_equal(ftruncate(fd, st.st_size), 0);
	close(fd);
	put(&w, 3, 0);
	connection_log_flush(w.log);
	assert_line(&w, 1, 3, 0);
	end_world(&w);
}

static void a_full_disk_drops_lines_and_counts_them(void **state)
{
	struct world w = make_world(0);

	put(&w, 1, 0);
	connection_log_flush(w.log);
	limit_files(300);
	for (uint16_t i = 2; i < 5; i++) {
		put(&w, i, 200);
		connection_log_flush(w.log);
	}
	limit_files(RLIM_INFINITY);
	put(&w, 5, 0);
	connection_log_flush(w.log);
	assert_line(&w, 0, 1, 0);
	assert_line(&w, 1, 5, 3);
	assert_no_line(&w);
	end_world(&w);
}

/* A first line of which a half could neither be written out nor taken back. */
static void a_file_of_half_a_line_is_begun_again(void **state)
{
	static const char half[] = "{\"seq\":0,\"ti";
	struct world w = make_world(0);

	folder_write(w.f.fd, "00000000000000000000.jsonl", half, sizeof(half) - 1);
	assert_no_line(&w);
	put(&w, 1, 0);
	connection_log_flush(w.log);
	assert_line(&w, 0, 1, 0);
	assert_no_line(&w);
	end_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_as_they_went),
		cmocka_unit_test(files_rotate_and_the_reader_goes_along),
		cmocka_unit_test(a_line_that_was_taken_back_is_not_read),
		cmocka_unit_test(a_full_disk_drops_lines_and_counts_them),
		cmocka_unit_test(a_file_of_half_a_line_is_begun_again),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
