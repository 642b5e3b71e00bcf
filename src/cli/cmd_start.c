/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/known.h"
#include "cli/pcap_words.h"
#include "cli/stored.h"
#include "sandbox/background.h"

struct wanted {
	const char *name;
	bool quiet;
	struct pcap_words pcap;
};

/* 0 when it can be started, else -1 with the message. */
static int check_stopped(const char *name, struct err *e)
{
	switch (known_find(name, e)) {
	case KNOWN_STOPPED:
		return 0;
	case KNOWN_RUNS:
		return err_set(e, "%s: it runs already", name);
	case KNOWN_NOT:
		return known_say_not(name, e);
	default:
		return -1;
	}
}

/* Nothing to run at the start: an empty command. */
static char *const no_command[] = {NULL};

static int run_stored(const struct wanted *w, const struct sources *s, int ready, struct err *e)
{
	struct stored st;
	int status = stored_open(w->name, s, NULL, &st, e);

	struct err changed;

	if (status && check_stopped(w->name, &changed))
		return cli_fail(status, &changed);
	if (status)
		return cli_fail(status, e);
	st.o.argv = no_command;
	st.o.ready = ready;
	st.o.quiet = w->quiet;
	st.o.yields = true;
	stored_capture(&st, &w->pcap.request);
	status = sandbox_run(&st.o);
	stored_close(&st);
	return status;
}

/* Whoever had the name may have let go of it: then nothing has been done yet. */
static int be_supervisor(void *ctx, int ready)
{
	const struct wanted *w = ctx;
	struct sources s;
	struct err e;
	int status;

	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	do
		status = check_stopped(w->name, &e) ? cli_fail(EXIT_SANDGATE, &e)
						    : run_stored(w, &s, ready, &e);
	while (status == RUN_NAME_TAKEN);
	sources_free(&s);
	return status;
}

int cmd_start(const struct args *a)
{
	struct wanted w = {.name = a->words[0], .quiet = args_has(a, START_QUIET)};
	struct err e;
	int status;

	if (pcap_words_read(a, args_value(a, START_PCAP), &w.pcap, &e))
		return cli_fail(EXIT_USAGE, &e);
	if (check_stopped(w.name, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	status = background_start(be_supervisor, &w, &e);
	return *e.text ? cli_fail(status, &e) : status;
}
