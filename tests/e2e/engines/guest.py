# SPDX-License-Identifier: Apache-2.0
"""The file system that containers and virtual machines of the tests run from.

It is made of what this machine has: BusyBox, the programs that tests run inside, with the libraries
they load, and as much of Python's library as the tests import. As a tar it is a container's image, as
a cpio archive with a kernel's modules and an init it is a virtual machine's. It is made once a run of
the tests, of files that are read where they lie; nothing of it stays.
"""

import functools
import glob
import io
import os
import py_compile
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INSIDE = os.path.join(HERE, "..", "inside")
PROJECT = os.path.join(HERE, "..", "..", "..")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

PROGRAMS = ("bash", "curl", "dig", "getent", "git", "ip", "nc", "openssl", "ping", "python3", "ssh", "wget")
BUSYBOX = "/bin/busybox"

_MODULES = """
import array, asyncio, base64, cgi, concurrent.futures, contextlib, ctypes, encodings.idna, errno, fcntl
import hashlib, hmac, http.client, http.server, ipaddress, itertools, json, mmap, os, queue, random, re
import resource, select, selectors, shutil, signal, socket, socketserver, ssl, stat, string, struct
import subprocess, tempfile, threading, time, traceback, unicodedata, urllib.parse, urllib.request, uuid
import encodings.latin_1, encodings.ascii, encodings.utf_8, encodings.cp437, encodings.punycode, stringprep, zlib, zipimport
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
import sys
for module in list(sys.modules.values()):
    if getattr(module, "__file__", None) and getattr(module, "__name__", "") != "__main__":
        print(module.__file__)
"""

# In the order in which they can be loaded; the kernel may have any of them built in.
BUS_MODULES = """
drivers/virtio/virtio_ring drivers/virtio/virtio drivers/virtio/virtio_mmio
drivers/virtio/virtio_pci_modern_dev drivers/virtio/virtio_pci_legacy_dev drivers/virtio/virtio_pci
drivers/char/virtio_console drivers/block/virtio_blk drivers/acpi/button drivers/input/evdev
net/packet/af_packet
""".split()
NETWORK_MODULES = "net/core/failover drivers/net/net_failover drivers/net/virtio_net".split()

_ETC = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "services": "http 80/tcp\nhttps 443/tcp\ndomain 53/tcp\ndomain 53/udp\n",
    "protocols": "ip 0 IP\nicmp 1 ICMP\ntcp 6 TCP\nudp 17 UDP\nipv6-icmp 58 IPv6-ICMP\n",
    "hostname": "guest\n",
}

# Writes what the server of the link offers; as udhcpc(8) says it in its environment.
_DHCP_SCRIPT = """#!/bin/sh
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip -4 addr flush dev $interface scope global
[ -z "$mtu" ] || ip link set $interface mtu $mtu
ip addr add $ip/${mask:-32} dev $interface
for r in $router; do
	ip route replace $r dev $interface
	ip route replace default via $r dev $interface
done
: >/etc/resolv.conf
[ -z "$domain" ] || echo "search $domain" >>/etc/resolv.conf
for d in $dns; do echo "nameserver $d" >>/etc/resolv.conf; done
"""

# net=dhcp, or net=ADDRESS/LENGTH,GATEWAY,RESOLVER, or net=none; what agent= names is spoken to, a
# device. With wait=1 the machine stands still before it has looked at its network, until a line comes:
# what was saved there can go on with another network than it was saved with.
_INIT = """#!/bin/sh
export PATH=@PATH@ HOME=/root LANG=C.UTF-8
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp; mount -t tmpfs run /run
load() { for m; do [ ! -e /lib/modules/$m.ko ] || insmod /lib/modules/$m.ko; done; }
there() { n=0; while [ ! -e $1 ] && [ $n -lt 500 ]; do usleep 10000; n=$((n + 1)); done; }
net=dhcp agent=/dev/vport0p1 wait=
for w in $(cat /proc/cmdline); do
	case $w in net=*) net=${w#net=} ;; agent=*) agent=${w#agent=} ;; wait=*) wait=${w#wait=} ;; esac
done
load @BUS_MODULES@
there $agent
until (: <>$agent) 2>/dev/null; do usleep 10000; done
case $agent in /dev/tty*) stty raw -echo <$agent ;; esac
exec 3<>$agent
if [ -n "$wait" ]; then echo waiting >&3; read go <&3; fi
load @NETWORK_MODULES@
ip link set lo up
[ $net = none ] || there /sys/class/net/eth0
# Nobody else can have its addresses, and a router answers at once.
for set in accept_dad router_solicitation_delay; do
	[ ! -e /proc/sys/net/ipv6/conf/eth0/$set ] || echo 0 >/proc/sys/net/ipv6/conf/eth0/$set
done
ip link set eth0 up
case $net in
dhcp) udhcpc -q -n -i eth0 -t 50 -T 1 -s /etc/dhcp.sh >/dev/kmsg 2>&1 ;;
none) ;;
*)
	a=${net%%,*} r=${net#*,}; g=${r%%,*} d=${r#*,}
	ip addr add $a dev eth0; ip route add default via $g; echo "nameserver $d" >/etc/resolv.conf
	;;
esac
n=0
while [ $net = dhcp ] && [ -z "$(ip -6 route show default)" ] && [ $n -lt 300 ]; do usleep 10000; n=$((n + 1)); done
ulimit -Hn 20000  # as the other engines' containers may
python3 -u /agent.py <&3 >&3 2>/dev/kmsg
poweroff -f
"""


