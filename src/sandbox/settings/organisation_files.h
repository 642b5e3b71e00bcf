/* SPDX-License-Identifier: Apache-2.0 */
/*
 * organisation_files: the organisation's policy of this machine, as the administrator installed it.
 *
 *	/etc/sandgate/policy.json	the policy
 *	/etc/sandgate/policy.json.sig	64 octets in base64: Ed25519 over its exact octets
 *	/etc/sandgate/policy.pub	the public key, PEM
 *
 * All three or none. Anything else, and anything in them that is not right, is an error: nothing
 * starts. No variable and no option names another folder.
 */
#ifndef SG_SANDBOX_ORGANISATION_FILES_H
#define SG_SANDBOX_ORGANISATION_FILES_H

#include "policy/permission.h"
#include "sandbox/settings/trusted_file.h"

#define ORGANISATION_DIR	 "/etc/sandgate"
#define ORGANISATION_POLICY	 "policy.json"
#define ORGANISATION_SIGNATURE	 "policy.json.sig"
#define ORGANISATION_KEY	 "policy.pub"
#define ORGANISATION_POLICY_PATH ORGANISATION_DIR "/" ORGANISATION_POLICY
enum { ORGANISATION_FILE_MAX = 16 * 1024 * 1024 };

/* The octets of all three; `p` is NULL of one that is not there. */
struct organisation_files {
	struct trusted_text policy, signature, key;
};

/* Reads what there is. 0 or -1 with the message. */
int organisation_files_load(struct organisation_files *f, struct err *e) sg_must_check;
void organisation_files_free(struct organisation_files *f);

/* The policy in force; `present` is false when nothing is installed. 0 or -1 with the message. */
int organisation_files_read(const struct catalogue *c, struct organisation *o,
			    struct err *e) sg_must_check;

/*
 * Puts a verified set in the place of what is there. Root's. A reader that meets the moment between
 * the files reads again. 0 or -1 with the message.
 */
int organisation_files_install(const struct organisation_files *f, struct err *e) sg_must_check;

#endif
