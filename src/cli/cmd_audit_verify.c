/* SPDX-License-Identifier: Apache-2.0 */
/*
 * audit verify: a row for each log. A log is judged by itself first, then against what is kept
 * elsewhere: the file of --anchor, and what the host's own log remembers of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/log.h"
#include "cli/audit_where.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "sandbox/log/host_log.h"
#include "sandbox/name_list.h"
#include "sandbox/run.h"
#include "sandbox/state_dir.h"

enum { EXIT_DOES_NOT_HOLD = 1 };

struct verifying {
	struct span anchor, key;
	json_t *known; /* of host_log_read_known() */
	json_t *rows;
	bool unread; /* a log could not be judged */
};

/* ---- One log ---- */

static json_t *row_of(const char *label, const struct audit_verdict *v)
{
	json_t *row = json_pack("{s:s,s:s,s:b,s:I,s:I,s:I,s:I,s:b,s:i}", "name", label, "origin",
				v->origin, "holds", v->holds, "size", (json_int_t)v->size,
				"unsealed", (json_int_t)v->unsealed, "torn_bytes",
				(json_int_t)v->torn, "first_seq", (json_int_t)v->first_seq,
				"pruned", v->pruned, "anchors", (int)v->anchors);

	json_object_set_new(row, "bad_seq",
			    v->holds || v->bad_seq == AUDIT_NO_SEQ
				    ? json_null()
				    : json_integer((json_int_t)v->bad_seq));
	json_object_set_new(row, "why", v->holds ? json_null() : json_string(v->why.text));
	return row;
}

/* The log of one that is not kept is always a new one, whatever had its name before. */
static bool is_kept(const char *name)
{
	struct err ignored;
	_cleanup_fd_ int folder = state_dir_open_sandbox(name, false, &ignored);

	return folder >= 0;
}

/* All of its checkpoints that the host's own log has, as one text; NULL without any. */
static char *host_anchor(const json_t *known)
{
	size_t i, n = 0;
	json_t *one;
	char *text = NULL;

	json_array_foreach(json_object_get(known, "checkpoints"), i, one)
	{
		char *more = realloc(text, n + json_string_length(one) + 2);

		if (!more)
			break;
		text = more;
		n += (size_t)sprintf(text + n, "%s\n", json_string_value(one));
	}
	return text;
}

/* The first checkpoint of another log than `origin`, or NULL. */
static const char *foreign_checkpoint(const json_t *known, const char *origin)
{
	size_t i;
	json_t *one;

	json_array_foreach(json_object_get(known, "checkpoints"), i, one)
	{
		const char *text = json_string_value(one);

		if (strcspn(text, "\n") != strlen(origin) ||
		    strncmp(text, origin, strlen(origin)) != 0)
			return text;
	}
	return NULL;
}

static void not_by_host(struct audit_verdict *v)
{
	v->holds = false;
	err_prefix(&v->why, "against the checkpoint in the host's own log");
}

/*
 * Does it fit the checkpoints that the host's own log has of this sandbox? They were signed by the
 * log that it had since it was made, so another key or another origin is another log.
 */
static void judge_by_host(const struct verifying *w, int dir, const char *name,
			  struct audit_verdict *v)
{
	const json_t *known = json_object_get(w->known, name);
	const char *foreign = foreign_checkpoint(known, v->origin);
	_cleanup_free_ char *anchor = host_anchor(known);
	struct audit_verdict against;
	struct err e;

	if (!anchor)
		return;
	if (foreign) {
		v->bad_seq = AUDIT_NO_SEQ;
		err_set(&v->why, "this is the log %s, it had %.*s", v->origin,
			(int)strcspn(foreign, "\n"), foreign);
		not_by_host(v);
	} else if (audit_verify(dir, span_of_string(anchor), w->key, &against, &e) < 0) {
		v->bad_seq = AUDIT_NO_SEQ;
		v->why = e;
		not_by_host(v);
	} else if (!against.holds) {
		*v = against;
		not_by_host(v);
	}
}

