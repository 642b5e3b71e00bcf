/* SPDX-License-Identifier: Apache-2.0 */
/* host_entry: HOST, *.DOMAIN or HOST:PORT, as `inspect` and `splice` list them; read and printed. */
#ifndef SG_POLICY_HOST_ENTRY_H
#define SG_POLICY_HOST_ENTRY_H

#include <jansson.h>

#include "policy/host_list.h"
#include "policy/value.h"

/* Appends to the list, unless it has it already. 0 or -1 with what is wrong and what to write. */
int host_entry_add(struct host_list *list, struct span text, struct err *e) sg_must_check;

/* The items of a list; each keeps its node in `nodes` of HOST_LIST_MAX. 0 or -1. */
int host_entries_read(const struct value_reader *v, const struct node *value,
		      struct host_list *list, const struct node **nodes) sg_must_check;

enum { HOST_PATTERN_TEXT_MAX = NAME_MAX_OCTETS + 16 };
char *host_pattern_format(const struct host_pattern *p, char out[HOST_PATTERN_TEXT_MAX]);

/* NULL without memory. */
json_t *host_list_print_json(const struct host_list *list);

#endif
