/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/ca_bundle.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "sandbox/files/ca_layers.h"
#include "sandbox/files/ca_store.h"
#include "sandbox/files/pem.h"

static_assert(CA_BUNDLE_HEAD % (64 * 1024) == 0, "what follows the block can be mapped");

static const char folder_name[] = "ca";

static const char *const names[CA_FILES] = {
	[CA_BUNDLE] = "bundle.pem",
	[CA_EXTRA] = "extra.pem",
	[CA_STORE] = "store.p12",
	[CA_POLICY] = "policy.json",
};

#define MANAGED "/policies/managed/sandgate.json"

/*
 * Of Debian and Arch; Fedora and RHEL; openSUSE; Alpine. What is not there is none. At the end
 * Chromium, and Chrome as Playwright and Puppeteer fetch it: it need not be there at the start.
 */
static const struct {
	const char *path;
	enum ca_file file;
	const char *within; /* as in struct file_over */
} places[] = {
	{"/etc/ssl/certs/ca-certificates.crt", CA_BUNDLE, NULL},
	{"/etc/ca-certificates/extracted/tls-ca-bundle.pem", CA_BUNDLE, NULL},
	{"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", CA_BUNDLE, NULL},
	{"/etc/pki/tls/certs/ca-bundle.crt", CA_BUNDLE, NULL},
	{"/etc/pki/tls/cert.pem", CA_BUNDLE, NULL},
	{"/etc/ssl/ca-bundle.pem", CA_BUNDLE, NULL},
	{"/var/lib/ca-certificates/ca-bundle.pem", CA_BUNDLE, NULL},
	{"/etc/ssl/cert.pem", CA_BUNDLE, NULL},
	{"/etc/ssl/certs/java/cacerts", CA_STORE, NULL},
	{"/etc/pki/ca-trust/extracted/java/cacerts", CA_STORE, NULL},
	{"/etc/pki/java/cacerts", CA_STORE, NULL},
	{"/var/lib/ca-certificates/java-cacerts", CA_STORE, NULL},
	{"/etc/chromium" MANAGED, CA_POLICY, "/etc/chromium"},
	{"/etc/chromium-browser" MANAGED, CA_POLICY, "/etc/chromium-browser"},
	{"/etc/opt/chrome" MANAGED, CA_POLICY, "/etc/opt"},
	{"/etc/opt/chrome_for_testing" MANAGED, CA_POLICY, "/etc/opt"},
};

static_assert(sg_array_len(places) + 2 <= CA_BUNDLE_PLACES, "the folder, and the list's end");

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
	int fd =
		openat(dir, names[which], O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

	b->fd[which] = fd;
	return fd < 0 || fchmod(fd, 0444) < 0 ? -errno : 0;
}

/* White space in lines that are not too many to be read one by one. */
static void fill(uint8_t *p, size_t n)
{
	memset(p, ' ', n);
	for (size_t i = 63; i < n; i += 64)
		p[i] = '\n';
}

