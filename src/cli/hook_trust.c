/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hook_trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "airlock/namespace.h"
#include "cli/container_trust.h"
#include "sandbox/person.h"

/*
 * Is that the root of the container, as the namespace here numbers its users? With a user namespace of
 * its own (--userns=keep-id, auto) podman gives it the bundle, which nothing inside can see.
 */
static bool is_containers_root(pid_t pid, uid_t user)
{
	char path[64];
	_cleanup_fd_ int userns = -1;
	uid_t root;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	userns = open(path, O_RDONLY | O_CLOEXEC);
	/* Seen from the same one the numbers are those of the namespace above (user_namespaces(7)). */
	return userns >= 0 && !namespace_is(userns, "/proc/self/ns/user") &&
	       person_root_of(pid, &root) && root == user;
}

static int open_bundle(const struct oci_state *s, struct err *e)
{
	int fd = open(s->bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	    is_containers_root(s->pid, st.st_uid))
		return fd;
	if (fd >= 0)
		close(fd);
	return trusted_folder_open(s->bundle, OWNER_ROOT_OR_PERSON, e);
}

int hook_config_read(const struct oci_state *s, struct trusted_text *out, struct err *e)
{
	_cleanup_fd_ int folder = open_bundle(s, e);
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
