/* SPDX-License-Identifier: Apache-2.0 */
/* cni_plugin: the program as a plugin of container runtimes (CNI): told by the environment alone. */
#ifndef SG_CLI_CNI_PLUGIN_H
#define SG_CLI_CNI_PLUGIN_H

#include <stdbool.h>

/* Whether a runtime called it: CNI_COMMAND is set, and there is no argument. */
bool cni_plugin_is_called(int argc);

/* The exit status. The result, or the error, is on standard output, as JSON. */
int cni_plugin_main(void);

#endif
