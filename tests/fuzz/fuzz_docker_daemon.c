/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of dockerd: a resolv.conf, a daemon.json, a command line, its answers. The first
 * octet says which. A file of servers with one more that is a loopback address is never taken for
 * one without.
 */
#include <stdlib.h>
#include <string.h>

#include "docker/container.h"
#include "docker/dns_way.h"
#include "fuzz.h"

static void read_servers(struct span text)
{
	static const char more[] = "\nnameserver 127.0.0.1\n";
	uint8_t *both = malloc(text.n + sizeof(more));

	dns_way_has_loopback(text);
	if (text.n)
		memcpy(both, text.p, text.n);
	memcpy(both + text.n, more, sizeof(more));
	if (!dns_way_has_loopback(span_of(both, text.n + sizeof(more) - 1)))
		abort();
	free(both);
}

/* Two answers, one after the other in a list. */
static void read_answers(struct span text)
{
	json_t *both = json_loadb((const char *)text.p, text.n, JSON_REJECT_DUPLICATES, NULL);
	struct docker_container c;
	struct err e = {""};

	if (docker_container_read(json_array_get(both, 0), json_array_get(both, 1), "e", &c, &e) ==
	    0) {
		if (!*c.name || strlen(c.name) >= sizeof(c.name))
			abort();
	} else if (!*e.text) {
		abort();
	}
	json_decref(both);
}

static void read_words(struct span words)
{
	struct span file = dns_way_config_file(words);

	if (file.n && (file.p < words.p || file.p + file.n > words.p + words.n))
		abort();
	dns_way_words_have_dns(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = size ? span_of(data + 1, size - 1) : span_of(data, 0);

	switch (size ? data[0] % 4 : 4) {
	case 0:
		read_servers(text);
		break;
	case 1:
		dns_way_config_has_dns(text);
		break;
	case 2:
		read_words(text);
		break;
	case 3:
		read_answers(text);
		break;
	}
	return 0;
}
