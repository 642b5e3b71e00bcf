/* SPDX-License-Identifier: Apache-2.0 */
/* compiler: the GNU attributes that the project uses, by a readable name. */
#ifndef SG_BASE_COMPILER_H
#define SG_BASE_COMPILER_H

#include <stdlib.h>
#include <unistd.h>

#define sg_printf(f, a)			   __attribute__((format(printf, f, a)))
#define sg_must_check			   __attribute__((warn_unused_result))
#define sg_noreturn			   __attribute__((noreturn))
#define sg_array_len(a)			   (sizeof(a) / sizeof((a)[0]))
#define sg_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* For set-up code: the variable is closed or freed when it leaves the scope. */
static inline void sg_cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void sg_cleanup_free(void *p)
{
	free(*(void **)p);
}

#define _cleanup_fd_   __attribute__((cleanup(sg_cleanup_fd)))
#define _cleanup_free_ __attribute__((cleanup(sg_cleanup_free)))

#endif
