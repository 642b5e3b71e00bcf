# SPDX-License-Identifier: Apache-2.0
"""A recorder that is slower than its sandbox, as far as it can be: it stands still while frames come. Nothing
waits for it, and what the capture lacks is counted, in the capture and in the audit log."""

import os
import signal
import struct

import pytest

import frames as f
from internet.services import echo_udp
from pcap_rig import Captures, await_entries, echo, entries
from program import Kept, descendants, read_proc, wait_until
from test_hidden_frames import stopped
from test_pcap import recorder_of

PORT, MANY, LONG = 4007, 6000, 9000  # more than the ring holds


@pytest.fixture
def captured(world, sandgate, needs):
    needs("tshark")

    class Captured:
        far, captures = world.address(), Captures(sandgate)
    echo_udp(world, Captured.far, PORT)
    Captured.box = sandgate.box("--only", f"{Captured.far}:{PORT}/udp", "--as-root")
    assert sandgate("pcap", Captured.box.name, Captured.captures.path()).ok
    echo(Captured.box, Captured.far, PORT, "before")
    return Captured


def flood(box):
    wire = f.wire_of(box)
    wire.send(*[wire.frame(bytes(LONG), ethertype=0x88B5)] * MANY)
    wire.close()


def dropped_by(file):
    """What the block of statistics at its end says (isb_ifdrop)."""
    at = 0
    while at < len(file):
        kind, length = struct.unpack_from("=II", file, at)
        option = at + 20
        while kind == 5 and option < at + length - 4:
            code, n = struct.unpack_from("=HH", file, option)
            if code == 5:
                return struct.unpack_from("=Q", file, option + 4)[0]
            option += 4 + n + -n % 4
        at += length
    return None


@pytest.mark.engines(usual=["bwrap"])
def test_what_is_lost_is_counted(sandgate, captured):
    box, far, captures = captured.box, captured.far, captured.captures
    with stopped(recorder_of(box)):
        flood(box)
        wait_until(lambda: box.egress()["frames"]["noise"] >= MANY, what="the count of the frames")
        echo(box, far, PORT, "as ever")
        assert sandgate("net", "allow", box.name, "new.example.com").ok
        assert sandgate.json("pcap", box.name)["on"]
    echo(box, far, PORT, "after")
    assert sandgate("pcap", "--stop", box.name).ok
    told, = await_entries(sandgate, box.name, "sandgate.pcap.segment")
    seen = captures.frames(captures.path())
    assert told["dropped"] > 0 and told["frames"] == len(seen)
    noise = sum(one.comment.startswith("noise") for one in seen)
    assert noise < MANY <= noise + told["dropped"]
    assert dropped_by(captures.machine.place.call(lambda: open(captures.path(), "rb").read())) == told["dropped"]
    assert {b"before".hex(), b"after".hex()} <= {one["udp.payload"] for one in seen}
    row, = sandgate.json("audit", "verify", box.name)
    assert row["holds"] and entries(sandgate, box.name, "sandgate.pcap.stop")[0]["why"] == "asked"


@pytest.mark.skipif(os.environ.get("SANDGATE_FULL") != "1",
                    reason="a recorder that hangs is waited for, half a minute (SANDGATE_FULL=1)")
def test_one_that_never_goes_on_ends_with_the_sandbox(sandgate, needs):
    """What it had written is whole, and both entries are there."""
    needs("tshark")
    captures, one = Captures(sandgate), Kept(sandgate, sandgate.new_name(), "--net", "deny")
    try:
        one.start()
        assert sandgate("pcap", one.name, captures.path()).ok
        assert not one.exec("getent hosts a.example.com").ok
        wait_until(lambda: sandgate.json("pcap", one.name)["frames"] >= 2, what="frames in the file")
        recorder, = [p for p in descendants(one.supervisor) if read_proc(p, "comm").strip() == "sandgate-record"]
        os.kill(recorder, signal.SIGSTOP)
        sandgate("stop", one.name, timeout=90)
        wait_until(lambda: one.row()["state"] != "running", what="its end")
        wait_until(lambda: entries(sandgate, one.name, "sandgate.pcap.stop"), what="the entry")
        stop, = entries(sandgate, one.name, "sandgate.pcap.stop")
        segment, = entries(sandgate, one.name, "sandgate.pcap.segment")
        assert stop["why"] == "recorder-ended" and segment["sha256"] == captures.sha256(captures.path())
        assert captures.frames(captures.path())
    finally:
        sandgate("rm", "--force", one.name)
