/* SPDX-License-Identifier: Apache-2.0 */
/* version: the versions of the CNI specification that the plugin speaks. */
#ifndef SG_CNI_VERSION_H
#define SG_CNI_VERSION_H

#include <stdbool.h>

#define CNI_NEWEST "1.0.0"

/* Whether it is one of them. */
bool cni_version_is_known(const char *version);

/* In the results of this one each address says its IP version. */
bool cni_version_names_families(const char *version);

/* The answer to VERSION, on standard output. Returns the exit status. */
int cni_version_print(const char *asked);

#endif
