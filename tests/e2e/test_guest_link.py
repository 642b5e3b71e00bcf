# SPDX-License-Identifier: Apache-2.0
"""What a virtual machine finds on its link: an address by DHCP, a router and a prefix, a resolver. By
clients that people have, and by the kernel itself, over the frame sockets of `sandgate vm-net`."""

import os
import re
import signal
import socket
import stat
import struct
import subprocess

import pytest

from internet.services import echo_tcp, echo_udp
from machine_link import GATE4, GATE6, KINDS, OWN4, OWN_MAC, PREFIX6, LinuxGuest, VmNet
from program import wait_until

DISCOVER, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE, INFORM = range(1, 9)


@pytest.fixture
def vm_net(sandgate):
    """vm_net(KIND, OPTION...) starts one; it is stopped at the end."""
    made = []

    def make(kind, *options):
        made.append(VmNet(sandgate, kind, *options))
        return made[-1]
    yield make
    for one in made:
        one.stop()


@pytest.fixture
def guest(vm_net):
    """guest(KIND, OPTION...) is a Linux kernel behind a gate, with nothing set but its device up."""
    made = []

    def make(kind, *options, **more):
        net = vm_net(kind, *options)
        made.append(LinuxGuest(net.connect(), **more))
        made[-1].net = net
        return made[-1]
    yield make
    for one in made:
        one.close()


# DHCP by hand.

def dhcp(kind, *options, ciaddr="0.0.0.0", mac=OWN_MAC, broadcast=True):
    """A client's message; options are (code, octets)."""
    head = struct.pack("!BBBBIHH", 1, 1, 6, 0, 0x53474448, 0, 0x8000 if broadcast else 0)
    head += socket.inet_aton(ciaddr) + bytes(12) + mac + bytes(10 + 64 + 128) + b"\x63\x82\x53\x63"
    body = b"".join(bytes([code, len(octets)]) + octets for code, octets in options)
    return head + bytes([53, 1, kind]) + body + b"\xff"


class Answer:
    def __init__(self, octets):
        assert octets[0] == 2 and octets[4:8] == b"SGDH"
        self.address = socket.inet_ntoa(octets[16:20])
        self.options, at = {}, 240
        while octets[at] != 255:
            code, n = octets[at], octets[at + 1]
            self.options[code] = octets[at + 2:at + 2 + n]
            at += 2 + n
        self.kind = self.options[53][0]

    def address_of(self, code):
        return socket.inet_ntoa(self.options[code])


class DhcpClient:
    """A socket of the guest's, port 68."""

    def __init__(self, guest):
        def bound():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
            s.bind(("0.0.0.0", 68))
            return s
        self.socket = guest.place.call(bound)

    def send(self, message, to="255.255.255.255"):
        self.socket.sendto(message, (to, 67))

    def answer(self, timeout=15):
        self.socket.settimeout(timeout)
        return Answer(self.socket.recv(1500))

    def ask(self, *message, **more):
        self.send(dhcp(*message, **more))
        return self.answer()

    def hears_nothing(self, seconds=0.5):
        self.socket.settimeout(seconds)
        try:
            return not self.socket.recv(1500)
        except TimeoutError:
            return True


def option(code, address):
    return code, socket.inet_aton(address)


@pytest.mark.parametrize("kind", KINDS)
def test_an_address_by_dhcp(guest, kind):
    client = DhcpClient(guest(kind))
    offer = client.ask(DISCOVER, (61, b"\1" + OWN_MAC))
    assert (offer.kind, offer.address) == (OFFER, OWN4)
    assert [offer.address_of(code) for code in (54, 3, 6)] == [GATE4] * 3
    assert offer.options[1] == socket.inet_aton("255.255.255.248")
    assert struct.unpack("!H", offer.options[26]) == (1500,)
    lease, first, second = (struct.unpack("!I", offer.options[code])[0] for code in (51, 58, 59))
    assert 3600 <= first < second < lease
    assert offer.options[61] == b"\1" + OWN_MAC  # RFC 6842
    assert client.ask(REQUEST, option(50, OWN4), option(54, GATE4)).kind == ACK
    # Started again with what it remembers, right or wrong.
    assert client.ask(REQUEST, option(50, OWN4)).kind == ACK
    refused = client.ask(REQUEST, option(50, "192.168.1.7"))
    assert (refused.kind, refused.address) == (NAK, "0.0.0.0")
    # It offers the same again, whatever was asked for or happened before.
    for kind_of_message in (DECLINE, RELEASE):
        client.send(dhcp(kind_of_message, option(54, GATE4)))
    assert client.hears_nothing()
    assert client.ask(DISCOVER, option(50, "10.1.2.3")).address == OWN4
    fast = client.ask(DISCOVER, (80, b""))
    assert (fast.kind, fast.options[80]) == (ACK, b"")


