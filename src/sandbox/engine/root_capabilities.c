/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/root_capabilities.h"

#include "base/compiler.h"

const char *const root_capabilities[] = {
	"CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER",		  "CAP_FSETID",	    "CAP_SETUID",
	"CAP_SETGID", "CAP_KILL",	  "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_SETFCAP",
};
const size_t root_capabilities_n = sg_array_len(root_capabilities);
