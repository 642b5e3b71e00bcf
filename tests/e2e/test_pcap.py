# SPDX-License-Identifier: Apache-2.0
"""Captures: every frame, what was decided of it, files that end where they should. tshark is the judge."""

import concurrent.futures
import os
import re
import signal
import sys

import pytest

from internet.services import echo_tcp, echo_udp
from pcap_rig import Captures, await_entries, echo, entries
from program import HERE, descendants, read_proc, wait_until

sys.path.insert(0, os.path.join(HERE, "..", "escape"))
import frames as f  # noqa: E402

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
MIB = 1 << 20
DENIED = "93.184.250.9"
# The command's first act, on whatever the machine's clock: a datagram that nothing came before.
FIRST = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'first-of-all', ('{}', 4007))"


@pytest.fixture
def captures(sandgate, needs):
    needs("tshark", "capinfos")
    return Captures(sandgate)


@pytest.fixture
def far(world):
    """Answers what it is sent: UDP and TCP."""
    address = world.address()
    echo_udp(world, address, 4007)
    echo_tcp(world, address, 4007)
    return address


def upload(box, address, megabytes):
    got = box.python("""
s = dial(sys.argv[1], 4007)
data = bytes(65536)
def drain():
    while s.recv(1 << 20): pass
import threading
threading.Thread(target=drain, daemon=True).start()
for _ in range(int(sys.argv[2]) * 16): s.sendall(data)
report(done=True)
""", address, megabytes, timeout=60)
    assert got.ok, got


def recorder_of(box):
    return next((p for p in descendants(box.supervisor_pid) if read_proc(p, "comm").strip() == "sandgate-record"),
                None)


# --- what is in it ---

@BOTH
def test_the_first_frame_is_there_and_the_file_is_the_owners(sandgate, captures, far):
    path = captures.path()
    done = sandgate.run("--only", f"{far}:4007/udp", "--pcap", path, command=["python3", "-c", FIRST.format(far)])
    assert done.ok, done
    captures.assert_private(path)
    frames = captures.frames(path)
    sent = [one for one in frames if one["udp.payload"] == b"first-of-all".hex() and one.from_sandbox
            and not one["icmp.type"]]
    assert len(sent) == 1 and sent[0]["ip.dst"] == far and sent[0].comment == f"allow: {far}:4007/udp"
    times = [float(one["frame.time_epoch"]) for one in frames]
    assert times == sorted(times)
    assert all(one["frame.len"] == one["frame.cap_len"] for one in frames)
    info = captures.info(path)
    assert info["Number of packets"] == str(len(frames)) and info["Capture application"].startswith("sandgate ")
    assert re.search(r"Number of packets dropped *= 0|Number of stat entries = 1", captures.tool("capinfos", path))


