/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/host_bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "sandbox/engine/environment.h"

/* The first that is there: Debian and Arch; Fedora and RHEL; openSUSE; Alpine. */
static const char *const places[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/var/lib/ca-certificates/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

/* --- the person's own --- */

static bool may_be_written(const struct host_bundle_request *r, const char *path)
{
	if (r->workdir && path_holds(r->workdir, path))
		return true;
	return r->was_shared && r->was_shared(r->was_shared_ctx, path);
}

struct way {
	const struct host_bundle_request *r;
	bool foreign; /* a link on it lies where a sandbox may have made it */
};

static bool is_own_link(void *ctx, const char *link)
{
	struct way *w = ctx;

	w->foreign = may_be_written(w->r, link);
	return !w->foreign;
}

/* The folder that holds the file, which could otherwise be put in its place by another. */
static int check_folder(const char *path, struct err *e)
{
	char folder[PATH_MAX];
	char *slash;
	int fd;

	strcpy(folder, path);
	slash = strrchr(folder, '/');
	slash[slash == folder] = 0;
	fd = trusted_folder_open(folder, OWNER_ROOT_OR_PERSON, e);
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : fd;
}

static int read_file(const char *path, enum trusted_owner owner, struct trusted_text *out,
		     struct err *e)
{
	struct trusted_request t = {.folder = AT_FDCWD,
				    .name = path,
				    .shown = path,
				    .owner = owner,
				    .follow = true,
				    .max = HOST_BUNDLE_MAX};

	return trusted_file_read(&t, out, e);
}

static int read_named(const struct host_bundle_request *r, const char *named,
		      struct trusted_text *out, struct err *e)
{
	struct way w = {.r = r};
	char path[PATH_MAX];
	int rc;

	if (*named != '/')
		return err_set(e, "it is no whole path");
	if (!path_resolve_each(r->host, named, path, is_own_link, &w) && !w.foreign)
		return err_set(e, "its links go round");
	if (w.foreign || may_be_written(r, path))
		return err_set(e, "a sandbox may write it");
	rc = check_folder(path, e);
	if (rc == 0)
		rc = read_file(path, OWNER_ROOT_OR_PERSON, out, e);
	return rc == -ENOENT ? err_set(e, "there is no such file") : rc;
}

/*
 * What the person's variable names. 1; 0 when nothing is to be read, with a note where that may
 * surprise; or -1 with the message.
 */
static int read_own(const struct host_bundle_request *r, const char *variable, const char *instead,
		    struct trusted_text *out, char **note, struct err *e)
{
	const char *named = environment_get(r->person, variable);
	struct err why;

	if (!named || !*named)
		return 0;
	if (read_named(r, named, out, &why) == 0)
		return 1;
	if (asprintf(note, "%s is %s: %s; %s", variable, named, why.text, instead) >= 0)
		return 0;
	*note = NULL;
	return err_set(e, "out of memory");
}

/* --- the system's --- */

/* One that cannot be trusted is passed over as one that is not there: the next may be good. */
static int read_system(struct trusted_text *out, struct err *e)
{
	struct err first = {0};
	bool refused = false;

	for (size_t i = 0; i < sg_array_len(places); i++) {
		int rc = read_file(places[i], OWNER_SYSTEM, out, refused ? e : &first);

		if (rc == 0)
			return 0;
		refused |= rc != -ENOENT;
	}
	if (refused)
		*e = first;
	return refused ? -1 : 0;
}

static const char bundle_variable[] = "SSL_CERT_FILE", extra_variable[] = "NODE_EXTRA_CA_CERTS";

bool host_bundle_is_named(char *const *person)
{
	return environment_get(person, bundle_variable) || environment_get(person, extra_variable);
}

static int read_both(const struct host_bundle_request *r, struct host_bundle *out, struct err *e)
{
	int own = read_own(r, bundle_variable, "the system's authorities are taken", &out->text,
			   &out->notes[0], e);

	if (own < 0 || (own == 0 && read_system(&out->text, e)))
		return -1;
	own = read_own(r, extra_variable, "Node is given none of it", &out->extra,
		       &out->notes[out->notes[0] != NULL], e);
	return own < 0 ? -1 : 0;
}

int host_bundle_read(const struct host_bundle_request *r, struct host_bundle *out, struct err *e)
{
	*out = (struct host_bundle){0};
	if (read_both(r, out, e) == 0)
		return 0;
	host_bundle_free(out);
	return -1;
}

void host_bundle_free(struct host_bundle *b)
{
	free(b->text.p);
	free(b->extra.p);
	for (size_t i = 0; i < sg_array_len(b->notes); i++)
		free(b->notes[i]);
	*b = (struct host_bundle){0};
}
