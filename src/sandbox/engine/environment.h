/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment: the variables that a sandbox sees.
 *
 * An allow-list: what is not known to be harmless stays outside, since tokens and the paths of
 * agents' sockets travel in the environment.
 */
#ifndef SG_SANDBOX_ENVIRONMENT_H
#define SG_SANDBOX_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "policy/credential.h"

#define ENVIRONMENT_PROXY_HOST "gateway.sandgate.internal"
#define ENVIRONMENT_PROXY      "http://" ENVIRONMENT_PROXY_HOST ":3128"

struct environment_request {
	char *const *person;	/* the person's environment, NULL-terminated */
	const char *sandbox;	/* its name */
	const char *home;	/* HOME inside */
	const char *user;	/* USER and LOGNAME inside; NULL: the person's */
	const char *workdir;	/* PWD */
	const char *apt_config; /* APT_CONFIG, or NULL */
	bool authority;		/* there is a bundle of certificates (ca_bundle.h) */
	bool by_proxy;		/* the proxy port is the only way out */
	/* Those with a variable get a placeholder made from the seed in it; NULL: none. */
	const struct credential_list *credentials;
	const uint8_t *placeholder_seed; /* PLACEHOLDER_SEED octets */
	const char *const *added;	 /* --env "K=V", the last one wins; may be NULL */
};

/* NULL-terminated, each string and the array allocated; NULL without memory. */
char **environment_build(const struct environment_request *r);
void environment_free(char **env);

/*
 * The variables alone that the programs of another engine's container are given beside their own: whom
 * to trust, and placeholders, as those of environment_build(). Free likewise.
 */
char **environment_build_additions(const struct credential_list *credentials,
				   const uint8_t *placeholder_seed);

/*
 * The variables that name the files for whom to trust in SANDBOX_CA; false past the last one. Those
 * with more than such a path in them, as Java's, are not among them.
 */
struct environment_variable {
	const char *name, *value;
};
bool environment_trust(size_t i, struct environment_variable *out);

/* The value in an environment, or NULL. */
const char *environment_get(char *const *env, const char *name);

#endif
