# SPDX-License-Identifier: Apache-2.0
"""A deny that meets connections in every state they can be in: nothing more of them leaves."""

import time

from internet.services import echo_udp
from program import wait_until

# Held, dialled, offered, half a hello, half a head, a body, between requests, datagrams, lookups.
STORM = """
import random, threading
name, address = sys.argv[1:3]
hello = client_hello(name)

def again(work):
    while not os.path.exists("/tmp/stop"):
        try: work()
        except OSError: time.sleep(0.002)

def by_name(port):
    s = socket.create_connection((name, port), timeout=2)
    s.settimeout(0.3)
    return s

def silent():
    with by_name(443) as s: s.recv(1)

def half_a_hello():
    with by_name(443) as s:
        s.sendall(hello[:40]); time.sleep(0.01); s.sendall(hello[40:])
        for _ in range(100): s.sendall(b"x" * 1000); time.sleep(0.001)

def a_body():
    with by_name(80) as s:
        s.sendall(b"POST / HTTP/1.1\\r\\nHost: " + name.encode()[:5]); time.sleep(0.005)
        s.sendall(name.encode()[5:] + b"\\r\\nContent-Length: 100000\\r\\n\\r\\n")
        for _ in range(100): s.sendall(b"y" * 1000); time.sleep(0.001)

def requests():
    with by_name(80) as s:
        for _ in range(50):
            s.sendall(b"GET / HTTP/1.1\\r\\nHost: " + name.encode() + b"\\r\\n\\r\\n"); time.sleep(0.002)

def octets():
    with socket.create_connection((address, 7000), timeout=2) as s:
        for _ in range(50): s.sendall(b"z" * 500); time.sleep(0.001)

def datagrams():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((address, 7000))
        for _ in range(50): s.send(b"u" * 100); time.sleep(0.001)

def known_address():
    with socket.create_connection((address, 443), timeout=2) as s:
        s.sendall(hello); s.settimeout(0.3); s.recv(1)

work = [threading.Thread(target=again, args=(w,)) for _ in range(2)
        for w in (silent, half_a_hello, a_body, requests, octets, datagrams, known_address)]
for w in work: w.start()
for w in work: w.join()
report(done=True)
"""
NAME, ROUNDS, ON_ITS_WAY_S, WATCHED_S = "api.example.com", 25, 0.05, 0.15


def says_something(packet):
    """A beginning or octets: acknowledgements, resets and ends of what was cut may still go."""
    return packet.protocol == 17 or bool(packet.payload) or (packet.flags or 0) & 0x12 == 0x02


def test_nothing_leaves_after_a_deny_in_whatever_state_it_meets(world, sandgate):
    address = world.address()
    accepted = []

    async def listen(reader, writer):
        accepted.append(time.monotonic())
        try:
            while await reader.read(1 << 16):
                pass
        except ConnectionError:
            pass
        writer.close()
    for port in 80, 443, 7000:
        world.tcp(address, port, listen)
    echo_udp(world, address, 7000)
    world.name(NAME, address)
    items = [NAME, f"{address}:7000"]
    box = sandgate.box("--net", "deny", "--allow", "other.example.com")
    storm = box.start_python(STORM, NAME, address)
    for n in range(ROUNDS):
        so_far = len(accepted)
        world.start_watching()
        assert sandgate("net", "allow", box.name, *items).ok
        wait_until(lambda: len(accepted) > so_far + 10 * (n % 3), what="connections")
        assert world.left_the_host(to=address, where=says_something)
        assert sandgate("net", "policy", box.name, *[w for i in items for w in ("--remove", i)]).ok
        time.sleep(ON_ITS_WAY_S)
        world.start_watching()
        time.sleep(WATCHED_S)
        assert world.left_the_host(to=address, where=says_something) == []
        assert box.egress()["flows"]["open"] == 0
    assert box.run("touch /tmp/stop").ok
    assert storm.wait(30).json["done"]