def test_each_frame_has_what_was_decided(world, sandgate, captures, far):
    world.site("api.example.com")
    box = sandgate.box("--only", f"api.example.com,{far}:4007/udp,{far}:4007,{far}/icmp", "--pcap", captures.path())
    # Its hello comes late: what was decided by the address alone is in the file by then.
    assert box.python("""
import ssl
s = dial("api.example.com", 443); time.sleep(0.5)
s = ssl.create_default_context().wrap_socket(s, server_hostname="api.example.com")
s.sendall(b"GET / HTTP/1.0\\r\\nHost: api.example.com\\r\\n\\r\\n"); s.recv(1000)
report(done=True)
""").ok
    assert not box.curl("https://refused.example.org/").ok
    assert box.run(["ping", "-c1", "-W5", far]).ok
    echo(box, far, 4007, "echo")
    got = box.python("""
for port in 4007, 4008: report(r=try_dial(sys.argv[1], port)[0])
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.connect((sys.argv[2], 99))
u.send(b"refused")
u.settimeout(30)
try: u.recv(1)
except OSError as e: report(errno=e.errno)
""", far, DENIED)
    assert got.lines[0]["r"] == "connected" and got.lines[1]["r"] != "connected"
    assert box.stop().ok
    frames = captures.frames(captures.path())

    def said(where, from_sandbox=None):
        found = [x.comment for x in captures.frames(captures.path(), where=where)
                 if from_sandbox is None or x.from_sandbox == from_sandbox]
        assert found, where
        return set(found)
    # Lookups, question and answer.
    allowed, refused = 'dns.qry.name == "api.example.com"', 'dns.qry.name == "refused.example.org"'
    assert said(allowed, True) == {"allow: api.example.com"} and said(allowed, False) == {"gate: allow: api.example.com"}
    assert said(refused, True) == {"deny: not-in-policy, refused.example.org"}
    assert said(refused, False) == {"gate: deny: not-in-policy, refused.example.org"}
    # A connection by name: pending until its name was seen, then allowed, both ways.
    to_site = captures.frames(captures.path(), where="tcp.port == 443")
    assert to_site[0].comment == "pending: api.example.com, the name inside is still to be seen"
    assert to_site[0]["tcp.flags.syn"] == "1" and to_site[-1].comment == "allow: api.example.com"
    assert {x.from_sandbox for x in to_site if x.comment.startswith("allow:")} == {True, False}
    assert {x.comment.split(":")[0] for x in to_site} == {"pending", "allow"}
    # By address: TCP, UDP and echo, both ways; what is refused, and the answer to it.
    assert said(f"ip.addr == {far} && tcp.port == 4007") == {f"allow: {far}:4007"}
    assert said(f"ip.addr == {far} && udp.port == 4007") == {f"allow: {far}:4007/udp"}
    assert said(f"ip.addr == {far} && icmp && !udp && !tcp") == {f"allow: {far}/icmp"}
    assert all(x.startswith("deny: ") for x in said(f"ip.dst == {far} && tcp.port == 4008", True))
    assert all(x.startswith("gate: deny: ") for x in said(f"ip.src == {far} && tcp.port == 4008", False))
    assert said("udp.port == 99 && !icmp", True) == {"deny: not-in-policy"}
    assert said("icmp && udp.port == 99", False) == {"gate: deny: not-in-policy"}
    # Nothing is left open, and what the kernel left to the hardware is right.
    assert not [x for x in frames if x.comment == "undecided"]
    for x in frames:
        assert "0" not in (x["ip.checksum.status"], x["tcp.checksum.status"], x["udp.checksum.status"]), x


