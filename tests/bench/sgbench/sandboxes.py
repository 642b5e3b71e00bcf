# SPDX-License-Identifier: Apache-2.0
"""Sandboxes as a whole: the time to make and remove one, memory, many at once."""
import contextlib
import shutil
import statistics
import time

from . import world
from .paths import Failed, Path

CREATIONS = 60
FLOWS = 2000
GATES = 40
BUSY, BUSY_MS = 200, 4000
KIB = 1024


class Bwrap(Path):
    """The engine alone."""

    name = "bwrap"

    def missing(self):
        return None if shutil.which("bwrap") else "bubblewrap"

    def command(self, *arguments):
        return world.in_namespace(world.HOST, "bwrap", "--unshare-net", "--unshare-pid",
                                  "--unshare-ipc", "--unshare-uts", "--die-with-parent",
                                  "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
                                  *arguments)


def create_once(path):
    """Milliseconds from the call to the command's first line, and from its end to ours."""
    begun = time.monotonic_ns()
    process = path.spawn("now")
    text, _ = process.communicate(timeout=30)
    ended = time.monotonic_ns()
    if process.returncode != 0:
        raise Failed(f"{path.name}: it ended with status {process.returncode}")
    there = int(text.split(":")[1].strip(" }\n"))
    return {"create_ms": (there - begun) / 1e6, "remove_ms": (ended - there) / 1e6}


def share(samples, field, part):
    values = sorted(sample[field] for sample in samples)
    return values[int(part * (len(values) - 1))]


def create(bench):
    """Beyond the engine's own time: what the bwrap row takes is taken off."""
    paths = [p for p in (bench.by_name, bench.if_installed(Bwrap(bench.world)), bench.pasta) if p]
    results = bench.repeat("create", {path.name: lambda path=path: create_once(path)
                                      for path in paths}, times=CREATIONS)
    ours, engine = results["sandgate"], results.get("bwrap")
    bench.rows("create", "p50", "ms", results, "create_ms", {"bwrap": ("<=", 10)},
               judged="difference")
    if ours and engine:
        beyond = share(ours, "create_ms", 0.99) - share(engine, "create_ms", 0.5)
        bench.value("create", "p99 beyond bwrap's p50", "ms", beyond, ("<=", 25))
    bench.rows("remove", "p50", "ms", results, "remove_ms", {"bwrap": ("<=", 10)},
               judged="difference")


def memory(bench):
    with bench.sandgate.start("flows", world.SERVER, FLOWS) as client:
        idle = world.memory_kib(client.relay)
        client.begin()
        client.result()
        busy = world.memory_kib(client.relay)
    bench.value("memory", "idle gate, PSS", "MiB", idle / KIB, ("<=", 1.5))
    bench.value("memory", f"a flow, of {FLOWS}", "KiB", (busy - idle) / FLOWS, ("<=", 2))
    with many(bench.sandgate, GATES, "flows", world.SERVER, 0) as clients:
        whole = sum(world.memory_kib(client.relay) for client in clients)
    bench.value("memory", f"1,000 gates, from {GATES}", "GiB",
                whole / GATES * 1000 / KIB / KIB, ("<=", 1.6))


@contextlib.contextmanager
def many(path, count, *arguments):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(path.start(*arguments)) for _ in range(count)]


def fair(bench):
    """All read at once from the far side; the slowest against an even share."""
    with many(bench.sandgate, BUSY, "bulk", world.SERVER, "down", 1, BUSY_MS) as clients:
        for client in clients:
            client.begin()
        rates = [client.result()["gbit_s"] for client in clients]
    even, slowest = statistics.mean(rates), min(rates)
    bench.report.keep_samples("fair", {"sandgate": rates})
    bench.value("fair", f"{BUSY} busy sandboxes, share / slowest", "",
                even / slowest if slowest else float("inf"), ("<=", 1.5))
    bench.value("fair", "all together", "Gbit/s", sum(rates), None)
