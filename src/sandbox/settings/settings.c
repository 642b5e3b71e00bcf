/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/rule.h"
#include "sandbox/log/capture_request.h"
#include "sandbox/files/home.h"
#include "sandbox/person.h"
#include "sandbox/settings/trusted_file.h"

enum { CONFIG_MAX = 1024 * 1024 };

int config_dir_path(char out[PATH_MAX], struct err *e)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = home_find();
	int n;

	if (person_is_root())
		n = snprintf(out, PATH_MAX, "%s", CONFIG_DIR_SYSTEM);
	else if (xdg && *xdg == '/')
		n = snprintf(out, PATH_MAX, "%s/sandgate", xdg);
	else if (home && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.config/sandgate", home);
	else
		return err_set(e, "HOME is not set, so there is no place for settings; set it to "
				  "your home folder");
	return n < PATH_MAX ? 0 : err_set(e, "the path of the settings is too long");
}

void settings_init(struct settings *s)
{
	*s = (struct settings){
		.network = NET_STANDARD,
		.agent_network = NET_DENY,
		.connections_mb = 64,
		.pcap_max_mb = CAPTURE_MAX_MB,
		.pcap_files = CAPTURE_FILES,
	};
}

void settings_free(struct settings *s)
{
	string_list_free(s->permissions);
	string_list_free(s->anchor_command);
	string_list_free(s->no_proxy);
	free(s->anchor_file);
	free(s->upstream_proxy);
	free(s->upstream_proxy_from);
	settings_init(s);
}

bool settings_has(const struct settings *s, const char *key)
{
	for (size_t i = 0; i < settings_n_keys; i++)
		if (strcmp(settings_key(i), key) == 0)
			return s->from[i] != SETTING_DEFAULT;
	return false;
}

static int read_one(const char *dir, enum trusted_owner owner, enum setting_from from,
		    struct settings *s, struct err *e)
{
	char path[PATH_MAX + 16];
	struct trusted_request r = {.name = CONFIG_FILE,
				    .shown = path,
				    .owner = owner,
				    .follow = owner == OWNER_ROOT,
				    .max = CONFIG_MAX};
	_cleanup_fd_ int folder = trusted_folder_open(dir, owner, e);
	struct trusted_text text;
	int rc;

	if (folder < 0)
		return folder == -ENOENT ? 0 : -1;
	snprintf(path, sizeof(path), "%s/%s", dir, CONFIG_FILE);
	r.folder = folder;
	rc = trusted_file_read(&r, &text, e);
	if (rc)
		return rc == -ENOENT ? 0 : -1;
	rc = settings_parse(trusted_span(&text), path, from, s, e);
	free(text.p);
	return rc;
}

/* A person without a home has the system's settings. */
static int read_persons(struct settings *s, struct err *e)
{
	char dir[PATH_MAX];
	struct err none;

	if (person_is_root() || config_dir_path(dir, &none))
		return 0;
	return read_one(dir, OWNER_ROOT_OR_PERSON, SETTING_PERSON, s, e);
}

int settings_read(struct settings *s, struct err *e)
{
	settings_init(s);
	if (read_one(CONFIG_DIR_SYSTEM, OWNER_ROOT, SETTING_SYSTEM, s, e) == 0 &&
	    read_persons(s, e) == 0)
		return 0;
	settings_free(s);
	return -1;
}