def test_noise_in_the_capture_is_noise_in_the_counters(world, sandgate, captures, far):
    """The recorder's rules of the link and the airlock's are the same: their numbers are equal."""
    box = sandgate.box("--only", f"{far}:4007/udp", "--pcap", captures.path())
    echo(box, far, 4007, "before")
    wire = f.wire_of(box)
    plain = f.udp(f.SANDBOX4, far, 4007, b"x")
    six = f.udp(f.SANDBOX6, "2001:db8::1", 4007, b"x")
    noise = [
        wire.frame(f.ip4(f.SANDBOX4, far, f.UDP, plain), source=b"\2spoof"),
        wire.frame(f.ip4("192.0.0.3", far, f.UDP, plain)),
        wire.frame(f.ip4(f.SANDBOX4, "224.0.0.251", f.UDP, plain)),
        wire.frame(f.ip4(f.SANDBOX4, "255.255.255.255", f.UDP, plain)),
        wire.frame(f.ip4(f.SANDBOX4, "127.0.0.1", f.UDP, plain)),
        wire.frame(f.ip4(f.SANDBOX4, far, f.UDP, plain), to=b"\xff" * 6),
        wire.frame(f.ip4(f.SANDBOX4, far, f.UDP, plain), to=b"\2nobdy"),
        wire.frame(f.ip6("fd73:616e:6467:1::9", "2001:db8::1", f.UDP, six)),
        wire.frame(f.ip6(f.SANDBOX6, "ff02::fb", f.UDP, six)),
        wire.frame(f.ip6(f.SANDBOX6, "fe80::1", f.UDP, six)),
        wire.frame(f.ip6(f.SANDBOX6, "::1", f.UDP, six)),
        wire.frame(f.ip6("fe80::7", "ff02::2", f.ICMPV6, f.icmp6("fe80::7", "ff02::2", 133), hops=255)),
        wire.frame(f.ip6("fe80::7", "ff02::1", f.ICMPV6, f.icmp6("fe80::7", "ff02::1", 135), hops=64)),
        wire.frame(bytes.fromhex("000108000604") + b"\0\1" + wire.own, ethertype=f.ARP),
        wire.frame(f.ip4(f.SANDBOX4, far, f.ICMP, f.icmp(0))),
        wire.frame(bytes.fromhex("000108000604") + b"\0\3" + wire.own + f.packed(f.SANDBOX4) + bytes(10), ethertype=f.ARP),
        wire.frame(bytes.fromhex("000108000604") + b"\0\1" + wire.own + f.packed("192.0.0.9") + bytes(10), ethertype=f.ARP),
        wire.frame(b"\0\5" + b"\x08\0" + f.ip4(f.SANDBOX4, far, f.UDP, plain), ethertype=f.VLAN),
        wire.frame(b"\0\5" + b"\x08\0" + f.ip4(f.SANDBOX4, far, f.UDP, plain), ethertype=f.QINQ),
        wire.frame(b"an lldp frame", ethertype=0x88CC),
        wire.frame(b"\x45\0", ethertype=f.IPV4),
        wire.frame(b"\x60\0", ethertype=f.IPV6),
    ]
    passing = [
        wire.frame(f.ip4(f.SANDBOX4, far, f.UDP, plain)),
        wire.frame(f.ip6(f.SANDBOX6, "2001:db8::1", f.UDP, six)),
        wire.frame(bytes.fromhex("000108000604") + b"\0\1" + wire.own + f.packed(f.SANDBOX4) + bytes(6)
                   + f.packed(f.GATE4), ethertype=f.ARP),
        wire.frame(f.ip6("fe80::7", "ff02::1:ff00:1", f.ICMPV6, f.icmp6("fe80::7", "ff02::1:ff00:1", 135), hops=255)),
    ]
    for frame in noise + passing:
        wire.send(frame)
    wire.close()
    echo(box, far, 4007, "after")
    counted = box.egress()["frames"]
    assert sandgate("pcap", "--stop", box.name).ok
    later = box.egress()["frames"]
    frames = captures.frames(captures.path())
    mine = [x.comment for x in frames if x.from_sandbox]
    told = [x for x in mine if x.startswith("noise: ")]
    # The kernel's own housekeeping goes on: a frame or two of it come before the airlock's rules, which
    # a capture from the first frame on has, and after the capture's end.
    housekeeping = 2
    assert len(noise) <= counted["noise"] <= len(told) <= later["noise"] + housekeeping, told
    assert later["noise"] <= counted["noise"] + housekeeping, told
    assert sum(counted.values()) <= len(mine) <= sum(later.values()) + housekeeping, (counted, later, mine)
    assert {"noise: source MAC not the sandbox's", "noise: tag of a VLAN", "noise: ethertype not carried",
            "noise: not addressed to the gate", "noise: source address not the sandbox's",
            "noise: destination no unicast address", "noise: address resolution for another",
            "noise: truncated frame"} <= set(told)
    tagged = captures.frames(captures.path(), where="vlan || ieee8021ad")
    assert len(tagged) == 2 and {x.comment for x in tagged} == {"noise: tag of a VLAN"}


def test_pieces_of_a_packet_and_the_proxy_port_have_verdicts(world, sandgate, captures, far):
    world.site("api.example.com")
    box = sandgate.box("--only", f"api.example.com,{far}:4007/udp", "--pcap", captures.path())
    wire = f.wire_of(box)
    whole = f.udp(f.SANDBOX4, far, 4007, b"in pieces" * 9, source_port=4100)
    wire.send(wire.frame(f.ip4(f.SANDBOX4, far, f.UDP, whole[:48], flags=1, ident=9)))
    wire.send(wire.frame(f.ip4(f.SANDBOX4, far, f.UDP, whole[48:], offset=6, ident=9)))
    wire.close()
    assert box.run("curl -sS -m 10 -x http://192.0.0.1:3128 https://api.example.com/").ok
    assert not box.run("curl -sS -m 10 -x http://192.0.0.1:3128 https://refused.example.org/").ok
    assert box.stop().ok
    pieces = captures.frames(captures.path(), where=f"ip.dst == {far} && ip.id == 9")
    assert [x.comment for x in pieces] == [f"allow: {far}:4007/udp"] * 2
    streams = {}
    for line in captures.tool("tshark", "-n", "-r", captures.path(), "-Y", "tcp.port == 3128", "-T", "fields",
                              "-e", "tcp.stream", "-e", "frame.comment").splitlines():
        stream, _, comment = line.partition("\t")
        streams.setdefault(stream, []).append(comment)
    first, second = streams.values()
    # As much as was decided by the time that each was written.
    assert first[-1] == "allow: api.example.com"
    assert {x.split(":")[0] for x in first} <= {"gate", "pending", "allow"}
    assert "gate: deny: not-in-policy, refused.example.org" in second
    assert {x.split(",")[0].removeprefix("gate: ") for x in second} <= {"proxy port", "deny: not-in-policy"}


