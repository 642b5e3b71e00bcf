/* SPDX-License-Identifier: Apache-2.0 */
/* who: a user, as entries of the logs name one. */
#ifndef SG_SANDBOX_WHO_H
#define SG_SANDBOX_WHO_H

#include <jansson.h>
#include <sys/types.h>

/* "dev (uid 1000)", new; "(uid 1000)" when the name is not known. */
json_t *who_json(uid_t uid);

#endif
