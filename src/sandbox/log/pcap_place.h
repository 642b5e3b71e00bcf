/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pcap_place: where the segments of a capture go: FILE, then FILE with -2, -3, ... before its suffix.
 *
 * They are made with the person's rights, for the owner's eyes only, and overwrite nothing. The
 * folder is one that no sandbox of the person's sees or may write: what is in it cannot be planted,
 * read or filled from inside.
 */
#ifndef SG_SANDBOX_PCAP_PLACE_H
#define SG_SANDBOX_PCAP_PLACE_H

#include <limits.h>

#include "base/err.h"

struct pcap_place {
	int folder;	     /* -1: none */
	char path[PATH_MAX]; /* of the folder, without links */
	char stem[NAME_MAX + 1], suffix[NAME_MAX + 1];
	size_t stem_n; /* of the stem that was asked for; what is behind it is a time */
};

#define PCAP_PLACE_NONE ((struct pcap_place){.folder = -1})

/*
 * Where the first segment is there already: the time comes into the names, to the millisecond, the
 * next one that no capture has. Another may take it before pcap_place_create(): EEXIST, ask again.
 */
void pcap_place_take_another(struct pcap_place *p);

/* Folders that the sandbox sees: its working directory, and NULL-terminated lists; any may be NULL. */
struct pcap_seen {
	const char *workdir;
	const char *const *rw, *const *ro;
};

/* `file` is absolute. 0 or -1 with the message; pcap_place_close() in both cases. */
int pcap_place_open(struct pcap_place *p, const char *file, const struct pcap_seen *seen,
		    struct err *e) sg_must_check;
void pcap_place_close(struct pcap_place *p);

/*
 * Makes the segment `number`, from 1: a descriptor for reading and writing, and its path. -1 with
 * the message, errno EEXIST when there is something of that name.
 */
int pcap_place_create(const struct pcap_place *p, unsigned number, char path[PATH_MAX],
		      struct err *e);

/* Takes it away again, if it is still the file that `fd` leads to. */
void pcap_place_remove(const struct pcap_place *p, unsigned number, int fd);

#endif
