/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns_number: whether root of a network namespace can make devices on the host.
 *
 * A namespace that ever had a link to another one knows it by a number for as long as both live, and
 * rtnetlink makes devices there, by that number, for whoever has CAP_NET_ADMIN over the user namespace
 * that owns it (IFLA_IF_NETNSID; rtnl_newlink() in net/core/rtnetlink.c): a veth end on one of the
 * host's bridges, with the other end inside. Taking away what comes into the namespace is too late by
 * then.
 *
 * Where the host's network is another owner's, above, what else the namespace knows is in reach: of
 * podman's rootless networks the one between them and the host.
 */
#ifndef SG_SANDBOX_NETNS_NUMBER_H
#define SG_SANDBOX_NETNS_NUMBER_H

#include "airlock/netlink.h"
#include "base/err.h"

/*
 * `ask` is a route queue in the namespace `netns`; `alive` a pidfd of its first process, or -1. 0 when
 * root inside cannot; 1, with words for the person, when it can if it has that capability, which
 * cannot be told without a process; -1, with the message, when the process has it.
 */
int netns_number_check(struct nl *ask, int netns, int alive, struct err *e) sg_must_check;

#endif
