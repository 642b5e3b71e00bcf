/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netlink: a short list of requests to the kernel, sent at once and answered one by one.
 *
 * Everything the airlock sets up by rtnetlink is known beforehand, so requests are
 * queued, each under a few words that say what it does, and go out with one system
 * call. Nothing here allocates: the keeper uses it after it has confined itself.
 */
#ifndef SG_AIRLOCK_NETLINK_H
#define SG_AIRLOCK_NETLINK_H

#include <libmnl/libmnl.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

enum { NL_REQUESTS_MAX = 32, NL_QUEUE_OCTETS = 8192, NL_ANSWER_OCTETS = 8192 };

struct nl {
	int fd;
	uint32_t seq;	    /* of the first request that is queued */
	size_t n;	    /* requests queued */
	size_t octets;	    /* of the queue, used */
	const char *failed; /* what the first request that failed was to do; NULL: none */
	const char *doing[NL_REQUESTS_MAX];
	alignas(8) uint8_t queue[NL_QUEUE_OCTETS];
	alignas(8) uint8_t answer[NL_ANSWER_OCTETS];
};

/* Opens a socket of this bus (NETLINK_ROUTE, NETLINK_NETFILTER) in the caller's namespace. */
int nl_open(struct nl *n, int bus) sg_must_check;
void nl_close(struct nl *n);

/*
 * Begins a request; `doing` is kept, not copied. Attributes are added with mnl_attr_put until the
 * next nl_begin or nl_run. The queue is sized for the longest list there is: a caller that
 * overruns it is a defect and ends the process.
 */
struct nlmsghdr *nl_begin(struct nl *n, uint16_t type, uint16_t flags, const char *doing);

/* Sends the queue and reads every answer. 0, or the first -errno with `failed` set. */
int nl_run(struct nl *n) sg_must_check;

/*
 * Sends the queue, which holds one request, and gives the payload message of its answer (valid
 * until the next call), or NULL with *error set to -errno.
 */
const struct nlmsghdr *nl_ask(struct nl *n, int *error);

/* One message of a dump; it lives until the call returns. Not 0 ends the dump with that result. */
typedef int nl_each_fn(void *ctx, const struct nlmsghdr *h);

/*
 * Sends the queue, which holds one request with NLM_F_DUMP, and calls fn for each message of the
 * answer. 0, what fn gave, or -errno; -EINTR when the kernel says that it has changed meanwhile.
 */
int nl_dump(struct nl *n, nl_each_fn *fn, void *ctx) sg_must_check;

#endif
