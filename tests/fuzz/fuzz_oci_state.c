/* SPDX-License-Identifier: Apache-2.0 */
/* What a container's runtime and its engine's store say: bounded, and what is taken is what may be. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sandbox/engine/image_annotations.h"
#include "sandbox/engine/oci_state.h"

static void check_state(const struct oci_state *s)
{
	bool asks = false;

	if (s->pid < 1 || !*s->id || strchr(s->id, '/') || *s->bundle != '/')
		abort();
	for (size_t i = 0; i < OCI_KEYS; i++) {
		for (const char *c = s->say[i]; c && *c; c++)
			if ((unsigned char)*c < ' ' || *c == 0x7f)
				abort();
		asks = asks || s->say[i];
	}
	if (asks != s->asks || (asks && !s->say[OCI_SANDBOX] == !s->say[OCI_POLICY]))
		abort();
}

static void check_image(struct span text)
{
	char image[IMAGE_ID_SIZE];
	int rc = image_of_container(text, "c0", image);

	if (rc == 1 && (strlen(image) >= IMAGE_ID_SIZE || strchr(image, '/')))
		abort();
	rc = image_manifest_has_ours(text);
	if (rc < -1 || rc > 1)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of(data, size);
	struct oci_network n;
	struct oci_state s;
	struct err e;

	if (oci_state_parse(text, &s, &e) == 0) {
		check_state(&s);
		oci_state_free(&s);
	}
	if (oci_network_parse(text, &n, &e) == 0 && n.kind == OCI_NETWORK_OF && n.of < 1)
		abort();
	check_image(text);
	return 0;
}
