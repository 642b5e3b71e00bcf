/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/ca_layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* The one before the other: what is in them after that. */
static const char *const folders[] = {
	CA_LAYERS,
	CA_LAYERS "/" CA_LAYERS_BUNDLE,
	CA_LAYERS "/" CA_LAYERS_JAVA,
	CA_LAYERS "/" CA_LAYERS_JAVA "/" CA_LAYERS_JAVA_FOLDER,
};

static const char bundle_path[] = CA_LAYERS "/" CA_LAYERS_BUNDLE "/" CA_LAYERS_BUNDLE_NAME;
static const char java_path[] =
	CA_LAYERS "/" CA_LAYERS_JAVA "/" CA_LAYERS_JAVA_FOLDER "/" CA_LAYERS_JAVA_NAME;

/* Whatever the umask: other users than ours read it inside. */
static int make_folder(int dir, const char *path)
{
	if (mkdirat(dir, path, 0755) < 0 || fchmodat(dir, path, 0755, 0) < 0)
		return -errno;
	return 0;
}

int ca_layers_make(int dir, int ca, const char *bundle, const char *store)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sg_array_len(folders); i++)
		rc = make_folder(dir, folders[i]);
	if (rc == 0 && (linkat(ca, bundle, dir, bundle_path, 0) < 0 ||
			linkat(ca, store, dir, java_path, 0) < 0))
		rc = -errno;
	return rc;
}

void ca_layers_remove(int dir)
{
	unlinkat(dir, bundle_path, 0);
	unlinkat(dir, java_path, 0);
	for (size_t i = sg_array_len(folders); i-- > 0;)
		unlinkat(dir, folders[i], AT_REMOVEDIR);
}