def test_renewing_and_asking_for_more(guest):
    """A client that has the address is answered there, by unicast."""
    machine = guest("stream")
    machine.place.ip(f"addr add {OWN4}/29 dev eth0")
    client = DhcpClient(machine)
    client.send(dhcp(REQUEST, ciaddr=OWN4, broadcast=False), to=GATE4)
    renewed = client.answer()
    assert (renewed.kind, renewed.address) == (ACK, OWN4)
    client.send(dhcp(INFORM, (55, bytes([6, 26])), ciaddr=OWN4, broadcast=False), to=GATE4)
    told = client.answer()
    assert (told.kind, told.address) == (ACK, "0.0.0.0")
    assert 51 not in told.options and told.address_of(6) == GATE4


def test_others_are_refused_and_counted(guest):
    machine = guest("stream", ipv6=False)  # which says things to everybody, unasked
    client, before = DhcpClient(machine), machine.net.noise()
    stranger = bytes.fromhex("027367000099")
    wrong = [dhcp(DISCOVER, mac=stranger), dhcp(DISCOVER)[:-40], dhcp(OFFER), dhcp(9), b"", b"\1" * 240,
             dhcp(REQUEST), dhcp(INFORM), b"\2" + dhcp(DISCOVER)[1:]]
    for message in wrong:
        client.send(message)
    assert client.hears_nothing()
    # Another server's client is none of this one's, and no noise.
    client.send(dhcp(REQUEST, option(50, OWN4), option(54, "192.168.1.1")))
    assert client.hears_nothing()
    assert machine.net.noise() == before + len(wrong)
    assert client.ask(DISCOVER).kind == OFFER


def test_a_flood_of_discovers(world, guest):
    """It has a few answers, and costs the machine's connections nothing."""
    there = world.address()
    echo_tcp(world, there, 7070)
    machine = guest("stream", "--only", f"{there}:7070")
    gate = machine.net.gate_pid
    machine.place.ip(f"addr add {OWN4}/29 dev eth0", f"route add default via {GATE4}")
    client = DhcpClient(machine)
    for _ in range(4000):
        client.send(dhcp(DISCOVER))
    assert echo_of(machine, there) == "through"
    answers = 0
    while not client.hears_nothing(1.5) and answers < 1000:
        answers += 1
    assert 1 <= answers < 1000
    assert machine.net.gate_pid == gate
    assert client.ask(DISCOVER).kind == OFFER


def echo_of(machine, address, port=7070):
    return machine.python("import socket, sys\n"
                          "s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)\n"
                          "s.sendall(b'through'); print(s.recv(100).decode())", address, port).strip()


# Real clients.

SCRIPT = """#!/bin/sh
[ "$1" = bound ] || exit 0
ip addr add $ip/$mask dev $interface
ip route add default via $router dev $interface
for d in $dns; do echo "nameserver $d"; done >/etc/resolv.conf
echo "ip=$ip mask=$mask router=$router dns=$dns mtu=$mtu lease=$lease serverid=$serverid"
"""


@pytest.mark.parametrize("kind", KINDS)
def test_udhcpc(world, guest, needs, kind):
    needs("udhcpc")
    site = world.site("web.example.com")
    machine = guest(kind, "--only", "web.example.com")
    machine.place.call(lambda: (open("/run/script", "w", encoding="ascii").write(SCRIPT),
                                os.chmod("/run/script", 0o755)))
    said = machine.ok(["udhcpc", "-i", "eth0", "-n", "-q", "-f", "-t", "20", "-T", "1", "-O", "mtu",
                       "-s", "/run/script"])
    assert f"ip={OWN4} mask=29 router={GATE4} dns={GATE4} mtu=1500 lease=604800 serverid={GATE4}" in said
    assert machine.ok(["curl", "-sS", "-m", "30", "http://web.example.com/"])
    assert site.requests


def test_dhclient(world, guest, needs):
    needs("dhclient")
    world.site("web.example.com")
    machine = guest("stream", "--only", "web.example.com")
    machine.ok(["dhclient", "-4", "-1", "-v", "-pf", "/run/dhclient.pid", "-lf", "/run/leases", "eth0"])
    try:
        assert machine.addresses(4) == [f"{OWN4}/29"]
        assert f"via {GATE4} dev eth0" in machine.route(4)
        assert machine.place.call(lambda: open("/etc/resolv.conf", encoding="ascii").read()).split()[-1] == \
            GATE4
        assert machine.ok(["curl", "-sS", "-m", "30", "http://web.example.com/"])
        machine.ok(["dhclient", "-4", "-r", "-pf", "/run/dhclient.pid", "-lf", "/run/leases", "eth0"])
        assert machine.addresses(4) == []
    finally:
        machine.run(["dhclient", "-4", "-x", "-pf", "/run/dhclient.pid", "-lf", "/run/leases", "eth0"])


