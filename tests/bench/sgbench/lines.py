# SPDX-License-Identifier: Apache-2.0
"""The lines by name, in the order of the table."""
from . import datagrams, decision, sandboxes, tcp

LINES = {
    "bulk": tcp.bulk,
    "connections": tcp.connections,
    "round-trip": tcp.round_trip,
    "set-up": tcp.set_up,
    "udp": datagrams.udp,
    "dns": datagrams.dns,
    "decision": decision.decision,
    "create": sandboxes.create,
    "memory": sandboxes.memory,
    "fair": sandboxes.fair,
}
