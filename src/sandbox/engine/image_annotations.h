/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_annotations: whether the image of a container carries annotations of ours.
 *
 * podman gives a container the annotations of its image's manifest, and a hook cannot tell them
 * from those that the person wrote. An image must not choose a policy, nor add to one: so one that
 * tries is refused. The image is found as containers/storage keeps it, beside the bundle:
 *
 *	ROOT/DRIVER-containers/containers.json		[{"id": CONTAINER, "image": IMAGE}, ...]
 *	ROOT/DRIVER-containers/CONTAINER/userdata	the bundle
 *	ROOT/DRIVER-images/IMAGE/manifest, =...		manifests; the latter's names are base64
 */
#ifndef SG_SANDBOX_IMAGE_ANNOTATIONS_H
#define SG_SANDBOX_IMAGE_ANNOTATIONS_H

#include "base/err.h"
#include "base/span.h"

enum { IMAGE_ID_SIZE = 72, IMAGE_FILE_MAX = 64 * 1024 * 1024 };

/*
 * 0 when the image has none, or the container has no image; -1 with the message when it has, or
 * when that cannot be found out.
 */
int image_annotations_check(const char *bundle, const char *container, struct err *e) sg_must_check;

/* --- the parts that parse, pure --- */

/* The image of a container by containers.json: 1 and `out` (empty: it has none), 0 when the
 * container is not listed, -1 when the text is no such list. */
int image_of_container(struct span list, const char *container, char out[IMAGE_ID_SIZE]);

/* 1 when a manifest has an annotation "sandgate.*", 0 when not, -1 when it is no JSON object. */
int image_manifest_has_ours(struct span manifest);

#endif
