/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine: how a forked process gives up what it does not need, in stages.
 *
 *	1 detach	no terminal, no environment, no inherited descriptor, handler or signal
 *			mask; dies with its parent
 *	2 privileges	no capability but those it names, none to be had again, not dumpable
 *	3 files		no file but those it names (Landlock, where the kernel has it)
 *	4 calls		an allow-list of system calls; any other ends the process
 */
#ifndef SG_CONFINE_CONFINE_H
#define SG_CONFINE_CONFINE_H

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* The inherited descriptors have the numbers from this one on after confine_detach. */
enum { CONFINE_KEPT_FD = 3, CONFINE_KEPT_MAX = 8 };

/*
 * `name` is what ps shows, at most 15 octets. Of the descriptors the `n` of `keep` stay, at most
 * CONFINE_KEPT_MAX, which become CONFINE_KEPT_FD, CONFINE_KEPT_FD + 1, .... `parent` is the process
 * that forked this one; if it is gone, so is this one. 0 or -1.
 */
int confine_detach(const char *name, pid_t parent, const int *keep, size_t n,
		   struct err *e) sg_must_check;

/*
 * `kept` is the sum of the CONFINE_CAPABILITY() that stay, over what the process's own user namespace
 * owns.
 */
#define CONFINE_CAPABILITY(capability) (UINT64_C(1) << (capability))
int confine_privileges(uint64_t kept, struct err *e) sg_must_check;

/* What stays within reach; zeroes: nothing. */
struct confine_files {
	const char *file;   /* for reading, writing and device control */
	const int *folders; /* descriptors: plain files beneath are made, read, written, removed */
	size_t n_folders;
	unsigned short bind_port; /* TCP */
};

/*
 * From here on no path can be opened, and no TCP port bound, but those allowed, and no signal or
 * abstract socket reaches out of the process. What an older kernel cannot do is left out.
 */
int confine_files(const struct confine_files *allowed, struct err *e) sg_must_check;

enum { CONFINE_ANY = -1 };

/* One permitted call; with an argument, only when its lower 32 bits are `value`. */
struct confine_call {
	int number;   /* SCMP_SYS(…): a name that does not exist does not compile */
	int argument; /* 0..5, or CONFINE_ANY: whatever the arguments */
	uint32_t value;
};

/* To end, and to go on after a signal, is always permitted. */
int confine_calls(const struct confine_call *calls, size_t n, struct err *e) sg_must_check;

/*
 * The same for calls that each module declares for itself: lists of numbers that end with -1,
 * CONFINE_LISTED_MAX calls in all with those of `calls`.
 */
enum { CONFINE_LISTED_MAX = 128 };
int confine_listed_calls(const struct confine_call *calls, size_t n, const int *const *lists,
			 size_t n_lists, struct err *e) sg_must_check;

#endif
