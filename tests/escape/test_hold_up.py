# SPDX-License-Identifier: Apache-2.0
"""A sandbox that keeps its gate at work must not hold up what else the gate has to do."""

import pytest

# Sends as fast as the kernel takes it and throws away what comes back; the parent looks meanwhile.
FLOOD = """
def flood(s, octets):
    s.settimeout(None)
    if os.fork() == 0:
        try:
            while s.recv(1 << 20): pass
        finally: os._exit(0)
    if os.fork() == 0:
        try:
            while True: s.sendall(octets)
        finally: os._exit(0)
def look(seconds):
    until, looks = time.monotonic() + seconds, []
    while time.monotonic() < until: looks.append(try_dial("93.184.99.99", 7, 3))
    report(results=sorted({result for result, _ in looks}), worst=max(took for _, took in looks))
    os.killpg(0, 9)
"""


@pytest.mark.parametrize("name", ["other.example.com", "api.example.com"])
def test_questions_over_one_connection_leave_the_gate_time_for_others(world, sandgate, name):
    """Answered or refused, they come faster than they can be worked off."""
    world.name("api.example.com", "93.184.210.5")
    box = sandgate.box("--only", "api.example.com")
    got = box.python(FLOOD + """
wire = dns_question(sys.argv[1])
flood(dial("192.0.0.1", 53), (struct.pack("!H", len(wire)) + wire) * 4000)
look(3)
""", name)
    assert got.json["results"] == ["ECONNREFUSED"] and got.json["worst"] < 1, got
    assert box.egress()["flows"]["refused"] > 0


def test_what_is_sent_after_a_refusal_leaves_the_gate_time_for_others(world, sandgate):
    """A refused connection is drained, not served."""
    world.site("api.example.com")
    box = sandgate.box("--only", "api.example.com")
    assert box.run("getent hosts api.example.com").ok
    got = box.python(FLOOD + """
address = socket.gethostbyname("api.example.com")
for _ in range(4):
    s = dial(address, 80)
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: other.example.com\\r\\n\\r\\n")
    flood(s, bytes(1 << 20))
look(3)
""")
    assert got.json["results"] == ["ECONNREFUSED"] and got.json["worst"] < 1, got
