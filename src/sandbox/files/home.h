/* SPDX-License-Identifier: Apache-2.0 */
/* home: where the person's own folder is. */
#ifndef SG_SANDBOX_HOME_H
#define SG_SANDBOX_HOME_H

/* HOME, or where the system says that it is: a service may have no HOME. NULL: neither says. */
const char *home_find(void);

#endif
