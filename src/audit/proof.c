/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "audit/leaves.h"
#include "audit/log.h"
#include "audit/signer.h"

static const char format[] = "c2sp.org/tlog-proof@v1";

/* ---- Reading ---- */

static bool starts_with(struct span line, const char *word, struct span *rest)
{
	size_t n = strlen(word);

	if (line.n < n || memcmp(line.p, word, n) != 0)
		return false;
	*rest = span_of(line.p + n, line.n - n);
	return true;
}

/* Hashes up to the blank line. */
static bool parse_path(struct span *text, struct tree_path *out)
{
	struct span line;

	out->n = 0;
	while (checkpoint_take_line(text, &line)) {
		if (line.n == 0)
			return true;
		if (out->n == TREE_LEVELS || !digest_parse(line, &out->at[out->n]))
			return false;
		out->n++;
	}
	return false;
}

bool proof_parse(struct span text, struct proof *out)
{
	struct span line, number;

	out->extra = span_of(NULL, 0);
	if (text.n > PROOF_MAX || !checkpoint_take_line(&text, &line) ||
	    !span_equal(line, span_of_string(format)) || !checkpoint_take_line(&text, &line))
		return false;
	if (starts_with(line, "extra ", &out->extra) && !checkpoint_take_line(&text, &line))
		return false;
	if (!starts_with(line, "index ", &number) ||
	    !checkpoint_parse_number(number, &out->index) || !parse_path(&text, &out->path))
		return false;
	out->checkpoint = text;
	return true;
}

/* ---- Making ---- */

struct making {
	uint64_t seq;
	struct checkpoint under;
	struct tree_path path;
	char *line; /* NULL: pruned */
	size_t n;
};

static bool keep_line(void *ctx, uint64_t seq, struct span line)
{
	struct making *m = ctx;

	if (seq == m->seq) {
		m->line = malloc(line.n + 1);
		m->n = line.n;
		if (m->line)
			memcpy(m->line, line.p, line.n);
	}
	return false;
}

/* From the very text that is printed: the file may move on. */
static int read_under(int dir, const char *checkpoint, struct making *m, struct err *e)
{
	struct verifier v;

	if (signer_read_public(dir, &v, e) < 0)
		return -1;
	if (checkpoint_open(span_of_string(checkpoint), &v, &m->under, e) < 0)
		return err_prefix(e, "checkpoint");
	if (m->seq < m->under.size)
		return 0;
	return err_set(e,
		       "entry %" PRIu64 ": is not signed yet, or is not there: the latest "
		       "checkpoint has %" PRIu64 " entries, from 0 on",
		       m->seq, m->under.size);
}

/* A proof that does not hold is not handed out. */
static int check_path(struct leaves *leaves, const struct making *m, struct err *e)
{
	struct digest leaf, of_line;

	if (leaves_get(leaves, m->seq, &leaf) < 0)
		return err_set(e, "hashes: cannot be read");
	of_line = m->line ? tree_leaf(span_of(m->line, m->n)) : leaf;
	if (digest_equal(&leaf, &of_line) &&
	    tree_path_holds(&leaf, m->seq, m->under.size, &m->path, &m->under.root))
		return 0;
	return err_set(e,
		       "entry %" PRIu64 ": the log does not hold; `sandgate audit verify` says "
		       "where",
		       m->seq);
}

static int find_path(int dir, struct making *m, struct err *e)
{
	struct leaves *leaves = malloc(sizeof(*leaves));
	int r = leaves ? leaves_open(leaves, dir) : -ENOMEM;

	if (!leaves)
		return err_set(e, "%s", err_why(ENOMEM));
	if (r == 0)
		r = tree_find_path(leaves_get, leaves, m->seq, m->under.size, &m->path);
	if (r < 0)
		r = err_set(e, "hashes: cannot be read: %s", err_why(-r));
	else
		r = check_path(leaves, m, e);
	leaves_close(leaves);
	free(leaves);
	return r;
}

