/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.
 *
 * What comes in by door0 is for one of the sandbox's addresses, and from no address that is the
 * sandbox's, the gate's, or of one machine alone. Let in are TCP connections that begin with a SYN,
 * datagrams and echo requests; and ICMP errors about a connection that was let in. All else is
 * dropped, without an answer.
 *
 * What leaves the sandbox goes out by door0 only as the answer to that:
 *
 *	TCP	a packet in the reply direction of a connection that conntrack has seen open at door0,
 *		in its window; before the far side has acknowledged, no more than a SYN-ACK or a
 *		reset, so that one stray SYN opens no channel
 *	UDP	from and to the same two endpoints as a datagram that came in within the last two
 *		minutes (RFC 4787, REQ-5)
 *	echo	a reply with the addresses and the identifier of a request of the last 30 seconds
 *
 * A datagram or an echo request is noted in a set, whose entries only door0 renews: the answers do
 * not keep their own way open. A set that is full lets no more in. No ICMP error leaves.
 *
 * A SYN of the sandbox's is never an answer: both ends of a connection that is opened from both
 * sides at once go by the gate. Nor is what belongs to a connection with the gate, whatever came in
 * from the same endpoint.
 *
 * conntrack sees nothing else, so what the sandbox opens costs what it did before: a SYN, what a
 * transparent socket owns, and all that is not TCP are marked before it, as is what the gate and the
 * airlock itself send. A segment that nobody owns is looked up there; without an entry it is not
 * confirmed, so the sandbox makes no entries. (The port of the listener itself is a server's to
 * answer to: there only a socket with both endpoints counts as an owner.)
 */
#include "airlock/rules_door.h"

#include "airlock/rules_text.h"
#include "base/compiler.h"

#define TO_DOOR	   "meta mark set " TEXT(AIRLOCK_MARK_DOOR) " accept"
#define TO_SANDBOX "meta mark set " TEXT(AIRLOCK_MARK_SANDBOX) " accept"
#define OF_DOOR	   "meta mark " TEXT(AIRLOCK_MARK_DOOR) " accept"
#define OF_SANDBOX "meta mark " TEXT(AIRLOCK_MARK_SANDBOX) " accept"
#define OPENED	   "flags dynamic,timeout; timeout 120s; size 65536; }"
#define PINGED	   "flags dynamic,timeout; timeout 30s; size 16384; }"
/* Endpoints, as a packet from door0 has them and as its answer does. */
#define ASKED4	  "ip saddr . udp sport . ip daddr . udp dport"
#define ANSWERED4 "ip daddr . udp dport . ip saddr . udp sport"
#define ASKED6	  "ip6 saddr . udp sport . ip6 daddr . udp dport"
#define ANSWERED6 "ip6 daddr . udp dport . ip6 saddr . udp sport"
#define PING4	  "ip saddr . icmp id . ip daddr"
#define PONG4	  "ip daddr . icmp id . ip saddr"
#define PING6	  "ip6 saddr . icmpv6 id . ip6 daddr"
#define PONG6	  "ip6 daddr . icmpv6 id . ip6 saddr"
#define ERRORS4	  "icmp type { destination-unreachable, time-exceeded, parameter-problem }"
#define ERRORS6                                                                  \
	"icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, " \
	"parameter-problem }"
#define FORTH	    "ct state established ct direction original"
#define BACK	    "ct state established ct direction reply"
#define IS_ACK	    "tcp flags & (syn | rst | ack) == ack"
#define IS_SYN_ACK  "tcp flags & (fin | syn | rst | ack) == (syn | ack)"
#define IS_RESET    "tcp flags & rst == rst"
#define TO_LISTENER "tcp dport " PORT

const char *const rules_door[] = {
	"table netdev " TABLE " {",
	"chain door {",
	"type filter hook ingress device \"door0\" priority 0; policy drop",
	"ether type ip meta pkttype host ip daddr " ALL4 " ip saddr != " ALL4
	" ip saddr != { 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/3, " GATE4 " } accept",
	"6ether type ip6 meta pkttype host ip6 daddr " ALL6 " ip6 saddr != " ALL6
	" ip6 saddr != { ::/127, fe80::/10, ff00::/8, " GATE6 " } accept",
	"ether type arp arp operation { request, reply } arp daddr ip " ALL4 " accept",
	"6ether type ip6 " NEIGHBOUR " accept",
	"}",
	"}",
	"table inet " TABLE " {",
	"set opened4 { typeof " ASKED4 "; " OPENED,
	"6set opened6 { typeof " ASKED6 "; " OPENED,
	"set pinged4 { typeof " PING4 "; " PINGED,
	"6set pinged6 { typeof " PING6 "; " PINGED,
	"chain track_door {",
	"meta l4proto tcp accept",
	ERRORS4 " accept",
	"6" ERRORS6 " accept",
	"notrack",
	"}",
	"chain track_sandbox {",
	"meta l4proto != tcp notrack accept",
	PURE_SYN " notrack accept",
	TO_LISTENER " socket transparent 1 socket wildcard 0 " TO_SOCKET " notrack accept",
	TO_LISTENER " accept",
	"socket transparent 1 " TO_SOCKET " notrack",
	"}",
	"chain track {",
	"type filter hook prerouting priority raw; policy accept",
	"iifname door0 goto track_door",
	"iifname link0 goto track_sandbox",
	"notrack",
	"}",
	"chain track_own {",
	"type filter hook output priority raw; policy accept",
	"notrack",
	"}",
	"chain from_door {",
	"6" NEIGHBOUR " accept",
	"meta l4proto udp update @opened4 { " ASKED4 " } " TO_SANDBOX,
	"6meta l4proto udp update @opened6 { " ASKED6 " } " TO_SANDBOX,
	"icmp type echo-request update @pinged4 { " PING4 " } " TO_SANDBOX,
	"6icmpv6 type echo-request update @pinged6 { " PING6 " } " TO_SANDBOX,
	PURE_SYN " ct state new " TO_SANDBOX,
	FORTH " " IS_ACK " ct mark set 1 " TO_SANDBOX,
	FORTH " " TO_SANDBOX,
	"ct state related " ERRORS4 " " TO_SANDBOX,
	"6ct state related " ERRORS6 " " TO_SANDBOX,
	"drop",
	"}",
	"chain answers {",
	"meta mark " TEXT(AIRLOCK_MARK_SOCKET) " accept",
	BACK " ct mark 1 " TO_DOOR,
	BACK " " IS_SYN_ACK " " TO_DOOR,
	BACK " " IS_RESET " " TO_DOOR,
	ANSWERED4 " @opened4 " TO_DOOR,
	"6" ANSWERED6 " @opened6 " TO_DOOR,
	"icmp type echo-reply " PONG4 " @pinged4 " TO_DOOR,
	"6icmpv6 type echo-reply " PONG6 " @pinged6 " TO_DOOR,
	"}",
	"chain prerouting {",
	"iifname door0 goto from_door",
	"}",
	"6chain input {",
	"6iifname door0 " NEIGHBOUR " accept",
	"6}",
	"chain forward {",
	"iifname link0 oifname door0 " OF_DOOR,
	"iifname door0 oifname link0 " OF_SANDBOX,
	"}",
	"6chain output {",
	"6oifname door0 " NEIGHBOUR " accept",
	"6oifname door0 ip6 hoplimit 1 icmpv6 type mld2-listener-report accept",
	"6}",
	"}",
	/* Before the sandbox's packets go their usual ways. */
	"insert rule inet " TABLE " prerouting iifname link0 jump answers",
};

const size_t rules_door_n = sg_array_len(rules_door);