@pytest.mark.engines
def test_with_every_engine_from_the_very_first_frame(world, sandgate, captures, far):
    """Whatever is on the other end of the link: a capture that begins with it, and one later on."""
    world.site("api.example.com")
    box = sandgate.box("--only", f"api.example.com,{far}:4007/udp,{far}:4007", "--pcap", captures.path())
    assert box.curl("https://api.example.com/").ok
    assert not box.curl("https://refused.example.org/").ok
    echo(box, far, 4007, "echo")
    assert sandgate("pcap", "--stop", box.name).ok
    frames = captures.frames(captures.path())
    own = [x["eth.src"] for x in frames if x.from_sandbox]
    asked = [x for x in frames if x.from_sandbox and x["udp.dstport"] == "53"]
    assert asked[0]["dns.qry.name"] == "api.example.com"
    assert len(set(own)) == 1
    assert {x.comment for x in captures.frames(captures.path(), where="udp.port == 4007")} == {f"allow: {far}:4007/udp"}
    seen = set(captures.comments(captures.path()))
    assert {"allow: api.example.com", "gate: allow: api.example.com", "deny: not-in-policy, refused.example.org"} <= seen
    kinds = {x.removeprefix("gate: ").split(":")[0] for x in seen}
    assert kinds <= {"allow", "deny", "pending", "link", "noise"}, seen
    start, segment, stop = entries(sandgate, box.name)
    assert segment["sha256"] == captures.sha256(captures.path()) and stop["dropped"] == 0
    # Nothing is wrong with what was left to the hardware, on links that leave it as well.
    for x in frames:
        assert "0" not in (x["ip.checksum.status"], x["tcp.checksum.status"], x["udp.checksum.status"]), x
    assert sandgate("pcap", box.name, captures.path("later")).ok
    echo(box, far, 4007, "later")
    assert sandgate("pcap", "--stop", box.name).ok
    assert len(captures.frames(captures.path("later"), where="udp.port == 4007")) == 2


# --- TLS keys ---

INSPECTED = "network: deny\nallow: [api.example.com]\ninspect: [api.example.com]\n"


@pytest.mark.parametrize("keys", [True, False])
def test_keys_open_inspected_connections(world, sandgate, captures, keys):
    world.site("api.example.com")
    path = captures.path()
    box = sandgate.box("--policy", "policy.yaml", "--pcap", path, *(["--pcap-keys"] if keys else []),
                       files={"policy.yaml": INSPECTED})
    for version in "--tlsv1.3", "--tls-max 1.2":
        assert box.run(f"curl -sS -m 10 --http1.1 {version} https://api.example.com/opened?{version[5:8].strip('- ')}").ok
    assert box.stop().ok
    assert ("--pcap-keys" in box.err) == keys
    uris = [x["http.request.uri"] for x in captures.frames(path, where="http.request")]
    assert len(uris) == (2 if keys else 0) and all(uri.startswith("/opened") for uri in uris)
    assert "allow: api.example.com, requests are seen" in captures.comments(path, where="tcp.port == 443")


# --- files ---

