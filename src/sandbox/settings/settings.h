/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings: config.yaml of the configuration folder: root's /etc/sandgate, a person's
 * $XDG_CONFIG_HOME/sandgate or
 * ~/.config/sandgate over /etc/sandgate. `sandgate config` reads and writes them; a table has every
 * key.
 */
#ifndef SG_SANDBOX_SETTINGS_H
#define SG_SANDBOX_SETTINGS_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "policy/document.h"
#include "policy/policy.h"

enum { SETTINGS_KEYS_MAX = 16, SETTINGS_RESOLVERS_MAX = 8 };

/* Where a setting has its value from. */
enum setting_from { SETTING_DEFAULT, SETTING_SYSTEM, SETTING_PERSON };

struct settings {
	enum network_base network;	 /* defaults.network: standard */
	enum network_base agent_network; /* defaults.agent_network: deny */
	char **permissions; /* defaults.permissions: added to every new policy; NULL: none */
	char *anchor_file;  /* audit.anchor */
	char **anchor_command;
	bool anchor_syslog;
	uint32_t audit_keep_segments; /* audit.keep_segments: 0, all */
	bool audit_continue;	 /* audit.on_full: refuse, false; what cannot be logged goes on */
	uint64_t connections_mb; /* audit.connections_mb: 64, of the connection log in all */
	struct endpoint resolver[SETTINGS_RESOLVERS_MAX]; /* resolver: instead of the host's own */
	size_t n_resolver;
	char *upstream_proxy;	   /* upstream_proxy: the host's own way out; NULL: none */
	char *upstream_proxy_from; /* where its password comes from (policy/secret_from.h), or NULL */
	char **no_proxy;	   /* no_proxy: what goes without it; NULL: nothing */
	uint64_t pcap_max_mb;	   /* pcap.max_mb: of a segment of a capture */
	uint64_t pcap_files;	   /* pcap.files: segments of a capture */
	bool pcap_keys;		   /* pcap.keys: with the TLS keys of inspected connections */
	uint8_t from[SETTINGS_KEYS_MAX]; /* enum setting_from, by setting_index() */
};

/* The folder of this user's settings, and the system's. 0 or -1 with the message. */
int config_dir_path(char out[PATH_MAX], struct err *e) sg_must_check;
#define CONFIG_DIR_SYSTEM "/etc/sandgate"
#define CONFIG_FILE	  "config.yaml"

/* The defaults; nothing allocated. */
void settings_init(struct settings *s);

/* Reads the system's and the person's, strictly. 0 or -1 with the message, and nothing to free. */
int settings_read(struct settings *s, struct err *e) sg_must_check;
void settings_free(struct settings *s);

/* Was it set, by whomever? `key` is one of the table. */
bool settings_has(const struct settings *s, const char *key);

/* ---- settings_keys.c: the table; pure ---- */

extern const size_t settings_n_keys;
const char *settings_key(size_t i); /* "defaults.network" */
bool settings_is_list(size_t i);

/* The index of a key, or -1 with the message, which has the nearest one. */
int settings_find(const char *key, struct err *e);

/*
 * A whole file over what s has: what it does not name stays. On an error s is as it was. 0 or -1
 * with "file:line:column: ...".
 */
int settings_parse(struct span text, const char *file, enum setting_from from, struct settings *s,
		   struct err *e) sg_must_check;

/* The value of a key as `config get` shows it: a string, a number or an array of strings. */
json_t *settings_value(const struct settings *s, size_t key);

/* The same in one line, as `config set` takes it; the caller frees. NULL without memory. */
char *settings_value_text(const struct settings *s, size_t key);

/* What `config set KEY TEXT` means: sets it in s. 0 or -1 with "KEY: ...". */
int settings_set(struct settings *s, size_t key, const char *text, struct err *e) sg_must_check;

/* ---- settings_edit.c: the text of the file; pure ---- */

/*
 * The file's text with one key at a new value; every other line, and its comments, stay as they
 * are. `value` NULL takes the key out. The caller frees. NULL with the message, when the file
 * cannot be changed without taking it apart.
 */
char *settings_edit(struct span text, const char *file, size_t key, const char *value,
		    struct err *e);

#endif
