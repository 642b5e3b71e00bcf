/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hook_trust.h"

#include <errno.h>
#include <syslog.h>
#include <unistd.h>

#include "cli/container_trust.h"

int hook_config_read(const struct oci_state *s, struct trusted_text *out, struct err *e)
{
	_cleanup_fd_ int folder = trusted_folder_open(s->bundle, OWNER_ROOT_OR_PERSON, e);
	struct trusted_request r = {
		.folder = folder,
		.name = "config.json",
		.shown = "the container's config.json",
		.owner = OWNER_ROOT_OR_PERSON,
		.max = OCI_STATE_MAX,
	};
	int rc = folder < 0 ? folder : trusted_file_read(&r, out, e);

	if (rc == -ENOENT)
		return err_set(e, "%s: the container's configuration is not there", s->bundle);
	return rc ? -1 : 0;
}

int hook_trust_place(struct span config, const char *sandbox, int process, struct err *e)
{
	struct trust_target t = {.process = process};
	struct trust_placed placed;
	struct oci_root root;
	int rc = oci_root_parse(config, &root, e);

	if (rc)
		return -1;
	t.root = root.path;
	t.layered = !root.readonly;
	rc = container_trust_place(sandbox, &t, &placed, e);
	if (rc == 1)
		return err_set(e,
			       "the container has the files of the host, where no certificates of "
			       "a sandbox can be put");
	if (rc == 0 && placed.unlayered[0])
		syslog(LOG_AUTHPRIV | LOG_WARNING,
		       "sandbox %s: update-ca-certificates will fail in it, since its bundle is a "
		       "mounted file: %s",
		       sandbox, placed.unlayered);
	return rc;
}
