/* SPDX-License-Identifier: Apache-2.0 */
/* catalogue: the constant tables that tools/gen_catalogue.py makes of catalogue/. */
#ifndef SG_POLICY_CATALOGUE_H
#define SG_POLICY_CATALOGUE_H

#include "base/addr.h"
#include "policy/decide.h"

enum special_class {
	SPECIAL_PUBLIC,
	SPECIAL_PRIVATE,  /* a name rule marked `private: true` may reach it */
	SPECIAL_METADATA, /* by its exact address only */
	SPECIAL_LOOPBACK, /* never leaves the sandbox */
	SPECIAL_UNWRAP,	  /* the IPv4 address in the last four octets is judged */
	SPECIAL_WITHHELD,
};

/* Disjoint and ascending; host byte order, both ends inclusive. */
struct special_v4 {
	uint32_t lo, hi;
	uint8_t kind;	  /* enum special_class */
	const char *text; /* "private (RFC 1918)" */
};

/* Longest prefix first. */
struct special_v6 {
	struct prefix prefix;
	uint8_t kind;
	const char *text;
};

struct message {
	const char *word;
	const char *sentence;
};

/* A domain that is no public suffix, and a suffix that lies below it. */
struct above_suffix {
	const char *domain;
	const char *suffix; /* "s3.amazonaws.com", "*.compute.example" */
};

extern const struct special_v4 catalogue_special_v4[];
extern const size_t catalogue_n_special_v4;
extern const struct special_v6 catalogue_special_v6[];
extern const size_t catalogue_n_special_v6;
extern const struct message catalogue_messages[]; /* by enum reason */

/* Sorted by octets. */
extern const char *const catalogue_suffix_overlay[];
extern const size_t catalogue_n_suffix_overlay;
extern const char *const catalogue_encrypted_dns[];
extern const size_t catalogue_n_encrypted_dns;
extern const struct above_suffix catalogue_above_suffix[];
extern const size_t catalogue_n_above_suffix;

struct catalogue;
extern const struct catalogue catalogue_compiled_in; /* catalogue_builtin() */

#endif
