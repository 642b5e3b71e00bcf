/* SPDX-License-Identifier: Apache-2.0 */
/* What a request leaves in the ring, and that it is never a secret. */
#include "vault_rig.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "broker/request_log.h"

#define HOST "api.example.com"

static const char one_credential[] = "  - {host: " HOST ", header: Authorization, value: "
				     "'Bearer ${secret}', from: 'env:TOKEN', env: API_TOKEN}\n";

struct world {
	struct rig rig;
	struct request_log log;
	struct handover peer;
	struct ring *ring;
};

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int fd = memfd_create("ring", MFD_CLOEXEC);
	struct err e;

	rig_begin(&w->rig, one_credential);
	rig_put(&w->rig, 0, SECRET);
	w->ring = ring_map(fd, &e);
	close(fd);
	w->log = (struct request_log){.ring = w->ring, .wake = -1, .generation = 7};
	w->peer.dst.port = 443;
	addr_parse("93.184.216.34", 13, &w->peer.dst.addr);
	name_parse_ascii(HOST, strlen(HOST), &w->peer.name);
	*state = w;
	return w->ring ? 0 : -1;
}

static int end(void **state)
{
	struct world *w = *state;

	ring_unmap(w->ring);
	rig_end(&w->rig);
	free(w);
	return 0;
}

static struct record noted(struct world *w, const char *path)
{
	struct record r;
	char url[9000];

	snprintf(url, sizeof(url), "https://" HOST "%s", path);
	rig_ask(&w->rig, "POST", url, NULL);
	request_log_begin(&w->log, &r, &w->peer, &w->rig.m, w->rig.v);
	return r;
}

static void assert_path(struct world *w, const char *path, const char *wanted)
{
	struct record r = noted(w, path);

	assert_string_equal(r.path, wanted);
	assert_true(record_valid(&r));
}

static void a_record_says_who_asked_for_what(void **state)
{
	const struct request_verdict admitted = {.what = REQUEST_ADMITTED, .permission = "github"};
	struct world *w = *state;
	struct record r = noted(w, "/v1/messages?key=1"), taken;
	int64_t before = (int64_t)time(NULL) * 1000;

	request_log_judge(&w->log, &r, &admitted);
	request_log_use(&r, "Authorization at " HOST);
	r.time_ms = 0;
	request_log_put(&w->log, &r);
	assert_true(ring_take(w->ring, &taken));
	assert_true(record_valid(&taken));
	assert_int_equal(taken.kind, RECORD_ALLOW);
	assert_int_equal(taken.proto, RECORD_HTTP);
	assert_int_equal(taken.generation, 7);
	assert_int_equal(taken.port, 443);
	assert_string_equal(taken.name.s, HOST);
	assert_string_equal(taken.method, "POST");
	assert_string_equal(taken.path, "/v1/messages");
	assert_string_equal(taken.permission, "github");
	assert_string_equal(taken.credential, "Authorization at " HOST);
	/* Its time is that of its end. */
	assert_true(taken.time_ms >= before);
}

static void a_query_is_never_in_it(void **state)
{
	assert_path(*state, "/a?b=c", "/a");
	assert_path(*state, "/a??b", "/a");
	assert_path(*state, "/?" SECRET, "/");
}

/* In whatever shape (shapes.h); lengths stay. */
static void a_secret_in_the_path_is_masked(void **state)
{
	struct world *w = *state;
	struct record r;

	assert_path(w, "/x/" SECRET "/y", "/x/**************************/y");
	r = noted(w, "/x/s3cr3t%2FToken%2Bof%3Dthe%26person/y");
	assert_null(strstr(r.path, "s3cr3t"));
	assert_null(strstr(r.path, "person"));
	assert_non_null(strstr(r.path, "*/y"));
}

/* One that is cut, by the record or by what is looked at, leaves none of itself. */
static void a_secret_that_is_cut_is_masked(void **state)
{
	char path[RECORD_PATH_MAX + 64], big[4096 + 64];
	struct world *w = *state;
	struct record r;

	for (size_t keep = 1; keep < sizeof(SECRET); keep++) {
		size_t n = RECORD_PATH_MAX - 1 - keep;

		memset(path, 'a', n);
		path[0] = '/';
		snprintf(path + n, sizeof(path) - n, "%s", SECRET);
		r = noted(w, path);
		assert_int_equal(strlen(r.path), RECORD_PATH_MAX - 1);
		for (size_t i = n; i < RECORD_PATH_MAX - 1; i++)
			assert_int_equal(r.path[i], '*');
	}
	memset(big, 'a', sizeof(big) - 1);
	big[0] = '/';
	big[sizeof(big) - 1] = 0;
	r = noted(w, big);
	assert_int_equal(strlen(r.path), RECORD_PATH_MAX - 1);
	assert_null(strchr(r.path, '*'));
}

static void a_placeholder_in_the_path_is_masked(void **state)
{
	struct world *w = *state;
	const char *placeholder = vault_placeholder(w->rig.v, 0);
	char path[512];
	struct record r;

	snprintf(path, sizeof(path), "/bot%s/send/%s", placeholder, placeholder);
	r = noted(w, path);
	assert_null(strstr(r.path, PLACEHOLDER_PREFIX));
	assert_memory_equal(r.path, "/bot***", 7);
	assert_non_null(strstr(r.path, "**/send/**"));
	assert_int_equal(strlen(r.path), strlen(path));
	/* In another shape it is not told from what is around it. */
	snprintf(path, sizeof(path), "/a/sandgate%%2Dplaceholder%%2D%s",
		 placeholder + strlen(PLACEHOLDER_PREFIX));
	r = noted(w, path);
	assert_null(strstr(r.path, placeholder + strlen(PLACEHOLDER_PREFIX)));
}

static void without_a_vault_a_path_is_a_path(void **state)
{
	struct world *w = *state;
	struct record r;

	rig_ask(&w->rig, "GET", "https://" HOST "/" SECRET, NULL);
	request_log_begin(&w->log, &r, &w->peer, &w->rig.m, NULL);
	assert_string_equal(r.path, "/" SECRET);
}

static void what_is_no_text_cannot_be_in_it(void **state)
{
	struct world *w = *state;

	assert_path(w, "/\x1b[31m\n\x80", "/?[31m??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_record_says_who_asked_for_what, begin, end),
		cmocka_unit_test_setup_teardown(a_query_is_never_in_it, begin, end),
		cmocka_unit_test_setup_teardown(a_secret_in_the_path_is_masked, begin, end),
		cmocka_unit_test_setup_teardown(a_secret_that_is_cut_is_masked, begin, end),
		cmocka_unit_test_setup_teardown(a_placeholder_in_the_path_is_masked, begin, end),
		cmocka_unit_test_setup_teardown(without_a_vault_a_path_is_a_path, begin, end),
		cmocka_unit_test_setup_teardown(what_is_no_text_cannot_be_in_it, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
