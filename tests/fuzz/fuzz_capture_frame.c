/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any frame, both ways: what is said of it is printable text, the same a second time, and completing
 * a checksum changes no more than the field. The first octet says how the frame came, and what kind
 * of link it is.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/checksum.h"
#include "capture/comment.h"
#include "fuzz.h"

enum { FRAME_MAX = 4096, FROM_SANDBOX = 1, TO_HERE = 2, GUEST = 4, INBOUND = 8, CHECKSUM_MAX = 2 };

static struct verdict_table *table;

static void check_printable(const char *text)
{
	size_t n = strnlen(text, PCAPNG_COMMENT_MAX);

	if (n == 0 || n == PCAPNG_COMMENT_MAX)
		abort();
	for (size_t i = 0; i < n; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			abort();
}

static void check_checksum(const struct frame *f, const uint8_t *data, size_t n)
{
	uint8_t copy[FRAME_MAX];
	size_t changed = 0;

	memcpy(copy, data, n);
	checksum_complete(f, copy);
	for (size_t i = 0; i < n; i++)
		changed += copy[i] != data[i];
	if (changed > CHECKSUM_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t key[2] = {3, 4};
	char comment[PCAPNG_COMMENT_MAX], again[PCAPNG_COMMENT_MAX];
	struct commentator c = {0};
	struct seen_frame s;
	struct frame f;

	if (size < 1 || size > FRAME_MAX)
		return 0;
	if (!table)
		table = verdict_table_new(key);
	c.verdicts = table;
	c.link = (struct link_facts){.addresses = airlock_usual_addresses(),
				     .mac = {2, 's', 'g', 0, 0, 2},
				     .v6 = true,
				     .guest = data[0] & GUEST,
				     .inbound = data[0] & INBOUND};
	s = (struct seen_frame){.octets = span_of(data + 1, size - 1),
				.from_sandbox = data[0] & FROM_SANDBOX,
				.to_here = data[0] & TO_HERE};
	frame_parse(s.octets, &f);
	(void)comment_make(&c, &s, &f, comment);
	check_printable(comment);
	(void)comment_make(&c, &s, &f, again);
	if (strcmp(comment, again) != 0)
		abort();
	check_checksum(&f, data + 1, size - 1);
	return 0;
}
