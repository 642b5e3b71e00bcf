/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: a virtual machine monitor behind a gate.
 *
 * Theory of operation. A monitor is believed no more than a command: a guest that takes it over is
 * then a process of the host's. So it runs where a command would, in bubblewrap: the system
 * read-only, no socket of the host's to be found, no other process to be seen, the same filter of
 * system calls, no capability, also when root starts it; and its network is one of its own with
 * nothing in it. What it has is the tap device of its airlock:
 *
 *	by descriptor	handed in with the word to go on, as number MACHINE_FD
 *	by name		(Firecracker) the device is its user's and lasts; the monitor runs in the
 *			airlock's network, where the device is, and can make no socket there
 *
 * Either way a machine that is let go has a gate already; the supervisor keeps no copy of the
 * descriptor, so the link is down when the monitor has ended.
 */
#ifndef SG_SANDBOX_MACHINE_H
#define SG_SANDBOX_MACHINE_H

#include "sandbox/engine/engine_command.h"
#include "sandbox/engine/machine_words.h"

enum { MACHINE_FD = 3, MACHINE_BUTTON = 4 };

/* The name of the device, in the airlock. */
#define MACHINE_TAP "link0"

/* As `sandgate vm-net` asks for it; zeroes are the usual. */
struct machine_options {
	const uint8_t *mac; /* six octets */
	uint32_t mtu;
	bool by_name;
	const char *stream, *dgram; /* the path of a frame socket; NULL: none */
};

struct machine {
	struct engine_command command;
	char **argv;
	bool by_name;
	int tap;    /* for the monitor, until it has it; -1 */
	int button; /* to be handed in beside it; -1 */
};

#define MACHINE_NONE ((struct machine){.command = ENGINE_COMMAND_NONE, .tap = -1, .button = -1})

/* The link of a machine, as its options and the usual say it. `by_name`: without a descriptor. */
struct machine_link machine_link_of(const struct machine_options *o);

/* engine_class.configure */
int machine_configure(struct supervisor *s, struct airlock_config *c, struct err *e);

/* Starts what m->argv and m->command say: engine_class.start. Takes the tap over from the airlock. */
int machine_start(struct supervisor *s, struct machine *m, struct err *e) sg_must_check;

/* For a monitor of outside: the device stays, its user opens it by its name. */
int machine_offer(struct supervisor *s, struct err *e) sg_must_check;

/* The word to go on, with the descriptors: engine_class.let_go. */
int machine_let_go(struct machine *m, const sigset_t *blocked) sg_must_check;

void machine_free(struct machine *m);

#endif
