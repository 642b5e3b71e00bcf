/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames_socket: the socket file that a virtual machine monitor connects to, or sends to. The
 * supervisor makes it and takes it away; its process `frames` uses it.
 */
#ifndef SG_SANDBOX_FRAMES_SOCKET_H
#define SG_SANDBOX_FRAMES_SOCKET_H

#include <sys/stat.h>

#include "frames/frames.h"

struct frames_socket {
	int fd;		  /* listening, or bound; non-blocking; -1: none */
	const char *path; /* borrowed, as it was given */
	dev_t dev;	  /* of the file: only that one is taken away */
	ino_t ino;
};

#define FRAMES_SOCKET_NONE ((struct frames_socket){.fd = -1})

/*
 * Makes it, readable and writable by its owner only. A socket file that nobody holds any more is
 * replaced, anything else at that path is an error. 0, or -1 with the message and nothing made.
 */
int frames_socket_open(struct frames_socket *s, enum frames_kind kind, const char *path,
		       struct err *e) sg_must_check;

/* Closes it and takes the file away, unless another one is there by now. */
void frames_socket_close(struct frames_socket *s);

#endif
