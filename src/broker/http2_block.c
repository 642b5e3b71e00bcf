/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http2_block.h"

#include <stdlib.h>

void http2_block_free(struct http2_block *b)
{
	if (b->octets)
		explicit_bzero(b->octets, b->n);
	free(b->octets);
	b->octets = NULL;
	b->n = b->n_fields = b->n_pseudo = 0;
}

void http2_block_begin(struct http2_block *b)
{
	http2_block_free(b);
	b->seen = b->seen_fields = 0;
	b->octets = malloc(MESSAGE_HEAD_MAX);
	b->no_memory = !b->octets;
	b->too_large = false;
	b->fault = NULL;
}

static struct span keep(struct http2_block *b, struct span s)
{
	uint8_t *p = b->octets + b->n;

	if (s.n)
		memcpy(p, s.p, s.n);
	b->n += s.n;
	return span_of(p, s.n);
}

static bool has_room(const struct http2_block *b, size_t n, bool pseudo)
{
	if (!pseudo && b->n_fields - b->n_pseudo == MESSAGE_FIELDS_MAX)
		return false;
	return n <= MESSAGE_HEAD_MAX - b->n;
}

static void keep_field(struct http2_block *b, struct span name, struct span value, bool sensitive)
{
	bool pseudo = name.n && name.p[0] == ':';
	struct field *f = &b->fields[b->n_fields];

	if (pseudo && b->n_pseudo == HTTP2_PSEUDO_MAX)
		b->fault = "there are too many pseudo-header fields";
	else if (!has_room(b, name.n + value.n, pseudo))
		b->too_large = true;
	if (b->fault || b->too_large)
		return;
	b->n_fields++;
	b->n_pseudo += pseudo;
	f->name = keep(b, name);
	f->value = keep(b, value);
	f->sensitive = sensitive;
}

bool http2_block_add(struct http2_block *b, struct span name, struct span value, bool sensitive)
{
	b->seen += name.n + value.n;
	b->seen_fields++;
	if (!b->no_memory && !b->too_large && !b->fault)
		keep_field(b, name, value, sensitive);
	return b->seen <= (size_t)HTTP2_BLOCK_BOMB * MESSAGE_HEAD_MAX &&
	       b->seen_fields <= (size_t)HTTP2_BLOCK_BOMB * MESSAGE_FIELDS_MAX;
}
