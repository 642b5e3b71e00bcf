/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/locked.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <openssl/crypto.h>

/*
 * OpenSSL's heap of secrets. Each end of a TLS connection has the key of its key exchange in it
 * until it is freed: HEAP_PIECE for X25519 and P-256, twice that for P-384. So there is room for
 * 4,000 ends at least; one more fails in its handshake. All of it is locked from the start.
 */
enum { HEAP = 256 * 1024, HEAP_PIECE = 32 };

enum { ALIGNMENT = 16 };

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Whole pages for n octets, one at least; 0 when there cannot be so many. */
static size_t pages_for(size_t n)
{
	size_t page = page_size();

	if (n > SIZE_MAX - 4 * page)
		return 0;
	return n ? (n + page - 1) / page * page : page;
}

static int keep_out_of_sight(void *p, size_t n, struct err *e)
{
	if (madvise(p, n, MADV_DONTDUMP) != 0 || madvise(p, n, MADV_WIPEONFORK) != 0)
		return err_set(e, "cannot protect memory for secrets: madvise: %s", err_why(errno));
	return 0;
}

static int protect(void *p, size_t n, struct err *e)
{
	if (mprotect(p, n, PROT_READ | PROT_WRITE) != 0)
		return err_set(e, "cannot protect memory for secrets: mprotect: %s",
			       err_why(errno));
	if (mlock(p, n) != 0)
		return err_set(
			e,
			"cannot lock memory for secrets: %s; raise the limit of locked memory "
			"(ulimit -l) to 1 MiB or more",
			strerror(errno));
	return keep_out_of_sight(p, n, e);
}

/*
 *	no access | rw ............ secret | no access
 *
 * The secret ends at the last page, but for the alignment, so that the first octets too far
 * already fault.
 */
void *locked_new(size_t n, struct err *e)
{
	size_t page = page_size(), room = pages_for(n);
	uint8_t *map;

	if (room == 0) {
		err_set(e, "cannot protect memory for secrets: %zu octets are too many", n);
		return NULL;
	}
	map = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED) {
		err_set(e, "cannot protect memory for secrets: mmap: %s", err_why(errno));
		return NULL;
	}
	if (protect(map + page, room, e) != 0) {
		munmap(map, room + 2 * page);
		return NULL;
	}
	return map + page + (room - n) / ALIGNMENT * ALIGNMENT;
}

void locked_free(void *p, size_t n)
{
	size_t page = page_size(), room = pages_for(n);
	uint8_t *first;

	if (!p)
		return;
	first = (uint8_t *)p - (room - n) / ALIGNMENT * ALIGNMENT;
	explicit_bzero(first, room);
	munmap(first - page, room + 2 * page);
}

int locked_start_openssl(struct err *e)
{
	int r = 0;
	void *all;

	if (CRYPTO_secure_malloc_initialized())
		return 0;
	if (CRYPTO_secure_malloc_init(HEAP, HEAP_PIECE) != 1)
		return err_set(e, "cannot lock memory for keys: raise the limit of locked memory "
				  "(ulimit -l) to 1 MiB or more");
	/* OpenSSL locks it and keeps it out of core files, but a child would have it. The heap
	 * is where all of it lies when it is taken in one piece. */
	all = OPENSSL_secure_malloc(HEAP);
	if (!all)
		return err_set(e, "cannot lock memory for keys: out of memory");
	r = keep_out_of_sight(all, HEAP, e);
	OPENSSL_secure_free(all);
	return r;
}
