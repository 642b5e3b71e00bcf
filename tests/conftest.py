# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the end-to-end and escape tests. SANDGATE names the program; default build/sandgate."""

import os
import shutil
import signal
import sys
from collections import Counter

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "e2e"))
sys.path.append(os.path.join(HERE, "escape"))

from engines import all as engines  # noqa: E402
from internet.world import World  # noqa: E402
from program import SANITIZED, Kept, Sandgate, Terminal  # noqa: E402

# Under the sanitizers, which are slow, the engines that reach each kind of link once.
ENGINES_SANITIZED = ("bwrap", "netns", "vm-dgram")

# nohup, and a shell that starts a job in the background, leave signals ignored, which all that is
# started from here would inherit: a command that traps SIGHUP would wait for it for ever.
for _signal in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP, signal.SIGUSR1,
                signal.SIGUSR2):
    signal.signal(_signal, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

PROGRAM = os.environ.get("SANDGATE", os.path.join(HERE, "..", "build", "sandgate"))


def _longest_files_first(items):
    """Workers take whole files: one that is begun last ends the run. A machine takes five times as
    long to start as anything else."""
    cost = Counter()
    for item in items:
        cost[item.path] += 5 if "vm-" in item.name or item.path.stem == "test_vm" else 1
    items.sort(key=lambda item: (-cost[item.path], item.path))


def pytest_collection_modifyitems(config, items):
    _longest_files_first(items)
    if config.option.collectonly:
        return
    if os.geteuid() != 0:
        pytest.exit("these tests make network namespaces and mounts: run them as root", 2)
    if any("program" in item.fixturenames for item in items) and not os.access(PROGRAM, os.X_OK):
        pytest.exit(f"{PROGRAM} is not there: build it first (make), or set SANDGATE", 2)


def pytest_addoption(parser):
    parser.addoption("--engines", default=os.environ.get("SANDGATE_ENGINES"),
                     help=f"run what is for every engine with these, by comma: {', '.join(engines.names())}, all")


def _engines_for(config, marker):
    """The engines that a test is run with: those that were asked for; else, in a full run, every one;
    else those that the marker names as usual, which are all usual ones when it names none."""
    asked = config.getoption("--engines")
    if asked:
        return engines.names() if asked == "all" else asked.split(",")
    if os.environ.get("SANDGATE_FULL") == "1" and not SANITIZED:
        return engines.names()
    usual = marker.kwargs.get("usual", engines.usual())
    return [name for name in usual if not SANITIZED or name in ENGINES_SANITIZED]


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("engines")
    if marker is not None:
        metafunc.parametrize("engine_name", _engines_for(metafunc.config, marker))


@pytest.fixture(scope="session")
def program():
    """The path of the program under test."""
    return os.path.abspath(PROGRAM)


class Worlds:
    """Worlds by their kind, made when first wanted and kept: most tests share the plain one."""

    def __init__(self):
        self._made = {}

    def get(self, **kind):
        key = tuple(sorted(kind.items()))
        if key not in self._made:
            self._made[key] = World(**kind)
        return self._made[key]

    def close(self):
        for world in self._made.values():
            world.close()


@pytest.fixture(scope="session")
def worlds():
    made = Worlds()
    yield made
    made.close()


@pytest.fixture
def world(request, worlds):
    """The little internet; `@pytest.mark.world(ipv6=False)` for another kind of machine."""
    marker = request.node.get_closest_marker("world")
    made = worlds.get(**(marker.kwargs if marker else {}))
    made.machine.use_resolver(made.usual_resolver)
    made.start_watching()
    yield made
    made.reset()


@pytest.fixture
def person():
    """Who runs sandgate; tests that care parametrize it."""
    return "dev"


@pytest.fixture
def engine_name():
    """What a box is; `@pytest.mark.engines` runs a test with every engine."""
    return "bwrap"


class Engines:
    """Engines by their names and worlds, each made when first wanted and kept: some are daemons."""

    def __init__(self):
        self._made = {}

    def get(self, name, world, program):
        if (name, world) not in self._made:
            kind = engines.get(name)
            why = kind.missing()
            if why:
                pytest.skip(f"{name}: {why}")
            self._made[name, world] = kind(world, program)
        return self._made[name, world]

    def end(self, name):
        """Those of this name: a machine holds one such daemon, and a test wants one of its own."""
        for key in [key for key in self._made if key[0] == name]:
            self._made.pop(key).close()

    def close(self):
        for made in self._made.values():
            made.close()


@pytest.fixture(scope="session")
def kept_engines(worlds):
    made = Engines()
    yield made
    made.close()


@pytest.fixture
def engine(kept_engines, engine_name, world, program):
    return kept_engines.get(engine_name, world, world.machine.install(program))


@pytest.fixture
def sandgate(world, program, person, engine):
    """The program, run on the machine by `person`."""
    made = Sandgate(world, world.machine.install(program), engine.person or person, engine)
    yield made
    made.close()


@pytest.fixture
def kept(sandgate):
    """kept(OPTION...) makes one; it is taken away at the end, whatever runs."""
    made = []

    def make(*options, **more):
        made.append(Kept(sandgate, sandgate.new_name(), *options, **more))
        return made[-1]
    yield make
    for one in made:
        sandgate("rm", "--force", one.name)


@pytest.fixture
def started(kept):
    """started(OPTION...) makes one that is kept, and starts it."""
    def start(*options):
        one = kept(*options)
        one.start()
        return one
    return start


@pytest.fixture
def terminal(sandgate):
    """terminal(ARGV...) runs sandgate on a terminal of its own, terminal.of() any program."""
    made = []

    def of(*argv, **size):
        made.append(Terminal(sandgate, argv, **size))
        return made[-1]

    def start(*argv, **size):
        return of(sandgate.path, *argv, **size)
    start.of = of
    yield start
    for one in made:
        one.close()


@pytest.fixture
def needs(request):
    """needs("psql"): the test is skipped, with the reason, where a program is missing."""
    def check(*programs):
        for name in programs:
            if not shutil.which(name) and not os.path.exists(name):
                pytest.skip(f"{name} is not installed")
    return check


def pytest_configure(config):
    config.addinivalue_line("markers", "world(**kind): the kind of machine and internet")
    config.addinivalue_line("markers", "slow: more than a few seconds")
    config.addinivalue_line("markers", "engines(usual=NAMES): with every engine; in a usual run with those")
