/* SPDX-License-Identifier: Apache-2.0 */
#include "sealer_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void make_ring(struct world *w)
{
	struct err e;

	w->ring_file = openat(w->folder, "ring", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	w->ring = ring_map(w->ring_file, &e);
	assert_non_null(w->ring);
	ring_mend(w->ring);
}

void sealer_rig_open(struct world *w)
{
	w->folder = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(w->folder >= 0 && w->wake >= 0);
	make_ring(w);
	w->setup = (struct sealer_setup){
		.sandbox = "box",
		.folder = w->folder,
		.ring = w->ring_file,
		.broker_ring = -1,
		.wake = w->wake,
		.lasting = true,
		.alone = true,
	};
	w->sealer = SEALER_NONE;
}

int sealer_rig_begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	snprintf(w->path, sizeof(w->path), "/tmp/sandgate-sealer.XXXXXX");
	assert_non_null(mkdtemp(w->path));
	sealer_rig_open(w);
	*state = w;
	return 0;
}

void sealer_rig_close(struct world *w)
{
	sealer_stop(&w->sealer, SYNC_MS);
	ring_unmap(w->ring);
	w->ring = NULL;
	close(w->ring_file);
	close(w->wake);
	close(w->folder);
}

int sealer_rig_end(void **state)
{
	struct world *w = *state;
	char command[128];

	sealer_rig_close(w);
	snprintf(command, sizeof(command), "rm -rf %s", w->path);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

void sealer_rig_start(struct world *w)
{
	struct err e;

	if (sealer_start(&w->sealer, &w->setup, &e) || sealer_await_ready(&w->sealer, &e))
		fail_msg("%s", e.text);
}
