/* SPDX-License-Identifier: Apache-2.0 */
/* origin: what the checkpoints of a log are called: "sandgate/HOST/NAME". */
#ifndef SG_AUDIT_ORIGIN_H
#define SG_AUDIT_ORIGIN_H

enum { ORIGIN_MAX = 192 };

/*
 * Of the log of a sandbox, or, for NULL, of the host's own: "sandgate/HOST". What no key may be
 * called by (c2sp.org/signed-note) is a hyphen in the host's name; what is too long is cut.
 */
void origin_make(const char *sandbox, char out[ORIGIN_MAX]);

#endif
