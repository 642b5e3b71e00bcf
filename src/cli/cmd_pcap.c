/* SPDX-License-Identifier: Apache-2.0 */
/* pcap: a capture of a sandbox that runs: begun, ended, looked at. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/pcap_words.h"
#include "sandbox/control/client.h"
#include "sandbox/run.h"

/* The last segment is hashed before the capture is over. */
enum { PCAP_START_MS = 30000, STOP_MS = 60000, STEP_MS = 20 };

static json_t *request_of(const struct capture_request *r)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:b}", "op", "pcap", "file", r->file, "max_mb",
			 (json_int_t)r->max_mb, "files", (json_int_t)r->files, "keys", r->keys);
}

static int start(const char *name, const struct capture_request *r)
{
	json_t *known, *request, *answer;
	struct err e;

	/* Which says what there is when it does not run. */
	known = ask_sandbox(name, "pcap-status", &e);
	if (!known)
		return cli_fail(EXIT_SANDGATE, &e);
	json_decref(known);
	request = request_of(r);
	answer = client_request(name, request, PCAP_START_MS, &e);
	json_decref(request);
	if (!answer)
		return cli_fail(EXIT_SANDGATE, &e);
	output_text(name, STYLE_STRONG);
	output_text(": capturing to ", STYLE_PLAIN);
	output_text(json_string_value(json_object_get(answer, "file")), STYLE_PLAIN);
	putchar('\n');
	if (json_is_true(json_object_get(answer, "keys"))) {
		fflush(stdout);
		fputs("sandgate: the capture holds keys that open inspected connections: whoever "
		      "has the file reads what was sent and got there\n",
		      stderr);
	}
	json_decref(answer);
	return 0;
}

static void print_number(const json_t *o, const char *key, const char *words)
{
	printf(", %" JSON_INTEGER_FORMAT " %s", json_integer_value(json_object_get(o, key)), words);
}

static void print_status(const json_t *o)
{
	const char *file = json_string_value(json_object_get(o, "file"));
	const char *ended = json_string_value(json_object_get(o, "ended"));

	output_text(file ? file : "no capture", STYLE_PLAIN);
	if (ended) {
		output_text("; the last one has ended: ", STYLE_PLAIN);
		output_text(ended, STYLE_PLAIN);
	}
	if (json_object_size(o)) {
		print_number(o, "frames", "frames");
		print_number(o, "dropped", "dropped");
		print_number(o, "undecided", "undecided");
		print_number(o, "segments", "files");
	}
	putchar('\n');
}

static int show(const char *name, bool as_json)
{
	struct err e;
	json_t *o = ask_sandbox(name, "pcap-status", &e);

	if (!o)
		return cli_fail(EXIT_SANDGATE, &e);
	if (as_json)
		output_json(o);
	else
		print_status(o);
	json_decref(o);
	return 0;
}

/* Until the last segment is in the audit log. NULL: the sandbox has ended meanwhile, which is one. */
static json_t *await_end(const char *name)
{
	static const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
	mono_t until = mono_add_ms(mono_now(), STOP_MS);
	json_t *o = NULL;
	struct err e;

	do {
		json_decref(o);
		nanosleep(&step, NULL);
		o = client_ask(name, "pcap-status", &e);
	} while (json_is_true(json_object_get(o, "on")) && mono_before(mono_now(), until));
	return o;
}

static int stop(const char *name, bool as_json)
{
	struct err e;
	json_t *o = ask_sandbox(name, "pcap-stop", &e);

	if (!o)
		return cli_fail(EXIT_SANDGATE, &e);
	json_decref(o);
	o = await_end(name);
	if (json_is_true(json_object_get(o, "on"))) {
		json_decref(o);
		err_set(&e, "%s: the capture did not end in %d s; look again: sandgate pcap %s",
			name, STOP_MS / 1000, name);
		return cli_fail(EXIT_SANDGATE, &e);
	}
	if (as_json && o)
		output_json(o);
	else if (o)
		print_status(o);
	json_decref(o);
	return 0;
}

int cmd_pcap(const struct args *a)
{
	bool stops = args_has(a, PCAP_STOP), as_json = args_has(a, PCAP_JSON);
	const char *name = a->words[0], *file = a->words[1];
	struct pcap_words words;
	struct err e;

	if (stops && file) {
		err_set(&e, "pcap: either a file to capture to, or --stop");
		return cli_fail(EXIT_USAGE, &e);
	}
	if (pcap_words_read(a, file, &words, &e))
		return cli_fail(EXIT_USAGE, &e);
	if (stops)
		return stop(name, as_json);
	return file ? start(name, &words.request) : show(name, as_json);
}
