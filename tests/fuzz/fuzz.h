/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz: the entry point that libFuzzer, or replay.c in its place, calls. */
#ifndef SG_TESTS_FUZZ_H
#define SG_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
