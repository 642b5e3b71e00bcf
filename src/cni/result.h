/* SPDX-License-Identifier: Apache-2.0 */
/* result: what ADD answers (CNI 1.0.0, "Success"; 0.3.1 and 0.4.0 with the IP version); pure. */
#ifndef SG_CNI_RESULT_H
#define SG_CNI_RESULT_H

#include <jansson.h>

#include "airlock/addresses.h"
#include "cni/call.h"

enum { CNI_ADDRESSES_MAX = 64 };

/* Of a link of its own. `v6`: the container has it. NULL without memory. */
json_t *cni_result_alone(const struct cni_call *call, const char *version,
			 const struct airlock_addresses *a, const uint8_t mac[6], bool v6);

/* Of a chain: what the plugin before said, which is as true as before. NULL without memory. */
json_t *cni_result_chained(const json_t *before, const char *version);

/* The addresses that a result names, at most CNI_ADDRESSES_MAX: how many, or -1 with the message. */
int cni_result_read(const json_t *result, struct addr out[CNI_ADDRESSES_MAX], struct err *e);

/*
 * The addresses that an IPAM plugin gave, one of a family at most; the usual where it gave none.
 * The gate has the gateway's, or the usual. 0, or -1 with the message.
 */
int cni_result_link(const json_t *result, struct airlock_addresses *out,
		    struct err *e) sg_must_check;

#endif
