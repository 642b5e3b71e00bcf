/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/ca_bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "sandbox/ca_store.h"
#include "sandbox/pem.h"

/* 0 or -errno. */
static int write_at(int fd, struct span text, size_t offset)
{
	for (size_t at = 0; at < text.n;) {
		ssize_t n = pwrite(fd, text.p + at, text.n - at, (off_t)(offset + at));

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Readable for all: inside, it may be another's. */
static int make_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

	if (fd >= 0 && fchmod(fd, 0444) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -errno;
}

static void blank(uint8_t head[CA_BUNDLE_HEAD])
{
	memset(head, '\n', CA_BUNDLE_HEAD);
}

static int make_bundle(struct ca_bundle *b, int dir)
{
	uint8_t head[CA_BUNDLE_HEAD];
	int rc;

	blank(head);
	b->bundle = make_file(dir, CA_BUNDLE_NAME);
	if (b->bundle < 0)
		return b->bundle;
	rc = write_at(b->bundle, ca_bundle_host(b), sizeof(head));
	return rc ? rc : write_at(b->bundle, span_of(head, sizeof(head)), 0);
}

static int make_store(struct ca_bundle *b, int dir)
{
	struct ca_store s;
	int rc;

	if (!ca_store_make(ca_bundle_host(b), &s))
		return -ENOMEM;
	b->head = s.head;
	b->store = make_file(dir, CA_STORE_NAME);
	rc = b->store < 0 ? b->store : write_at(b->store, span_of(s.p, s.n), 0);
	ca_store_free(&s);
	return rc;
}

int ca_bundle_open(struct ca_bundle *b, const struct host_bundle_request *r, int dir,
		   const char *path, struct err *e)
{
	int rc;

	*b = CA_BUNDLE_NONE;
	if (host_bundle_read(r, &b->host, e))
		return -1;
	if (!path_join(path, CA_BUNDLE_NAME, b->bundle_path) ||
	    !path_join(path, CA_STORE_NAME, b->store_path)) {
		ca_bundle_close(b);
		return err_set(e, "%s: the path is too long", path);
	}
	rc = make_bundle(b, dir);
	if (rc == 0)
		rc = make_store(b, dir);
	if (rc == 0)
		return 0;
	ca_bundle_close(b);
	return err_set(e, "%s: the certificates of the sandbox: %s", path, err_why(-rc));
}

struct span ca_bundle_host(const struct ca_bundle *b)
{
	return trusted_span(&b->host.text);
}

int ca_bundle_set_authority(struct ca_bundle *b, struct span pem, struct err *e)
{
	uint8_t head[CA_BUNDLE_HEAD], store[CA_STORE_HEAD];
	int rc;

	if (!pem_is_certificates(pem))
		return err_set(e, "the sandbox's authority: it is no certificate");
	/* The line feed after the last of them stays. */
	if (pem.n >= sizeof(head) || !ca_store_head(pem, store))
		return err_set(e, "the sandbox's authorities: more than %d KiB of certificates",
			       CA_BUNDLE_HEAD / 1024);
	blank(head);
	memcpy(head, pem.p, pem.n);
	rc = write_at(b->bundle, span_of(head, sizeof(head)), 0);
	if (rc == 0)
		rc = write_at(b->store, span_of(store, sizeof(store)), b->head);
	return rc ? err_set(e, "the certificates of the sandbox: %s", err_why(-rc)) : 0;
}

void ca_bundle_close(struct ca_bundle *b)
{
	int fds[] = {b->bundle, b->store};

	for (size_t i = 0; i < sg_array_len(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	host_bundle_free(&b->host);
	*b = CA_BUNDLE_NONE;
}
