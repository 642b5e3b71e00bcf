/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_audit: the settings of the logs (docs/audit.md): how each is read from a file or a word, and
 * shown. Reading says what is wrong, -1. Pure: no anchor is looked for.
 */
#ifndef SG_SANDBOX_SETTINGS_AUDIT_H
#define SG_SANDBOX_SETTINGS_AUDIT_H

#include "policy/value.h"
#include "sandbox/settings/settings.h"

/* `syslog`, `file:/PATH`, `command:/PROGRAM ARGUMENT...` or `none`: one of them. */
int settings_read_audit_anchor(const struct value_reader *v, struct settings *s,
			       const struct node *value);
json_t *settings_show_audit_anchor(const struct settings *s);

int settings_read_audit_keep_segments(const struct value_reader *v, struct settings *s,
				      const struct node *value);
json_t *settings_show_audit_keep_segments(const struct settings *s);

int settings_read_audit_on_full(const struct value_reader *v, struct settings *s,
				const struct node *value);
json_t *settings_show_audit_on_full(const struct settings *s);

int settings_read_audit_connections_mb(const struct value_reader *v, struct settings *s,
				       const struct node *value);
json_t *settings_show_audit_connections_mb(const struct settings *s);

#endif
