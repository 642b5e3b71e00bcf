# SPDX-License-Identifier: Apache-2.0
"""Virtual machines as a person uses them: `sandgate vm-net` and `sandgate run --engine qemu`. What every
engine has in common is tested with every engine elsewhere; here is what only a machine has."""

import os
import re
import signal

import pytest

from engines.vm import KERNEL, ByName, Dgram, Qemu, Stream, Tap
from internet.services import echo_tcp
from program import AT_ONCE, SANITIZED, Sandgate, descendants, read_proc, wait_until

WAYS = {"descriptor": Tap, "name": ByName, "stream": Stream, "dgram": Dgram, "qemu": Qemu}
# Under the sanitizers, which are slow beside an emulated machine, one of each kind of link.
every_way = pytest.mark.parametrize("way", ["descriptor", "dgram"] if SANITIZED else WAYS)


@pytest.fixture(scope="session")
def made_ways():
    return {}


@pytest.fixture
def way():
    return "descriptor"


@pytest.fixture
def engine(world, program, way, made_ways):
    kind = WAYS[way]
    if kind.missing():
        pytest.skip(f"{kind.id}: {kind.missing()}")
    if (way, world) not in made_ways:
        made_ways[way, world] = kind(world, world.machine.install(program))
    return made_ways[way, world]


def dial(box, address, port):
    """("connected" or the error's name, seconds), from inside."""
    got = box.python("result, seconds = try_dial(sys.argv[1], int(sys.argv[2]))\n"
                     "report(result=result, seconds=seconds)", address, port)
    assert got.ok, got
    return got.json["result"], got.json["seconds"]


# What a guest finds.

@every_way
def test_a_guest_configures_itself_and_reaches_what_it_may(world, sandgate):
    """DHCP, router advertisements, names; an allowed host over both families; another one is refused at
    once and never seen outside."""
    site = world.site("api.example.com", v6=True)
    other = world.site("other.example.com", http=True)
    box = sandgate.box("--only", "api.example.com")
    assert "192.0.0.2/29" in box.run("ip -4 addr show dev eth0").out
    assert box.run("cat /etc/resolv.conf").out.split() == ["nameserver", "192.0.0.1"]
    wait_until(lambda: "fd73:616e:6467:1:" in box.run("ip -6 addr show dev eth0 scope global").out, 20,
               "an address by the router's word")
    assert re.search(r"default via fe80::", box.run("ip -6 route").out)
    for family in "-4", "-6":
        for url in "http://api.example.com/", "https://api.example.com/":
            got = box.curl(url, family)
            assert got.ok and "hello from api.example.com" in got.out, got
    result, seconds = dial(box, other.addresses[0], 80)
    assert result == "ECONNREFUSED" and seconds < AT_ONCE
    assert box.run(["getent", "hosts", "other.example.com"]).status == 2
    assert not world.left_the_host(to=other.addresses[0])
    assert box.refused() == 1
    assert site.requests
    ended = box.stop()
    if sandgate.engine.says_its_end:
        assert ended.ok and other.addresses[0] in ended.err, ended


@every_way
def test_a_live_change_reaches_a_machine(world, sandgate):
    address = world.address()
    world.name("late.example.com", address)
    echo_tcp(world, address, 5432)
    box = sandgate.box("--net", "deny")
    assert dial(box, address, 5432)[0] == "ECONNREFUSED"
    assert sandgate("net", "allow", box.name, f"{address}:5432").ok
    assert dial(box, address, 5432)[0] == "connected"
    assert sandgate("net", "deny", box.name, f"{address}:5432").ok
    assert dial(box, address, 5432)[0] == "ECONNREFUSED"


def test_the_gate_killed_under_a_machine(world, sandgate):
    """An open flow is reset, nothing leaves meanwhile, a new gate takes over, and the lease still holds."""
    address = world.address()
    echo_tcp(world, address, 7)
    box = sandgate.box("--only", f"{address}:7")
    # What is echoed may come before the gate's end or not at all.
    flow = box.start_python("s = dial(sys.argv[1], 7)\ntry:\n    s.sendall(b'x')\n    while s.recv(1): pass\n"
                            "    report(end='')\nexcept OSError as e: report(end=errname(e))\n", address)
    wait_until(lambda: box.egress()["flows"]["open"] == 1, what="the flow")
    gate = box.gate_pid
    os.kill(gate, signal.SIGKILL)
    assert flow.wait().json["end"] in ("ECONNRESET", "")
    wait_until(lambda: gate_of(box) not in (None, gate), what="a new gate")
    assert dial(box, address, 7)[0] == "connected"
    assert box.run("udhcpc -q -n -f -i eth0 -t 5 -T 1 -s /etc/dhcp.sh").ok