static void put_parts(FILE *out, const struct making *m, const char *checkpoint)
{
	char text[DIGEST_TEXT + 1];
	char *extra = m->line ? malloc(BASE64_TEXT(m->n) + 1) : NULL;

	fprintf(out, "%s\n", format);
	if (extra) {
		base64_print(span_of(m->line, m->n), extra);
		fprintf(out, "extra %s\n", extra);
	}
	free(extra);
	fprintf(out, "index %" PRIu64 "\n", m->seq);
	for (size_t i = 0; i < m->path.n; i++) {
		digest_print(&m->path.at[i], text);
		fprintf(out, "%s\n", text);
	}
	fprintf(out, "\n%s", checkpoint);
}

static char *print(const struct making *m, const char *checkpoint)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	put_parts(out, m, checkpoint);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char *proof_make(int dir, uint64_t seq, struct err *e)
{
	struct making *m = calloc(1, sizeof(*m));
	char *checkpoint = NULL, *text = NULL;

	if (!m)
		return NULL;
	m->seq = seq;
	checkpoint = audit_log_checkpoint(dir, e);
	if (checkpoint && read_under(dir, checkpoint, m, e) == 0 &&
	    audit_each(dir, seq, keep_line, m, e) == 0 && find_path(dir, m, e) == 0) {
		text = print(m, checkpoint);
		if (!text)
			err_set(e, "%s", err_why(ENOMEM));
	}
	free(checkpoint);
	free(m->line);
	free(m);
	return text;
}

/* ---- Checking ---- */

/* The line that is proven: the one given, or the one the proof brings along. */
static int find_line(const struct proof *p, struct span given, struct proof_said *out,
		     struct err *e)
{
	if (!given.n && !p->extra.p) {
		err_set(e, "the entry's line is not in the proof, it was pruned; give it as well");
		return -EINVAL;
	}
	out->line = malloc((given.n ? given.n : p->extra.n) + 1);
	if (!out->line) {
		err_set(e, "%s", err_why(ENOMEM));
		return -EINVAL;
	}
	if (given.n) {
		memcpy(out->line, given.p, given.n);
		out->n = given.n;
		return 0;
	}
	if (base64_parse(p->extra, (uint8_t *)out->line, p->extra.n, &out->n))
		return 0;
	err_set(e, "not a proof: what follows \"extra\" is not base64");
	return -EBADMSG;
}

static int check_parts(const struct proof *p, const struct verifier *v, struct proof_said *out,
		       struct err *e)
{
	const struct span line = span_of(out->line, out->n);
	struct digest leaf = tree_leaf(line);

	if (checkpoint_open(p->checkpoint, v, &out->under, e) < 0) {
		err_prefix(e, "checkpoint");
		return -EBADMSG;
	}
	if (!tree_path_holds(&leaf, p->index, out->under.size, &p->path, &out->under.root)) {
		err_set(e, "this entry is not number %" PRIu64 " of the log that was signed",
			p->index);
		return -EBADMSG;
	}
	if (entry_parse(line, &out->entry, e) < 0)
		return -EBADMSG;
	if (out->entry.seq == p->index)
		return 0;
	err_set(e, "the entry calls itself number %" PRIu64 " and is number %" PRIu64,
		out->entry.seq, p->index);
	return -EBADMSG;
}

int proof_check(struct span text, struct span line, struct span key, struct proof_said *out,
		struct err *e)
{
	struct verifier v;
	struct proof p;
	int r;

	memset(out, 0, sizeof(*out));
	if (verifier_parse(key, &v, e) < 0)
		return -EINVAL;
	if (!proof_parse(text, &p)) {
		err_set(e, "not a proof (c2sp.org/tlog-proof)");
		return -EBADMSG;
	}
	r = find_line(&p, line, out, e);
	return r < 0 ? r : check_parts(&p, &v, out, e);
}

void proof_said_free(struct proof_said *said)
{
	entry_free(&said->entry);
	free(said->line);
	said->line = NULL;
}