def missing():
    """What this machine does not have of it, with the package; None when nothing is missing."""
    for program, package in (("busybox", "busybox-static"), ("curl", "curl"), ("dig", "bind9-dnsutils"),
                             ("git", "git"), ("nc", "netcat-openbsd"), ("ping", "iputils-ping"),
                             ("ssh", "openssh-client")):
        if not shutil.which(program):
            return f"{program} is not installed ({package})"
    return None


def kernel():
    """(path of a kernel for virtual machines, path of its modules), or None."""
    for root in (os.path.join(PROJECT, "build-deb", "test"), "/"):
        boot = os.path.join(root, "boot")
        images = [name for name in os.listdir(boot) if name.startswith("vmlinuz-")] if os.path.isdir(boot) else []
        for image in sorted(images, key=lambda name: "cloud" not in name):
            modules = os.path.join(root, "lib/modules", image.removeprefix("vmlinuz-"), "kernel")
            if os.path.isdir(modules):
                return os.path.join(boot, image), modules
    return None


def _merged(path):
    """/lib/x is /usr/lib/x."""
    return "/usr" + path if re.match(r"/(lib|lib64|bin|sbin)/", path) else path


def _libraries(paths):
    """What the programs and libraries at these paths load, all the way down."""
    said = subprocess.run(["ldd", *sorted(paths)], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"^\s+(?:\S+ => )?(/\S+) \(0x", said, re.MULTILINE))


def _compiled(source, scratch):
    target = os.path.join(scratch, "module.pyc")
    py_compile.compile(source, target, doraise=True,
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    with open(target, "rb") as f:
        return f.read()


def _read(path):
    with open(path, "rb") as f:
        return f.read()


class Tree:
    """Files by path: (mode, octets), for a link its target; folders are made as they are needed."""

    def __init__(self):
        self.files, self.links, self.folders = {}, {}, {}

    def folder(self, path, mode=0o755):
        if path not in ("", "/") and path not in self.links:
            self.folder(os.path.dirname(path))
            self.folders[path] = mode

    def file(self, path, octets, mode=0o644):
        self.folder(os.path.dirname(path))
        self.files[path] = (mode, octets if isinstance(octets, bytes) else octets.encode())

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self.links[path] = target

    def copy(self):
        other = Tree()
        other.files, other.links, other.folders = dict(self.files), dict(self.links), dict(self.folders)
        return other

    def entries(self):
        """(path without the first slash, mode with the file's kind, octets), folders first."""
        for path in sorted(self.folders):
            yield path[1:], 0o040000 | self.folders[path], b""
        for path, target in sorted(self.links.items()):
            yield path[1:], 0o120777, target.encode()
        for path, (mode, octets) in sorted(self.files.items()):
            yield path[1:], 0o100000 | mode, octets

    def tar(self):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, mode, octets in self.entries():
                info = tarfile.TarInfo(path)
                info.mode = mode & 0o7777
                info.type = {0o04: tarfile.DIRTYPE, 0o12: tarfile.SYMTYPE}.get(mode >> 12, tarfile.REGTYPE)
                info.linkname = octets.decode() if info.type == tarfile.SYMTYPE else ""
                info.size = len(octets) if info.type == tarfile.REGTYPE else 0
                archive.addfile(info, io.BytesIO(octets) if info.size else None)
        return out.getvalue()

    def cpio(self):
        """The "newc" form, as the kernel unpacks it (Documentation/driver-api/early-userspace)."""
        out = bytearray()
        for number, (path, mode, octets) in enumerate([*self.entries(), ("TRAILER!!!", 0, b"")], 1):
            name = path.encode() + b"\0"
            fields = (number, mode, 0, 0, 1, 0, len(octets), 0, 0, 0, 0, len(name), 0)
            out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
            out += bytes(-len(out) % 4) + octets
            out += bytes(-len(out) % 4)
        return bytes(out)


@functools.lru_cache(maxsize=1)
def _base():
    tree = Tree()
    for name in ("bin", "sbin", "lib", "lib64"):
        tree.folder("/usr/" + name)
        tree.link("/" + name, "usr/" + name)
    for path in ("/dev", "/etc", "/mnt", "/proc", "/root", "/run", "/sys", "/var/tmp"):
        tree.folder(path)
    tree.folder("/tmp", 0o1777)
    for name, text in _ETC.items():
        tree.file("/etc/" + name, text)
    _add_programs(tree)
    return tree


def _add_programs(tree):
    paths = {name: shutil.which(name, path=PATH) for name in PROGRAMS}
    binaries = {os.path.realpath(path) for path in paths.values()}
    for name, path in paths.items():
        tree.file("/usr/bin/" + name, _read(path), 0o755)
    tree.file("/usr/bin/busybox", _read(BUSYBOX), 0o755)
    for applet in subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if "/usr/bin/" + applet not in tree.files:
            tree.link("/usr/bin/" + applet, "busybox")
    binaries |= _add_python(tree)
    for library in _libraries(binaries):
        octets = _without_data(library) if "/libicudata." in library else _read(library)
        tree.file(_merged(library), octets, 0o755)


def _without_data(library):
    """dig loads ICU, of which it uses nothing: 31 MB that every boot would unpack."""
    name = os.path.basename(library)
    version = name.rpartition(".")[2]
    with tempfile.TemporaryDirectory() as scratch:
        built = os.path.join(scratch, name)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-x", "c", "-", "-o", built, f"-Wl,-soname,{name}"],
                       input=f"const char icudt{version}_dat[64] = {{0}};\n", text=True, check=True)
        return _read(built)


