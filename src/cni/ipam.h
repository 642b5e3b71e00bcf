/* SPDX-License-Identifier: Apache-2.0 */
/* ipam: the plugin that gives addresses, run as this one was (CNI 1.0.0, "Section 4"). */
#ifndef SG_CNI_IPAM_H
#define SG_CNI_IPAM_H

#include <jansson.h>

#include "base/span.h"
#include "cni/call.h"

/*
 * Runs the plugin `type`, found by the call's path, with the same environment but for the command,
 * and with `config` on its standard input. CNI_OK and with ADD its result, a new object; else the
 * plugin's own code, or CNI_IO, with the message.
 */
enum cni_code cni_ipam_run(const struct cni_call *call, enum cni_command command, const char *type,
			   struct span config, json_t **result, struct err *e) sg_must_check;

#endif
