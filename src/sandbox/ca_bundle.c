/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/ca_bundle.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "sandbox/ca_store.h"
#include "sandbox/pem.h"

const char *const ca_bundle_names[CA_FILES] = {
	[CA_BUNDLE] = "ca-bundle.pem",
	[CA_EXTRA] = "ca-extra.pem",
	[CA_STORE] = "ca-store.p12",
};

/* Ours first, then Debian and Arch; Fedora and RHEL; openSUSE; Alpine. What is not there is none. */
static const struct {
	const char *path;
	enum ca_file file;
	bool needed;
} places[] = {
	{SANDBOX_CA_BUNDLE, CA_BUNDLE, true},
	{SANDBOX_CA_EXTRA, CA_EXTRA, true},
	{SANDBOX_CA_STORE, CA_STORE, true},
	{"/etc/ssl/certs/ca-certificates.crt", CA_BUNDLE, false},
	{"/etc/ca-certificates/extracted/tls-ca-bundle.pem", CA_BUNDLE, false},
	{"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", CA_BUNDLE, false},
	{"/etc/pki/tls/certs/ca-bundle.crt", CA_BUNDLE, false},
	{"/etc/pki/tls/cert.pem", CA_BUNDLE, false},
	{"/etc/ssl/ca-bundle.pem", CA_BUNDLE, false},
	{"/var/lib/ca-certificates/ca-bundle.pem", CA_BUNDLE, false},
	{"/etc/ssl/cert.pem", CA_BUNDLE, false},
	{"/etc/ssl/certs/java/cacerts", CA_STORE, false},
	{"/etc/pki/ca-trust/extracted/java/cacerts", CA_STORE, false},
	{"/etc/pki/java/cacerts", CA_STORE, false},
	{"/var/lib/ca-certificates/java-cacerts", CA_STORE, false},
};

static_assert(sg_array_len(places) < CA_BUNDLE_PLACES, "and one for the end of the list");

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

/* Readable for all: inside, the reader may be another user. */
static int make_file(struct ca_bundle *b, enum ca_file which, int dir)
{
	int fd = openat(dir, ca_bundle_names[which],
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

	b->fd[which] = fd;
	return fd < 0 || fchmod(fd, 0444) < 0 ? -errno : 0;
}

/* 0 or -errno. */
static int make_pem(struct ca_bundle *b, enum ca_file which, int dir, struct span host)
{
	uint8_t blank[CA_BUNDLE_HEAD];
	int rc = make_file(b, which, dir);

	memset(blank, '\n', sizeof(blank));
	if (rc == 0)
		rc = write_at(b->fd[which], span_of(blank, sizeof(blank)), 0);
	return rc ? rc : write_at(b->fd[which], host, sizeof(blank));
}

static int make_store(struct ca_bundle *b, int dir)
{
	struct ca_store s;
	int rc;

	if (!ca_store_make(ca_bundle_host(b), &s))
		return -ENOMEM;
	b->store_head = s.head;
	rc = make_file(b, CA_STORE, dir);
	if (rc == 0)
		rc = write_at(b->fd[CA_STORE], span_of(s.p, s.n), 0);
	ca_store_free(&s);
	return rc;
}

static int make_files(struct ca_bundle *b, int dir, const char *path)
{
	int rc;

	for (size_t i = 0; i < CA_FILES; i++)
		if (!path_join(path, ca_bundle_names[i], b->path[i]))
			return -ENAMETOOLONG;
	rc = make_pem(b, CA_BUNDLE, dir, ca_bundle_host(b));
	if (rc == 0)
		rc = make_pem(b, CA_EXTRA, dir, trusted_span(&b->host.extra));
	return rc ? rc : make_store(b, dir);
}

int ca_bundle_open(struct ca_bundle *b, const struct host_bundle_request *r, int dir,
		   const char *path, struct err *e)
{
	int rc;

	*b = CA_BUNDLE_NONE;
	if (host_bundle_read(r, &b->host, e))
		return -1;
	rc = make_files(b, dir, path);
	if (rc == 0)
		return 0;
	ca_bundle_close(b);
	return err_set(e, "%s: the certificates of the sandbox: %s", path, err_why(-rc));
}

void ca_bundle_places(const struct ca_bundle *b, struct file_over out[CA_BUNDLE_PLACES])
{
	size_t n = sg_array_len(places);

	for (size_t i = 0; i < n; i++)
		out[i] = (struct file_over){places[i].path, b->path[places[i].file],
					    places[i].needed};
	out[n] = (struct file_over){0};
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
	memset(head, '\n', sizeof(head));
	memcpy(head, pem.p, pem.n);
	rc = write_at(b->fd[CA_BUNDLE], span_of(head, sizeof(head)), 0);
	if (rc == 0)
		rc = write_at(b->fd[CA_EXTRA], span_of(head, sizeof(head)), 0);
	if (rc == 0)
		rc = write_at(b->fd[CA_STORE], span_of(store, sizeof(store)), b->store_head);
	return rc ? err_set(e, "the certificates of the sandbox: %s", err_why(-rc)) : 0;
}

void ca_bundle_close(struct ca_bundle *b)
{
	for (size_t i = 0; i < CA_FILES; i++)
		if (b->fd[i] >= 0)
			close(b->fd[i]);
	host_bundle_free(&b->host);
	*b = CA_BUNDLE_NONE;
}