def gate_of(box):
    try:
        return box.gate_pid
    except AssertionError:
        return None


@pytest.mark.parametrize("way", ["descriptor", "name", "qemu"])
def test_a_monitor_killed_ends_the_sandbox(world, sandgate):
    box = sandgate.box("--net", "deny")
    monitor = [pid for pid in descendants(box.process.pid) if read_proc(pid, "comm").startswith("qemu")]
    assert len(monitor) == 1
    os.kill(monitor[0], signal.SIGKILL)
    assert box.process.wait(60) == 128 + signal.SIGKILL
    assert box.name not in [row["name"] for row in sandgate.json("ls") if row["state"] == "running"]


def test_a_published_port_leads_to_the_guest(world, sandgate):
    box = sandgate.box("--net", "deny", "--publish", "18080:80")
    box.start_python("""
server = socket.create_server(("192.0.0.2", 80))
while True:
    s, peer = server.accept()
    s.sendall(b"from the guest")
    s.close()
""")
    ask = ("import socket\ns = socket.create_connection(('127.0.0.1', 18080), 10)\n"
           "print(s.recv(100).decode())")
    wait_until(lambda: world.machine.run(["python3", "-c", ask], person="dev").stdout == "from the guest\n",
               timeout=60, what="the guest's server")


def test_addresses_and_sizes_are_what_was_asked_for(world, program, sandgate):
    """--mac and --mtu reach the guest by its monitor's words, and the router agrees."""
    mac = "02:aa:bb:cc:dd:ee"
    box = sandgate.box("--net", "deny", "--mac", mac, "--mtu", "9000")
    assert f"link/ether {mac}" in box.run("ip link show dev eth0").out
    assert "mtu 9000" in box.run("ip link show dev eth0").out
    assert box.run("cat /proc/sys/net/ipv6/conf/eth0/mtu").out.strip() == "9000"
    assert box.run(["getent", "ahosts", "gateway.sandgate.internal"]).ok


# The monitor.

def vm_net(sandgate, *words, **more):
    return sandgate("vm-net", *words, **more)


def test_words_and_variables_of_a_monitor(sandgate):
    script = 'echo "$@"; echo $SANDGATE_TAP_FD $SANDGATE_TAP_MAC; ls -l /proc/self/fd/3; exit 7'
    done = vm_net(sandgate, "--net", "deny", sandgate.new_name(), "--", "sh", "-c", script, "sh",
                  "fd={fd},mac={mac},mtu={mtu}", "{other}")
    assert done.status == 7, done
    assert done.out.splitlines()[:2] == ["fd=3,mac=02:73:67:00:00:02,mtu=1500 {other}",
                                        "3 02:73:67:00:00:02"]
    assert done.out.rstrip().endswith("/dev/net/tun")


def test_the_status_of_a_monitor_that_a_signal_ended(sandgate):
    assert vm_net(sandgate, "--net", "deny", sandgate.new_name(), "--", "sh", "-c", "kill -9 $$").status == 137


def test_what_cannot_be_is_refused_in_words(sandgate, world):
    name = sandgate.new_name()
    for words, part in (
            ((name,), "only root reaches the device from outside"),
            (("--net", "none", name, "--", "true"), "--net none"),
            (("--stream", "a", "--dgram", "b", name), "a machine has one link"),
            (("--stream", "a", name, "--", "true"), "a monitor that sandgate starts has the device itself"),
            (("--stream", "a", "--by-name", name), "with a frame socket no device is opened"),
            (("--mac", "01:00:5e:00:00:01", name, "--", "true"), "no address of one device"),
            (("--mtu", "1279", name, "--", "true"), "from 1280 to 65520"),
            (("--mtu", "70000", name, "--", "true"), "from 1280 to 65520"),
            (("--net", "deny", name, "--", "echo", "{tap}"), "--by-name"),
            (("--net", "deny", "--by-name", name, "--", "echo", "{fd}"), "{tap}")):
        done = vm_net(sandgate, *words)
        assert done.status == 2 and part in done.err, (words, done)
    assert vm_net(sandgate, "--net", "deny", name, "--", "no-such-monitor").status == 127


