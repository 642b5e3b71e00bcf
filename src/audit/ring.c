/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One file, mapped by both ends: a head of a page, then RING_SLOTS records. `head` counts what was
 * put and is written by the gate, or the broker, alone, `tail` what was taken and is written by the sealer alone;
 * neither ever goes back, and a slot is their remainder. The file keeps them, and the totals,
 * whoever dies.
 *
 * A put is made of several stores. `turn` is odd during it, so that the sealer can tell totals that
 * belong to a number of records from totals in the middle of a put (as a seqlock does). A writer that
 * is killed in the middle leaves it odd, with totals that count a record that never came:
 * ring_mend() says that no put is under way, and the difference is then what was lost.
 *
 * The writer may do anything anywhere in the mapping, while the sealer reads. So the sealer keeps
 * its own `tail`, uses nothing of the mapping as an index or a length, and copies a record before
 * it looks at it. What a hostile one can bring about is wrong contents, which it can bring about
 * anyway.
 *
 * The octets of the file are allocated when it is made: a store to a mapping for which the disk has
 * no room would be the end of the writer (SIGBUS).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "audit/ring_page.h"

struct shared {
	struct ring_page page;
	_Alignas(RING_PAGE) struct record slot[RING_SLOTS];
};
_Static_assert(offsetof(struct shared, slot) == RING_PAGE, "the head is one page");
_Static_assert((RING_SLOTS & (RING_SLOTS - 1)) == 0, "a slot is a remainder by a power of two");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "neither end waits for the other");

struct ring {
	struct shared *shared;
	uint64_t tail; /* the reader's own */
};

size_t ring_size(void)
{
	return sizeof(struct shared);
}

/* --- the mapping --- */

struct ring *ring_map(int fd, struct err *e)
{
	struct ring *r = malloc(sizeof(*r));
	int rc = r ? ring_page_prepare(fd, (off_t)ring_size()) : -ENOMEM;
	void *p = MAP_FAILED;

	if (rc == 0) {
		p = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		rc = p == MAP_FAILED ? -errno : 0;
	}
	if (rc == 0) {
		r->shared = p;
		rc = ring_page_is_ours(&r->shared->page) ? 0 : -EBADMSG;
	}
	if (rc == 0) {
		r->tail = atomic_load(&r->shared->page.tail);
		return r;
	}
	if (p != MAP_FAILED)
		munmap(p, ring_size());
	free(r);
	err_set(e, "the ring of records: %s",
		rc == -EBADMSG ? "the file was made by a later version of sandgate, or is damaged"
			       : err_why(-rc));
	errno = -rc;
	return NULL;
}

void ring_unmap(struct ring *r)
{
	if (!r)
		return;
	munmap(r->shared, ring_size());
	free(r);
}

/* --- the writer's end --- */

/* One writer: no read-modify-write is needed. */
static void count(_Atomic uint64_t *n)
{
	uint64_t v = atomic_load_explicit(n, memory_order_relaxed);

	atomic_store_explicit(n, v + 1, memory_order_relaxed);
}

static void count_event(struct ring_totals *t, const struct record *what)
{
	if (what->kind == RECORD_DENY)
		count(&t->refused[what->reason % REASONS]);
	else
		count(what->kind == RECORD_END ? &t->ended : &t->allowed);
	if (what->kind == RECORD_ALLOW && what->credential[0])
		count(&t->with_credential);
}

static void count_missed(struct ring_totals *t, const struct record *what)
{
	count(&t->missed);
	if (what->kind == RECORD_DENY)
		count(&t->missed_refused[what->reason % REASONS]);
}

static void wake_reader(struct shared *s, int wake)
{
	const uint64_t one = 1;

	/*
	 * Before this the record is there, after it the reader's word is: one of the two is seen.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&s->page.asleep, memory_order_relaxed))
		return;
	atomic_store_explicit(&s->page.asleep, 0, memory_order_relaxed);
	/* A count that is full wakes as well as one more would. */
	if (wake >= 0 && write(wake, &one, sizeof(one)) < 0)
		return;
}

void ring_put(struct ring *r, int wake, const struct record *what)
{
	struct shared *s = r ? r->shared : NULL;
	uint64_t head, turn;
	bool full;

	if (!s)
		return;
	head = atomic_load_explicit(&s->page.head, memory_order_relaxed);
	turn = atomic_load_explicit(&s->page.turn, memory_order_relaxed) | 1;
	full = head - atomic_load_explicit(&s->page.tail, memory_order_acquire) >= RING_SLOTS;
	atomic_store_explicit(&s->page.turn, turn, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	count_event(&s->page.totals, what);
	if (full) {
		count_missed(&s->page.totals, what);
	} else {
		memcpy(&s->slot[head % RING_SLOTS], what, sizeof(*what));
		atomic_store_explicit(&s->page.head, head + 1, memory_order_release);
	}
	atomic_store_explicit(&s->page.turn, turn + 1, memory_order_release);
	wake_reader(s, wake);
}

void ring_mend(struct ring *r)
{
	uint64_t turn = atomic_load(&r->shared->page.turn);

	atomic_store(&r->shared->page.turn, turn + (turn & 1));
}

static void raise_to(_Atomic uint64_t *n, uint64_t least)
{
	if (atomic_load(n) < least)
		atomic_store(n, least);
}

void ring_raise(struct ring *r, const struct record_totals *least)
{
	struct ring_totals *t = &r->shared->page.totals;

	for (size_t i = 0; i < REASONS; i++)
		raise_to(&t->refused[i], least->refused[i]);
	raise_to(&t->allowed, least->allowed);
	raise_to(&t->with_credential, least->with_credential);
}

/* --- the sealer's end --- */

bool ring_take(struct ring *r, struct record *out)
{
	struct shared *s = r->shared;
	uint64_t head = atomic_load_explicit(&s->page.head, memory_order_acquire);

	if (head == r->tail)
		return false;
	/* No writer that counts right gets here: what it put cannot be told any more. */
	if (head - r->tail > RING_SLOTS)
		r->tail = head - RING_SLOTS;
	memcpy(out, &s->slot[r->tail % RING_SLOTS], sizeof(*out));
	r->tail++;
	atomic_store_explicit(&s->page.tail, r->tail, memory_order_release);
	return true;
}

uint64_t ring_taken(const struct ring *r)
{
	return r->tail;
}

bool ring_may_sleep(struct ring *r)
{
	struct shared *s = r->shared;

	atomic_store_explicit(&s->page.asleep, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&s->page.head, memory_order_relaxed) == r->tail)
		return true;
	atomic_store_explicit(&s->page.asleep, 0, memory_order_relaxed);
	return false;
}

static uint64_t value(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

void ring_read_totals(const struct ring *r, struct record_totals *out)
{
	const struct ring_totals *t = &r->shared->page.totals;

	for (size_t i = 0; i < REASONS; i++) {
		out->refused[i] = value(&t->refused[i]);
		out->missed_refused[i] = value(&t->missed_refused[i]);
	}
	out->allowed = value(&t->allowed);
	out->ended = value(&t->ended);
	out->missed = value(&t->missed);
	out->with_credential = value(&t->with_credential);
}

bool ring_read_settled(const struct ring *r, struct record_totals *out, uint64_t *put)
{
	const struct shared *s = r->shared;
	uint64_t turn = atomic_load_explicit(&s->page.turn, memory_order_acquire);

	*put = atomic_load_explicit(&s->page.head, memory_order_relaxed);
	ring_read_totals(r, out);
	atomic_thread_fence(memory_order_acquire);
	return !(turn & 1) && atomic_load_explicit(&s->page.turn, memory_order_relaxed) == turn;
}
