/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings: config.yaml of the configuration folder: root's /etc/sandgate, a person's $XDG_CONFIG_HOME/sandgate or
 * ~/.config/sandgate over /etc/sandgate. `sandgate config` reads and writes them; a table has every key.
 */
#ifndef SG_SANDBOX_SETTINGS_H
#define SG_SANDBOX_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "policy/policy.h"

struct settings {
	enum network_base network;	 /* defaults.network: standard */
	enum network_base agent_network; /* defaults.agent_network: deny */
	char **permissions; /* defaults.permissions: added to every new policy; NULL: none */
	char *anchor_file;  /* audit.anchor */
	char **anchor_command;
	bool anchor_syslog;
	uint32_t audit_keep_segments; /* audit.keep_segments: 0, all */
	uint64_t connections_mb;      /* audit.connections_mb: 64, of the connection log in all */
	struct endpoint resolver[8];  /* resolver: instead of the host's own */
	size_t n_resolver;
};

/* The folder of this user's settings, and the system's. 0 or -1 with the message. */
int config_dir_path(char out[PATH_MAX], struct err *e) sg_must_check;
#define CONFIG_DIR_SYSTEM "/etc/sandgate"

int settings_read(struct settings *s, struct err *e) sg_must_check;
void settings_free(struct settings *s);

#endif