def test_the_device_waits_for_a_monitor_of_roots(world, program, engine):
    """What `jailer --netns` is given: a monitor that is put into that network opens the device by name."""
    sandgate = Sandgate(world, world.machine.install(program), "root", engine)
    name = sandgate.new_name()
    done = vm_net(sandgate, "--net", "deny", "--background", name)
    try:
        assert done.ok, done
        place = re.search(r"/proc/\d+/ns/net", done.err).group()
        ask = ("import fcntl, os, struct, sys\nt = os.open('/dev/net/tun', os.O_RDWR)\n"
               "fcntl.ioctl(t, 0x400454ca, struct.pack('16sH22x', b'link0', 0x5002))\n"
               "print('opened')")
        got = world.machine.run(["nsenter", f"--net={place}", "python3", "-c", ask], person="root")
        assert got.stdout.strip() == "opened", got
    finally:
        assert sandgate("stop", name).ok


def test_a_background_one_ends_when_it_is_stopped(world, sandgate):
    name, folder = sandgate.new_name(), world.machine.new_work("dev")
    done = vm_net(sandgate, "--net", "deny", "--background", "--stream", f"{folder}/link", name)
    assert done.ok, done
    row = next(row for row in sandgate.json("ls") if row["name"] == name)
    assert (row["engine"], row["state"]) == ("vm", "running")
    again = vm_net(sandgate, "--net", "deny", "--stream", f"{folder}/other", name)
    assert again.status == 125 and "runs already" in again.err
    refused = sandgate("exec", name, "--", "true")
    assert refused.status == 125 and "no command runs beside a machine" in refused.err, refused
    assert sandgate("stop", name).ok
    assert not world.machine.exists(f"{folder}/link")
    assert name not in [row["name"] for row in sandgate.json("ls")]


def test_a_background_one_looks_from_where_it_was_started(world, sandgate):
    """For its socket, and for the project, whose file is confirmed as anywhere."""
    name, folder = sandgate.new_name(), world.machine.new_work("dev")
    world.machine.write(f"{folder}/sandgate.yaml", "network: deny\nallow: [api.example.com]\n", "dev")
    words = "--background", "--stream", "link", name
    asked = vm_net(sandgate, *words, cwd=folder)
    assert asked.status == 2 and "sandgate.yaml" in asked.err, asked
    done = vm_net(sandgate, "--yes", *words, cwd=folder)
    assert done.ok and world.machine.exists(f"{folder}/link"), done
    assert sandgate.json("egress", name)["policy"] == "allow: api.example.com (deny)"
    assert sandgate("stop", name).ok
    assert not world.machine.exists(f"{folder}/link")


# QEMU of sandgate's.

def qemu(sandgate, *options, words=(), **more):
    return sandgate("run", "--engine", "qemu", "--net", "deny", *options, "--", "-accel", "tcg", "-m", "256",
                    "-no-reboot", *words, **more)


@pytest.mark.parametrize("way", ["qemu"])
def test_words_that_make_another_way_out_are_refused(sandgate):
    """Each with what to do instead; the table is tested in tests/unit/test_qemu_words.c."""
    for words, part in ((("-netdev", "user,id=n"), "--publish"),
                        (("-device", "vhost-vsock-pci,guest-cid=3"), "no gate sees"),
                        (("-virtfs", "local,path=/,mount_tag=x,security_model=none"), "no folder"),
                        (("-monitor", "tcp::4444,server"), "channel past the gate"),
                        (("-drive", "file=nbd:127.0.0.1:1,format=raw"), "only files of this machine"),
                        (("disk.img",), "--image")):
        done = qemu(sandgate, words=("-kernel", KERNEL, *words))
        assert done.status == 2 and part in done.err, done
    for option in ("--as-root",), ("--env", "A=b"), ("--hide", "/etc/hosts"):
        assert qemu(sandgate, *option, words=("-kernel", KERNEL)).status == 2
    done = sandgate("run", "--engine", "qemu", "--net", "deny")
    assert done.status == 2 and "--image" in done.err, done


def make_disk(world, path, octets, size=1 << 20):
    def make():
        with open(path, "wb") as f:
            f.write(octets)
            f.truncate(size)
        os.chown(path, 1000, 1000)
    world.machine.place.call(make)


def read_disk(world, path, n):
    def read():
        with open(path, "rb") as f:
            return f.read(n)
    return world.machine.place.call(read)


