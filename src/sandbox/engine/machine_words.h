/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine_words: what stands for a virtual machine's link in the command line of a monitor: {fd},
 * {tap}, {mac} and {mtu}. Pure.
 */
#ifndef SG_SANDBOX_MACHINE_WORDS_H
#define SG_SANDBOX_MACHINE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct machine_link {
	int fd;		 /* of the tap device; -1: it is opened by its name */
	const char *tap; /* that name; NULL: it has the descriptor */
	uint8_t mac[6];
	uint32_t mtu;
};

/* "02:73:67:00:00:02" */
enum { MAC_TEXT = 18 };
void machine_mac_print(const uint8_t mac[6], char out[MAC_TEXT]);

/* An address of one device (IEEE 802: not of a group), not all zeroes. False when it is none. */
bool machine_mac_parse(const char *text, uint8_t out[6]) sg_must_check;

/*
 * The words with every placeholder replaced, anywhere in them: NULL-terminated, for
 * machine_words_free(). NULL with the message, also for a placeholder that is not there in this way
 * of opening the device. Other braces are left as they are.
 */
char **machine_words_fill(char *const *words, const struct machine_link *l, struct err *e);
void machine_words_free(char **words);

#endif
