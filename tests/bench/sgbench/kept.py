# SPDX-License-Identifier: Apache-2.0
"""Sandboxes that are kept: a command in one that runs, and the list of many."""
import contextlib
import subprocess
import time

from . import world
from .paths import Path, popen
from .sandboxes import CREATIONS, Bwrap, create_once

MANY = 200


class Kept(Path):
    """A command in a sandbox that runs already."""

    name = "sandgate"

    def __init__(self, made, sandbox):
        super().__init__(made)
        self.sandbox = sandbox

    def sandgate(self, *arguments):
        subprocess.run(world.in_namespace(world.HOST, self.world.sandgate, *arguments),
                       cwd=self.world.load.parent, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def command(self, *arguments):
        return world.in_namespace(world.HOST, self.world.sandgate, "exec", self.sandbox, "--",
                                  *arguments)

    def spawn(self, *arguments):
        return popen(self.command(self.world.load, *arguments), cwd=self.world.load.parent)


@contextlib.contextmanager
def kept(bench, count):
    """So many, of which none runs; taken away whatever happens."""
    made = [Kept(bench.world, f"bench-{n}") for n in range(count)]
    try:
        for one in made:
            one.sandgate("create", "--net", "deny", one.sandbox)
        yield made
    finally:
        for one in made:
            with contextlib.suppress(subprocess.CalledProcessError):
                one.sandgate("rm", "--force", one.sandbox)


def run_inside(bench):
    """From the call to the command's first line, beside a sandbox of the engine's for each command."""
    with kept(bench, 1) as (one,):
        one.sandgate("start", "--quiet", one.sandbox)
        paths = [p for p in (one, bench.if_installed(Bwrap(bench.world))) if p]
        results = bench.repeat("exec", {path.name: lambda path=path: create_once(path)
                                        for path in paths}, times=CREATIONS)
    bench.rows("exec", "to the command, p50", "ms", results, "create_ms", {})


def listing(bench):
    with kept(bench, MANY) as made:
        begun = time.monotonic_ns()
        made[0].sandgate("ls")
        bench.value("ls", f"{MANY} that are kept", "ms", (time.monotonic_ns() - begun) / 1e6,
                    ("<=", 200))