NETWORKD = "/lib/systemd/systemd-networkd"
SETTINGS = "[Match]\nName=eth0\n[Network]\nDHCP=ipv4\nIPv6AcceptRA=yes\n[DHCPv4]\nUseMTU=yes\n"


def test_systemd_networkd(guest, needs):
    """Address, router, resolver and MTU of both families, by one that believes advertisements itself."""
    needs(NETWORKD)
    machine = guest("dgram", mtu=1400)

    def settings():
        os.makedirs("/run/systemd/network")
        os.makedirs("/run/systemd/netif")
        with open("/run/systemd/network/10-eth0.network", "w", encoding="ascii") as f:
            f.write(SETTINGS)
        # It takes a read-only /sys for a container's, where no udev says that a device is ready.
        subprocess.run(["sh", "-ec", "mount -t sysfs -o ro sysfs /sys; chmod 777 /run/systemd/netif; "
                        "mkdir -p /run/systemd/netif/links /run/systemd/netif/leases; "
                        "chmod 777 /run/systemd/netif/links /run/systemd/netif/leases"], check=True)
    machine.place.call(settings)
    daemon = machine.place.popen([NETWORKD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: machine.addresses(4) == [f"{OWN4}/29"], 30, "an address by DHCP")
        assert machine.await_address6().startswith(PREFIX6)
        wait_until(lambda: f"via {GATE4} dev eth0" in machine.route(4), 30, "a router")
        wait_until(lambda: "via fe80::" in machine.route(6), 30, "a router by IPv6")
        assert "mtu 1500" in machine.ok(["ip", "link", "show", "eth0"])

        def lease():
            folder, index = "/run/systemd/netif/links", socket.if_nametoindex("eth0")
            with open(f"{folder}/{index}", encoding="ascii") as f:
                return f.read()
        wait_until(lambda: {GATE4, GATE6} <= set(re.split(r"[\s=]", machine.place.call(lease))), 30,
                   "resolvers of both families")
    finally:
        daemon.kill()
        daemon.wait()


# The router, by the kernel itself.

@pytest.mark.parametrize("kind", KINDS)
def test_a_prefix_and_a_router(world, guest, kind):
    there4, there6 = world.address(), world.address6()
    for address in (there4, there6):
        echo_tcp(world, address, 7070)
        echo_udp(world, address, 7070)
    machine = guest(kind, "--only", f"{there4}:7070,[{there6}]:7070,[{there6}]:7070/udp")
    own6 = machine.await_address6()
    assert own6.startswith(PREFIX6) and own6 != GATE6
    wait_until(lambda: "via fe80::1 dev eth0" in machine.route(6), 30, "a router")
    assert machine.place.call(lambda: open("/proc/sys/net/ipv6/conf/eth0/mtu", encoding="ascii").read()) == \
        "1500\n"
    assert echo_of(machine, there6) == "through"
    machine.place.ip(f"addr add {OWN4}/29 dev eth0", f"route add default via {GATE4}")
    assert echo_of(machine, there4) == "through"
    # A second address of the prefix is the machine's too; the gate's is not.
    machine.place.ip(f"addr add {PREFIX6}:77/64 dev eth0 nodad")
    for source in (own6, f"{PREFIX6}:77"):
        said = machine.python("import socket, sys\n"
                              "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.settimeout(20)\n"
                              "s.bind((sys.argv[1], 5555)); s.sendto(b'through', (sys.argv[2], 7070))\n"
                              "print(s.recv(100).decode())", source, there6)
        assert said.strip() == "through"


NAMES = """
import socket, struct, sys
question = b"\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + b"".join(
    bytes([len(p)]) + p.encode() for p in sys.argv[3].split(".")) + b"\\0\\0\\1\\0\\1"
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
if sys.argv[2] == "udp":
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(20)
    s.connect((sys.argv[1], 53)); s.send(question); answer = s.recv(1000)
else:
    s = socket.create_connection((sys.argv[1], 53), 20)
    s.sendall(struct.pack("!H", len(question)) + question); answer = s.recv(1000)[2:]
print(answer[3] & 15, socket.inet_ntoa(answer[-4:]) if answer[7] else "")
"""


def test_the_resolver(world, guest):
    """By UDP and TCP, of both addresses; the gate's own names, others, refused ones."""
    web = world.site("web.example.com").addresses[0]
    machine = guest("stream", "--only", "web.example.com")
    machine.await_address6()
    machine.place.ip(f"addr add {OWN4}/29 dev eth0", f"route add default via {GATE4}")
    for server in (GATE4, GATE6):
        for way in ("udp", "tcp"):
            ask = lambda name: machine.python(NAMES, server, way, name).split()
            assert ask("host.sandgate.internal") == ["0", GATE4]
            assert ask("web.example.com") == ["0", web]
            assert ask("other.example.com") == ["5"]


def test_an_echo_of_the_gate_is_as_in_any_sandbox(guest, sandgate):
    """What bubblewrap's sandbox is told of a ping to the gate, a machine is told."""
    machine = guest("stream")
    machine.await_address6()
    machine.place.ip(f"addr add {OWN4}/29 dev eth0", f"route add default via {GATE4}")
    for address in (GATE4, GATE6):
        ping = ["ping", "-c", "1", "-W", "5", address]
        told = sandgate.run("--only", "93.184.200.1", command=ping)
        lines = [[line for line in text.splitlines() if "From" in line or "bytes from" in line]
                 for text in (told.out, machine.run(ping).stdout)]
        assert [bool(found) for found in lines] == [True, True]
        assert lines[0][0].split("time=")[0].split(" ", 2)[2:] == \
            lines[1][0].split("time=")[0].split(" ", 2)[2:]


@pytest.mark.parametrize("mtu", (1280, 9000, 65520))
def test_the_mtu_is_told(guest, mtu):
    machine = guest("stream", "--mtu", str(mtu), mtu=65520 if mtu > 1500 else 1500)
    offer = DhcpClient(machine).ask(DISCOVER)
    assert struct.unpack("!H", offer.options[26]) == (mtu,)
    machine.await_address6()
    assert machine.place.call(lambda: open("/proc/sys/net/ipv6/conf/eth0/mtu", encoding="ascii").read()) == \
        f"{mtu}\n"


# Who dies.

@pytest.mark.parametrize("kind", KINDS)
def test_the_gate_and_the_carrier_are_replaced(world, guest, kind):
    there = world.address()
    echo_tcp(world, there, 7070)
    machine = guest("stream" if kind == "stream" else "dgram", "--only", f"{there}:7070")
    machine.place.ip(f"addr add {OWN4}/29 dev eth0", f"route add default via {GATE4}")
    net, client = machine.net, DhcpClient(machine)
    assert client.ask(DISCOVER).kind == OFFER
    gate = net.gate_pid
    os.kill(gate, signal.SIGKILL)
    wait_until(lambda: _pid(lambda: net.gate_pid) not in (None, gate), 20, "another gate")
    wait_until(lambda: _offered(client), 20, "an offer by another gate")
    carrier = net.frames_pid
    os.kill(carrier, signal.SIGKILL)
    wait_until(lambda: _pid(lambda: net.frames_pid) not in (None, carrier), 20, "another carrier")
    if kind == "stream":  # the connection went with it, and a monitor makes another one
        machine.reconnect(net.connect())
    wait_until(lambda: _offered(client), 20, "an offer by another carrier")
    assert echo_of(machine, there) == "through"


def _pid(find):
    try:
        return find()
    except (AssertionError, OSError):
        return None


def _offered(client):
    client.send(dhcp(DISCOVER))
    try:
        return client.answer(0.5).kind == OFFER
    except TimeoutError:
        return False


# The socket.

@pytest.mark.parametrize("kind", KINDS)
def test_the_socket_is_its_owners_and_goes_at_the_end(vm_net, kind):
    net = vm_net(kind)
    found = net.machine.place.call(lambda: os.lstat(net.path))
    assert stat.S_ISSOCK(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600
    assert found.st_uid == 1000
    with pytest.raises(PermissionError):
        net.machine.place.call(lambda: _as_nobody(net))
    net.stop()
    wait_until(lambda: not net.machine.exists(net.path), 20, "the end of the socket's file")


def _as_nobody(net):
    kind = socket.SOCK_STREAM if net.kind == "stream" else socket.SOCK_DGRAM
    code = ("import socket, sys; s = socket.socket(socket.AF_UNIX, int(sys.argv[2])); "
            "s.connect(sys.argv[1])")
    done = subprocess.run(["python3", "-c", code, net.path, str(int(kind))], user=65534, group=65534,
                          extra_groups=[], capture_output=True, text=True)
    if "PermissionError" in done.stderr:
        raise PermissionError


def test_a_length_that_is_none_ends_the_connection(vm_net):
    net = vm_net("stream")
    wire, before = net.connect(), net.noise()
    wire.socket.sendall(struct.pack("!I", 0x7FFFFFFF) + bytes(60))
    wire.closed_by_peer()
    wait_until(lambda: net.noise() == before + 1, 15, "the refusal's count")
    again = net.connect()
    again.send(OWN_MAC + OWN_MAC + b"\x88\xb6" + bytes(46))
    wait_until(lambda: net.noise() == before + 2, 15, "the next client's frame")
    wire.close()
    again.close()
