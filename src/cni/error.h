/* SPDX-License-Identifier: Apache-2.0 */
/* error: how a CNI plugin says that something did not work (CNI 1.0.0, "Error"). */
#ifndef SG_CNI_ERROR_H
#define SG_CNI_ERROR_H

#include "base/err.h"

/* The specification's codes; those from 100 on are the plugin's own. */
enum cni_code {
	CNI_OK = 0,
	CNI_BAD_VERSION = 1,
	CNI_BAD_FIELD = 2, /* a field that is understood, with a value that is not supported */
	CNI_NO_CONTAINER = 3,
	CNI_BAD_ENVIRONMENT = 4,
	CNI_IO = 5,
	CNI_BAD_JSON = 6,
	CNI_BAD_CONFIG = 7,
	CNI_TRY_AGAIN = 11,
	CNI_NOT_MADE = 100, /* no gate, and nothing left of the try */
	CNI_EXISTS = 101,   /* ADD of what was added */
	CNI_BROKEN = 102,   /* CHECK: it is not as ADD made it */
};

/* Prints it on standard output as JSON; `version` as asked for, or NULL. Returns the exit status. */
int cni_error_print(const char *version, enum cni_code code, const struct err *e);

#endif
