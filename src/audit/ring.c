/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation
 *
 * One file, mapped by both ends: a head of a page, then RING_SLOTS records. `head` counts what was
 * put and is written by the gate alone, `tail` what was taken and is written by the sealer alone;
 * neither ever goes back, and a slot is their remainder. The file keeps them, and the totals,
 * whoever dies.
 *
 * A put is made of several stores. `turn` is odd during it, so that the sealer can tell totals that
 * belong to a number of records from totals in the middle of a put (as a seqlock does). A gate that
 * is killed in the middle leaves it odd, with totals that count a record that never came:
 * ring_mend() says that no put is under way, and the difference is then what was lost.
 *
 * The gate may write anything anywhere in the mapping, while the sealer reads. So the sealer keeps
 * its own `tail`, uses nothing of the mapping as an index or a length, and copies a record before
 * it looks at it. What a hostile gate can bring about is wrong contents, which it can bring about
 * anyway.
 *
 * The octets of the file are allocated when it is made: a store to a mapping for which the disk has
 * no room would be the end of the gate (SIGBUS).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/record.h"

enum { RING_SLOTS = 2048, RING_VERSION = 1, CACHE_LINE = 64 };

static const char ring_magic[8] = "sgring\r\n";

struct shared_totals {
	_Atomic uint64_t refused[REASONS];
	_Atomic uint64_t allowed, ended, missed;
	_Atomic uint64_t missed_refused[REASONS];
};

struct shared {
	char magic[sizeof(ring_magic)];
	uint32_t version, record_size, slots, reasons;
	_Alignas(CACHE_LINE) _Atomic uint64_t tail;
	_Atomic uint32_t asleep; /* the reader waits for a wake-up */
	_Alignas(CACHE_LINE) _Atomic uint64_t head;
	_Atomic uint64_t turn; /* odd: in the middle of a put */
	struct shared_totals totals;
	_Alignas(4096) struct record slot[RING_SLOTS];
};
_Static_assert(offsetof(struct shared, slot) == 4096, "the head is one page");
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

static bool is_ours(const struct shared *s)
{
	return memcmp(s->magic, ring_magic, sizeof(ring_magic)) == 0 &&
	       s->version == RING_VERSION && s->record_size == sizeof(struct record) &&
	       s->slots == RING_SLOTS && s->reasons == REASONS;
}

static void begin(struct shared *s)
{
	s->version = RING_VERSION;
	s->record_size = sizeof(struct record);
	s->slots = RING_SLOTS;
	s->reasons = REASONS;
	memcpy(s->magic, ring_magic, sizeof(ring_magic));
}

static int make_room(int fd, bool *fresh)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*fresh = st.st_size == 0;
	if (st.st_size == (off_t)ring_size())
		return 0;
	return *fresh ? -posix_fallocate(fd, 0, (off_t)ring_size()) : -EBADMSG;
}

static bool is_empty(const struct shared *s)
{
	static const char nothing[sizeof(ring_magic)];

	return memcmp(s->magic, nothing, sizeof(nothing)) == 0;
}

struct ring *ring_map(int fd, struct err *e)
{
	struct ring *r = malloc(sizeof(*r));
	bool fresh = false;
	int rc = r ? make_room(fd, &fresh) : -ENOMEM;
	void *p = MAP_FAILED;

