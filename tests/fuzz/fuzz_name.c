/* SPDX-License-Identifier: Apache-2.0 */
/* A name that parses is canonical: it parses again to itself, by either parser. */
#include <stdlib.h>

#include "base/name.h"
#include "fuzz.h"

static void check_canonical(const struct name *name)
{
	struct name again;
	size_t at;

	if (name->n == 0 || name->n > NAME_MAX_OCTETS || strlen(name->s) != name->n)
		abort();
	if (name_parse_ascii(name->s, name->n, &again) != NAME_OK || !name_equal(name, &again))
		abort();
	if (name_hash(name->s, name->n) != name_hash(again.s, again.n) || name_is_below(name, name))
		abort();
	/* A person's A-label must be Punycode; the wire's need not. */
	if (name_parse(name->s, name->n, &again, &at) == NAME_OK && !name_equal(name, &again))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data;
	struct name written, wire;
	size_t at = 0;

	if (name_parse(s, size, &written, &at) == NAME_OK)
		check_canonical(&written);
	else if (at > size || written.n != 0)
		abort();
	if (name_parse_ascii(s, size, &wire) == NAME_OK)
		check_canonical(&wire);
	else if (wire.n != 0)
		abort();
	return 0;
}
