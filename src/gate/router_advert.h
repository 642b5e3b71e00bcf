/* SPDX-License-Identifier: Apache-2.0 */
/*
 * router_advert: tells the virtual machine of an airlock that the gate is its router: its prefix, of
 * which it makes addresses by itself, its MTU and its resolver.
 */
#ifndef SG_GATE_ROUTER_ADVERT_H
#define SG_GATE_ROUTER_ADVERT_H

#include "gate/context.h"
#include "gate/gate.h"

struct router;

/* Owns s->router, which tells hop limits, from here on. NULL without memory. */
struct router *router_new(struct gate *g, const struct gate_setup *s);

extern const int router_advert_syscalls[];

#endif
