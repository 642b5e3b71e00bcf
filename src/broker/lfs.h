/* SPDX-License-Identifier: Apache-2.0 */
/* lfs: the body of a batch request of Git LFS (git-lfs, docs/api/batch.md). */
#ifndef SG_BROKER_LFS_H
#define SG_BROKER_LFS_H

#include "base/span.h"

/* Is it a batch of this operation, "download" or "upload", for every reader? */
bool lfs_batch_is(struct span body, const char *operation);

#endif
