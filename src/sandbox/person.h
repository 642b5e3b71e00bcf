/* SPDX-License-Identifier: Apache-2.0 */
/*
 * person: whose sandgate this is. Root of a user namespace is a person who looks like root: the
 * hook of a rootless container engine runs so. Their sandboxes, state and settings are where a
 * shell of theirs outside of the namespace looks for them, and nothing of real root's is theirs.
 */
#ifndef SG_SANDBOX_PERSON_H
#define SG_SANDBOX_PERSON_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/span.h"

/*
 * Really root: uid 0, and not of a user namespace that a person made within the system that runs
 * here. Root of a system in a namespace (LXC), to whom `/` belongs, is root.
 */
bool person_is_root(void);

/* The user, or a group of theirs, as the namespace above knows it: for paths and names. */
uid_t person_uid(void);
uid_t person_uid_of(uid_t inside);
gid_t person_gid(gid_t inside);

/* The user that is root in the user namespace of that process, which is not this one's. */
bool person_root_of(pid_t pid, uid_t *out);

/*
 * Is a file's owner the system's root, who has no number in a person's namespace? There it is the
 * one to whom `/` belongs.
 */
bool person_sees_root(uid_t owner);

/*
 * The number above of `inside` by the text of a uid_map or gid_map (user_namespaces(7)); pure.
 * False when it has none.
 */
bool person_map_id(struct span map, id_t inside, id_t *out);

#endif
