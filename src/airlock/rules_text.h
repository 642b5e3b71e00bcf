/* SPDX-License-Identifier: Apache-2.0 */
/* rules_text: the pieces that the lines of the airlock's rules are made of. */
#ifndef SG_AIRLOCK_RULES_TEXT_H
#define SG_AIRLOCK_RULES_TEXT_H

#include "airlock/layout.h"

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)
#define TABLE	   "sandgate"
#define TO_GATE	   "meta mark set " TEXT(AIRLOCK_MARK_GATE)
#define TO_SOCKET  "meta mark set " TEXT(AIRLOCK_MARK_SOCKET)
#define STRAY	   "meta mark " TEXT(AIRLOCK_MARK_STRAY)
#define PURE_SYN   "tcp flags & (fin | syn | rst | ack) == syn"
#define NEIGHBOUR  "ip6 hoplimit 255 icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert }"
#define PORT	   TEXT(AIRLOCK_TPROXY_PORT)
#define SOLICIT	   "ip6 hoplimit 255 icmpv6 type nd-router-solicit"

/* Priority of a hook: nf_defrag_ipv4 and 6 are at -400. */
#define BEFORE_FRAGMENTS "-450"

/* Stand for what the plan says, see write_value(). */
#define SANDBOX4 "$4"
#define SANDBOX6 "$6"
#define ALL4	 "$a" /* every address of the sandbox */
#define ALL6	 "$b"
#define GATE4	 "$g"
#define GATE6	 "$h"
#define MAC	 "$m"

#endif