def test_it_goes_on_in_files_and_ends_at_its_limit(sandgate, captures, far):
    path = captures.path("all.pcapng")
    box = sandgate.box("--only", f"{far}:4007,{far}:4007/udp", "--pcap", path, "--pcap-max-mb", "1", "--pcap-files", "3")
    upload(box, far, 6)
    wait_until(lambda: "the capture has ended" in box.err, what="the limit")
    assert "3 files of 1 MB are full" in box.err
    # The sandbox goes on.
    echo(box, far, 4007, "still here")
    assert captures.names() == ["all-2.pcapng", "all-3.pcapng", "all.pcapng"]
    assert box.egress()["pcap"]["on"] is False and box.egress()["pcap"]["ended"] == "limit"
    segments = await_entries(sandgate, box.name, "sandgate.pcap.segment", 3)
    last = await_entries(sandgate, box.name, "sandgate.pcap.stop")
    assert [s["file"] for s in segments] == [path, captures.path("all-2.pcapng"), captures.path("all-3.pcapng")]
    for one in segments:
        captures.assert_private(one["file"])
        assert one["octets"] == captures.stat(one["file"]).st_size <= MIB
        assert one["octets"] > MIB - 2 * 65600
        assert one["sha256"] == captures.sha256(one["file"])
        assert one["frames"] == len(captures.frames(one["file"])) == int(captures.info(one["file"])["Number of packets"])
    assert last[0]["why"] == "limit" and last[0]["frames"] == sum(s["frames"] for s in segments)
    assert last[0]["segments"] == 3
    row, = sandgate.json("audit", "verify", box.name)
    assert row["holds"]
    # Not a frame is missing between one file and the next, but what is counted as dropped.
    assert box.stop().ok


def test_a_full_disk_ends_the_capture_alone(world, sandgate, captures, far):
    disk = captures.path("disk")
    mount = f"mkdir {disk} && mount -t tmpfs -o size=36m,mode=777 tmpfs {disk}"
    assert world.machine.run(mount, "root").returncode == 0
    try:
        path = f"{disk}/all.pcapng"
        box = sandgate.box("--only", f"{far}:4007,{far}:4007/udp", "--pcap", path)
        upload(box, far, 12)
        wait_until(lambda: "the disk is full" in box.err, what="the end of the capture")
        echo(box, far, 4007, "still here")
        last, = await_entries(sandgate, box.name, "sandgate.pcap.stop")
        segment, = entries(sandgate, box.name, "sandgate.pcap.segment")
        assert last["why"] == "disk-full" and segment["sha256"] == captures.sha256(path)
        assert len(captures.frames(path)) == segment["frames"] > 0
        free = world.machine.place.call(lambda: os.statvfs(disk))
        assert free.f_bavail * free.f_bsize > 30 * MIB
        assert box.stop().ok
    finally:
        world.machine.run(f"umount {disk}", "root")


def test_a_capture_overwrites_nothing_and_lies_out_of_reach(world, sandgate, captures, far):
    def refused(path, *words, cwd=None, more=()):
        done = sandgate.run("--only", far, *more, "--pcap", path, command="echo ran", cwd=cwd)
        assert done.status == 125 and "ran" not in done.out, done
        assert all(word in done.err for word in words), done.err
        return done
    machine, person = world.machine, sandgate.person
    machine.write(captures.path("there"), "kept", person)
    refused(captures.path("there"), "is there already", "overwrites nothing")
    assert machine.read(captures.path("there")) == "kept"
    # A link of that name, where it leads there is nothing yet: a file is not made through it.
    machine.run(f"ln -s {captures.path('elsewhere')} {captures.path('link')}", person)
    refused(captures.path("link"), "is there already")
    assert not machine.exists(captures.path("elsewhere"))
    work = machine.new_work(person)
    refused("here.pcapng", "a sandbox sees", cwd=work)
    refused(f"{work}/sub/../here.pcapng", "a sandbox sees", cwd=work)
    shared = machine.new_work(person)
    refused(f"{shared}/x", "a sandbox sees", more=["--rw", shared])
    refused(f"{shared}/x", "a sandbox sees", more=["--ro", shared])
    # By a link that lies where a sandbox may have made it.
    machine.run(f"ln -s {captures.folder} {work}/way", person)
    refused(f"{work}/way/x", "a sandbox sees", cwd=work)
    # Where one ran, another may write.
    assert sandgate.run("--only", far, command="true", cwd=work).ok
    refused(f"{work}/x", "a sandbox sees", cwd=machine.new_work(person))
    refused("/usr/x.pcapng", "a sandbox sees")
    refused(captures.path("no/such/folder"), "No such file")
    refused(f"{captures.folder}/.", "a folder; name a file in it")
    refused(f"{captures.folder}/..", "a folder")
    assert captures.names() == ["link", "there"]
    # The next segment of a capture finds one there.
    machine.write(captures.path("all-2"), "kept", person)
    box = sandgate.box("--only", f"{far}:4007,{far}:4007/udp", "--pcap", captures.path("all"), "--pcap-max-mb", "1")
    upload(box, far, 3)
    wait_until(lambda: "is there already" in box.err, what="the end of the capture")
    last, = await_entries(sandgate, box.name, "sandgate.pcap.stop")
    assert last["why"] == "no-file" and machine.read(captures.path("all-2")) == "kept"
    echo(box, far, 4007, "still here")
    assert box.stop().ok


