/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/flow_table.h"

#include <sys/mman.h>

#include "gate/proxy.h"

#include "gate/broker_door.h"
#include "gate/datagrams.h"

uint32_t flow_slot(const struct flow *fl)
{
	return (uint32_t)(fl - flow_table(fl)->flow);
}

uint32_t flows_open(const struct flows *f)
{
	return f->open;
}

uint32_t flows_open_in_all(const struct gate *g)
{
	return flows_open(g->flows) + datagrams_open(g->datagrams) + broker_door_open(g->broker);
}

static uint32_t bucket_of(const struct flows *f, const struct endpoint *src,
			  const struct endpoint *dst)
{
	uint8_t key[20];

	memcpy(key, dst->addr.b, 16);
	memcpy(key + 16, &dst->port, 2);
	memcpy(key + 18, &src->port, 2);
	return (uint32_t)name_hash((const char *)key, sizeof(key)) & f->bucket_mask;
}

struct flow *flow_table_find(struct flows *f, const struct endpoint *src,
			     const struct endpoint *dst)
{
	uint32_t i = f->bucket[bucket_of(f, src, dst)];

	for (; i != NO_FLOW; i = f->flow[i].next) {
		struct flow *fl = &f->flow[i];

		if (fl->src.port == src->port && fl->dst.port == dst->port &&
		    addr_equal(&fl->dst.addr, &dst->addr) && addr_equal(&fl->src.addr, &src->addr))
			return fl;
	}
	return NULL;
}

void flow_table_insert(struct flows *f, struct flow *fl)
{
	uint32_t b = bucket_of(f, &fl->src, &fl->dst);

	fl->next = f->bucket[b];
	f->bucket[b] = flow_slot(fl);
}

static void unlink_flow(struct flows *f, const struct flow *fl)
{
	uint32_t slot = flow_slot(fl);
	uint32_t *at = &f->bucket[bucket_of(f, &fl->src, &fl->dst)];

	while (*at != NO_FLOW && *at != slot)
		at = &f->flow[*at].next;
	if (*at == slot)
		*at = fl->next;
}

void flow_table_forget(struct flow *fl)
{
	unlink_flow(flow_table(fl), fl);
}

struct flow *flow_table_take(struct flows *f)
{
	struct flow *fl;
	uint32_t generation;

	if (f->free != NO_FLOW) {
		fl = &f->flow[f->free];
		f->free = fl->next;
	} else if (f->used <= f->max) {
		fl = &f->flow[f->used++];
	} else {
		return NULL;
	}
	generation = fl->generation;
	*fl = (struct flow){
		.next = NO_FLOW,
		.generation = generation,
		.proto = RECORD_TCP,
		.begun = loop_now(f->gate->loop),
		.gate = f->gate,
		.in = {.watch = {.ready = flow_in_ready, .fd = -1}, .writable = true},
		.out = {.watch = {.ready = flow_out_ready, .fd = -1}},
		.timer = {.expired = flow_expired},
	};
	f->open++;
	return fl;
}

void flow_drop_pipes(struct flow *fl)
{
	struct direction *const ways[] = {&fl->up, &fl->down};

	for (size_t i = 0; i < 2; i++) {
		if (ways[i]->pipe)
			pipes_return(fl->gate->pipes, ways[i]->pipe);
		ways[i]->pipe = NULL;
	}
}

void flow_table_free(struct flow *fl)
{
	struct flows *f = flow_table(fl);

	flow_note_end(fl);
	if (fl->src.port)
		unlink_flow(f, fl);
	if (fl->state == FLOW_DNS)
		free(fl->peek.dns);
	else if (fl->state == FLOW_PROXY)
		proxy_drop(fl);
	tunnel_forget(f->gate, &fl->tunnel);
	flow_drop_pipes(fl);
	loop_timer_cancel(f->gate->loop, &fl->timer);
	loop_close(f->gate->loop, &fl->in.watch);
	loop_close(f->gate->loop, &fl->out.watch);
	fl->state = FLOW_FREE;
	fl->generation++;
	f->open--;
	/* One that is queued is put into the free list when the queue is run. */
	if (!fl->queued) {
		fl->next = f->free;
		f->free = flow_slot(fl);
	}
}

bool flow_table_init(struct flows *f, uint32_t max)
{
	uint32_t buckets = 1024;

	while (buckets < max)
		buckets *= 2;
	f->max = max;
	f->used = 1; /* slot 0 is "none" */
	f->flow = mmap(NULL, (max + (size_t)1) * sizeof(struct flow), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	f->bucket = calloc(buckets, sizeof(*f->bucket));
	f->bucket_mask = buckets - 1;
	return f->flow != MAP_FAILED && f->bucket;
}