/*
 * Whether its log should be there, by the host's own. Read anew: what is removed is first noted
 * there.
 */
static bool should_have_log(const struct verifying *w, const char *name)
{
	struct err ignored;
	json_t *now;
	bool should;

	if (!json_object_get(w->known, name))
		return false;
	now = host_log_read_known(&ignored);
	should = json_is_false(json_object_get(json_object_get(now, name), "removed"));
	json_decref(now);
	return should;
}

static void add_gone(struct verifying *w, const char *name)
{
	struct audit_verdict v = {.bad_seq = AUDIT_NO_SEQ};

	err_set(&v.why, "its log is gone, and was not taken away by `sandgate rm`: the host's own "
			"log has its checkpoint");
	json_array_append_new(w->rows, row_of(name, &v));
}

static int judge(struct verifying *w, const struct audit_where *where, struct err *e)
{
	const char *label = audit_where_label(where);
	_cleanup_fd_ int dir = audit_where_open(where, e);
	struct audit_verdict v;

	if (dir < 0 && where->name && should_have_log(w, where->name))
		return add_gone(w, where->name), 0;
	if (dir < 0)
		return -1;
	if (audit_verify(dir, w->anchor, w->key, &v, e) < 0)
		return err_prefix(e, "%s", label);
	if (v.holds && where->name && is_kept(where->name))
		judge_by_host(w, dir, where->name, &v);
	json_array_append_new(w->rows, row_of(label, &v));
	return 0;
}

/* ---- All of them ---- */

/* One that was removed is no finding; what is left of it is that it was there. */
static void add_removed(struct verifying *w, const char *name, json_t *known)
{
	json_array_append_new(w->rows, json_pack("{s:s,s:O,s:O?}", "name", name, "removed",
						 json_object_get(known, "time"), "checkpoint",
						 json_object_get(known, "checkpoint")));
}

static void add_missing(struct verifying *w)
{
	const char *name;
	json_t *known;

	json_object_foreach(w->known, name, known)
	{
		if (json_object_get(known, "judged"))
			continue;
		if (json_is_true(json_object_get(known, "removed")))
			add_removed(w, name, known);
		else if (should_have_log(w, name))
			add_gone(w, name);
	}
}

