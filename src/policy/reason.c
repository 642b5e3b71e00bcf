/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/catalogue.h"

const char *reason_word(enum reason r)
{
	return (unsigned)r < REASONS ? catalogue_messages[r].word : "unknown";
}

const char *reason_sentence(enum reason r)
{
	return (unsigned)r < REASONS ? catalogue_messages[r].sentence : "the reason is unknown";
}
