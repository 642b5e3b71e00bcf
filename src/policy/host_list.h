/* SPDX-License-Identifier: Apache-2.0 */
/* host_list: the hosts of `inspect:` and `splice:`. */
#ifndef SG_POLICY_HOST_LIST_H
#define SG_POLICY_HOST_LIST_H

#include "policy/policy.h"

enum { HOST_LIST_MAX = 1024, HOST_PATTERN_PORT = 443 };

bool host_list_has(const struct host_list *list, const struct name *name, uint16_t port);

void host_list_free(struct host_list *list);
/* 0 or -ENOMEM, then `to` is empty. */
int host_list_copy(const struct host_list *from, struct host_list *to) sg_must_check;
/* The pattern is taken, also when it fails. 0 or -ENOMEM. */
int host_list_take(struct host_list *list, struct host_pattern *pattern) sg_must_check;

bool host_pattern_equal(const struct host_pattern *a, const struct host_pattern *b);
/* The same patterns, in whatever order. */
bool host_list_equal(const struct host_list *a, const struct host_list *b);

#endif
