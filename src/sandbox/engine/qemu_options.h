/* SPDX-License-Identifier: Apache-2.0 */
/* qemu_options: the options of QEMU that are passed on, and those that are refused in words. */
#ifndef SG_SANDBOX_QEMU_OPTIONS_H
#define SG_SANDBOX_QEMU_OPTIONS_H

#include <stdbool.h>

enum qemu_option_kind {
	QEMU_SWITCH, /* no value */
	QEMU_PLAIN,
	QEMU_FILE,   /* the value is a file to read */
	QEMU_LISTED, /* a list, in which `file` is a file to read */
	QEMU_DRIVE,
	QEMU_CDROM,
	QEMU_DEVICE, /* a list that begins with the name of a device, which must be known */
	QEMU_OBJECT, /* the same of an object */
	QEMU_REFUSED,
};

struct qemu_option {
	const char *name; /* without hyphens */
	enum qemu_option_kind kind;
	const char *instead; /* QEMU_REFUSED */
};

/* NULL when there is none of that name. */
const struct qemu_option *qemu_option_find(const char *name);

/* NULL when it may be there, else what to do instead. */
const char *qemu_device_refusal(const char *name);
const char *qemu_object_refusal(const char *name);

bool qemu_drive_knows(const char *key);

/* The formats that a disk may have. */
bool qemu_format_is_known(const char *format);

#endif