def test_nothing_is_left_of_a_start_that_fails(sandgate, captures):
    done = sandgate.run("--net", "deny", "--pcap", captures.path(), "--ro", "/no/such/folder", command="true")
    assert done.status == 125 and captures.names() == []
    done = sandgate.run("--net", "none", "--pcap", captures.path(), command="true")
    assert done.status == 125 and "has no link" in done.err and captures.names() == []
    for options in (["--pcap-max-mb", "0"], ["--pcap-files", "x"], ["--pcap-max-mb", "-1"]):
        assert sandgate.run("--net", "deny", "--pcap", captures.path(), *options, command="true").status == 2
    assert sandgate.run("--net", "deny", "--pcap-keys", command="true").status == 2


# --- while it runs ---

@BOTH
def test_a_capture_begins_and_ends_while_frames_fly(sandgate, captures, far):
    one = sandgate.box("--only", f"{far}:4007,{far}:4007/udp")
    echo(one, far, 4007, "before")
    held = one.start_python("""
s = dial(sys.argv[1], 4007)
for line in sys.stdin:
    s.sendall(line.encode()); s.recv(100)
report(done=True)
""", far, input="open before\n")
    assert held.wait().ok
    stream = one.start_python("""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(30); s.connect((sys.argv[1], 4007))
n, end = 0, time.monotonic() + 4
while time.monotonic() < end:
    s.send(b"%08d" % n); s.recv(100); n += 1
report(n=n)
""", far)
    begun = sandgate("pcap", one.name, captures.path())
    assert begun.ok and captures.path() in begun.out
    again = sandgate("pcap", one.name, captures.path("other"))
    assert again.status == 125 and "under way" in again.err
    assert sandgate.json("pcap", one.name)["on"] is True
    echo(one, far, 4007, "within")
    ended = sandgate("pcap", "--stop", one.name)
    assert ended.ok, ended
    echo(one, far, 4007, "after")
    sent = stream.wait().json["n"]
    frames = captures.frames(captures.path(), where=f"udp && ip.addr == {far}")
    seen = [bytes.fromhex(x["udp.payload"]).decode() for x in frames]
    assert "within" in seen and "before" not in seen and "after" not in seen
    for from_sandbox in True, False:
        numbers = [int(word) for word, x in zip(seen, frames) if word.isdigit() and x.from_sandbox == from_sandbox]
        assert len(numbers) > 1 and numbers == list(range(numbers[0], numbers[-1] + 1)), numbers
        assert numbers[-1] < sent
    # The flow that was open before the capture has its verdict as well: from its first frames on, or
    # from when a slow machine's gate has told of it, and then for good.
    said = [x.comment for x in frames]
    known = said.index(f"allow: {far}:4007/udp")
    assert set(said[known:]) == {f"allow: {far}:4007/udp"} and set(said[:known]) <= {"undecided"}
    captures.assert_private(captures.path())
    start, segment, stop = entries(sandgate, one.name)
    assert start["action"] == "sandgate.pcap.start" and start["who"].startswith(sandgate.person)
    assert segment["action"] == "sandgate.pcap.segment" and segment["sha256"] == captures.sha256(captures.path())
    assert stop["action"] == "sandgate.pcap.stop" and stop["why"] == "asked" and stop["dropped"] == 0
    nothing = sandgate("pcap", "--stop", one.name)
    assert nothing.status == 125 and "no capture is under way" in nothing.err
    # One that does not begin leaves the report of the last as it was.
    report = sandgate.json("pcap", one.name)
    there = sandgate("pcap", one.name, captures.path())
    assert there.status == 125 and "is there already" in there.err
    assert report["segments"] == 1 and sandgate.json("pcap", one.name) == report
    # And another one.
    assert sandgate("pcap", one.name, captures.path("second"), "--pcap-max-mb", "2").ok
    echo(one, far, 4007, "second")
    assert one.stop().ok
    assert "allow: " in captures.comments(captures.path("second"), where=f"udp && ip.dst == {far}")[0]


