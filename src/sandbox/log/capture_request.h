/* SPDX-License-Identifier: Apache-2.0 */
/* capture_request: a capture as a person asks for it. */
#ifndef SG_SANDBOX_CAPTURE_REQUEST_H
#define SG_SANDBOX_CAPTURE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

enum {
	CAPTURE_MAX_MB = 64,
	CAPTURE_MAX_MB_MOST = 1 << 20,
	CAPTURE_FILES = 8,
	CAPTURE_FILES_MOST = 10000,
};

struct capture_request {
	const char *file; /* absolute; NULL: none */
	uint64_t max_mb;  /* of a segment; 0: as the settings say */
	uint64_t files;	  /* segments in all; 0: likewise */
	bool keys;	  /* also when only the settings say so */
	bool again;	  /* where the file is there already, one with the time in its name */
};

#endif
