/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config: the network configuration that a plugin gets on standard input (CNI 1.0.0, "Section 1"),
 * with the keys of this one; pure.
 *
 * A key that is not known is an error: to whoever wrote it, it meant something. What runtimes add
 * is known: prevResult, runtimeConfig. A pod's annotations count only with `annotations: true`,
 * since a pod's author may be trusted less than who runs the machine; then they take the place of
 * `policy`, `only` and `allow`, and what `deny` says stays denied.
 */
#ifndef SG_CNI_CONFIG_H
#define SG_CNI_CONFIG_H

#include <jansson.h>
#include <stdbool.h>

#include "base/span.h"
#include "cni/call.h"
#include "sandbox/attach.h"

enum {
	CNI_CONFIG_MAX = 1 << 20,
	CNI_WORDS_MAX = 256,
	CNI_WORD_MAX = 4096,
	CNI_PORTS_MAX = 256,
	CNI_VERSION_SIZE = 16
};

/* NULL-terminated; borrowed from the document. */
struct cni_words {
	const char *v[CNI_WORDS_MAX + 1];
	size_t n;
};

struct cni_config {
	json_t *document;		/* owns all texts */
	char version[CNI_VERSION_SIZE]; /* as asked for; empty when it is not spoken */
	const char *policy; /* a preset, or the absolute path of a file; NULL: the usual */
	struct cni_words allow, deny, only;
	const char *pcap; /* an absolute folder, or NULL */
	bool no_inbound;
	bool of_pod;	      /* a pod's annotations say something */
	const json_t *before; /* prevResult, or NULL */
	const char *ipam;     /* the name of the plugin, or NULL */
	/* portMappings; `host` of port and address. The address is 0.0.0.0 for any. */
	struct attach_publish ports[CNI_PORTS_MAX];
	size_t n_ports;
};

/* CNI_OK; else the code with the message and nothing to free, `version` as far as it was read. */
enum cni_code cni_config_parse(struct span text, struct cni_config *out,
			       struct err *e) sg_must_check;
void cni_config_free(struct cni_config *c);

#endif
