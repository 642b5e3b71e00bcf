/* SPDX-License-Identifier: Apache-2.0 */
/* What nghttp2 allocates: counted, bounded, and wiped when freed, since a credential may have been
 * in it. */
#include "broker/http2.h"

#include <malloc.h>
#include <stdlib.h>

static void *take(struct http2 *h, size_t n)
{
	void *p = n <= HTTP2_MEMORY_MAX - h->memory ? malloc(n) : NULL;

	if (!p)
		return NULL;
	/* What malloc gave may be a little more than what was asked for. */
	h->memory += malloc_usable_size(p);
	if (h->memory <= HTTP2_MEMORY_MAX)
		return p;
	h->memory -= malloc_usable_size(p);
	free(p);
	return NULL;
}

static void *memory_malloc(size_t n, void *ctx)
{
	return take(ctx, n);
}

static void memory_free(void *p, void *ctx)
{
	struct http2 *h = ctx;

	if (!p)
		return;
	h->memory -= malloc_usable_size(p);
	explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *memory_calloc(size_t n, size_t size, void *ctx)
{
	void *p = size && n > SIZE_MAX / size ? NULL : take(ctx, n * size);

	if (p)
		memset(p, 0, n * size);
	return p;
}

static void *memory_realloc(void *p, size_t n, void *ctx)
{
	size_t old = p ? malloc_usable_size(p) : 0;
	void *q;

	if (p && n <= old)
		return p;
	q = take(ctx, n);
	if (q && p) {
		memcpy(q, p, old);
		memory_free(p, ctx);
	}
	return q;
}

nghttp2_mem http2_memory_of(struct http2 *h)
{
	return (nghttp2_mem){h, memory_malloc, memory_free, memory_calloc, memory_realloc};
}
