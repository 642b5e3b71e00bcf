/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "sandbox/run.h"

/* One line of text: a heading, and "VALUE WORDS" for each key of an object of counters. */
struct line {
	const char *heading, *key;
	struct {
		const char *key, *words;
	} counters[3];
};

static const struct line lines[] = {
	{"frames:   ",
	 "frames",
	 {{"passed", "passed"}, {"denied", "denied"}, {"noise", "dropped as link noise"}}},
	{"flows:    ", "flows", {{"opened", "opened"}, {"refused", "refused"}, {"open", "open"}}},
	{"dns:      ", "dns", {{"answered", "answered"}, {"refused", "refused"}}},
	{"requests: ", "requests", {{"inspected", "inspected"}, {"refused", "refused"}}},
};

static void print_line(const struct line *l, const json_t *model)
{
	const json_t *counters = json_object_get(model, l->key);

	fputs(l->heading, stdout);
	for (size_t i = 0; i < sg_array_len(l->counters) && l->counters[i].key; i++)
		printf("%s%" JSON_INTEGER_FORMAT " %s", i ? ", " : "",
		       json_integer_value(json_object_get(counters, l->counters[i].key)),
		       l->counters[i].words);
	putchar('\n');
}

static void print_policy(const json_t *model)
{
	fputs("policy:   ", stdout);
	output_text(json_string_value(json_object_get(model, "policy")), STYLE_PLAIN);
	printf(", generation %" JSON_INTEGER_FORMAT "\n",
	       json_integer_value(json_object_get(model, "generation")));
}

static void print_names(const json_t *names)
{
	size_t i;
	json_t *name;

	json_array_foreach(names, i, name)
	{
		output_text(i ? ", " : "", STYLE_PLAIN);
		output_text(json_string_value(name), STYLE_PLAIN);
	}
}

/* A line for each wildcard: the first names that were seen under it, then how many more. */
static void print_wildcards(const json_t *wildcards)
{
	size_t i;
	json_t *w;

	json_array_foreach(wildcards, i, w)
	{
		const json_t *names = json_object_get(w, "names");
		json_int_t more = json_integer_value(json_object_get(w, "seen")) -
				  (json_int_t)json_array_size(names);

		fputs("wildcard: ", stdout);
		output_text(json_string_value(json_object_get(w, "wildcard")), STYLE_PLAIN);
		fputs(": ", stdout);
		print_names(names);
		if (more > 0)
			printf(" and %" JSON_INTEGER_FORMAT " more", more);
		putchar('\n');
	}
}

static void print_published(const json_t *published)
{
	size_t i;
	json_t *p;

	json_array_foreach(published, i, p)
	{
		const char *host = json_string_value(json_object_get(p, "host"));

		fputs("published:", stdout);
		output_text(strchr(host, ':') ? " [" : " ", STYLE_PLAIN);
		output_text(host, STYLE_PLAIN);
		printf("%s:%" JSON_INTEGER_FORMAT " to port %" JSON_INTEGER_FORMAT "\n",
		       strchr(host, ':') ? "]" : "", json_integer_value(json_object_get(p, "port")),
		       json_integer_value(json_object_get(p, "sandbox")));
	}
}

/* Of a namespace that was attached: what leads out beside the gate. */
static void print_exposed(const char *devices)
{
	if (!devices)
		return;
	fputs("exposed:  ", stdout);
	output_text(devices, STYLE_PLAIN);
	fputs(" leads out past the gate\n", stdout);
}

static void print_capture(const json_t *capture)
{
	const char *file = json_string_value(json_object_get(capture, "file"));

	if (!json_is_true(json_object_get(capture, "on")) || !file)
		return;
	fputs("capture:  ", stdout);
	output_text(file, STYLE_PLAIN);
	printf(", %" JSON_INTEGER_FORMAT " frames, %" JSON_INTEGER_FORMAT " dropped\n",
	       json_integer_value(json_object_get(capture, "frames")),
	       json_integer_value(json_object_get(capture, "dropped")));
}

int cmd_egress(const struct args *a)
{
	struct err e;
	json_t *model = ask_sandbox(a->words[0], "egress", &e);

	if (!model)
		return cli_fail(EXIT_SANDGATE, &e);
	if (args_has(a, EGRESS_JSON)) {
		output_json(model);
	} else {
		print_policy(model);
		for (size_t i = 0; i < sg_array_len(lines); i++)
			print_line(&lines[i], model);
		print_wildcards(json_object_get(model, "wildcards"));
		print_capture(json_object_get(model, "pcap"));
		print_exposed(json_string_value(json_object_get(model, "exposed")));
		print_published(json_object_get(model, "published"));
	}
	json_decref(model);
	return 0;
}
