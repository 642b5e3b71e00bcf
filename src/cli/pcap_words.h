/* SPDX-License-Identifier: Apache-2.0 */
/* pcap_words: a capture as the options ask for it, the same for every command that has them. */
#ifndef SG_CLI_PCAP_WORDS_H
#define SG_CLI_PCAP_WORDS_H

#include <limits.h>

#include "cli/args.h"
#include "sandbox/log/capture_request.h"

struct pcap_words {
	char path[PATH_MAX];
	struct capture_request request; /* its file is NULL or `path` */
};

/* `file` as it was written, NULL: no capture is asked for. 0 or -1 with the message. */
int pcap_words_read(const struct args *a, const char *file, struct pcap_words *out,
		    struct err *e) sg_must_check;

#endif
