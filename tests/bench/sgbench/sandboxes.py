# SPDX-License-Identifier: Apache-2.0
"""Sandboxes as a whole: the time to make and remove one, memory, many at once."""
import contextlib
import shutil
import statistics
import time

from . import world
from .bench import median
from .paths import Failed, Path
from .report import Row

CREATIONS = 60
FLOWS = 1500  # within the limits of a policy that sets none
GATES = 40
# So many processes on few CPUs take turns of seconds: a shorter time would measure the scheduler.
BUSY, BUSY_MS = 200, 15000
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
    paths = [p for p in (bench.plain, bench.if_installed(Bwrap(bench.world)), bench.pasta) if p]
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
    with bench.plain.start("flows", world.SERVER, FLOWS) as client:
        idle = world.memory_kib(client.relay)
        client.begin()
        client.result()
        busy = world.memory_kib(client.relay)
    bench.value("memory", "idle gate, PSS", "MiB", idle / KIB, ("<=", 1.5))
    bench.value("memory", f"a flow, of {FLOWS}", "KiB", (busy - idle) / FLOWS, ("<=", 2))
    with many(bench.plain, GATES, "flows", world.SERVER, 0) as clients:
        whole = sum(world.memory_kib(client.relay) for client in clients)
    bench.value("memory", f"1,000 gates, from {GATES}", "GiB",
                whole / GATES * 1000 / KIB / KIB, ("<=", 1.6))


@contextlib.contextmanager
def many(path, count, *arguments):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(path.start(*arguments)) for _ in range(count)]


def read_at_once(path):
    """What each of many that read as fast as they can gets."""
    with many(path, BUSY, "bulk", world.SERVER, "down", 1, BUSY_MS) as clients:
        for client in clients:
            client.begin()
        rates = [client.result()["gbit_s"] for client in clients]
    slowest = min(rates)
    return {"unfair": statistics.mean(rates) / slowest if slowest else float("inf"),
            "gbit_s": sum(rates), "rates": rates}


def fair(bench):
    """An even share against the slowest; once, as it is a statement over many already."""
    results = bench.repeat("fair", {path.name: lambda path=path: read_at_once(path)
                                    for path in (bench.plain, bench.nat)}, times=1)
    ours, theirs = (median(results, key, "unfair") for key in ("sandgate", "kernel NAT"))
    bench.report.add(Row("fair", f"{BUSY} busy sandboxes, share / slowest", "", ours, "kernel NAT",
                         theirs, ("<=", 1.5), judged="value"))
    bench.rows("fair", "all together", "Gbit/s", results, "gbit_s", {})
