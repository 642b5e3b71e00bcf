/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * ingress (netdev): every frame that leaves the sandbox is counted. Passed on are, from its one MAC
 * address, IPv4 and IPv6 from its one address to a unicast address, ARP, and neighbour discovery;
 * the rest is link noise, counted and dropped. So nothing after it needs to mistrust a source
 * address. A virtual machine that configures itself has all of the IPv6 prefix, and asks by DHCP and
 * router solicitation, which sockets of the gate receive here.
 *
 * unseen: who administers the sandbox's end can make frames that the kernel takes past this ingress
 * and past every packet socket, a capture among them: a frame that went through an ifb device keeps a
 * note to skip one classification (tc_skip_classify), across the veth pair. A mark does not cross
 * it, so each frame that was seen is given one, and without it none is let in, not even to be put
 * together from fragments. The mark of BPF's (bpf_redirect_peer, which does cross) is overwritten.
 *
 * prerouting gives each packet a mark, and policy routing does what the mark says:
 *
 *	from link0	a SYN, and all that is not TCP		MARK_GATE	to tun0
 *			TCP that a transparent socket owns	MARK_SOCKET	to that socket
 *			TCP that nobody owns			MARK_STRAY	to input, refused
 *	from tun0	a SYN of the sandbox's, let go		MARK_SOCKET	to the listener
 *			anything to the sandbox			none		to link0
 *
 * forward admits only what goes between link0 and tun0, input only what is for a transparent
 * socket and neighbour discovery. With no gate there is no tun0: MARK_GATE then leads back to
 * link0 by the table's second route, and forward refuses on the way, at once. The kernel's own
 * "unreachable" route would not do: it answers five times, then once a second. Nor would a
 * "local" one: by IPv4 an ICMP error then has no address that it may come from.
 *
 * A stray is looked up twice. Between the moment when the kernel takes the half-open request out
 * of its table of connections and the moment when it puts the connection in, a data segment that
 * another CPU works on finds neither; the second lookup, after routing, comes late enough. To
 * refuse at the first miss would reset one healthy connection in some ten thousands.
 */
#include "airlock/rules.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <nftables/libnftables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "airlock/rules_door.h"
#include "airlock/rules_text.h"

/*
 * `ether type` is not left to be implied: it is what tells a tagged frame from a bare one. What the
 * kernel takes the frame for is `meta protocol`: BPF can make the two differ (bpf_skb_change_proto,
 * bpf_redirect_peer), and addresses would be read where there are others.
 */
#define OF(kind) "meta protocol " kind " ether type " kind

/*
 * `ip saddr` stands before `tproxy ip`, or nft finds conflicting protocols.
 *
 * A line begins with a digit or a letter for each thing without which it is left out: 6, IPv6; G, a
 * guest that configures itself.
 */
