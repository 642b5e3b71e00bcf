# SPDX-License-Identifier: Apache-2.0
"""Many sandboxes of kinds that take no engine, all there at once: what they take of memory."""
import contextlib
import os
import pathlib
import statistics
import subprocess
import tempfile

from . import world
from .sandboxes import KIB
from .sandboxes import many as started

COUNT = 200
NAMESPACE = "sgbench-box{}"


def sandgate(made, *arguments):
    subprocess.run(world.in_namespace(world.HOST, made.sandgate, *arguments), check=True,
                   cwd=made.load.parent, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def attached(bench, number):
    """A namespace that is there already."""
    name = NAMESPACE.format(number)
    world.run("ip", "netns", "add", name)
    try:
        sandgate(bench.world, "attach", "--yes", "--netns", f"/run/netns/{name}", "--name", name,
                 "--net", "deny")
        try:
            yield
        finally:
            sandgate(bench.world, "detach", name)
    finally:
        world.run("ip", "netns", "del", name)


@contextlib.contextmanager
def frame_socket(bench, number, folder):
    """A virtual machine's frame socket, without the machine."""
    name = NAMESPACE.format(number)
    sandgate(bench.world, "vm-net", "--background", "--dgram", f"{folder}/{name}", "--net", "deny", name)
    try:
        yield
    finally:
        sandgate(bench.world, "stop", name)


def processes(made):
    """Those of the program: the gates, and the others. A gate is what a supervisor started in the host's
    network that has a tun device."""
    host = os.stat(f"/run/netns/{world.HOST}").st_ino
    program = os.stat(made.sandgate).st_ino
    found = set()
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.stat(folder / "exe").st_ino == program:
                found.add(folder)
    gates = {folder for folder in found if parent_of(folder) in found and is_gate(folder, host)}
    return [[int(folder.name) for folder in some] for some in (gates, found - gates)]


def parent_of(folder):
    return folder.parent / (folder / "stat").read_text().rpartition(")")[2].split()[1]


def is_gate(folder, host):
    return (os.stat(folder / "ns/net").st_ino == host and
            (folder / "comm").read_text() != "sandgate-frames\n" and
            any(os.readlink(fd).endswith("net/tun") for fd in (folder / "fd").iterdir()))


def many(bench):
    """Half of them as `run` makes them, the others put behind a gate in the ways that engines do it."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(started(bench.plain, COUNT // 2, "flows", world.SERVER, 0))
        for number in range(COUNT // 4):
            stack.enter_context(attached(bench, number))
        for number in range(COUNT // 4, COUNT // 2):
            stack.enter_context(frame_socket(bench, number, folder))
        gates, others = processes(bench.world)
        sizes = [world.memory_kib(pid) for pid in gates]
        rest = sum(world.memory_kib(pid) for pid in others)
    if len(gates) != COUNT:
        raise RuntimeError(f"{len(gates)} gates of {COUNT} sandboxes")
    bench.value("many", f"a gate of {COUNT}, PSS, median", "MiB", statistics.median(sizes) / KIB, ("<=", 1.5))
    bench.value("many", "the largest of them", "MiB", max(sizes) / KIB, ("<=", 1.5))
    bench.value("many", f"1,000 gates, from {COUNT}", "GiB", sum(sizes) / COUNT * 1000 / KIB / KIB, ("<=", 1.6))
    bench.value("many", "a sandbox's other processes", "MiB", rest / COUNT / KIB, None)