/* 0 or -errno. */
static int make_pem(struct ca_bundle *b, enum ca_file which, int dir, struct span host)
{
	_cleanup_free_ uint8_t *blank = malloc(CA_BUNDLE_HEAD);
	int rc = blank ? make_file(b, which, dir) : -ENOMEM;

	if (rc)
		return rc;
	fill(blank, CA_BUNDLE_HEAD);
	rc = write_at(b->fd[which], span_of(blank, CA_BUNDLE_HEAD), 0);
	return rc ? rc : write_at(b->fd[which], host, CA_BUNDLE_HEAD);
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

/* A policy of Chromium's that names the authorities; false when they do not fit. */
static bool write_policy(struct span pem, uint8_t out[static CA_BUNDLE_HEAD])
{
	uint8_t room[PEM_CERTIFICATE_MAX];
	char text[BASE64_TEXT(PEM_CERTIFICATE_MAX) + 1];
	struct buf b = buf_of(out, CA_BUNDLE_HEAD);
	struct span der;

	fill(out, CA_BUNDLE_HEAD);
	buf_put_text(&b, "{\"CACertificates\": [");
	for (const char *between = "\""; pem_next_certificate(&pem, room, &der); between = ", \"") {
		base64_print(der, text);
		buf_put_text(&b, between);
		buf_put_text(&b, text);
		buf_put_text(&b, "\"");
	}
	buf_put_text(&b, "]}");
	return !b.full;
}

static int make_policy(struct ca_bundle *b, int dir)
{
	_cleanup_free_ uint8_t *none = malloc(CA_BUNDLE_HEAD);
	int rc = none ? make_file(b, CA_POLICY, dir) : -ENOMEM;

	if (rc == 0 && !write_policy(span_of("", 0), none))
		rc = -EMSGSIZE;
	return rc ? rc : write_at(b->fd[CA_POLICY], span_of(none, CA_BUNDLE_HEAD), 0);
}

static int name_paths(struct ca_bundle *b, const char *path)
{
	bool fits = path_join(path, folder_name, b->folder) &&
		    path_join(path, CA_LAYERS, b->layers) &&
		    path_join(b->folder, names[CA_BUNDLE], b->bundle) &&
		    path_join(b->folder, names[CA_STORE], b->store);

	return fits ? 0 : -ENAMETOOLONG;
}

static int make_files(struct ca_bundle *b, int dir)
{
	int rc = make_pem(b, CA_BUNDLE, dir, ca_bundle_host(b));

	if (rc == 0)
		rc = make_pem(b, CA_EXTRA, dir, trusted_span(&b->host.extra));
	if (rc == 0)
		rc = make_policy(b, dir);
	return rc ? rc : make_store(b, dir);
}

/* What was read is in the file, which costs no process anything: a copy would be in all of them. */
static int map_text(struct trusted_text *t, int fd)
{
	void *p;

	if (!t->n)
		return 0;
	p = mmap(NULL, t->n, PROT_READ, MAP_SHARED, fd, CA_BUNDLE_HEAD);
	if (p == MAP_FAILED)
		return -errno;
	free(t->p);
	t->p = p;
	return 0;
}

static int map_texts(struct ca_bundle *b)
{
	int rc = map_text(&b->host.text, b->fd[CA_BUNDLE]);

	b->mapped_text = rc == 0;
	if (rc == 0)
		rc = map_text(&b->host.extra, b->fd[CA_EXTRA]);
	b->mapped_extra = rc == 0;
	return rc;
}

static void unmap_text(struct trusted_text *t)
{
	if (t->n)
		munmap(t->p, t->n);
	*t = (struct trusted_text){0};
}

static int make_folder(int dir)
{
	int fd;

	if (mkdirat(dir, folder_name, 0755) < 0)
		return -errno;
	fd = openat(dir, folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0755) == 0)
		return fd < 0 ? -errno : fd;
	close(fd);
	return -EPERM;
}

static int make_all(struct ca_bundle *b, int dir, const char *path)
{
	_cleanup_fd_ int folder = -1;
	int rc = name_paths(b, path);

	if (rc)
		return rc;
	folder = make_folder(dir);
	rc = folder < 0 ? folder : make_files(b, folder);
	if (rc == 0)
		rc = ca_layers_make(dir, folder, names[CA_BUNDLE], names[CA_STORE]);
	return rc ? rc : map_texts(b);
}

int ca_bundle_open(struct ca_bundle *b, const struct host_bundle_request *r, int dir,
		   const char *path, struct err *e)
{
	int rc;

	*b = CA_BUNDLE_NONE;
	if (host_bundle_read(r, &b->host, e))
		return -1;
	rc = make_all(b, dir, path);
	if (rc == 0)
		return 0;
	ca_bundle_close(b);
	return err_set(e, "%s: the certificates of the sandbox: %s", path, err_why(-rc));
}

