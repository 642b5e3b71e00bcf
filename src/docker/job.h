/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job: work that waits, in a process of its own: making a gate, ending one. The driver answers
 * others meanwhile, and the supervisor that the work leaves behind holds nothing of the driver's.
 */
#ifndef SG_DOCKER_JOB_H
#define SG_DOCKER_JOB_H

#include "base/err.h"
#include "io/loop.h"

enum { DOCKER_RESULT_MAX = 1024 };

/*
 * In the child, which has the arguments as they were and no descriptor of the driver's but standard
 * ones. It ends with the driver (PR_SET_PDEATHSIG). 0, or -1 with the message; `result`, zeroed and
 * of DOCKER_RESULT_MAX octets, comes to the driver.
 */
typedef int docker_work_fn(void *ctx, void *result, struct err *e);

/*
 * In the driver, when the child has ended: `rc` is what the work returned, with the message. What
 * the child says is of the driver's own program, and read dockerd's octets.
 */
typedef void docker_done_fn(void *ctx, int rc, const void *result, const struct err *e);

/* 0, or -1 with the message, and then done() is not called. */
int docker_job_start(struct loop *l, docker_work_fn *work, docker_done_fn *done, void *ctx,
		     struct err *e) sg_must_check;

#endif
