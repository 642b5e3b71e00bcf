# SPDX-License-Identifier: Apache-2.0
"""Places: a network namespace and, where wanted, a view of the file system.

A place has no name anywhere: it is held by descriptors of this process alone and by the programs
that run in it, so that nothing is left when the tests end, however they end. Work is done "in" a
place by a thread that enters it first; programs started by that thread are born there.
"""

import ctypes
import os
import socket
import subprocess
import threading

CLONE_NEWNS = 0x00020000
CLONE_FS = 0x00000200
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def setns(fd, kind):
    _check(_libc.setns(fd, kind))


def unshare(kinds):
    _check(_libc.unshare(kinds))


def in_thread(work):
    """Runs work() in a thread of its own and returns or raises what it does."""
    result = []

    def body():
        try:
            result.append((work(), None))
        except BaseException as problem:  # handed to the caller below
            result.append((None, problem))

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    value, problem = result[0]
    if problem is not None:
        raise problem
    return value


def _open_own(kind):
    return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


class View:
    """A mount namespace made by running a shell script of mounts in it.

    Its root is kept as well: entering a mount namespace leads to the root of that, which is not the
    caller's when the caller is in a chroot, and then files of the machine outside would be written.
    """

    def __init__(self, script):
        def make():
            unshare(CLONE_FS | CLONE_NEWNS)
            subprocess.run(["sh", "-e", "-c", "mount --make-rprivate /\n" + script], check=True)
            return _open_own("mnt"), os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

        self.fd, self.root = in_thread(make)

    def enter(self):
        """For a thread of its own."""
        unshare(CLONE_FS)
        setns(self.fd, CLONE_NEWNS)
        os.fchdir(self.root)
        os.chroot(".")

    def close(self):
        os.close(self.fd)
        os.close(self.root)


class Place:
    """A network namespace, with `view` for what its programs see of the file system."""

    def __init__(self, view=None):
        def make():
            unshare(CLONE_NEWNET)
            return _open_own("net")

        self.fd = in_thread(make)
        self.view = view

    @classmethod
    def of_process(cls, pid):
        """The network namespace that a running process lives in."""
        place = cls.__new__(cls)
        place.fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        place.view = None
        return place

    def close(self):
        os.close(self.fd)

    @property
    def path(self):
        """A path by which programs of other places can name this one, while this process lives."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def call(self, work, view=None):
        """work() by a thread inside the place."""
        view = view or self.view

        def inside():
            setns(self.fd, CLONE_NEWNET)
            if view is not None:
                view.enter()
            return work()

        return in_thread(inside)

    def bound_socket(self, address, port, kind, backlog):
        """A socket of the place; a stream socket listens."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET

        def bound():
            s = socket.socket(family, kind)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind((address, port))
            if kind == socket.SOCK_STREAM:
                s.listen(backlog)
            return s
        return self.call(bound)

    def ip(self, *commands):
        """Commands of ip(8), one transaction after the other in one process."""
        text = "\n".join(commands) + "\n"
        done = self.call(lambda: subprocess.run(["ip", "-batch", "-"], input=text, text=True,
                                                capture_output=True))
        if done.returncode != 0:
            raise RuntimeError(f"ip: {done.stderr.strip()}\n{text}")

    def sysctl(self, **values):
        """net__ipv4__ip_forward=1 writes /proc/sys/net/ipv4/ip_forward, where the kernel has it."""

        def write():
            for name, value in values.items():
                path = "/proc/sys/" + name.replace("__", "/")
                if os.path.exists(path):
                    with open(path, "w", encoding="ascii") as f:
                        f.write(str(value))

        self.call(write)

    def socket(self, family=socket.AF_INET, kind=socket.SOCK_STREAM, proto=0):
        return self.call(lambda: socket.socket(family, kind, proto))

    def popen(self, argv, view=None, **options):
        return self.call(lambda: subprocess.Popen(argv, **options), view=view)

    def run(self, argv, view=None, **options):
        options.setdefault("capture_output", True)
        options.setdefault("text", True)
        return self.call(lambda: subprocess.run(argv, **options), view=view)

