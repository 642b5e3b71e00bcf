/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "policy_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return check_policy_text(data, size, POLICY_YAML);
}
