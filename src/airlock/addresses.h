/* SPDX-License-Identifier: Apache-2.0 */
/* addresses: what every airlock has in common, known on both sides of it. */
#ifndef SG_AIRLOCK_ADDRESSES_H
#define SG_AIRLOCK_ADDRESSES_H

/*
 * 192.0.0.0/29 is set aside for such links (RFC 7335); the ULA is the project's own (RFC 4193).
 * Nothing outside an airlock sees them, so every sandbox has the same.
 */
#define AIRLOCK_GATE_V4	   "192.0.0.1"
#define AIRLOCK_SANDBOX_V4 "192.0.0.2"
#define AIRLOCK_V4_BITS	   29
#define AIRLOCK_GATE_V6	   "fd73:616e:6467:1::1"
#define AIRLOCK_SANDBOX_V6 "fd73:616e:6467:1::2"
#define AIRLOCK_V6_BITS	   64
#define AIRLOCK_MTU	   65520

#endif
