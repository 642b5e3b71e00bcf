/* SPDX-License-Identifier: Apache-2.0 */
/* diff: two texts as a unified diff, the form that patch(1) reads; pure. */
#ifndef SG_POLICY_DIFF_H
#define SG_POLICY_DIFF_H

/*
 * Both texts end in a newline or are empty. The caller frees; empty when they are equal, NULL
 * without memory.
 */
char *diff_unified(const char *from, const char *to, const char *from_label, const char *to_label);

#endif
