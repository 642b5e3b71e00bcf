/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/known.h"
#include "cli/pcap_words.h"
#include "cli/run_words.h"
#include "sandbox/background.h"
#include "sandbox/engine/engine.h"
#include "sandbox/engine/machine.h"
#include "sandbox/person.h"

/* The least that IPv6 needs (RFC 8200, 5), and the most that an airlock's link has. */
enum { MTU_LEAST = 1280, MTU_MOST = AIRLOCK_MTU };

static char *const no_command[] = {NULL};

struct wanted {
	const struct args *a;
	const struct sources *sources;
	struct machine_options machine;
	uint8_t mac[6];
	struct pcap_words pcap;
	char cwd[PATH_MAX]; /* of one in the background: the person's */
};

/* --- the options --- */

static int read_mac(const char *text, struct wanted *w, struct err *e)
{
	if (!text)
		return 0;
	if (!machine_mac_parse(text, w->mac))
		return err_set(e,
			       "--mac: \"%s\" is no address of one device; write it like "
			       "02:73:67:00:00:02",
			       text);
	w->machine.mac = w->mac;
	return 0;
}

static int read_mtu(const char *text, struct wanted *w, struct err *e)
{
	char *end;
	unsigned long n = text ? strtoul(text, &end, 10) : 0;

	if (!text)
		return 0;
	if (*text < '0' || *text > '9' || *end || n < MTU_LEAST || n > MTU_MOST)
		return err_set(e, "--mtu: \"%s\" is no number from %d to %d", text, MTU_LEAST,
			       MTU_MOST);
	w->machine.mtu = (uint32_t)n;
	return 0;
}

/* One way to the device, and one monitor. */
static int check_way(const struct wanted *w, struct err *e)
{
	const struct machine_options *m = &w->machine;
	bool frames = m->stream || m->dgram, monitor = w->a->rest && w->a->rest[0];

	if (m->stream && m->dgram)
		return err_set(e, "--stream and --dgram: a machine has one link; choose one");
	if (frames && monitor)
		return err_set(e,
			       "--%s: a monitor that sandgate starts has the device itself; leave "
			       "one of the two out",
			       m->stream ? "stream" : "dgram");
	if (frames && m->by_name)
		return err_set(e,
			       "--by-name: with a frame socket no device is opened; leave it out");
	if (!frames && !monitor && !person_is_root())
		return err_set(e,
			       "only root reaches the device from outside; put the monitor after "
			       "\"--\", or take --stream PATH or --dgram PATH");
	return 0;
}

static int read_options(struct wanted *w, struct err *e)
{
	const struct args *a = w->a;

	w->machine = (struct machine_options){
		.stream = args_value(a, VM_NET_STREAM),
		.dgram = args_value(a, VM_NET_DGRAM),
		.by_name = args_has(a, VM_NET_BY_NAME),
	};
	if (read_mac(args_value(a, VM_NET_MAC), w, e) || read_mtu(args_value(a, VM_NET_MTU), w, e))
		return -1;
	return check_way(w, e) || pcap_words_read(a, args_value(a, VM_NET_PCAP), &w->pcap, e) ? -1
											      : 0;
}

/* --- the run --- */

static int run_with(const struct wanted *w, const struct run_policy *built, int ready)
{
	const struct args *a = w->a;
	bool monitor = a->rest && a->rest[0];
	struct run_options o = {0};

	run_words_options(a, &o);
	o.name = a->words[0];
	o.policy = (struct policy *)&built->policy;
	o.sources = w->sources;
	o.agent = built->agent;
	o.languages = built->languages;
	o.engine = monitor ? &engine_vm : &engine_link;
	o.machine = &w->machine;
	o.pcap = w->pcap.request;
	o.argv = monitor ? a->rest : no_command;
	o.written = a->written;
	o.n_written = a->n_written;
	o.ready = ready;
	return sandbox_run(&o);
}

static int run(const struct wanted *w, int ready)
{
	struct policy_words words = run_words_policy(w->a);
	struct run_policy built;
	struct err e;
	int status;

	words.command = NULL;
	status = run_policy_build(&words, w->sources, &built, &e);
	if (status)
		return cli_fail(status, &e);
	if (built.policy.network == NET_NONE) {
		err_set(&e, "--net none: a machine without a network needs no sandgate vm-net");
		status = cli_fail(EXIT_USAGE, &e);
	} else {
		status = run_with(w, &built, ready);
	}
	run_policy_free(&built);
	return status;
}

/* Paths of options, and the project, are looked for from where the person is, as in the foreground. */
static int be_supervisor(void *ctx, int ready)
{
	const struct wanted *w = ctx;
	struct err e;

	if (chdir(w->cwd) < 0) {
		err_set(&e, "cannot go back to %s: %s", w->cwd, err_why(errno));
		return cli_fail(EXIT_SANDGATE, &e);
	}
	return run(w, ready);
}

static int start_in_background(struct wanted *w)
{
	struct err e;
	int status;

	if (!getcwd(w->cwd, sizeof(w->cwd))) {
		err_set(&e, "cannot find the working directory: %s; start it in another",
			err_why(errno));
		return cli_fail(EXIT_SANDGATE, &e);
	}
	status = background_start(be_supervisor, w, &e);
	return *e.text ? cli_fail(status, &e) : status;
}

static int check_name(const char *name, struct err *e)
{
	switch (known_find(name, e)) {
	case KNOWN_NOT:
		return 0;
	case KNOWN_RUNS:
		return err_set(e, "%s: it runs already", name);
	case KNOWN_STOPPED:
		return err_set(e, "%s: a sandbox that is kept has that name; take another", name);
	default:
		return -1;
	}
}

static int start(struct wanted *w)
{
	struct err e;

	if (check_name(w->a->words[0], &e))
		return cli_fail(EXIT_SANDGATE, &e);
	return args_has(w->a, VM_NET_BACKGROUND) ? start_in_background(w) : run(w, 0);
}

int cmd_vm_net(const struct args *a)
{
	struct wanted w = {.a = a};
	struct sources s;
	struct err e;
	int status;

	if (run_words_check_name("vm-net", a->words[0], &e) || run_words_check(a, &e) ||
	    read_options(&w, &e))
		return cli_fail(EXIT_USAGE, &e);
	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	w.sources = &s;
	status = start(&w);
	sources_free(&s);
	return status;
}
