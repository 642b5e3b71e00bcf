# SPDX-License-Identifier: Apache-2.0
"""Virtual machines: QEMU by emulation, whose guest runs the client. With a tap device and its offloads,
without them, and over the frame sockets."""
import contextlib
import itertools
import pathlib
import subprocess
import sys

from . import world
from .bench import LIMITS, policy
from .paths import Client, Failed, Sandgate

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from engines import guest  # noqa: E402

BULK_MS = 2000
BOOT_SECONDS = 60
NO_OFFLOADS = ("csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,"
               "host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off,mrg_rxbuf=off")

# The words of the client stand at the end of the kernel's, with commas in the place of spaces.
_INIT = """#!/bin/sh
export PATH=/usr/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev 2>/dev/null
for m in @MODULES@; do insmod /usr/lib/modules/$m.ko; done
n=0; while [ ! -e /dev/vport0p1 ] && [ $n -lt 500 ]; do usleep 10000; n=$((n + 1)); done
ip link set lo up; ip link set eth0 up
ip addr add 192.0.0.2/29 dev eth0; ip route add default via 192.0.0.1
for w in $(cat /proc/cmdline); do case $w in client=*) client=${w#client=} ;; esac; done
exec 3<>/dev/vport0p1
/load $(echo $client | tr , ' ') <&3 >&3
poweroff -f
"""


def _initramfs(load):
    tree, names, modules = guest.Tree(), [], guest.kernel()[1]
    for name in ("bin", "sbin", "lib", "lib64"):
        tree.folder("/usr/" + name)
        tree.link("/" + name, "usr/" + name)
    for path in "/dev", "/proc", "/sys":
        tree.folder(path)
    tree.file("/usr/bin/busybox", pathlib.Path("/bin/busybox").read_bytes(), 0o755)
    for applet in "sh", "mount", "insmod", "usleep", "ip", "cat", "echo", "tr", "poweroff":
        tree.link("/usr/bin/" + applet, "busybox")
    tree.file("/load", load.read_bytes(), 0o755)
    for library in "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2":
        tree.file("/usr" + library, pathlib.Path(library).read_bytes(), 0o755)
    for module in guest.BUS_MODULES + guest.NETWORK_MODULES:
        path = pathlib.Path(modules, module + ".ko")
        if path.exists():
            names.append(path.stem)
            tree.file(f"/usr/lib/modules/{path.name}", path.read_bytes())
    tree.file("/init", _INIT.replace("@MODULES@", " ".join(names)), 0o755)
    return tree.cpio()


class Machine(Sandgate):
    """The client in a guest behind `sandgate vm-net`."""

    numbers = itertools.count(1)

    def __init__(self, made, rules, name, kind, features=""):
        super().__init__(made, rules)
        self.name, self.kind, self.features = name, kind, features
        self.kernel, self.initramfs = pathlib.Path(made.folder, "kernel"), pathlib.Path(made.folder, "guest")
        if not self.initramfs.exists():
            self.kernel.write_bytes(pathlib.Path(guest.kernel()[0]).read_bytes())
            self.initramfs.write_bytes(_initramfs(made.load))

    def qemu(self, netdev, arguments):
        device = f"virtio-net-pci,netdev=net,mac=02:73:67:00:00:02,romfile={',' if self.features else ''}"
        return ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-M", "pc,usb=off", "-accel", "tcg", "-cpu", "max", "-m", "256",
                "-kernel", self.kernel, "-initrd", self.initramfs,
                "-append", f"{guest.KERNEL_OPTIONS} client=" + ",".join(map(str, arguments)),
                "-chardev", "stdio,id=client,signal=off", "-device", "virtio-serial-pci",
                "-device", "virtserialport,chardev=client",
                "-netdev", netdev, "-device", device + self.features]

    def vm_net(self, *words):
        return world.in_namespace(world.HOST, self.world.sandgate, "vm-net", "--quiet", "--policy",
                                  self.policy, *words)

    def command(self, *arguments):
        arguments = arguments[1:]  # the client itself is in the guest
        self.box, folder = f"bench-{next(self.numbers)}", self.world.folder
        if self.kind == "tap":
            return self.vm_net("--ro", self.kernel, "--ro", self.initramfs, self.box, "--",
                               *self.qemu("tap,id=net,fd={fd},vhost=off", arguments))
        link = folder / self.box
        subprocess.run(self.vm_net("--background", f"--{self.kind}", link, self.box), check=True,
                           stderr=subprocess.DEVNULL)
        netdev = (f"stream,id=net,server=off,addr.type=unix,addr.path={link}" if self.kind == "stream" else
                  f"dgram,id=net,local.type=unix,local.path={link}-guest,remote.type=unix,remote.path={link}")
        return world.in_namespace(world.HOST, *self.qemu(netdev, arguments))

    def relay_of(self, process):
        return None

    @contextlib.contextmanager
    def start(self, *arguments):
        client = Client(self.spawn(*arguments))
        try:
            if client.read_line(BOOT_SECONDS) != "ready":
                raise Failed("it did not get ready")
            yield client
        except Failed as failure:
            raise Failed(f"{self.name}: {arguments[0]}: {failure}") from None
        finally:
            client.process.kill()
            client.stop()
            if self.kind != "tap":
                subprocess.run(world.in_namespace(world.HOST, self.world.sandgate, "stop", self.box), check=True)


def machine(bench):
    rules = policy(world.SERVER, limits=LIMITS)
    usual = Machine(bench.world, rules, "tap", "tap")
    paths = [usual, Machine(bench.world, rules, "tap, no offloads", "tap", NO_OFFLOADS),
             Machine(bench.world, rules, "stream", "stream"), Machine(bench.world, rules, "dgram", "dgram")]
    for direction in "up", "down":
        results = bench.compare(f"vm {direction}", paths, "bulk", world.SERVER, direction, 1, BULK_MS)
        bench.rows("vm", f"emulated guest, 1 stream {direction}", "Gbit/s", results, "gbit_s", {}, ours=usual.name)
