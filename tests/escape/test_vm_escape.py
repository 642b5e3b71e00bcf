# SPDX-License-Identifier: Apache-2.0
"""Out of a virtual machine's monitor, as if its guest had taken it over: a program in its place, run by
`sandgate vm-net`, tries whatever a process of the host might. Frames of a guest's kernel are in
test_guest_frames.py and test_frames.py."""

import os
import subprocess

import pytest

from program import HERE

HOW = {"descriptor": (), "name": ("--by-name",)}


@pytest.fixture(params=["dev", "root"])
def person(request):
    return request.param


@pytest.fixture(params=HOW)
def how(request):
    return request.param


@pytest.fixture
def monitor(sandgate, how):
    """monitor(CODE, ARGUMENT...) runs Python in the place of a monitor; the lines that it reports."""
    with open(os.path.join(HERE, "inside", "probe.py"), encoding="utf-8") as f:
        probe = f.read()

    def run(code, *arguments, options=("--net", "deny")):
        done = sandgate("vm-net", *options, *HOW[how], sandgate.new_name(), "--", "python3", "-c",
                        probe + "\n" + code, *map(str, arguments))
        assert done.ok, done
        return done.lines
    return run


def test_no_socket_leads_anywhere(world, monitor, how):
    """Not to the world, not to the gate's own services, not to the host's loopback."""
    site = world.site("api.example.com", v6=True)
    lines = monitor("""
for address, port in ((sys.argv[1], 80), (sys.argv[2], 80), ("192.0.0.1", 53), ("192.0.0.1", 3128),
                      ("fd73:616e:6467:1::1", 1080), ("127.0.0.1", 22)):
    try:
        result = try_dial(address, port, 3)[0]
    except OSError as problem:
        result = errname(problem)
    report(to=address, result=result)
for family in socket.AF_PACKET, socket.AF_NETLINK, 40, 38, 31, 1 << 20:
    try:
        socket.socket(family, socket.SOCK_RAW if family != 40 else socket.SOCK_STREAM)
        report(family=family, result="made")
    except OSError as problem:
        report(family=family, result=errname(problem))
""", site.address, site.address6, options=("--net", "any", "--yes"))
    for line in lines:
        if "family" in line:
            allowed = ("made",) if line["family"] == 16 and how == "descriptor" else ()
            assert line["result"] in ("EAFNOSUPPORT", "EPERM", *allowed), line
        else:
            assert line["result"] in ("ENETUNREACH", "EAFNOSUPPORT", "ECONNREFUSED", "EADDRNOTAVAIL"), line
            assert how == "descriptor" or line["result"] == "EAFNOSUPPORT", line
    assert not world.left_the_host(to=site.address) and not world.left_the_host(to=site.address6)
    assert not site.requests


def test_nothing_of_the_host_is_there(monitor, sandgate):
    """No process but its own, no socket of the host's, no file of the person's."""
    lines = monitor("""
pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
report(commands=[open(f"/proc/{pid}/comm").read().strip() for pid in pids])
report(run=sorted(os.listdir("/run")), home=sorted(os.listdir(os.environ["HOME"])))
status = open("/proc/self/status").read()
report(**{key: value.strip() for key, value in (line.split(":", 1) for line in status.splitlines())
          if key in ("CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb", "NoNewPrivs", "Seccomp")})
""")
    assert set(lines[0]["commands"]) <= {"bwrap", "start", "python3"}
    assert lines[1]["run"] == ["lock", "sandbox-files"]
    assert not any(name.startswith(".") for name in lines[1]["home"])
    assert {lines[2][f"Cap{kind}"] for kind in ("Eff", "Prm", "Bnd", "Inh", "Amb")} == {"0" * 16}
    assert (lines[2]["NoNewPrivs"], lines[2]["Seccomp"]) == ("1", "2")


def test_no_namespace_can_be_entered_or_made(monitor):
    """Above all not the network of the airlock, which the device tells of, nor a new user namespace."""
    lines = monitor("""
import ctypes, fcntl
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    ctypes.set_errno(0)
    result = getattr(libc, name)(*arguments)
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
TUNGETDEVNETNS = 0x54e3
tap = int(os.environ.get("SANDGATE_TAP_FD", -1))
if tap < 0:
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", b"link0", 0x5002))
report(what="netns of the device", result=call("ioctl", tap, TUNGETDEVNETNS, 0))
for kind, flag in (("user", 0x10000000), ("net", 0x40000000), ("mnt", 0x20000), ("pid", 0x20000000)):
    report(what="unshare " + kind, result=call("unshare", flag))
    for pid in "1", "self":
        try:
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        except OSError as problem:
            report(what=f"open {kind} of {pid}", result=errname(problem))
            continue
        report(what=f"setns {kind} of {pid}", result=call("setns", fd, flag))
report(what="ptrace 1", result=call("ptrace", 16, 1, 0, 0))
report(what="mount", result=call("mount", b"none", b"/tmp", b"tmpfs", 0, 0))
""")
    assert lines
    for line in lines:
        assert line["result"] in ("EPERM", "EACCES", "EINVAL", "ENOSPC", "ENOSYS", "ESRCH"), line