@pytest.mark.parametrize("way", ["qemu"])
def test_a_disk_keeps_what_is_written_only_when_rw_names_it(world, sandgate):
    work = world.machine.new_work("dev")
    make_disk(world, f"{work}/disk.img", b"before")
    box = sandgate.box("--net", "deny", "--image", "disk.img", cwd=work)
    assert box.run("dd if=/dev/vda bs=6 count=1 2>/dev/null").out == "before"
    assert box.run("printf change | dd of=/dev/vda conv=notrunc,fsync 2>/dev/null; "
                   "dd if=/dev/vda bs=6 count=1 2>/dev/null").out == "change"
    assert box.stop().ok
    assert read_disk(world, f"{work}/disk.img", 6) == b"before"
    box = sandgate.box("--net", "deny", "--image", "disk.img", "--rw", "disk.img", cwd=work)
    assert box.run("printf change | dd of=/dev/vda conv=notrunc,fsync 2>/dev/null").ok
    assert box.stop().ok
    assert read_disk(world, f"{work}/disk.img", 6) == b"change"


@pytest.mark.parametrize("way", ["qemu"])
def test_a_disks_contents_say_nothing_of_its_format(world, sandgate):
    """A guest can write the head of a qcow2 that stands on a file of the host's into its raw disk."""
    work = world.machine.new_work("dev")
    name = b"/home/dev/.ssh/id_ed25519"
    head = b"QFI\xfb\0\0\0\3" + (0x1f0).to_bytes(8, "big") + len(name).to_bytes(4, "big")
    head = head.ljust(0x1f0, b"\0") + name
    make_disk(world, f"{work}/disk.img", head)
    done = qemu(sandgate, "--image", "disk.img", cwd=work)
    assert done.status == 2 and "rename it to end in .qcow2" in done.err, done
    make_disk(world, f"{work}/disk.qcow2", head)
    done = qemu(sandgate, "--image", "disk.qcow2", cwd=work)
    assert done.status == 2 and "add --ro /home/dev/.ssh/id_ed25519" in done.err, done


@pytest.mark.parametrize("way", ["qemu"])
def test_stop_presses_the_power_button(world, sandgate):
    """A guest that heeds it powers itself off, in its own good order."""
    work = world.machine.new_work("dev")
    make_disk(world, f"{work}/disk.img", b"")
    box = sandgate.box("--net", "deny", "--image", "disk.img", "--rw", "disk.img", cwd=work)
    box.start_python("""
import select
events = [open("/dev/input/" + name, "rb", buffering=0) for name in os.listdir("/dev/input")]
open("/tmp/ready", "w").close()
select.select(events, [], [])
with open("/dev/vda", "r+b") as disk:
    disk.write(b"pressed")
os.sync()
os.system("poweroff -f")
""")
    wait_until(lambda: box.run("test -e /tmp/ready").ok, timeout=60, what="the guest's watch of its button")
    assert sandgate("stop", "--time", "60", box.name, timeout=120).ok
    assert box.process.wait(60) == 0
    assert read_disk(world, f"{work}/disk.img", 7) == b"pressed"


@pytest.mark.parametrize("way", ["qemu"])
def test_qemu_has_nothing_but_its_files(world, sandgate):
    """No capability, no network, no project, no other process, two filters of system calls and its own."""
    work = world.machine.new_work("dev")
    world.machine.write(f"{work}/project.txt", "x", "dev")
    box = sandgate.box("--net", "deny", cwd=work)
    pid = next(pid for pid in descendants(box.process.pid) if read_proc(pid, "comm").startswith("qemu"))
    status = read_proc(pid, "status")
    assert re.search(r"^CapEff:\t0+$", status, re.MULTILINE) and re.search(r"^CapBnd:\t0+$", status, re.MULTILINE)
    assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE)
    assert int(re.search(r"^Seccomp_filters:\t(\d+)$", status, re.MULTILINE).group(1)) >= 3
    assert [line.split(":")[0].strip() for line in read_proc(pid, "net/dev").splitlines()[2:]] == ["lo"]
    root = f"/proc/{pid}/root"
    assert os.path.exists(f"{root}{KERNEL}") and not os.path.exists(f"{root}{work}/project.txt")
    assert os.listdir(f"{root}/home/dev") == []
    held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    assert sum("tun" in target for target in held) == 1
    row = next(row for row in sandgate.json("ls") if row["name"] == box.name)
    assert row["engine"] == "qemu"
    done = sandgate("exec", box.name, "--", "true")
    assert done.status == 125 and "ssh with --publish" in done.err, done
