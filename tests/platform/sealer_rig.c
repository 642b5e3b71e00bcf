/* SPDX-License-Identifier: Apache-2.0 */
#include "sealer_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct ring *make_ring(const struct world *w, const char *name, int *file)
{
	struct ring *ring;
	struct err e;

	*file = openat(w->folder, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ring = ring_map(*file, &e);
	assert_non_null(ring);
	ring_mend(ring);
	return ring;
}

void sealer_rig_open(struct world *w)
{
	w->folder = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(w->folder >= 0 && w->wake >= 0);
	w->ring = make_ring(w, "ring", &w->ring_file);
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

void sealer_rig_add_broker(struct world *w)
{
	w->broker = make_ring(w, "ring-broker", &w->broker_file);
	w->setup.broker_ring = w->broker_file;
	sealer_set_broker_ring(&w->sealer, w->broker_file);
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
	if (w->broker)
		close(w->broker_file);
	ring_unmap(w->broker);
	w->broker = NULL;
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
