/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qemu_words: which words of a person's go to QEMU, and how. Pure.
 *
 * An allow-list: QEMU has hundreds of options, and many make another way between guest and host: a
 * second network device, a socket, a shared folder, a device of the host's. What is not known to
 * make none is refused, with what to do instead. That is for the person, who is told; what keeps the
 * machine in is the sandbox that QEMU runs in (machine.h), not this.
 *
 * The format of a disk is never guessed from its contents, which the guest writes; every disk names
 * one. Writes go to a copy that is thrown away, but for a disk that `rw` names.
 */
#ifndef SG_SANDBOX_QEMU_WORDS_H
#define SG_SANDBOX_QEMU_WORDS_H

#include <stdbool.h>

#include "base/err.h"
#include "sandbox/path.h"

struct qemu_request {
	const struct tree *host;
	const char *cwd;	  /* absolute; relative paths are from there */
	const char *image;	  /* the first disk, as written, or NULL */
	const char *const *words; /* NULL-terminated, or NULL */
	const char *const *rw;	  /* files and folders that may be written, as written; or NULL */
};

struct qemu_words {
	char **words;	 /* for QEMU: absolute paths, disks with their formats; or NULL */
	char **ro, **rw; /* absolute paths of the files that they name; or NULL */
	/* What the person has named. */
	bool machine, accel, cpu, memory, cpus, kernel, append;
	bool without_pci; /* the machine has no PCI bus */
};

/* 0, or -1 with the message and nothing to free. */
int qemu_words_read(const struct qemu_request *r, struct qemu_words *out,
		    struct err *e) sg_must_check;
void qemu_words_free(struct qemu_words *q);

/* The format that a disk's name says: "qcow2" for .qcow2, else "raw". */
const char *qemu_format_of(const char *path);

#endif
