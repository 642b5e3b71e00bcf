/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust_layer: a container's folder of certificates (CA_LAYERS_OVER) that has the sandbox's in it and can
 * still be changed inside: what renames a new bundle into its place, as update-ca-certificates does, fails
 * at a file that is mounted.
 *
 * Theory of operation. An overlay is mounted upon the folder, for a container that has not begun:
 *
 *	upper	empty, in memory that this container alone has: what is written inside
 *	lower	the sandbox's files (ca_layers.h), which a new authority is written into
 *	lower	the folder of the image
 *
 * Nothing of the image's is read or copied here, however much there is: only the names of the files that
 * the layers take the place of are looked at. The authority is also put where those look that make a new
 * bundle, as a link in the container's own files: without that none is laid over, for a bundle made
 * inside would no longer have it.
 *
 * The folder has to be one of the container's root, real, without mounts below it, which would be hidden.
 */
#ifndef SG_SANDBOX_TRUST_LAYER_H
#define SG_SANDBOX_TRUST_LAYER_H

#include "sandbox/files/trust_site.h"

enum trust_layered {
	TRUST_LAYER_BROKEN = -2, /* something was mounted and could not be taken away */
	TRUST_LAYER_FAILED = -1, /* it could not be mounted; nothing has changed */
	TRUST_LAYER_NONE,	 /* the container's files are not such */
	TRUST_LAYER_DONE,
};

/*
 * `clones` gives the mounts of CA_LAYERS_BUNDLE and CA_LAYERS_JAVA (mount_clone.h). The
 * message where it is below 0.
 */
enum trust_layered trust_layer_put(const struct trust_site *s, int clones,
				   struct err *e) sg_must_check;

#endif
