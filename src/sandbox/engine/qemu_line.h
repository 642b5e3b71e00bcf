/* SPDX-License-Identifier: Apache-2.0 */
/* qemu_line: the command line that QEMU is started with. Pure. */
#ifndef SG_SANDBOX_QEMU_LINE_H
#define SG_SANDBOX_QEMU_LINE_H

#include "sandbox/engine/machine_words.h"
#include "sandbox/engine/qemu_words.h"

/* The console of a guest, as its kernel is told of it. */
#ifdef __aarch64__
#define QEMU_PROGRAM "qemu-system-aarch64"
#define QEMU_MACHINE "virt"
#define QEMU_CONSOLE "console=ttyAMA0"
#else
#define QEMU_PROGRAM "qemu-system-x86_64"
#define QEMU_MACHINE "q35"
#define QEMU_CONSOLE "console=ttyS0"
#endif

struct qemu_setup {
	const char *path;		 /* of QEMU */
	const char *name;		 /* of the sandbox */
	const struct machine_link *link; /* NULL: no network device */
	const struct qemu_words *words;
	int button; /* QEMU's number of the socket that takes the words of its monitor */
	bool kvm;
	unsigned cpus;		 /* unless the person says how many */
	const char *authorities; /* a file of PEM for the guest, or NULL */
};

/* NULL-terminated, for name_list_free(); NULL without memory. */
char **qemu_line_make(const struct qemu_setup *s);

#endif
