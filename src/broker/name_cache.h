/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_cache: something that is kept for each of a bounded number of names. The name that was
 * used longest ago makes room for a new one. Finding, putting and making room take the same time
 * at any size.
 */
#ifndef SG_BROKER_NAME_CACHE_H
#define SG_BROKER_NAME_CACHE_H

#include <stddef.h>

#include "base/name.h"

struct name_cache;

/* `release` frees what is kept, when it is replaced or makes room. NULL: no memory. `names_max`
 * is at least 1. */
struct name_cache *name_cache_new(size_t names_max, void (*release)(void *kept));
void name_cache_free(struct name_cache *c);

/* What is kept for the name, which then was used last; the cache's. NULL: nothing. */
void *name_cache_find(struct name_cache *c, const struct name *name);

/* Keeps `kept`, which is the cache's from here on, instead of what was kept for the name. */
void name_cache_put(struct name_cache *c, const struct name *name, void *kept);

#endif
