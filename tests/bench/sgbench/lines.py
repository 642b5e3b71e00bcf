# SPDX-License-Identifier: Apache-2.0
"""The lines by name, in the order of the table."""
from . import audit, capture, datagrams, decision, inspected, kept, live, machine, many, sandboxes, tcp, tls

LINES = {
    "bulk": tcp.bulk,
    "connections": tcp.connections,
    "round-trip": tcp.round_trip,
    "set-up": tcp.set_up,
    "udp": datagrams.udp,
    "dns": datagrams.dns,
    "decision": decision.decision,
    "policy": live.change,
    "log": live.log,
    "refusals": live.refusals,
    "audit": audit.audit,
    "tls": tls.tls,
    "inspected": inspected.inspected,
    "pcap": capture.capture,
    "vm": machine.machine,
    "create": sandboxes.create,
    "exec": kept.run_inside,
    "ls": kept.listing,
    "memory": sandboxes.memory,
    "many": many.many,
    "fair": sandboxes.fair,
}