def _add_python(tree):
    """The modules without their source, which spares a slow machine to compile them; the paths of those
    that are libraries."""
    said = subprocess.run(["/usr/bin/python3", "-c", _MODULES], capture_output=True, text=True, check=True)
    libraries = set()
    with tempfile.TemporaryDirectory() as scratch:
        for path in set(said.stdout.split()):
            if path.endswith(".py"):
                tree.file(path + "c", _compiled(path, scratch))
            else:
                libraries.add(path)
    # What OpenSSL loads by name when `cryptography` asks for it.
    libraries.update(glob.glob("/usr/lib/*/ossl-modules/legacy.so"))
    for path in libraries:
        tree.file(path, _read(path), 0o755)
    return libraries


def image(authority_pem=""):
    """A tar, for `podman import` and the like; trusts that authority alone."""
    return _with_trust(authority_pem).tar()


def _with_trust(pem):
    tree = _base().copy()
    tree.file("/etc/ssl/certs/ca-certificates.crt", pem)
    tree.link("/usr/lib/ssl/certs", "/etc/ssl/certs")
    tree.link("/usr/lib/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt")
    return tree


def _add_modules(tree, modules):
    """Those that are files; their names."""
    names, folder = [], kernel()[1]
    for module in modules:
        path = os.path.join(folder, module + ".ko")
        if os.path.exists(path):
            names.append(os.path.basename(module))
            tree.file(f"/usr/lib/modules/{names[-1]}.ko", _read(path))
    return " ".join(names)


def initramfs(authority_pem=""):
    """A cpio archive whose init brings the network up and runs the agent."""
    tree = _with_trust(authority_pem)
    init = _INIT.replace("@PATH@", PATH)
    init = init.replace("@BUS_MODULES@", _add_modules(tree, BUS_MODULES))
    init = init.replace("@NETWORK_MODULES@", _add_modules(tree, NETWORK_MODULES))
    tree.file("/init", init, 0o755)
    tree.file("/etc/dhcp.sh", _DHCP_SCRIPT, 0o755)
    tree.file("/agent.py", _read(os.path.join(INSIDE, "agent.py")))
    return tree.cpio()


# Of a kernel for initramfs(). At its start it looks whether the timer interrupts while it counts turns of the
# processor, and panics when it does not: on a busy host an emulator may have no time for that just then.
KERNEL_OPTIONS = "quiet panic=-1 no_timer_check"


if __name__ == "__main__":
    # python3 guest.py image|initramfs [AUTHORITY.pem] > FILE
    make = {"image": image, "initramfs": initramfs}[sys.argv[1]]
    sys.stdout.buffer.write(make(_read(sys.argv[2]).decode() if len(sys.argv) > 2 else ""))
