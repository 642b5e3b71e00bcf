/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { API_VERSION = 12 };

#ifdef __x86_64__
enum { CPUID_ENTRIES = 256, LEAF_FEATURES = 1 };

/* SSE3 and CMPXCHG16B (Intel SDM, CPUID): every 64-bit processor of the last twenty years. */
static const uint32_t needed_ecx = 1u << 0 | 1u << 13;

/*
 * KVM within a machine that itself has no hardware for it can be there and give a guest less than
 * any processor that a kernel or QEMU's oldest model knows: the guest would hang.
 */
static int check_processor(int kvm, struct err *why)
{
	_cleanup_free_ struct kvm_cpuid2 *list =
		calloc(1, sizeof(*list) + CPUID_ENTRIES * sizeof(list->entries[0]));

	if (!list)
		return err_set(why, "out of memory");
	list->nent = CPUID_ENTRIES;
	if (ioctl(kvm, KVM_GET_SUPPORTED_CPUID, list) < 0)
		return err_set(why, KVM_DEVICE ": %s", strerror(errno));
	for (uint32_t i = 0; i < list->nent && i < CPUID_ENTRIES; i++)
		if (list->entries[i].function == LEAF_FEATURES &&
		    (list->entries[i].ecx & needed_ecx) == needed_ecx)
			return 0;
	return err_set(why,
		       KVM_DEVICE ": its processor lacks what guests need, as in a machine that "
				  "is virtual itself");
}
#else
static int check_processor(int kvm, struct err *why)
{
	return 0;
}
#endif

int kvm_check(struct err *why)
{
	_cleanup_fd_ int kvm = open(KVM_DEVICE, O_RDWR | O_CLOEXEC);

	if (kvm < 0 && errno == EACCES)
		return err_set(why, KVM_DEVICE ": it is not yours to open; the group kvm may: sudo "
					       "adduser \"$USER\" kvm");
	if (kvm < 0)
		return err_set(why, KVM_DEVICE ": %s", strerror(errno));
	if (ioctl(kvm, KVM_GET_API_VERSION, 0) != API_VERSION)
		return err_set(why, KVM_DEVICE ": not the stable interface");
	return check_processor(kvm, why);
}
