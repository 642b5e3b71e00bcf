/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authorities: all certificate authorities of one sandbox. The first is made at the start; another
 * policy may have to see names that none of them was made for, and then one more is made for those,
 * which clients trust from when they next read their bundle. So it is before one comes to its end.
 */
#ifndef SG_BROKER_AUTHORITIES_H
#define SG_BROKER_AUTHORITIES_H

#include "broker/authority.h"

enum {
	AUTHORITIES_MAX = 8,
	/* Of the certificates that are constrained: the bundle's block has 64 KiB for all. */
	AUTHORITIES_TEXT_MAX = 60 * 1024,
};

struct authorities;

/* With none yet. `sandbox` is borrowed. NULL: no memory. */
struct authorities *authorities_new(const char *sandbox, unsigned days);
void authorities_free(struct authorities *all);

/*
 * To be asked when names may be others, and once a day.
 *
 * Makes one more when there are names (authority_new()) that none covers which has an eighth of its
 * time left; NULL is any name. When there are AUTHORITIES_MAX, the oldest but the first goes, and
 * the new one is for its names too; when there is no room for so many names, it is for any. 0: all
 * are covered; 1: there is another one; -1 with the error, and nothing has changed.
 */
int authorities_cover(struct authorities *all, char *const *names, struct err *e) sg_must_check;

/*
 * The oldest that may sign for the name and has not expired, since it is the one that most clients
 * know; the first when none may, which says so. NULL: there is none.
 */
struct authority *authorities_find(const struct authorities *all, const struct name *name);

/*
 * The certificates of all, PEM, in the order they were made; the caller's to free. NULL: no memory.
 */
char *authorities_certificates(const struct authorities *all);

#endif