	if (rc == 0) {
		p = mmap(NULL, ring_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		rc = p == MAP_FAILED ? -errno : 0;
	}
	if (rc == 0) {
		r->shared = p;
		/* Killed between the two steps of its making, it is as good as new. */
		if (fresh || is_empty(r->shared))
			begin(r->shared);
		rc = is_ours(r->shared) ? 0 : -EBADMSG;
	}
	if (rc == 0) {
		r->tail = atomic_load(&r->shared->tail);
		return r;
	}
	if (p != MAP_FAILED)
		munmap(p, ring_size());
	free(r);
	err_set(e, "the ring of records: %s",
		rc == -EBADMSG ? "the file was made by another version of sandgate, or is damaged"
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

/* --- the gate's end --- */

/* One writer: no read-modify-write is needed. */
static void count(_Atomic uint64_t *n)
{
	uint64_t v = atomic_load_explicit(n, memory_order_relaxed);

	atomic_store_explicit(n, v + 1, memory_order_relaxed);
}

static void count_event(struct shared_totals *t, const struct record *what)
{
	if (what->kind == RECORD_DENY)
		count(&t->refused[what->reason % REASONS]);
	else
		count(what->kind == RECORD_END ? &t->ended : &t->allowed);
}

static void count_missed(struct shared_totals *t, const struct record *what)
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
	if (!atomic_load_explicit(&s->asleep, memory_order_relaxed))
		return;
	atomic_store_explicit(&s->asleep, 0, memory_order_relaxed);
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
	head = atomic_load_explicit(&s->head, memory_order_relaxed);
	turn = atomic_load_explicit(&s->turn, memory_order_relaxed) | 1;
	full = head - atomic_load_explicit(&s->tail, memory_order_acquire) >= RING_SLOTS;
	atomic_store_explicit(&s->turn, turn, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	count_event(&s->totals, what);
	if (full) {
		count_missed(&s->totals, what);
	} else {
		memcpy(&s->slot[head % RING_SLOTS], what, sizeof(*what));
		atomic_store_explicit(&s->head, head + 1, memory_order_release);
	}
	atomic_store_explicit(&s->turn, turn + 1, memory_order_release);
	wake_reader(s, wake);
}

void ring_mend(struct ring *r)
{
	uint64_t turn = atomic_load(&r->shared->turn);

	atomic_store(&r->shared->turn, turn + (turn & 1));
}

void ring_raise(struct ring *r, const uint64_t refused[REASONS])
{
	struct shared_totals *t = &r->shared->totals;

	for (size_t i = 0; i < REASONS; i++)
		if (atomic_load(&t->refused[i]) < refused[i])
			atomic_store(&t->refused[i], refused[i]);
}

/* --- the sealer's end --- */

bool ring_take(struct ring *r, struct record *out)
{
	struct shared *s = r->shared;
	uint64_t head = atomic_load_explicit(&s->head, memory_order_acquire);

	if (head == r->tail)
		return false;
	/* No gate that counts right gets here: what it put cannot be told any more. */
	if (head - r->tail > RING_SLOTS)
		r->tail = head - RING_SLOTS;
	memcpy(out, &s->slot[r->tail % RING_SLOTS], sizeof(*out));
	r->tail++;
	atomic_store_explicit(&s->tail, r->tail, memory_order_release);
	return true;
}

uint64_t ring_taken(const struct ring *r)
{
	return r->tail;
}

bool ring_may_sleep(struct ring *r)
{
	struct shared *s = r->shared;

	atomic_store_explicit(&s->asleep, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&s->head, memory_order_relaxed) == r->tail)
		return true;
	atomic_store_explicit(&s->asleep, 0, memory_order_relaxed);
	return false;
}

static uint64_t value(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

void ring_read_totals(const struct ring *r, struct record_totals *out)
{
	const struct shared_totals *t = &r->shared->totals;

	for (size_t i = 0; i < REASONS; i++) {
		out->refused[i] = value(&t->refused[i]);
		out->missed_refused[i] = value(&t->missed_refused[i]);
	}
	out->allowed = value(&t->allowed);
	out->ended = value(&t->ended);
	out->missed = value(&t->missed);
}

bool ring_read_settled(const struct ring *r, struct record_totals *out, uint64_t *put)
{
	const struct shared *s = r->shared;
	uint64_t turn = atomic_load_explicit(&s->turn, memory_order_acquire);

	*put = atomic_load_explicit(&s->head, memory_order_relaxed);
	ring_read_totals(r, out);
	atomic_thread_fence(memory_order_acquire);
	return !(turn & 1) && atomic_load_explicit(&s->turn, memory_order_relaxed) == turn;
}
