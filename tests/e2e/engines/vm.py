# SPDX-License-Identifier: Apache-2.0
"""Virtual machines of QEMU's behind `sandgate vm-net`: one that is run with the tap device, and ones of
outside that speak over a frame socket."""

import os
import subprocess

from internet.machine import PROGRAMS

from . import guest, saved
from .engine import Engine

KERNEL, INITRAMFS = f"{PROGRAMS}/guest-kernel", f"{PROGRAMS}/guest-initramfs"
SAVED = f"{PROGRAMS}/guest-saved"
MAC = "02:73:67:00:00:02"


def emulated(*netdev, append="net=dhcp", memory=384, mac=MAC, mtu=None, goes_on=None):
    """A machine as QEMU is told of it, without a network device but `netdev`: its agent speaks over the
    standard input and output. With `goes_on` it is the one that was saved there, with that MAC."""
    return ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-M", "pc,usb=off", "-accel", "tcg", "-cpu", "max", "-m", str(memory),
            "-kernel", KERNEL, "-initrd", INITRAMFS,
            "-append", f"{guest.KERNEL_OPTIONS} {append}",
            "-chardev", "stdio,id=agent,signal=off", "-device", "virtio-serial-pci",
            "-device", "virtserialport,chardev=agent", "-netdev", ",".join(netdev),
            "-device", f"virtio-net-pci,netdev=net,mac={mac},romfile=" + (f",host_mtu={mtu}" if mtu else ""),
            *(["-incoming", f"exec:cat {goes_on}"] if goes_on else [])]


class Machine(Engine):
    """What they have in common: a guest that the world's authority is known to."""

    needs = (("qemu-system-x86_64", "qemu-system-x86"), ("bwrap", "bubblewrap"))
    own_kernel = True
    at_once = 5  # each instruction is emulated

    def __init__(self, world, sandgate):
        super().__init__(world, sandgate)
        if not self.machine.exists(INITRAMFS):
            self._put(INITRAMFS, guest.initramfs(world.authority.pem))
            with open(guest.kernel()[0], "rb") as f:
                self._put(KERNEL, f.read())

    @classmethod
    def missing(cls):
        if guest.kernel() is None:
            return "there is no kernel for a guest (linux-image-cloud-amd64)"
        return super().missing() or guest.missing()

    def _put(self, path, octets):
        def put():
            with open(path, "wb") as f:
                f.write(octets)
            os.chmod(path, 0o644)
        self.machine.place.call(put)

    def _saved(self):
        if not self.machine.exists(SAVED):
            saved.save(self.machine, emulated("hubport", "id=net", "hubid=0", append="net=dhcp wait=1"), SAVED)
        return SAVED

    def _go_on(self, box, argv):
        """Starts what goes on from what was saved."""
        process = self._popen(box, argv)
        process.stdin.write("go\n")
        process.stdin.flush()
        return process

    def _popen(self, box, argv):
        return self.machine.popen(argv, box.sandgate.person, cwd=box.cwd, env=box.env,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, errors="replace",
                                  start_new_session=True)


class Tap(Machine):
    id = "vm-tap"
    takes_value = ("--publish", "--host-port", "--rw", "--ro", "--pcap", "--mac", "--mtu")
    says_its_end = True

    def start(self, box, agent):
        netdev = "tap", "id=net", "fd={fd}", "vhost=off"
        words = [self.sandgate, "vm-net", *box.options, "--ro", KERNEL, "--ro", INITRAMFS]
        if "--mac" in box.options:
            return self._popen(box, [*words, box.name, "--", *emulated(*netdev, mac="{mac}", mtu="{mtu}")])
        path = self._saved()
        return self._go_on(box, [*words, "--ro", path, box.name, "--", *emulated(*netdev, goes_on=path)])

    def supervisor_pid(self, box):
        return box.process.pid


class _Frames(Machine):
    """The monitor runs on the host, with the host's network, and uses none of it."""

    kind = None
    takes_value = ("--publish", "--host-port", "--pcap")

    def start(self, box, agent):
        path, goes_on = f"{box.cwd}/.{box.name}", self._saved()
        done = box.sandgate("vm-net", *box.options, "--background", f"--{self.kind}", path, box.name,
                            cwd=box.cwd)
        assert done.ok, done
        return self._go_on(box, emulated(*self.netdev(path), goes_on=goes_on))

    def netdev(self, path):
        raise NotImplementedError

    def end(self, box):
        box.sandgate("stop", box.name)


class Stream(_Frames):
    id = "vm-stream"
    kind = "stream"

    def netdev(self, path):
        return "stream", "id=net", "server=off", "addr.type=unix", f"addr.path={path}"


class Dgram(_Frames):
    id = "vm-dgram"
    kind = "dgram"

    def netdev(self, path):
        return ("dgram", "id=net", "local.type=unix", f"local.path={path}-guest", "remote.type=unix",
                f"remote.path={path}")


class ByName(Tap):
    """The monitor opens the device itself, as Firecracker does."""

    id = "vm-by-name"

    def start(self, box, agent):
        path = self._saved()
        return self._go_on(box, [self.sandgate, "vm-net", "--by-name", *box.options, "--ro", KERNEL, "--ro",
                                 INITRAMFS, "--ro", path, box.name, "--",
                                 *emulated("tap", "id=net", "ifname={tap}", "script=no", "downscript=no",
                                           "vhost=off", goes_on=path)])


class Qemu(Tap):
    """sandgate's own command line for QEMU; the agent speaks over the console."""

    id = "qemu"
    takes_value = ("--publish", "--host-port", "--rw", "--ro", "--pcap", "--image")

    def start(self, box, agent):
        return self._popen(box, [self.sandgate, "run", "--name", box.name, "--engine", "qemu", *box.options,
                                 "--", "-accel", "tcg", "-m", "384", "-no-reboot", "-kernel", KERNEL,
                                 "-initrd", INITRAMFS, "-append", f"{guest.KERNEL_OPTIONS} net=dhcp agent=/dev/ttyS0"])

    def end(self, box):
        box.sandgate("rm", box.name)
