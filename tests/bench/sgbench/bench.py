# SPDX-License-Identifier: Apache-2.0
"""What all lines share: the ways to measure, in turn, and medians compared with goals.

All ways of a line are measured in turn, again and again, so that whatever else the machine does
falls on each of them alike.
"""
import contextlib
import os
import statistics

from . import world
from .paths import Failed, Namespace, Pasta, Sandgate, Slirp
from .report import Row

FRESH_NAMES = 500
FRESH_ZONE = "fresh.example"

# Limits that stop abuse would stop the bench.
LIMITS = {"flows": 20000, "flows_per_second": 1000000, "flows_burst": 1000000}


def policy(*allow, **more):
    return {"network": "deny", "allow": list(allow), **more}


def median(results, key, field):
    """The median of a field; None when it was not measured."""
    samples = results.get(key)
    return statistics.median(sample[field] for sample in samples) if samples else None


class Bench:
    def __init__(self, made, repetitions, report):
        self.world, self.repetitions, self.report = made, repetitions, report
        self.plain = Sandgate(made, policy(world.SERVER))
        self.sandgate = Sandgate(made, policy(world.SERVER, limits=LIMITS))
        self.by_name = Sandgate(made, policy(
            world.SERVER_NAME, FRESH_ZONE, *(f"n{i}.{FRESH_ZONE}" for i in range(FRESH_NAMES)),
            limits=LIMITS))
        self.loopback = Namespace(made, "loopback", world.INTERNET)
        self.veth = Namespace(made, "raw veth", world.HOST)
        self.nat = Namespace(made, "kernel NAT", world.CLIENT)
        self.pasta = self.if_installed(Pasta(made))
        self.slirp = self.if_installed(Slirp(made))

    def if_installed(self, path):
        package = path.missing()
        if package:
            self.report.note(f"{path.name} is not installed: apt-get install {package}")
        return None if package else path

    def peers(self):
        return [p for p in (self.loopback, self.veth, self.nat, self.pasta, self.slirp) if p]

    def repeat(self, what, ways, times=None):
        """{key: measure}, in turn; gives {key: [result, ...]}. One that fails is left out then."""
        results = {key: [] for key in ways}
        working = dict(ways)
        for _ in range(times or self.repetitions):
            for key, measure in list(working.items()):
                try:
                    results[key].append(measure())
                except Failed as failure:
                    self.report.note(str(failure))
                    del working[key]
        self.report.keep_samples(what, results)
        return results

    def compare(self, what, paths, *arguments):
        """The same client over several paths."""
        return self.repeat(what, {path.name: lambda path=path: path.measure(*arguments)
                                  for path in paths})

    def rows(self, line, what, unit, results, field, goals, judged="ratio", ours="sandgate"):
        """A row for each peer that was measured; `goals` says by peer what is wanted."""
        value = median(results, ours, field)
        if value is None:
            self.report.note(f"{line}: {what}: nothing was measured")
            return
        for peer in results:
            theirs = median(results, peer, field)
            if peer != ours and theirs is not None:
                self.report.add(Row(line, what, unit, value, peer, theirs, goals.get(peer), judged))

    def value(self, line, what, unit, value, goal):
        self.report.add(Row(line, what, unit, value, goal=goal, judged="value"))

    @contextlib.contextmanager
    def one_core(self):
        """Both ends and everything between on one CPU: no wake-up of another one counts."""
        cpus = os.sched_getaffinity(0)
        self.world.pin({min(cpus)})
        try:
            yield
        finally:
            self.world.pin(cpus)
