/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/capture_file.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/statfs.h>

const int capture_file_syscalls[] = {SCMP_SYS(writev),	SCMP_SYS(fallocate), SCMP_SYS(ftruncate),
				     SCMP_SYS(fstatfs), SCMP_SYS(close),     -1};

/* ---- room on the disk ---- */

static int leave_to_others(const struct capture_file *f)
{
	struct statfs s;

	if (fstatfs(f->fd, &s) < 0)
		return -errno;
	return (uint64_t)s.f_bavail * (uint64_t)s.f_bsize >= CAPTURE_FREE_MIN ? 0 : -ENOSPC;
}

/* What can be taken ahead is; where that cannot be, a write says it. */
static int take_room(struct capture_file *f, uint64_t until)
{
	uint64_t taken;
	int r;

	until += PCAPNG_STATISTICS_OCTETS;
	if (until <= f->taken)
		return 0;
	r = leave_to_others(f);
	if (r != 0)
		return r;
	taken = until + CAPTURE_AHEAD < f->max ? until + CAPTURE_AHEAD : f->max;
	taken = taken < until ? until : taken;
	if (fallocate(f->fd, FALLOC_FL_KEEP_SIZE, (off_t)f->taken, (off_t)(taken - f->taken)) < 0 &&
	    errno != EOPNOTSUPP)
		return -errno;
	f->taken = taken;
	return 0;
}

/* ---- writing ---- */

static void drop_gathered(struct capture_file *f)
{
	f->n_parts = 0;
	f->pending = 0;
	f->gathered = 0;
	f->text.n = 0;
}

/* After a short write: what has gone out is passed. */
static size_t pass_written(struct iovec *v, size_t n, size_t written)
{
	size_t i = 0;

	while (i < n && written >= v[i].iov_len)
		written -= v[i++].iov_len;
	if (i < n) {
		v[i].iov_base = (uint8_t *)v[i].iov_base + written;
		v[i].iov_len -= written;
	}
	return i;
}

static int write_all(int fd, struct iovec *v, size_t n)
{
	while (n) {
		ssize_t written = writev(fd, v, (int)n);
		size_t passed;

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		if (written == 0)
			return -EIO;
		passed = pass_written(v, n, (size_t)written);
		v += passed;
		n -= passed;
	}
	return 0;
}

/* All that is gathered, or, when room for it could not be taken, nothing. */
static int put_out(struct capture_file *f, int room)
{
	int r = room ? room : write_all(f->fd, f->part, f->n_parts);

	if (r == 0) {
		f->size += f->pending;
		f->written += f->gathered;
	} else if (ftruncate(f->fd, (off_t)f->size) < 0) {
		r = -errno;
	}
	drop_gathered(f);
	return r;
}

int capture_file_flush(struct capture_file *f)
{
	return f->n_parts ? put_out(f, take_room(f, f->size + f->pending)) : 0;
}

static void add_part(struct capture_file *f, const void *p, size_t n)
{
	f->part[f->n_parts++] = (struct iovec){(void *)p, n};
	f->pending += n;
}

/* What was printed into `text` since `from`. */
static void add_printed(struct capture_file *f, size_t from)
{
	add_part(f, f->text.p + from, f->text.n - from);
}

bool capture_file_has_room(const struct capture_file *f, size_t octets)
{
	return f->size + f->pending + octets + PCAPNG_STATISTICS_OCTETS <= f->max;
}

static bool is_batch_full(const struct capture_file *f)
{
	return f->n_parts + 3 > sg_array_len(f->part) ||
	       f->text.cap - f->text.n < PCAPNG_HEAD + PCAPNG_TAIL_MAX;
}

int capture_file_add(struct capture_file *f, const struct pcapng_packet *p, struct span frame)
{
	int r = is_batch_full(f) ? capture_file_flush(f) : 0;
	size_t from = f->text.n;

	if (r != 0)
		return r;
	pcapng_put_packet_head(&f->text, p);
	add_printed(f, from);
	add_part(f, frame.p, frame.n);
	from = f->text.n;
	pcapng_put_packet_tail(&f->text, p);
	add_printed(f, from);
	f->gathered++;
	return 0;
}

int capture_file_add_key(struct capture_file *f, struct span line)
{
	uint8_t octets[KEY_LINE_MAX + 1];
	struct buf with_end = buf_of(octets, sizeof(octets));
	int r = is_batch_full(f) ? capture_file_flush(f) : 0;
	size_t from = f->text.n;

	if (r != 0)
		return r;
	buf_put_span(&with_end, line);
	buf_put_u8(&with_end, '\n');
	pcapng_put_secrets(&f->text, buf_span(&with_end));
	add_printed(f, from);
	return 0;
}

/* ---- begin and end ---- */

int capture_file_begin(struct capture_file *f, int fd, uint64_t max_octets, const char *sandbox,
		       uint64_t now_ns)
{
	char comment[128];

	*f = CAPTURE_FILE_NONE;
	f->fd = fd;
	f->max = max_octets;
	f->begun_ns = now_ns;
	f->text = buf_of(f->text_octets, sizeof(f->text_octets));
	snprintf(comment, sizeof(comment), "sandbox %s", sandbox);
	pcapng_put_section(&f->text, "sandgate " SANDGATE_VERSION, comment);
	pcapng_put_interface(&f->text, "link0", "the gate's end of the sandbox's link");
	add_printed(f, 0);
	return capture_file_flush(f);
}

/* Room for it was taken with what stands before it. */
static int add_statistics(struct capture_file *f, struct pcapng_statistics *s)
{
	size_t from = f->text.n;

	s->begun_ns = f->begun_ns;
	s->written = f->written;
	pcapng_put_statistics(&f->text, s);
	add_printed(f, from);
	return put_out(f, 0);
}

int capture_file_end(struct capture_file *f, struct pcapng_statistics *s)
{
	int r = capture_file_flush(f);
	int last = add_statistics(f, s);

	/* What was taken ahead and not needed goes back. */
	if (ftruncate(f->fd, (off_t)f->size) < 0 && r == 0)
		r = -errno;
	close(f->fd);
	f->fd = -1;
	return r ? r : last;
}
