/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/cni_plugin.h"

int main(int argc, char **argv)
{
	if (cni_plugin_is_called(argc))
		return cni_plugin_main();
	return cli_main(argc, argv);
}
