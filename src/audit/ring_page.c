/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/ring_page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	VERSION = 2,
	WITHOUT_CREDENTIALS = 1, /* its totals end before `with_credential` */
};

static const char ring_magic[8] = "sgring\r\n";

/* As it is read and written, so that nothing is looked at that may change meanwhile. */
union page {
	struct ring_page p;
	uint8_t octets[RING_PAGE];
	uint64_t words[RING_PAGE / 8];
};

bool ring_page_is_ours(const struct ring_page *p)
{
	return memcmp(p->magic, ring_magic, sizeof(ring_magic)) == 0 && p->version == VERSION &&
	       p->record_size == sizeof(struct record) && p->slots == RING_SLOTS &&
	       p->reasons == REASONS;
}

static bool is_empty(const struct ring_page *p)
{
	static const char nothing[sizeof(ring_magic)];

	return memcmp(p->magic, nothing, sizeof(nothing)) == 0;
}

static void begin(struct ring_page *p)
{
	p->version = VERSION;
	p->record_size = sizeof(struct record);
	p->slots = RING_SLOTS;
	p->reasons = REASONS;
	memcpy(p->magic, ring_magic, sizeof(ring_magic));
}

/* The totals of an earlier version stand where they do now, for the reasons that there were. */
static bool read_earlier(const union page *old, struct ring_totals *t)
{
	const size_t first = offsetof(struct ring_page, totals) / 8, n = old->p.reasons;
	const uint64_t *at = old->words + first;

	if (memcmp(old->p.magic, ring_magic, sizeof(ring_magic)) != 0 || old->p.version == 0 ||
	    old->p.version > VERSION || n == 0 || n > (RING_PAGE / 8 - first - 4) / 2)
		return false;
	for (size_t i = 0; i < n && i < REASONS; i++) {
		t->refused[i] = at[i];
		t->missed_refused[i] = at[n + 3 + i];
	}
	t->allowed = at[n];
	t->ended = at[n + 1];
	t->missed = at[n + 2];
	if (old->p.version > WITHOUT_CREDENTIALS)
		t->with_credential = at[2 * n + 3];
	return true;
}

static int write_page(int fd, const union page *page)
{
	ssize_t n = pwrite(fd, page->octets, RING_PAGE, 0);

	return n == RING_PAGE ? 0 : n < 0 ? -errno : -EIO;
}

/*
 * The page changes in one write, so whoever is killed has the old one or the new: before it the
 * file is not made shorter, and after it the rest is cut.
 */
static int go_on(int fd, off_t is, off_t size, const union page *old)
{
	union page now = {.octets = {0}};
	int rc = 0;

	if (!is_empty(&old->p) && !read_earlier(old, &now.p.totals))
		return -EBADMSG;
	begin(&now.p);
	if (is < size)
		rc = -posix_fallocate(fd, 0, size);
	return rc ? rc : write_page(fd, &now);
}

int ring_page_prepare(int fd, off_t size)
{
	union page old = {.octets = {0}};
	struct stat st;
	int rc = 0;

	if (fstat(fd, &st) < 0 || pread(fd, old.octets, RING_PAGE, 0) < 0)
		return -errno;
	if (st.st_size && st.st_size < RING_PAGE)
		return -EBADMSG;
	if (!ring_page_is_ours(&old.p))
		rc = go_on(fd, st.st_size, size, &old);
	else if (st.st_size < size)
		rc = -EBADMSG;
	if (rc == 0 && st.st_size > size && ftruncate(fd, size) < 0)
		rc = -errno;
	return rc;
}
