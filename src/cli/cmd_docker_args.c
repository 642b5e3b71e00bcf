/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "docker/container.h"
#include "docker/driver.h"
#include "sandbox/engine/environment.h"
#include "sandbox/run.h"
#include "sandbox/files/shared_trust.h"

/* One line of words without spaces, for $(...) of a shell. */
static void print_words(const char *network, const char *folder)
{
	struct environment_variable v;

	printf("--network %s -v %s:%s:ro", network, folder, SANDBOX_CA);
	for (size_t i = 0; environment_trust(i, &v); i++)
		printf(" -e %s=%s", v.name, v.value);
	putchar('\n');
}

int cmd_docker_args(const struct args *a)
{
	const char *socket = args_value(a, DOCKER_ARGS_DOCKER_SOCKET);
	char id[DOCKER_ID_SIZE], name[DOCKER_NAME_SIZE], folder[PATH_MAX];
	struct err e;

	if (docker_network_find(socket ? socket : DOCKER_API_SOCKET, a->words[0], id, name, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	shared_trust_path(id, folder);
	if (access(folder, F_OK) < 0) {
		err_set(&e,
			"%s: it is not there; the driver makes it when it starts: restart "
			"sandgate docker-driver",
			folder);
		return cli_fail(EXIT_SANDGATE, &e);
	}
	if (args_has(a, DOCKER_ARGS_FOLDER))
		puts(folder);
	else
		print_words(name, folder);
	return 0;
}
