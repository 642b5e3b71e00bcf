/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor: one look at each thing that a sandbox needs of this machine.
 *
 * A look tries the thing itself wherever it can, since a setting that reads well may still be
 * refused by a security module or a container around it. Nothing is left but the folder that `run`
 * makes as well.
 */
#ifndef SG_CLI_DOCTOR_H
#define SG_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"

enum finding_status {
	FINDING_OK,
	FINDING_HINT,	 /* it works with less than there could be */
	FINDING_MISSING, /* nothing can be started, when it is required; else as a hint */
	FINDING_STATUSES,
};

enum { FINDING_TEXT_MAX = 512 };

struct finding {
	enum finding_status status;
	char detail[FINDING_TEXT_MAX];
	char fix[FINDING_TEXT_MAX]; /* empty: nothing to do */
};

struct check {
	const char *name;
	bool required;
	void (*look)(struct finding *f); /* f is FINDING_OK and empty before */
};

void finding_ok(struct finding *f, const char *detail, ...) sg_printf(2, 3);
/* `fix` is a whole sentence piece, a command where there is one. */
void finding_bad(struct finding *f, enum finding_status status, const char *fix, const char *detail,
		 ...) sg_printf(4, 5);

/* doctor_kernel.c */
void doctor_kernel(struct finding *f);
void doctor_user_namespaces(struct finding *f);
void doctor_tun(struct finding *f);
void doctor_airlock(struct finding *f);
void doctor_seccomp(struct finding *f);
void doctor_landlock(struct finding *f);

/* doctor_host.c */
void doctor_bwrap(struct finding *f);
void doctor_runtime_folder(struct finding *f);
void doctor_resolver(struct finding *f);
void doctor_ipv6(struct finding *f);
void doctor_ping(struct finding *f);
void doctor_open_files(struct finding *f);
void doctor_pipes(struct finding *f);

/* doctor_broker.c */
void doctor_locked_memory(struct finding *f);
void doctor_certificates(struct finding *f);

/* doctor_engines.c */
void doctor_podman(struct finding *f);
void doctor_podman_rootless(struct finding *f);
void doctor_docker(struct finding *f);
void doctor_docker_driver(struct finding *f);
void doctor_containerd(struct finding *f);
void doctor_cni(struct finding *f);
void doctor_qemu(struct finding *f);
void doctor_kvm(struct finding *f);

#endif
