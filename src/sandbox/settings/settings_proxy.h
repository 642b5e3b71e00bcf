/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings_proxy: the settings of the host's own proxy: how each is read from a file or a word, and
 * shown. Reading says what is wrong, -1, and then leaves `s` as it was. Pure: nothing is looked up.
 */
#ifndef SG_SANDBOX_SETTINGS_PROXY_H
#define SG_SANDBOX_SETTINGS_PROXY_H

#include "policy/value.h"
#include "sandbox/settings/settings.h"

int settings_read_upstream_proxy(const struct value_reader *v, struct settings *s,
				 const struct node *value);
json_t *settings_show_upstream_proxy(const struct settings *s);

/* Where the password comes from: a source of secrets (policy/secret_from.h), but for git. */
int settings_read_upstream_proxy_from(const struct value_reader *v, struct settings *s,
				      const struct node *value);
json_t *settings_show_upstream_proxy_from(const struct settings *s);

int settings_read_no_proxy(const struct value_reader *v, struct settings *s,
			   const struct node *value);
json_t *settings_show_no_proxy(const struct settings *s);

#endif
