/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "cli/cli.h"
#include "cli/cni_plugin.h"

/*
 * Every process of a sandbox is forked from here, and each keeps what was ever written on the heap. A
 * piece that is mapped on its own is gone when it is freed, and a table of zeros costs what is used of
 * it. Left to itself the C library raises its threshold with each such piece that is freed.
 */
enum { MAPPED_FROM = 64 * 1024 };

int main(int argc, char **argv)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
	if (cni_plugin_is_called(argc))
		return cni_plugin_main();
	return cli_main(argc, argv);
}