static const char *const rules[] = {
	"table netdev " TABLE " {",
	"counter frames { }",
	"counter noise { }",
	"chain ingress {",
	"type filter hook ingress device \"link0\" priority 0; policy drop",
	"Gmeta mark " TEXT(AIRLOCK_MARK_COPY) " drop",
	"counter name frames",
	"ether saddr != " MAC " counter name noise drop",
	"meta mark set " TEXT(AIRLOCK_MARK_SEEN),
	OF("ip") " meta pkttype host ip saddr " ALL4
		 " ip daddr != { 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/4, 255.255.255.255 } accept",
	"6" OF("ip6") " meta pkttype host ip6 saddr " ALL6
		      " ip6 daddr != { ::/127, fe80::/10, ff00::/8 } accept",
	OF("arp") " arp operation { request, reply } arp saddr ip { 0.0.0.0, " SANDBOX4 " } accept",
	"6" OF("ip6") " ip6 saddr { ::, fe80::/10, " SANDBOX6 " } " NEIGHBOUR " accept",
	"G" OF("ip") " ip saddr { 0.0.0.0, " SANDBOX4 " } ip daddr { 255.255.255.255, " GATE4
		     " } udp sport 68 udp dport 67 accept",
	"6G" OF("ip6") " ip6 saddr { ::, fe80::/10 } " SOLICIT " accept",
	"counter name noise",
	"}",
	"}",
	"table inet " TABLE " {",
	"counter unowned { }",
	"counter unseen { }",
	"chain unseen {",
	"type filter hook prerouting priority " BEFORE_FRAGMENTS "; policy accept",
	"iifname link0 meta mark != " TEXT(AIRLOCK_MARK_SEEN) " counter name unseen drop",
	"}",
	"chain from_sandbox {",
	"6" NEIGHBOUR " accept",
	"6G" SOLICIT " accept",
	"Gip daddr { 255.255.255.255, " GATE4 " } udp sport 68 udp dport 67 accept",
	"meta l4proto != tcp " TO_GATE " accept",
	PURE_SYN " " TO_GATE " accept",
	"socket transparent 1 " TO_SOCKET " accept",
	"meta mark set " TEXT(AIRLOCK_MARK_STRAY) " accept",
	"}",
	"chain from_gate {",
	PURE_SYN " ip saddr " SANDBOX4 " " TO_SOCKET " tproxy ip to :" PORT " accept",
	"6" PURE_SYN " ip6 saddr " SANDBOX6 " " TO_SOCKET " tproxy ip6 to :" PORT " accept",
	"ip daddr " SANDBOX4 " accept",
	"6ip6 daddr " SANDBOX6 " accept",
	"drop",
	"}",
	"chain prerouting {",
	"type filter hook prerouting priority mangle; policy drop",
	"iifname link0 goto from_sandbox",
	"iifname tun0 goto from_gate",
	"}",
	"chain input {",
	"type filter hook input priority filter; policy drop",
	"meta mark " TEXT(AIRLOCK_MARK_SOCKET) " accept",
	STRAY " socket transparent 1 accept",
	STRAY " counter name unowned reject with tcp reset",
	"6iifname link0 " NEIGHBOUR " accept",
	"6Giifname link0 " SOLICIT " accept",
	"Giifname link0 udp sport 68 udp dport 67 accept",
	"}",
	"chain forward {",
	"type filter hook forward priority filter; policy drop",
	"iifname link0 oifname tun0 accept",
	"iifname tun0 oifname link0 accept",
	"iifname link0 oifname link0 meta l4proto tcp reject with tcp reset",
	"iifname link0 oifname link0 reject with icmpx port-unreachable",
	"}",
	"chain output {",
	"type filter hook output priority filter; policy drop",
	"oifname link0 accept",
	"}",
	"}",
};

enum { RULES_OCTETS = 16384 };

static int write_first(char *to, size_t n, bool v4, const struct airlock_addresses *a)
{
	char text[ADDR_TEXT_MAX];

	if (v4)
		return snprintf(to, n, "%s", addr_format(&a->sandbox_v4, text));
	return snprintf(to, n, a->v6_prefix ? "%s/%u" : "%s", addr_format(&a->sandbox_v6, text),
			a->v6_bits);
}

/* More than one is a set. */
static int write_all(char *to, size_t n, bool v4, const struct airlock_plan *p)
{
	const struct airlock_inbound *i = p->inbound;
	char text[ADDR_TEXT_MAX];
	size_t at;

	if (!i)
		return write_first(to, n, v4, &p->addresses);
	at = (size_t)snprintf(to, n, "{ ");
	at += (size_t)write_first(to + at, n - at, v4, &p->addresses);
	for (size_t k = 0; k < i->n_addresses && at < n; k++) {
		const struct addr *one = &i->addresses[k].addr;

		if (addr_is_v4(one) == v4 && !plan_is_first_address(p, one))
			at += (size_t)snprintf(to + at, n - at, ", %s", addr_format(one, text));
	}
	return (int)at + (at < n ? snprintf(to + at, n - at, " }") : 0);
}

/* Length of the value that a letter after $ stands for. */
static int write_value(char *to, size_t n, char letter, const struct airlock_plan *p)
{
	const struct airlock_addresses *a = &p->addresses;
	const uint8_t *m = p->mac;
	char text[ADDR_TEXT_MAX];

	switch (letter) {
	case '4':
	case '6':
		return write_first(to, n, letter == '4', a);
	case 'a':
	case 'b':
		return write_all(to, n, letter == 'a', p);
	case 'g':
		return snprintf(to, n, "%s", addr_format(&a->gate_v4, text));
	case 'h':
		return snprintf(to, n, "%s", addr_format(&a->gate_v6, text));
	case 'm':
		return snprintf(to, n, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3],
				m[4], m[5]);
	}
	abort();
}

/* The line after its conditions, or NULL when one of them does not hold. */
static const char *wanted(const char *line, const struct airlock_plan *p)
{
	bool is_wanted = true;

	for (; *line == '6' || *line == 'G'; line++)
		is_wanted = is_wanted && (*line == '6' ? p->v6 : p->link == AIRLOCK_TAP);
	return is_wanted ? line : NULL;
}

