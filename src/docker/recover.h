/* SPDX-License-Identifier: Apache-2.0 */
/* recover: gates and endpoints that are left over, of a driver or of a dockerd that was killed. */
#ifndef SG_DOCKER_RECOVER_H
#define SG_DOCKER_RECOVER_H

#include <sys/types.h>

#include "docker/driver.h"

/*
 * Puts right what a driver before this one left (`daemon` 0), or a dockerd before that of the
 * process `daemon`: one that was killed tells nobody, and the next one ends its containers without
 * a word to the driver. Ends gates, and waits for that; what cannot be put right is said, and stays
 * for the next time.
 */
void docker_recover(struct docker_driver *d, pid_t daemon);

#endif
