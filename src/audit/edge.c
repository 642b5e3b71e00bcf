/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/edge.h"

#include <inttypes.h>
#include <stdio.h>

#include "audit/checkpoint.h"
#include "base/buf.h"

static const char format[] = "sandgate-audit-edge/v1";

static void put_digest(struct buf *b, const char *key, const struct digest *d)
{
	char text[DIGEST_TEXT + 1];

	digest_print(d, text);
	buf_put_text(b, key);
	buf_put_text(b, text);
	buf_put_text(b, "\n");
}

size_t edge_print(const struct edge *edge, char out[EDGE_MAX])
{
	struct buf b = buf_of(out, EDGE_MAX - 1);
	struct span all;
	struct digest sum;
	char head[256];

	snprintf(head, sizeof(head),
		 "%s\nsize %" PRIu64 "\ntime %s\nsegment %" PRIu64 " %" PRIu64 "\nfirst %" PRIu64
		 "\n",
		 format, edge->tree.size, edge->time[0] ? edge->time : "-", edge->segment,
		 edge->octets, edge->first);
	buf_put_text(&b, head);
	for (int k = TREE_LEVELS - 1; k >= 0; k--)
		if (edge->tree.size >> k & 1)
			put_digest(&b, "peak ", &edge->tree.peaks[k]);
	all = buf_span(&b);
	sum = digest_of(&all, 1);
	put_digest(&b, "sum ", &sum);
	out[b.n] = 0;
	return b.n;
}

/* "KEY VALUE": the value. */
static bool take(struct span *text, const char *key, struct span *value)
{
	struct span line;
	size_t n = strlen(key);

	if (!checkpoint_take_line(text, &line) || line.n <= n || memcmp(line.p, key, n) != 0 ||
	    line.p[n] != ' ')
		return false;
	*value = span_of(line.p + n + 1, line.n - n - 1);
	return true;
}

static bool take_number(struct span *text, const char *key, uint64_t *out)
{
	struct span value;

	return take(text, key, &value) && checkpoint_parse_number(value, out);
}

static bool take_segment(struct span *text, struct edge *out)
{
	struct span value;
	const uint8_t *space;
	size_t n;

	if (!take(text, "segment", &value))
		return false;
	space = memchr(value.p, ' ', value.n);
	n = space ? (size_t)(space - value.p) : 0;
	return space && checkpoint_parse_number(span_of(value.p, n), &out->segment) &&
	       checkpoint_parse_number(span_of(space + 1, value.n - n - 1), &out->octets);
}

static bool take_time(struct span *text, struct edge *out)
{
	struct span value;

	if (!take(text, "time", &value))
		return false;
	out->time[0] = 0;
	if (out->tree.size == 0)
		return span_equal(value, span_of_string("-"));
	if (value.n != ENTRY_TIME)
		return false;
	memcpy(out->time, value.p, ENTRY_TIME);
	out->time[ENTRY_TIME] = 0;
	return strlen(out->time) == ENTRY_TIME && entry_parse_time(out->time) >= 0;
}

static bool take_peaks(struct span *text, struct tree *t)
{
	struct span value;

	for (int k = TREE_LEVELS - 1; k >= 0; k--)
		if (t->size >> k & 1 &&
		    (!take(text, "peak", &value) || !digest_parse(value, &t->peaks[k])))
			return false;
	return true;
}

bool edge_parse(struct span all, struct edge *out)
{
	struct span text = all, line, value;
	struct digest sum, is;

	memset(out, 0, sizeof(*out));
	if (!checkpoint_take_line(&text, &line) || !span_equal(line, span_of_string(format)) ||
	    !take_number(&text, "size", &out->tree.size) || !take_time(&text, out) ||
	    !take_segment(&text, out) || !take_number(&text, "first", &out->first) ||
	    !take_peaks(&text, &out->tree))
		return false;
	line = span_of(all.p, all.n - text.n);
	is = digest_of(&line, 1);
	return take(&text, "sum", &value) && digest_parse(value, &sum) && text.n == 0 &&
	       digest_equal(&sum, &is) && out->segment <= out->tree.size &&
	       out->first <= out->segment;
}
