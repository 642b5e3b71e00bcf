/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/packet_ring.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "airlock/capture_ring.h"

enum { TAG = 4, TAG_AT = 12, ETHERTYPE_TAG = 0x8100, FRAME_MAX = 1 << 17 };

static const size_t ring_octets = (size_t)CAPTURE_BLOCK_OCTETS * CAPTURE_BLOCKS;

struct packet_ring {
	uint8_t *map;
	uint32_t block; /* that is read, or waited for */
	uint32_t at;	/* of the next frame in it; 0: it was not begun */
	uint32_t left;
	uint8_t tagged[FRAME_MAX]; /* a frame with its tag put back */
};

static struct tpacket_block_desc *block(const struct packet_ring *r, uint32_t ahead)
{
	uint32_t n = (r->block + ahead) % CAPTURE_BLOCKS;

	return (struct tpacket_block_desc *)(r->map + (size_t)n * CAPTURE_BLOCK_OCTETS);
}

struct packet_ring *packet_ring_map(int fd, struct err *e)
{
	struct packet_ring *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(e, "the ring of frames: out of memory");
		return NULL;
	}
	r->map = mmap(NULL, ring_octets, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (r->map != MAP_FAILED)
		return r;
	err_set(e, "the ring of frames: %s", err_why(errno));
	free(r);
	return NULL;
}

void packet_ring_unmap(struct packet_ring *r)
{
	if (!r)
		return;
	munmap(r->map, ring_octets);
	free(r);
}

static bool is_ready(const struct packet_ring *r, uint32_t ahead)
{
	const uint32_t *status = &block(r, ahead)->hdr.bh1.block_status;

	return __atomic_load_n(status, __ATOMIC_ACQUIRE) & TP_STATUS_USER;
}

bool packet_ring_ready(const struct packet_ring *r)
{
	return is_ready(r, 0);
}

bool packet_ring_next_ready(const struct packet_ring *r)
{
	return is_ready(r, 1);
}

bool packet_ring_losing(const struct packet_ring *r)
{
	return block(r, 0)->hdr.bh1.block_status & TP_STATUS_LOSING;
}

static const struct tpacket3_hdr *frame_at(const struct packet_ring *r)
{
	return (const struct tpacket3_hdr *)((const uint8_t *)block(r, 0) + r->at);
}

static void begin_block(struct packet_ring *r)
{
	const struct tpacket_hdr_v1 *h = &block(r, 0)->hdr.bh1;

	r->at = h->offset_to_first_pkt;
	r->left = h->num_pkts;
}

/* The kernel takes the tag of a VLAN out of the frame, and tells it beside (802.1Q). */
static struct span put_tag_back(struct packet_ring *r, const struct tpacket3_hdr *h,
				struct span bare)
{
	uint16_t type =
		h->tp_status & TP_STATUS_VLAN_TPID_VALID ? h->hv1.tp_vlan_tpid : ETHERTYPE_TAG;
	uint16_t tag = (uint16_t)h->hv1.tp_vlan_tci;
	const uint8_t octets[TAG] = {(uint8_t)(type >> 8), (uint8_t)type, (uint8_t)(tag >> 8),
				     (uint8_t)tag};

	if (bare.n < TAG_AT || bare.n + TAG > FRAME_MAX)
		return bare;
	memcpy(r->tagged, bare.p, TAG_AT);
	memcpy(r->tagged + TAG_AT, octets, TAG);
	memcpy(r->tagged + TAG_AT + TAG, bare.p + TAG_AT, bare.n - TAG_AT);
	return span_of(r->tagged, bare.n + TAG);
}

bool packet_ring_look(struct packet_ring *r, struct ring_frame *out)
{
	const struct tpacket3_hdr *h;
	const struct sockaddr_ll *from;
	struct span bare;

	if (r->at == 0)
		begin_block(r);
	if (r->left == 0)
		return false;
	h = frame_at(r);
	from = (const struct sockaddr_ll *)((const uint8_t *)h + TPACKET_ALIGN(sizeof(*h)));
	bare = span_of((const uint8_t *)h + h->tp_mac, h->tp_snaplen);
	*out = (struct ring_frame){
		.octets = bare,
		.open = h->tp_status & TP_STATUS_CSUMNOTREADY ? (uint8_t *)h + h->tp_mac : NULL,
		.length = h->tp_len,
		.time_ns = (int64_t)h->tp_sec * 1000000000 + h->tp_nsec,
		.type = from->sll_pkttype,
	};
	if (h->tp_status & TP_STATUS_VLAN_VALID) {
		out->octets = put_tag_back(r, h, bare);
		out->length += (uint32_t)(out->octets.n - bare.n);
		out->open = NULL;
		out->is_copy = true;
	}
	return true;
}

void packet_ring_pass(struct packet_ring *r)
{
	r->at += frame_at(r)->tp_next_offset;
	r->left--;
}

void packet_ring_release(struct packet_ring *r)
{
	__atomic_store_n(&block(r, 0)->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	r->block = (r->block + 1) % CAPTURE_BLOCKS;
	r->at = 0;
	r->left = 0;
}
