/* SPDX-License-Identifier: Apache-2.0 */
/* kvm: whether this machine runs virtual machines in hardware. */
#ifndef SG_SANDBOX_KVM_H
#define SG_SANDBOX_KVM_H

#include "base/err.h"

#define KVM_DEVICE "/dev/kvm"

/* Without it QEMU emulates every instruction. 0, or -1 with the reason. */
int kvm_check(struct err *why) sg_must_check;

#endif
