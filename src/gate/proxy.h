/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy: a flow to the proxy port, from its accepted socket to the connection that it asked for.
 * proxy.c has the theory of operation.
 */
#ifndef SG_GATE_PROXY_H
#define SG_GATE_PROXY_H

#include "gate/flow.h"

/* A flow to PROXY_HTTP_PORT or PROXY_SOCKS_PORT, before its handshake. False: no memory. */
bool proxy_begin(struct flow *fl);
/* Frees what a flow in FLOW_PROXY has for it, and leaves `peek` zeroed. */
void proxy_drop(struct flow *fl);

/* Events of the two sockets and of the timer, in FLOW_PROXY. */
void proxy_in_ready(struct flow *fl);
void proxy_out_ready(struct flow *fl, uint32_t events);
void proxy_expired(struct flow *fl);

/* One of the answers to its lookups; nothing when the flow has ended since. */
void flows_answer_proxy(struct flows *f, uint32_t slot, uint32_t generation, enum reason why);

/* What is asked again of a flow that came through the proxy port (by_proxy). */
void proxy_judge(const struct flow *fl, struct judged *out);

#endif
