/* SPDX-License-Identifier: Apache-2.0 */
/* tun: the device by which packets reach the gate, and the one that a virtual machine has. */
#ifndef SG_AIRLOCK_TUN_H
#define SG_AIRLOCK_TUN_H

#include "base/compiler.h"

/*
 * Makes tun0, index LINK_INDEX_TUN0, in the namespace of the caller: layer 3, no header, gone with
 * the last copy of the descriptor, which is non-blocking. `device` is the path of the
 * kernel's clone device. Returns the descriptor or -errno.
 */
int tun_open(const char *device) sg_must_check;

/*
 * Makes link0, index LINK_INDEX_LINK0, as a tap likewise: frames, each with the header of virtio
 * (IFF_VNET_HDR), so that what the kernel and the machine leave to one another (checksums, segments)
 * is said. Returns the descriptor or -errno.
 */
int tun_open_tap(const char *device) sg_must_check;

#endif
