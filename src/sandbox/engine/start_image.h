/* SPDX-License-Identifier: Apache-2.0 */
/* start_image: the program of start.c as it was linked, carried in sandgate's read-only data. */
#ifndef SG_SANDBOX_START_IMAGE_H
#define SG_SANDBOX_START_IMAGE_H

extern const unsigned char start_image_begin[], start_image_end[];

#endif
