/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns: a network namespace that is there already, looked at and worked in from outside. Whatever
 * is done in it is done by a child, which alone enters it, and where the caller has no rights there
 * the user namespace that owns it.
 */
#ifndef SG_SANDBOX_NETNS_H
#define SG_SANDBOX_NETNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "airlock/netlink.h"
#include "base/err.h"

/* Descriptors of one, or -1 with the message. Of a process also its pidfd, into *alive. */
int netns_open_path(const char *path, struct err *e);
int netns_open_pid(pid_t pid, int *alive, struct err *e);

/*
 * 0 when a gate may be put before it; -1 when it is no network namespace, that of the host, or the
 * one that the caller itself is in.
 */
int netns_check(int netns, struct err *e) sg_must_check;

enum { NETNS_WAYS_MAX = 512 };

/* The names of the devices in it that lead out, but `link` (way_out.h). 0 or -1. */
int netns_list_ways(int netns, uint32_t link, char out[NETNS_WAYS_MAX],
		    struct err *e) sg_must_check;

/* Takes them away. 0, or -1 naming what leads out still. */
int netns_take_ways(int netns, uint32_t link, struct err *e) sg_must_check;

/* Sockets that were made in it; they serve outside of it, without rights. */
struct netns_watch {
	int events;    /* readable when a device has changed, by which all routes go; -1: none */
	struct nl ask; /* its fd is -1 when there is none */
};

#define NETNS_WATCH_NONE ((struct netns_watch){.events = -1, .ask = {.fd = -1}})

int netns_watch_open(int netns, struct netns_watch *w, struct err *e) sg_must_check;
void netns_watch_close(struct netns_watch *w);

/*
 * Empties `events`. False when the device `link` has left the namespace since, or when more has
 * happened than was kept, so that nobody knows.
 */
bool netns_watch_hear(struct netns_watch *w, uint32_t link);

/* 0 when nothing but `link` leads out, -1 naming what else does. */
int netns_watch_verify(struct netns_watch *w, uint32_t link, struct err *e) sg_must_check;

#endif
