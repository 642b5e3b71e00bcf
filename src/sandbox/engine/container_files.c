/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/container_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/files/hook_file.h"
#include "sandbox/path.h"
#include "sandbox/private_dir.h"
#include "sandbox/settings/trusted_file.h"

static const char folder_name[] = "podman";
static const char resolv_conf_name[] = "resolv.conf", hosts_name[] = "hosts";

static int put_text(int folder, const char *name, const char *text, struct err *e)
{
	int rc = trusted_file_replace(folder, name, span_of_string(text), 0644);

	return rc ? err_set(e, "%s for the container: %s", name, err_why(-rc)) : 0;
}

static int set_paths(const char *path, struct container_files *out, struct err *e)
{
	if (path_join(path, folder_name, out->folder) &&
	    path_join(out->folder, resolv_conf_name, out->resolv_conf) &&
	    path_join(out->folder, hosts_name, out->hosts))
		return 0;
	return err_set(e, "%s: the path is too long", path);
}

int container_files_make(int dir, const char *path, const char *resolv_conf, const char *hosts,
			 struct container_files *out, struct err *e)
{
	_cleanup_fd_ int folder = -1;

	if (set_paths(path, out, e))
		return -1;
	folder = private_dir_open(dir, folder_name, true);
	if (folder < 0)
		return err_set(e, "%s: %s", out->folder, err_why(-folder));
	if (put_text(folder, resolv_conf_name, resolv_conf, e) ||
	    put_text(folder, hosts_name, hosts, e))
		return -1;
	return hook_file_write(folder, HOOK_CREATE_RUNTIME, e);
}

void container_files_remove(int dir)
{
	static const char *const names[] = {HOOK_FILE_NAME, resolv_conf_name, hosts_name};
	int folder = openat(dir, folder_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0)
		return;
	for (size_t i = 0; i < sg_array_len(names); i++)
		unlinkat(folder, names[i], 0);
	close(folder);
	unlinkat(dir, folder_name, AT_REMOVEDIR);
}