static size_t write_line(char *to, size_t n, const char *line, const struct airlock_plan *p)
{
	size_t at = 0;

	for (; *line && at + 1 < n; line++) {
		if (*line == '$')
			at += (size_t)write_value(to + at, n - at, *++line, p);
		else
			to[at++] = *line;
	}
	/* The table is this file's own: a line that does not fit is a defect. */
	if (at + 1 >= n)
		abort();
	to[at++] = '\n';
	return at;
}

static size_t write_lines(char *to, size_t n, const char *const *lines, size_t n_lines,
			  const struct airlock_plan *p)
{
	size_t at = 0;

	for (size_t i = 0; i < n_lines; i++) {
		const char *line = wanted(lines[i], p);

		if (line)
			at += write_line(to + at, n - at, line, p);
	}
	to[at] = '\0';
	return at;
}

/* The rules as nft reads them. */
static void write_rules(char out[RULES_OCTETS], const struct airlock_plan *p)
{
	size_t n = write_lines(out, RULES_OCTETS, rules, sg_array_len(rules), p);

	if (p->inbound)
		write_lines(out + n, RULES_OCTETS - n, rules_door, rules_door_n, p);
}

/* nft says which rule the kernel refused; its modules are named after what the rule uses. */
static int explain(const char *said, struct err *e)
{
	const char *module = strstr(said, "tproxy")   ? "nft_tproxy"
			     : strstr(said, "socket") ? "nft_socket"
			     : strstr(said, "reject") ? "nft_reject_inet"
			     : strstr(said, "ct ")    ? "nft_ct"
						      : "nf_tables";
	int length = (int)strcspn(said, "\n");

	return err_set(
		e,
		"the kernel refused the airlock's nftables rules: %.*s; as root: modprobe -a "
		"%s (sandgate uses nf_tables, nft_tproxy, nft_socket and nft_reject_inet)",
		length ? length : 10, length ? said : "no message", module);
}

int rules_load(const struct airlock_plan *p, struct err *e)
{
	char text[RULES_OCTETS];
	struct nft_ctx *c = nft_ctx_new(NFT_CTX_DEFAULT);
	int result = 0;

	if (!c)
		return err_set(e, "cannot start libnftables: %s", strerror(errno));
	write_rules(text, p);
	if (nft_ctx_buffer_error(c) || nft_ctx_buffer_output(c))
		result = err_set(e, "cannot start libnftables: out of memory");
	else if (nft_run_cmd_from_buffer(c, text))
		result = explain(nft_ctx_get_error_buffer(c), e);
	nft_ctx_free(c);
	return result;
}

/* The packets of a counter object, from the answer to NFT_MSG_GETOBJ. */
static bool packets_of(const struct nlmsghdr *h, uint64_t *out)
{
	const struct nlattr *a, *data;

	mnl_attr_for_each(a, h, sizeof(struct nfgenmsg))
	{
		if (mnl_attr_get_type(a) != NFTA_OBJ_DATA)
			continue;
		mnl_attr_for_each_nested(data, a)
		{
			if (mnl_attr_get_type(data) != NFTA_COUNTER_PACKETS ||
			    mnl_attr_get_payload_len(data) != sizeof(uint64_t))
				continue;
			*out = be64toh(mnl_attr_get_u64(data));
			return true;
		}
	}
	return false;
}

static int read_counter(struct nl *n, uint8_t family, const char *name, uint64_t *out)
{
	const struct nlmsghdr *answer;
	struct nlmsghdr *h;
	struct nfgenmsg *g;
	int error;

	h = nl_begin(n, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETOBJ, 0, "read a counter");
	g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	g->nfgen_family = family;
	g->version = NFNETLINK_V0;
	mnl_attr_put_strz(h, NFTA_OBJ_TABLE, TABLE);
	mnl_attr_put_strz(h, NFTA_OBJ_NAME, name);
	mnl_attr_put_u32(h, NFTA_OBJ_TYPE, htobe32(NFT_OBJECT_COUNTER));
	answer = nl_ask(n, &error);
	if (!answer)
		return error;
	return packets_of(answer, out) ? 0 : -EBADMSG;
}

int rules_read_counters(struct nl *netfilter, struct airlock_counters *out)
{
	uint64_t unseen = 0;
	int error = read_counter(netfilter, NFPROTO_NETDEV, "frames", &out->frames);

	if (!error)
		error = read_counter(netfilter, NFPROTO_NETDEV, "noise", &out->noise);
	if (!error)
		error = read_counter(netfilter, NFPROTO_INET, "unowned", &out->unowned);
	if (!error)
		error = read_counter(netfilter, NFPROTO_INET, "unseen", &unseen);
	out->frames += unseen;
	out->noise += unseen;
	return error;
}
