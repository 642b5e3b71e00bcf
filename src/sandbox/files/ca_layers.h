/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca_layers: the sandbox's certificates (ca_bundle.h) as folders that are laid over those of an image,
 * each with the names that the files have there. They are hard links: a new authority is in them as well.
 */
#ifndef SG_SANDBOX_CA_LAYERS_H
#define SG_SANDBOX_CA_LAYERS_H

#include "base/err.h"

/* Beside the folder of the certificates. */
#define CA_LAYERS "ca-layers"

/* What they are laid over, and in which of them each file is that takes the place of one there. */
#define CA_LAYERS_OVER	      "/etc/ssl/certs"
#define CA_LAYERS_BUNDLE      "bundle"
#define CA_LAYERS_BUNDLE_NAME "ca-certificates.crt"
#define CA_LAYERS_JAVA	      "java"
#define CA_LAYERS_JAVA_FOLDER "java"
#define CA_LAYERS_JAVA_NAME   "cacerts"

/* Makes them in the sandbox's folder `dir`, of the files in `ca`. 0 or -errno. */
int ca_layers_make(int dir, int ca, const char *bundle, const char *store) sg_must_check;

/* Takes them out of `dir`, if they are there. */
void ca_layers_remove(int dir);

#endif