def test_no_other_device_of_a_tunnel_can_be_had(monitor, how):
    """Its own device, once; not the gate's, not a new one."""
    lines = monitor("""
import fcntl
def attach(name, flags):
    try:
        fd = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", name, flags))
        held.append(fd)
        return "opened"
    except OSError as problem:
        return errname(problem)
held = []
TUN, TAP = 0x1001, 0x5002
report(**{name: attach(device, flags) for name, device, flags in (
    ("gate's", b"tun0", TUN), ("own", b"link0", TAP), ("again", b"link0", TAP),
    ("queues", b"link0", TAP | 0x100), ("new", b"mine", TAP), ("any", b"", TUN))})
""")
    got = lines[0]
    own = got.pop("own")
    assert own == ("opened" if how == "name" else "ENOENT")
    assert set(got.values()) <= {"EBUSY", "EPERM", "EINVAL", "ENOENT", "EACCES"}, got


def test_abstract_sockets_of_the_host_are_elsewhere(world, monitor, person, sandgate):
    """They belong to a network namespace, and the monitor's has none of the host's."""
    name = "service-" + sandgate.new_name()
    listen = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\n"
              "s.bind('\\0' + sys.argv[1]); s.listen(); print('up', flush=True); sys.stdin.read()")
    with world.machine.popen(["python3", "-c", listen, name], person, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout.readline() == "up\n"
        lines = monitor("""
s = socket.socket(socket.AF_UNIX)
try:
    s.connect("\\0" + sys.argv[1])
    report(result="connected")
except OSError as problem:
    report(result=errname(problem))
""", name)
        service.stdin.close()
    assert lines[0]["result"] == "ECONNREFUSED"


def test_the_airlocks_settings_cannot_be_written(monitor):
    """/proc/sys/net is that of the network that one stands in."""
    lines = monitor("""
for path in "net/ipv4/ip_forward", "net/ipv4/conf/all/rp_filter", "kernel/core_pattern":
    try:
        with open("/proc/sys/" + path, "w") as f:
            f.write("1")
        report(path=path, result="written")
    except OSError as problem:
        report(path=path, result=errname(problem))
""")
    assert all(line["result"] in ("EROFS", "EACCES", "ENOENT", "EPERM") for line in lines), lines


def test_a_machine_in_which_everything_is_tried_leaves_the_gate_alone(monitor, sandgate, world, how):
    """Requests to the device that a monitor may make are about the device, and whatever it sends is
    judged as any frame is."""
    site = world.site("api.example.com")
    lines = monitor("""
import fcntl
tap = int(os.environ.get("SANDGATE_TAP_FD", -1))
if tap < 0:
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, 0x400454ca, struct.pack("16sH22x", b"link0", 0x5002))
for number in (0x400454d0, 0x400454d4, 0x400454cc, 0x8924):
    try:
        fcntl.ioctl(tap, number, struct.pack("16sH6s16x", b"link0", 1, bytes(6)) if number == 0x8924 else 0)
    except OSError:
        pass
target = socket.inet_aton(sys.argv[1])
def frame(source, mac):
    tcp = struct.pack("!HHIIBBHHH", 4000, 80, 1, 0, 0x50, 2, 1024, 0, 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 1, 0, 64, 6, 0, source, target)
    return bytes(10) + bytes.fromhex("027367000001") + mac + b"\\x08\\0" + ip + tcp
own = bytes.fromhex("027367000002")
sent = 0
for source in "192.0.0.2", "192.0.0.1", "127.0.0.1", "10.0.0.1", "224.0.0.1", "0.0.0.0":
    for mac in own, bytes.fromhex("02aabbccddee"):
        for octets in frame(socket.inet_aton(source), mac), frame(socket.inet_aton(source), mac)[:20], bytes(9):
            try:
                os.write(tap, octets)
                sent += 1
            except OSError:
                pass
report(sent=sent)
""", site.address)
    assert lines[0]["sent"] > 0
    assert not world.left_the_host(to=site.address)
