/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/organisation_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sandbox/settings/organisation_key.h"

/* While a set is replaced its files do not belong together for a moment. */
enum { READ_TRIES = 5, READ_AGAIN_MS = 40 };

static int load_one(int folder, const char *name, struct trusted_text *out, struct err *e)
{
	char path[sizeof(ORGANISATION_DIR) + 32];
	struct trusted_request r = {.folder = folder,
				    .name = name,
				    .shown = path,
				    .owner = OWNER_ROOT,
				    .follow = true,
				    .max = ORGANISATION_FILE_MAX};
	int rc;

	snprintf(path, sizeof(path), "%s/%s", ORGANISATION_DIR, name);
	rc = trusted_file_read(&r, out, e);
	return rc == -ENOENT ? 0 : rc;
}

int organisation_files_load(struct organisation_files *f, struct err *e)
{
	_cleanup_fd_ int folder = trusted_folder_open(ORGANISATION_DIR, OWNER_ROOT, e);

	*f = (struct organisation_files){0};
	if (folder < 0)
		return folder == -ENOENT ? 0 : -1;
	if (load_one(folder, ORGANISATION_POLICY, &f->policy, e) == 0 &&
	    load_one(folder, ORGANISATION_SIGNATURE, &f->signature, e) == 0 &&
	    load_one(folder, ORGANISATION_KEY, &f->key, e) == 0)
		return 0;
	organisation_files_free(f);
	return -1;
}

void organisation_files_free(struct organisation_files *f)
{
	free(f->policy.p);
	free(f->signature.p);
	free(f->key.p);
	*f = (struct organisation_files){0};
}

/* All three are there and the signature is right. */
static int verify(const struct organisation_files *f, struct err *e)
{
	if (!f->key.p)
		return err_set(e,
			       "%s: there is no key to verify it with, so whose it is cannot be "
			       "told; install it with its key: sandgate org install FILE --pub KEY",
			       ORGANISATION_POLICY_PATH);
	if (!f->policy.p)
		return err_set(e,
			       "%s: it is not there, although the organisation's key is installed; "
			       "install it again, or take %s/%s away",
			       ORGANISATION_POLICY_PATH, ORGANISATION_DIR, ORGANISATION_KEY);
	if (!f->signature.p)
		return err_set(e,
			       "%s: it is not signed, although the organisation's key is "
			       "installed; sign it and install it again",
			       ORGANISATION_POLICY_PATH);
	if (organisation_key_verify(trusted_span(&f->key), ORGANISATION_DIR "/" ORGANISATION_KEY,
				    trusted_span(&f->policy), trusted_span(&f->signature), e) == 0)
		return 0;
	err_prefix(e, "%s", ORGANISATION_POLICY_PATH);
	return -1;
}

static bool is_empty(const struct organisation_files *f)
{
	return !f->policy.p && !f->signature.p && !f->key.p;
}

/* Loaded and verified, or nothing there. */
static int load_verified(struct organisation_files *f, struct err *e)
{
	const struct timespec pause = {.tv_nsec = READ_AGAIN_MS * 1000000L};

	for (int tries = 1;; tries++) {
		if (organisation_files_load(f, e))
			return -1;
		if (is_empty(f) || verify(f, e) == 0)
			return 0;
		organisation_files_free(f);
		if (tries == READ_TRIES)
			return -1;
		nanosleep(&pause, NULL);
	}
}

int organisation_files_read(const struct catalogue *c, struct organisation *o, struct err *e)
{
	struct organisation_files f;
	int rc = 0;

	*o = (struct organisation){0};
	if (load_verified(&f, e))
		return -1;
	if (!is_empty(&f))
		rc = organisation_parse(trusted_span(&f.policy), ORGANISATION_POLICY_PATH, c, o, e);
	organisation_files_free(&f);
	return rc;
}

static int put(int folder, const char *name, const struct trusted_text *text, struct err *e)
{
	int rc = trusted_file_replace(folder, name, trusted_span(text), 0644);

	return rc ? err_set(e, "%s/%s: %s", ORGANISATION_DIR, name, err_why(-rc)) : 0;
}

int organisation_files_install(const struct organisation_files *f, struct err *e)
{
	int folder = -1;
	int rc;

	if (mkdir(ORGANISATION_DIR, 0755) < 0 && errno != EEXIST)
		return err_set(e, "%s: %s", ORGANISATION_DIR, err_why(errno));
	folder = trusted_folder_open(ORGANISATION_DIR, OWNER_ROOT, e);
	if (folder < 0)
		return folder == -ENOENT ? err_set(e, "%s: it is no folder", ORGANISATION_DIR) : -1;
	/* The key first: with it and without the others nothing starts. */
	rc = put(folder, ORGANISATION_KEY, &f->key, e) ||
	     put(folder, ORGANISATION_SIGNATURE, &f->signature, e) ||
	     put(folder, ORGANISATION_POLICY, &f->policy, e);
	close(folder);
	return rc ? -1 : 0;
}
