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

/* Nothing to run at the start: an empty command. */
static char *const no_command[] = {NULL};

static int run_stored(const struct wanted *w, const struct sources *s, int ready, struct err *e)
{
	struct stored st;
	int status = stored_open(w->name, s, NULL, &st, e);

	if (status)
		return cli_fail(status, e);
	st.o.argv = no_command;
	st.o.ready = ready;
	st.o.quiet = w->quiet;
	stored_capture(&st, &w->pcap.request);
	status = sandbox_run(&st.o);
	stored_close(&st);
	return status;
}

static int be_supervisor(void *ctx, int ready)
{
	struct sources s;
	struct err e;
	int status;

	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	status = run_stored(ctx, &s, ready, &e);
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
	switch (known_find(w.name, &e)) {
	case KNOWN_STOPPED:
		break;
	case KNOWN_RUNS:
		err_set(&e, "%s: it runs already", w.name);
		return cli_fail(EXIT_SANDGATE, &e);
	case KNOWN_NOT:
		known_say_not(w.name, &e);
		return cli_fail(EXIT_SANDGATE, &e);
	default:
		return cli_fail(EXIT_SANDGATE, &e);
	}
	status = background_start(be_supervisor, &w, &e);
	return *e.text ? cli_fail(status, &e) : status;
}