def test_what_is_open_is_told_of_when_a_capture_begins(sandgate, captures, far):
    """More than a socket holds notes of at once."""
    box = sandgate.box("--only", f"{far}:4007,{far}:4007/udp")
    work = box.start_python("""
flows, end = [dial(sys.argv[1], 4007) for _ in range(600)], time.monotonic() + 60
while time.monotonic() < end and not os.path.exists("done"):
    for s in flows:
        s.sendall(b"again"); s.recv(100)
report(done=True)
""", far)
    wait_until(lambda: box.egress()["flows"]["open"] >= 600, timeout=30, what="open flows")
    assert sandgate("pcap", box.name, captures.path()).ok
    wait_until(lambda: sandgate.json("pcap", box.name)["frames"] > 5000, timeout=40, what="frames")
    assert sandgate("pcap", "--stop", box.name).ok
    captures.machine.write(f"{box.cwd}/done", "", sandgate.person)
    assert work.wait().ok
    stop, = entries(sandgate, box.name, "sandgate.pcap.stop")
    assert stop["verdicts_lost"] == 0
    frames = captures.frames(captures.path(), where="tcp.port == 4007")
    # The first of them may have come before all were told of.
    assert {x.comment for x in frames[len(frames) // 2:]} == {f"allow: {far}:4007"}


def test_a_capture_goes_on_past_a_gate_that_dies(sandgate, captures, far):
    box = sandgate.box("--only", f"{far}:4007/udp", "--pcap", captures.path())
    echo(box, far, 4007, "before")
    gate = box.gate_pid
    os.kill(gate, signal.SIGKILL)
    wait_until(lambda: "a new gate has taken over" in box.err, what="a new gate")
    echo(box, far, 4007, "after")
    assert box.stop().ok
    frames = captures.frames(captures.path(), where=f"udp && ip.addr == {far}")
    assert [bytes.fromhex(x["udp.payload"]).decode() for x in frames] == ["before"] * 2 + ["after"] * 2
    assert {x.comment for x in frames} == {f"allow: {far}:4007/udp"}


def test_a_recorder_that_dies_ends_the_capture_alone(sandgate, captures, far):
    box = sandgate.box("--only", f"{far}:4007/udp", "--pcap", captures.path())
    echo(box, far, 4007, "before")
    wait_until(lambda: sandgate.json("pcap", box.name)["frames"] >= 2, what="frames in the file")
    os.kill(recorder_of(box), signal.SIGKILL)
    wait_until(lambda: "the capture has ended" in box.err, what="the end of the capture")
    assert "recorder was ended by signal 9" in box.err
    echo(box, far, 4007, "after")
    stop, = await_entries(sandgate, box.name, "sandgate.pcap.stop")
    segment, = entries(sandgate, box.name, "sandgate.pcap.segment")
    assert stop["why"] == "recorder-ended" and segment["sha256"] == captures.sha256(captures.path())
    # Whole blocks, up to where it was ended.
    assert "before" in [bytes.fromhex(x["udp.payload"]).decode() for x in captures.frames(captures.path(), where="udp.port == 4007")]
    assert sandgate("pcap", box.name, captures.path("again")).ok
    echo(box, far, 4007, "again")
    assert box.stop().ok and captures.comments(captures.path("again"), where="udp.port == 4007")


def test_a_supervisor_that_is_killed_leaves_a_whole_file(sandgate, captures, far):
    box = sandgate.box("--only", f"{far}:4007/udp", "--pcap", captures.path())
    echo(box, far, 4007, "before")
    recorder = recorder_of(box)
    os.kill(box.supervisor_pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{recorder}"), what="the recorder's end")
    assert len(captures.frames(captures.path(), where="udp.port == 4007")) == 2
    assert "Number of stat entries = 1" in captures.tool("capinfos", captures.path())


def test_a_kept_one_is_captured_from_its_start(sandgate, captures, far, kept):
    one = kept("--only", f"{far}:4007/udp")
    assert sandgate("start", "--pcap", captures.path(), one.name).ok
    # Another is not begun by running something in it.
    done = sandgate.run("--name", one.name, "--pcap", captures.path("other"), command="true")
    assert done.status == 125 and f"sandgate pcap {one.name} FILE" in done.err
    assert one.exec(["python3", "-c", FIRST.format(far)]).ok
    one.stop()
    assert captures.frames(captures.path(), where="udp.port == 4007")[0].comment == f"allow: {far}:4007/udp"
    assert [e["action"] for e in entries(sandgate, one.name)] == [
        "sandgate.pcap.start", "sandgate.pcap.segment", "sandgate.pcap.stop"]
    # It was of that run alone.
    one.start()
    assert sandgate.json("pcap", one.name) == {}


def test_a_capture_that_is_kept_is_of_each_start(sandgate, captures, far, kept):
    one = kept("--only", f"{far}:4007/udp", "--pcap", captures.path(), "--pcap-max-mb", "2", "--pcap-files", "3")
    for _ in range(2):
        one.start()
        assert one.exec(["python3", "-c", FIRST.format(far)]).ok
        one.stop()
    assert sandgate("start", "--pcap", captures.path("once"), one.name).ok
    assert one.exec(["python3", "-c", FIRST.format(far)]).ok
    one.stop()
    assert sandgate.run("--name", one.name, command=["python3", "-c", FIRST.format(far)]).ok
    starts = entries(sandgate, one.name, "sandgate.pcap.start")
    assert [(s["max_mb"], s["files"], s["keys"]) for s in starts] == [
        (2, 3, False), (2, 3, False), (64, 8, False), (2, 3, False)]
    paths = [s["file"] for s in entries(sandgate, one.name, "sandgate.pcap.segment")]
    assert paths[0] == captures.path() and paths[2] == captures.path("once") and len(set(paths)) == 4, paths
    for path in paths:
        first = captures.frames(path, where="udp.port == 4007")[0]
        assert first.comment == f"allow: {far}:4007/udp", path


def test_captures_to_one_file_that_begin_at_one_moment(sandgate, captures, far, kept):
    """Each has a file of its own, whoever comes first."""
    ones = [kept("--only", f"{far}:4007/udp", "--pcap", captures.path()) for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(len(ones)) as pool:
        list(pool.map(lambda one: one.start(), ones))
    paths = {s["file"] for one in ones for s in entries(sandgate, one.name, "sandgate.pcap.start")}
    assert len(paths) == len(ones) and captures.path() in paths, paths


@pytest.mark.parametrize("options, status, says", [
    (["--pcap-files", "2"], 2, "there is no capture without a file"), (["--pcap", ""], 2, "the value is empty"),
    (["--pcap", "x", "--pcap-max-mb", "0"], 2, "no number from 1"), (["--pcap", "x", "--net", "none"], 125, "no link")])
def test_what_is_no_capture_is_not_kept(sandgate, options, status, says):
    name = sandgate.new_name()
    done = sandgate("create", name, *options)
    assert done.status == status and says in done.err, done
    assert name not in [row["name"] for row in sandgate.json("ls")]


def test_settings_say_how_much(sandgate, captures, far):
    try:
        for key, value in ("pcap.max_mb", "1"), ("pcap.files", "1"), ("pcap.keys", "true"):
            assert sandgate("config", "set", key, value).ok
            assert sandgate("config", "get", key).out.strip() == value
        assert sandgate("config", "set", "pcap.files", "0").status == 2
        box = sandgate.box("--only", f"{far}:4007", "--pcap", captures.path())
        wait_until(lambda: "--pcap-keys" in box.err, what="the words for the person")
        upload(box, far, 2)
        wait_until(lambda: "1 files of 1 MB are full" in box.err, what="the limit")
        start, = entries(sandgate, box.name, "sandgate.pcap.start")
        assert (start["max_mb"], start["files"], start["keys"]) == (1, 1, True)
        assert box.stop().ok
    finally:
        for key in "pcap.max_mb", "pcap.files", "pcap.keys":
            sandgate("config", "unset", key)
