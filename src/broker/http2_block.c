/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/http2_block.h"

#include <stdlib.h>

void http2_block_free(struct http2_block *b)
{
	if (b->octets)
		explicit_bzero(b->octets, b->n < MESSAGE_HEAD_MAX ? b->n : MESSAGE_HEAD_MAX);
	free(b->octets);
	b->octets = NULL;
	b->n = b->n_fields = 0;
}

void http2_block_begin(struct http2_block *b)
{
	http2_block_free(b);
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

static bool is_bomb(const struct http2_block *b)
{
	return b->n > (size_t)HTTP2_BLOCK_BOMB * MESSAGE_HEAD_MAX ||
	       b->n_fields > (size_t)HTTP2_BLOCK_BOMB * MESSAGE_FIELDS_MAX;
}

bool http2_block_add(struct http2_block *b, struct span name, struct span value, bool sensitive)
{
	struct field *f;

	if (b->no_memory)
		return true;
	if (b->n_fields >= HTTP2_BLOCK_FIELDS || b->n >= MESSAGE_HEAD_MAX ||
	    name.n + value.n > MESSAGE_HEAD_MAX - b->n)
		b->too_large = true;
	if (b->too_large) {
		/* The octets are wiped up to n: from here on it only counts. */
		b->n += name.n + value.n;
		b->n_fields++;
		return !is_bomb(b);
	}
	f = &b->fields[b->n_fields++];
	f->name = keep(b, name);
	f->value = keep(b, value);
	f->sensitive = sensitive;
	return true;
}
