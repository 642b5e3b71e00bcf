/* SPDX-License-Identifier: Apache-2.0 */
/* credential_personal: what the permissions that a person signs in with ("github:as-you") add to
 * requests. */
#ifndef SG_POLICY_CREDENTIAL_PERSONAL_H
#define SG_POLICY_CREDENTIAL_PERSONAL_H

#include "policy/credential.h"

/*
 * Appends what the permissions in `on` (ids, NULL-terminated or NULL) have. A host that the list
 * has a credential for is left as the person wrote it. 0 or -ENOMEM.
 */
int credentials_add_personal(char *const *on, struct credential_list *list) sg_must_check;

struct policy; /* policy/policy.h */

/*
 * Fills p->resolved.credentials from the person's own and from the permissions that are on. It is
 * not in the wire form, which has what it is made of. 0 or -ENOMEM.
 */
int credentials_resolve(struct policy *p) sg_must_check;

#endif
