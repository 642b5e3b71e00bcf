/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers: how often one exchange is told that it is refused.
 *
 * A refusal is answered at once, with an ICMP error. What goes on sending all the same is told 50
 * times, and then 200 times a second: errors are to be limited (RFC 4443, 2.4 (f); RFC 1812,
 * 4.3.2.8), and each costs several times what it is to read and to count the datagram. The limit is
 * of one exchange (protocol, ports, destination), so that no flood keeps the answer from another.
 */
#ifndef SG_GATE_ANSWERS_H
#define SG_GATE_ANSWERS_H

#include <stdbool.h>

#include "base/clock.h"
#include "gate/ip.h"

enum { ANSWERS_AT_ONCE = 50, ANSWERS_PER_S = 200 };

struct answers;

struct answers *answers_new(void); /* NULL without memory */

/* May the packet, which is refused, be answered? Then it is counted as answered. */
bool answers_take(struct answers *a, const struct packet *refused, mono_t now);

#endif
