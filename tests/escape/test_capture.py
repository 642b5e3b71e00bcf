# SPDX-License-Identifier: Apache-2.0
"""A capture, tried from inside as root: it is not seen, not stopped, and fills no disk."""

import os

import pytest

import frames as f
from internet.services import echo_tcp, echo_udp
from pcap_rig import Captures, await_entries, echo
from program import wait_until

# Every engine in a full run; in a usual one, what every engine is marked for on its own.
pytestmark = pytest.mark.engines(usual=["bwrap"])
PORT, MIB = 4007, 1 << 20


@pytest.fixture
def far(world):
    address = world.address()
    echo_udp(world, address, PORT)
    return address


@pytest.fixture
def captures(sandgate, needs):
    needs("tshark")
    return Captures(sandgate)


def test_it_is_not_seen_from_inside(sandgate, captures, far):
    """Neither a process, nor a packet socket, nor that the link is listened to."""
    box = sandgate.box("--only", f"{far}:{PORT}/udp", "--as-root")
    look = "cat /proc/net/packet /proc/net/dev_mcast; ip -d link show; ls /proc /proc/self/fd; ss -0n 2>&1 | wc -l"
    before = box.run(look)
    assert sandgate("pcap", box.name, captures.path()).ok
    echo(box, far, PORT, "captured")
    after = box.run(look)

    def steady(text):
        return [line for line in text.splitlines() if not line.strip().isdigit()]
    assert steady(before.out) == steady(after.out)
    assert sandgate("pcap", "--stop", box.name).ok
    assert "captured".encode().hex() in [x["udp.payload"] for x in captures.frames(captures.path())]


def test_its_file_is_out_of_reach(sandgate, captures, far):
    if not sandgate.engine.own_files:
        sandgate.engine.cannot("is root over the files of the machine")
    box = sandgate.box("--only", f"{far}:{PORT}/udp", "--as-root")
    assert sandgate("pcap", box.name, captures.path()).ok
    echo(box, far, PORT, "captured")
    got = box.run(f"cat {captures.path()}; ls {captures.folder}; echo x > {captures.path()}; "
                  f"rm -rf {captures.folder}; ln -s /etc/passwd {captures.path()}")
    assert not got.ok
    assert sandgate("pcap", "--stop", box.name).ok
    captures.assert_private(captures.path())
    assert "captured".encode().hex() in [x["udp.payload"] for x in captures.frames(captures.path())]


def test_a_flood_ends_at_the_limit(sandgate, captures, far):
    """Frames of the greatest length, as fast as they go: files end at their size, the count holds."""
    box = sandgate.box("--only", f"{far}:{PORT}/udp", "--as-root")
    assert sandgate("pcap", box.name, captures.path(), "--pcap-max-mb", "1", "--pcap-files", "4").ok
    wire = f.wire_of(box)
    frame = wire.frame(f.ip4(f.SANDBOX4, "203.0.113.99", f.UDP, f.udp(f.SANDBOX4, "203.0.113.99", 9, bytes(1400))))
    noise = wire.frame(bytes(1400), ethertype=0x88B5)
    for _ in range(6000):
        wire.send(frame)
        wire.send(noise)
    wire.close()
    wait_until(lambda: not sandgate.json("pcap", box.name)["on"], timeout=30, what="the limit")
    stop, = await_entries(sandgate, box.name, "sandgate.pcap.stop")
    assert stop["why"] == "limit" and stop["segments"] == 4
    sizes = [captures.stat(captures.path(name)).st_size for name in captures.names()]
    assert len(sizes) == 4 and all(size <= MIB for size in sizes)
    # Its blocks are whole, whatever was thrown at it; the sandbox's traffic goes on.
    for name in captures.names():
        assert captures.frames(captures.path(name))
    echo(box, far, PORT, "still here")
    row, = sandgate.json("audit", "verify", box.name)
    assert row["holds"]


def test_nothing_that_is_planted_is_followed(world, sandgate, captures, far):
    """The agent knows where the next capture will be, and has the working directory to itself."""
    if not sandgate.engine.given_cwd:
        sandgate.engine.cannot("is given no working directory")
    work = world.machine.new_work(sandgate.person)
    box = sandgate.box("--only", f"{far}:{PORT}/udp", "--as-root", cwd=work)
    assert box.run(f"ln -s {captures.folder} {work}/logs; ln -s /etc/cron.d/x {work}/all.pcapng; mkdir {work}/own").ok
    for path in f"{work}/logs/all.pcapng", f"{work}/all.pcapng", f"{work}/own/all.pcapng":
        done = sandgate("pcap", box.name, path)
        assert done.status == 125 and "a sandbox sees" in done.err, done
    assert captures.names() == [] and not os.path.exists("/etc/cron.d/x")
    # A capture into a safe place is not hindered by that.
    assert sandgate("pcap", box.name, captures.path()).ok


@pytest.mark.engines(usual=["netns"])
def test_segments_that_no_header_can_say_the_length_of(world, sandgate, captures):
    """An administrator of the sandbox's link makes them half a megabyte long: more than what reads a capture takes."""
    six = world.address6()
    echo_tcp(world, six, PORT)
    box = sandgate.box("--only", f"[{six}]:{PORT}", "--as-root")
    wire = f.wire_of(box)
    if not wire.run(["ip", "link", "set", wire.device, "gso_max_size", "500000"]):
        pytest.skip("this kernel makes no segments beyond 64 KiB (BIG TCP, since 5.19)")
    assert wire.run(["sh", "-c", "echo '4096 4000000 8000000' >/proc/sys/net/ipv4/tcp_wmem"])
    assert sandgate("pcap", box.name, captures.path()).ok
    assert box.python(UPLOAD, six, PORT, timeout=60).ok
    wire.close()
    assert sandgate("pcap", "--stop", box.name).ok
    long = [one for one in captures.frames(captures.path()) if int(one["frame.len"]) > 100000]
    assert long and all(one.comment.startswith("allow") for one in long), [one.comment for one in long]
    assert max(int(one["frame.len"]) for one in long) > 262144 == max(int(one["frame.cap_len"]) for one in long)
    row, = sandgate.json("audit", "verify", box.name)
    assert row["holds"]


UPLOAD = """
s = dial(sys.argv[1], int(sys.argv[2]))
def drain():
    while s.recv(1 << 20): pass
import threading
threading.Thread(target=drain, daemon=True).start()
for _ in range(24): s.sendall(bytes(1 << 20))
report(done=True)
"""
