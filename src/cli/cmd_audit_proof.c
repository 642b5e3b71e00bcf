/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/checkpoint.h"
#include "audit/proof.h"
#include "cli/audit_where.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "sandbox/run.h"

enum { EXIT_DOES_NOT_HOLD = 1 };

/* ---- audit proof ---- */

static int read_seq(const struct args *a, uint64_t *seq, struct err *e)
{
	const char *word = a->words[a->n_words - 1];

	if (checkpoint_parse_number(span_of_string(word), seq))
		return 0;
	return err_set(e, "%s: no sequence number; `sandgate audit show` has them, from 0 on",
		       word);
}

int cmd_audit_proof(const struct args *a)
{
	const struct audit_where where = {.name = a->n_words == 2 ? a->words[0] : NULL,
					  .dir = args_value(a, AUDIT_PROOF_DIR),
					  .host = args_has(a, AUDIT_PROOF_HOST)};
	_cleanup_fd_ int dir = -1;
	char *text;
	uint64_t seq;
	struct err e;

	if (audit_where_check(&where, &e) < 0 || read_seq(a, &seq, &e) < 0)
		return cli_fail(EXIT_USAGE, &e);
	dir = audit_where_open(&where, &e);
	text = dir < 0 ? NULL : proof_make(dir, seq, &e);
	if (!text)
		return cli_fail(EXIT_SANDGATE, &e);
	fputs(text, stdout);
	free(text);
	return 0;
}

/* ---- audit check ---- */

static void print_said(const struct proof_said *said, bool as_json)
{
	json_t *model;

	if (!as_json) {
		printf("entry %" PRIu64 " of ", said->entry.seq);
		output_text(said->under.origin, STYLE_PLAIN);
		printf(", signed with %" PRIu64 " entries:\n%.*s\n", said->under.size, (int)said->n,
		       said->line);
		return;
	}
	model = json_pack("{s:b,s:s,s:I,s:I,s:O}", "holds", 1, "origin", said->under.origin, "size",
			  (json_int_t)said->under.size, "seq", (json_int_t)said->entry.seq, "entry",
			  said->entry.value);
	output_json(model);
	json_decref(model);
}

/* The line that --entry gives, without its newline. */
static struct span without_newline(struct span line)
{
	return line.n && line.p[line.n - 1] == '\n' ? span_of(line.p, line.n - 1) : line;
}

static int check(const struct args *a, struct span proof, struct span line, struct span key)
{
	struct proof_said said;
	struct err e;
	int r = proof_check(proof, without_newline(line), key, &said, &e), status = 0;

	if (r == 0)
		print_said(&said, args_has(a, AUDIT_CHECK_JSON));
	else if (r == -EBADMSG)
		status = cli_fail(EXIT_DOES_NOT_HOLD,
				  (err_prefix(&e, "the proof does not hold"), &e));
	else
		status = cli_fail(EXIT_SANDGATE, &e);
	proof_said_free(&said);
	return status;
}

int cmd_audit_check(const struct args *a)
{
	const char *key_path = args_value(a, AUDIT_CHECK_KEY);
	struct span proof = {.n = 0}, line = {.n = 0}, key = {.n = 0};
	struct err e;
	int status;

	if (!key_path)
		return cli_fail(EXIT_USAGE,
				(err_set(&e, "--key is missing: the public key of the log, "
					     "from whoever you trust to have it"),
				 &e));
	if (audit_where_read(a->words[0], &proof, &e) < 0 ||
	    audit_where_read(args_value(a, AUDIT_CHECK_ENTRY), &line, &e) < 0 ||
	    audit_where_read(key_path, &key, &e) < 0)
		status = cli_fail(EXIT_SANDGATE, &e);
	else
		status = check(a, proof, line, key);
	free((void *)proof.p);
	free((void *)line.p);
	free((void *)key.p);
	return status;
}
