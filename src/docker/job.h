/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: work that waits, in a process of its own: making a gate, ending one. The driver answers others
 * meanwhile, and the supervisor that the work leaves behind holds nothing of the driver's.
 */
#ifndef SG_DOCKER_JOB_H
#define SG_DOCKER_JOB_H

#include "base/err.h"
#include "io/loop.h"

/*
 * In the child, which has the arguments as they were and no descriptor of the driver's but standard
 * ones. It ends with the driver (PR_SET_PDEATHSIG). 0, or -1 with the message.
 */
typedef int docker_work_fn(void *ctx, struct err *e);

/* In the driver, when the child has ended: `rc` is what the work returned, with the message. */
typedef void docker_done_fn(void *ctx, int rc, const struct err *e);

/* 0, or -1 with the message, and then done() is not called. */
int docker_job_start(struct loop *l, docker_work_fn *work, docker_done_fn *done, void *ctx,
		     struct err *e) sg_must_check;

#endif
