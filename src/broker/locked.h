/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locked: memory for secrets. It is never swapped, in no core file, empty in a child, between
 * two pages that cannot be touched, and zeroed when it is given back.
 */
#ifndef SG_BROKER_LOCKED_H
#define SG_BROKER_LOCKED_H

#include <stddef.h>

#include "base/err.h"

/*
 * n octets, all zero, aligned for anything. Each piece takes whole pages of what may be locked
 * (RLIMIT_MEMLOCK): one for a secret, not for each of its parts. NULL with the error, also when
 * the kernel would not keep to all of the above.
 */
void *locked_new(size_t n, struct err *e) sg_must_check;

/* The n that it was made with. NULL is nothing. */
void locked_free(void *p, size_t n);

/*
 * Makes OpenSSL keep private keys and the keys of tickets in such memory too (its secure heap),
 * for the life of the process. Before the first key is made; once is enough. 0 or -1.
 */
int locked_start_openssl(struct err *e) sg_must_check;

#endif
