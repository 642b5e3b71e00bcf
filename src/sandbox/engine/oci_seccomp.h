/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oci_seccomp: takes a container's way past its network, AF_VSOCK, out of the filter of system calls
 * that its engine gives it (OCI runtime-spec 1.0, "linux.seccomp"); pure.
 *
 * By AF_VSOCK a program in a virtual machine speaks to the machine's host, in whatever network
 * namespace it is. There are three system calls by which a socket is made:
 *
 *	socket		its family is the low half of the first argument, int: the kernel looks at no more
 *	socketcall	of 32-bit programs: the family lies in memory, which no filter sees
 *	io_uring_setup	what is asked of a ring passes no filter (IORING_OP_SOCKET)
 *
 * The latter two are refused whole. Rules of one system call that overlap have no order in libseccomp:
 * so each rule about `socket` is taken apart into rules for blocks of families, all families below 64
 * but that one, whose conditions exclude each other. Families above are none that a kernel has, and are
 * left to the filter's default.
 */
#ifndef SG_SANDBOX_OCI_SECCOMP_H
#define SG_SANDBOX_OCI_SECCOMP_H

#include <jansson.h>

#include "base/err.h"

/* 0, or -1 with the message: it is no such filter. What it refuses already stays so. */
int oci_seccomp_refuse_vsock(json_t *seccomp, struct err *e) sg_must_check;

#endif
