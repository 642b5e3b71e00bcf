/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sealer_main: the sealer as a process. Its messages are SOCK_SEQPACKET, one JSON object each
 * (docs/protocol.md).
 */
#ifndef SG_AUDIT_SEALER_MAIN_H
#define SG_AUDIT_SEALER_MAIN_H

#include <sys/types.h>

#include "audit/sealer.h"

enum { SEALER_MESSAGE_MAX = 160 * 1024 };

/*
 * In the child that was forked by `parent`. Confines itself, opens the logs, says that it is ready,
 * and returns the exit status when `control` closes or says so.
 */
int sealer_main(const struct sealer_setup *setup, int control, pid_t parent);

#endif