/* A sandbox that never ran has no log; anything else that cannot be judged is told at once. */
static void judge_kept(struct verifying *w, const char *name)
{
	const struct audit_where where = {.name = name};
	struct err e;
	_cleanup_fd_ int folder = state_dir_open_sandbox(name, false, &e);

	if (folder < 0 || faccessat(folder, "audit", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	json_object_set_new(json_object_get(w->known, name), "judged", json_true());
	if (judge(w, &where, &e) == 0)
		return;
	w->unread = true;
	cli_fail(0, &e);
}

static int judge_all(struct verifying *w, struct err *e)
{
	const struct audit_where host = {.host = true};
	_cleanup_fd_ int dir = host_log_open(e);
	char **names;

	if (dir < 0 && dir != -ENOENT)
		return -1;
	if (dir >= 0 && judge(w, &host, e) < 0)
		return -1;
	names = state_dir_list(e);
	if (!names)
		return -1;
	for (char **n = names; *n; n++)
		judge_kept(w, *n);
	name_list_free(names);
	add_missing(w);
	return 0;
}

/* ---- Words ---- */

static json_int_t number(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

static void print_good(const json_t *row)
{
	json_int_t size = number(row, "size"), unsealed = number(row, "unsealed"),
		   torn = number(row, "torn_bytes"), first = number(row, "first_seq"),
		   anchors = number(row, "anchors");

	output_text("holds", STYLE_GOOD);
	printf(": %" JSON_INTEGER_FORMAT " %s signed", size,
	       size == 1 ? "entry is" : "entries are");
	if (first)
		printf(", the text of those before %" JSON_INTEGER_FORMAT " was pruned", first);
	if (anchors)
		printf(", grown from %" JSON_INTEGER_FORMAT " checkpoint%s kept elsewhere", anchors,
		       anchors == 1 ? "" : "s");
	if (unsealed)
		printf("; %" JSON_INTEGER_FORMAT " more %s written and not signed yet", unsealed,
		       unsealed == 1 ? "is" : "are");
	if (torn)
		printf("; the last line is not finished (%" JSON_INTEGER_FORMAT " octets)", torn);
	putchar('\n');
}

static void print_removed(const json_t *row)
{
	const char *text = json_string_value(json_object_get(row, "checkpoint")), *size;

	printf("was removed ");
	output_text(json_string_value(json_object_get(row, "removed")), STYLE_PLAIN);
	size = text ? strchr(text, '\n') : NULL;
	if (size)
		printf("; its last checkpoint, at size %.*s, is in the host's own log",
		       (int)strcspn(size + 1, "\n"), size + 1);
	putchar('\n');
}

static void print_row(const json_t *row)
{
	output_text(json_string_value(json_object_get(row, "name")), STYLE_PLAIN);
	fputs(": ", stdout);
	if (json_object_get(row, "removed")) {
		print_removed(row);
	} else if (json_is_true(json_object_get(row, "holds"))) {
		print_good(row);
	} else {
		output_text("does not hold", STYLE_BAD);
		fputs(": ", stdout);
		output_text(json_string_value(json_object_get(row, "why")), STYLE_PLAIN);
		putchar('\n');
	}
}

static int status_of(const struct verifying *w)
{
	size_t i;
	json_t *row;

	json_array_foreach(w->rows, i, row)
	{
		if (json_is_false(json_object_get(row, "holds")))
			return EXIT_DOES_NOT_HOLD;
	}
	return w->unread ? EXIT_SANDGATE : 0;
}

static void print_all(const struct verifying *w, bool as_json)
{
	size_t i;
	json_t *row;

	if (as_json) {
		output_json(w->rows);
		return;
	}
	json_array_foreach(w->rows, i, row) print_row(row);
	if (!json_array_size(w->rows))
		puts("there is no audit log yet");
}

/* ---- The command ---- */

static int run(struct verifying *w, const struct args *a, struct err *e)
{
	const struct audit_where where = {.name = a->n_words ? a->words[0] : NULL,
					  .dir = args_value(a, AUDIT_VERIFY_DIR),
					  .host = args_has(a, AUDIT_VERIFY_HOST)};

	if (audit_where_read(args_value(a, AUDIT_VERIFY_ANCHOR), &w->anchor, e) < 0 ||
	    audit_where_read(args_value(a, AUDIT_VERIFY_KEY), &w->key, e) < 0)
		return -1;
	w->known = host_log_read_known(e);
	if (!w->known)
		return -1;
	if (!where.name && !where.dir && !where.host)
		return judge_all(w, e);
	return judge(w, &where, e);
}

static int check_usage(const struct args *a, struct err *e)
{
	int said = !!a->n_words + args_has(a, AUDIT_VERIFY_DIR) + args_has(a, AUDIT_VERIFY_HOST);

	if (said > 1)
		return err_set(e,
			       "which log? the name of a sandbox, --host or --dir FOLDER, one of "
			       "them, or nothing for all");
	if (said == 0 && (args_has(a, AUDIT_VERIFY_ANCHOR) || args_has(a, AUDIT_VERIFY_KEY)))
		return err_set(e, "--anchor and --key are about one log; name it");
	return 0;
}

int cmd_audit_verify(const struct args *a)
{
	struct verifying w = {.rows = json_array()};
	struct err e;
	int status;

	if (check_usage(a, &e) < 0) {
		status = cli_fail(EXIT_USAGE, &e);
	} else if (run(&w, a, &e) < 0) {
		status = cli_fail(EXIT_SANDGATE, &e);
	} else {
		print_all(&w, args_has(a, AUDIT_VERIFY_JSON));
		status = status_of(&w);
	}
	free((void *)w.anchor.p);
	free((void *)w.key.p);
	json_decref(w.known);
	json_decref(w.rows);
	return status;
}
