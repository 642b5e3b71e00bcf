/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parent: the proxy that the host has to use. The gate connects to it; here a tunnel is asked for on
 * that socket, with the password that only this process has (docs/protocol.md, "Gate and broker").
 */
#ifndef SG_BROKER_PARENT_H
#define SG_BROKER_PARENT_H

#include "broker/broker.h"
#include "broker/context.h"
#include "io/gate_message.h"
#include "policy/parent_proxy.h"

enum { PARENT_TUNNELS_MAX = 1024 }; /* that are asked for at once */

/* The `part` of messages to and from the supervisor that are about its password. */
#define PARENT_PART "parent-proxy"

/* Borrows nothing. NULL with the message. */
struct parent *parent_new(struct broker *b, const struct broker_parent *s, struct err *e);
void parent_free(struct parent *p);

/*
 * The gate's request: the socket, which is taken, leads to the parent. It is answered with
 * GATE_TUNNELLED.
 */
void parent_take(struct parent *p, const struct gate_message *m, int fd);
/* The gate that asked is gone. */
void parent_forget(struct parent *p);

/* After `ready`: the supervisor is asked for the password. */
void parent_ask_password(struct parent *p);
/* What its source printed; or why it gave nothing. 0, or -1 with the message, as for the latter. */
int parent_put_password(struct parent *p, struct span printed, struct err *e) sg_must_check;
void parent_fail_password(struct parent *p);

extern const int parent_syscalls[];

#endif