int ca_bundle_find(struct ca_bundle *b, const char *path, struct err *e)
{
	*b = CA_BUNDLE_NONE;
	return name_paths(b, path) ? err_set(e, "%s: the path is too long", path) : 0;
}

void ca_bundle_places(const struct ca_bundle *b, struct file_over out[CA_BUNDLE_PLACES])
{
	const char *sources[CA_FILES] = {
		[CA_BUNDLE] = b->bundle, [CA_STORE] = b->store, [CA_POLICY] = SANDBOX_CA_POLICY};
	struct file_over *o = out;

	*o++ = (struct file_over){SANDBOX_CA, b->folder, SANDBOX_FILES, false};
	for (size_t i = 0; i < sg_array_len(places); i++)
		*o++ = (struct file_over){places[i].path, sources[places[i].file], places[i].within,
					  places[i].file == CA_POLICY};
	*o = (struct file_over){0};
}

struct span ca_bundle_host(const struct ca_bundle *b)
{
	return b->host.text.n ? trusted_span(&b->host.text) : span_of("", 0);
}

/*
 * What stands for the authorities in each file. Never on a stack, nor is one block of it: what a stack
 * once held stays in each process that is forked later.
 */
struct heads {
	uint8_t pem[CA_BUNDLE_HEAD], policy[CA_BUNDLE_HEAD], store[CA_STORE_HEAD];
};

/* False when they do not fit. */
static bool make_heads(struct span pem, struct heads *h)
{
	/* The white space after the last of them stays. */
	if (pem.n >= sizeof(h->pem) || !ca_store_head(pem, h->store) ||
	    !write_policy(pem, h->policy))
		return false;
	fill(h->pem, sizeof(h->pem));
	memcpy(h->pem, pem.p, pem.n);
	h->pem[pem.n] = '\n';
	return true;
}

static int write_heads(const struct ca_bundle *b, const struct heads *h)
{
	struct span pem = span_of(h->pem, sizeof(h->pem));
	int rc = write_at(b->fd[CA_BUNDLE], pem, 0);

	if (rc == 0)
		rc = write_at(b->fd[CA_EXTRA], pem, 0);
	if (rc == 0)
		rc = write_at(b->fd[CA_POLICY], span_of(h->policy, sizeof(h->policy)), 0);
	return rc ? rc
		  : write_at(b->fd[CA_STORE], span_of(h->store, sizeof(h->store)), b->store_head);
}

int ca_bundle_set_authority(struct ca_bundle *b, struct span pem, struct err *e)
{
	_cleanup_free_ struct heads *h = malloc(sizeof(*h));
	int rc;

	if (!h)
		return err_set(e, "out of memory");
	if (!pem_is_certificates(pem))
		return err_set(e, "the sandbox's authority: it is no certificate");
	if (!make_heads(pem, h))
		return err_set(e, "the sandbox's authorities: more than %d KiB of certificates",
			       CA_BUNDLE_HEAD / 1024);
	rc = write_heads(b, h);
	return rc ? err_set(e, "the certificates of the sandbox: %s", err_why(-rc)) : 0;
}

void ca_bundle_close(struct ca_bundle *b)
{
	for (size_t i = 0; i < CA_FILES; i++)
		if (b->fd[i] >= 0)
			close(b->fd[i]);
	if (b->mapped_text)
		unmap_text(&b->host.text);
	if (b->mapped_extra)
		unmap_text(&b->host.extra);
	host_bundle_free(&b->host);
	*b = CA_BUNDLE_NONE;
}

void ca_bundle_remove(int dir)
{
	int folder = openat(dir, folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	ca_layers_remove(dir);
	if (folder < 0)
		return;
	for (size_t i = 0; i < CA_FILES; i++)
		unlinkat(folder, names[i], 0);
	close(folder);
	unlinkat(dir, folder_name, AT_REMOVEDIR);
}
