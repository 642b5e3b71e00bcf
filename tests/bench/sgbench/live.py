# SPDX-License-Identifier: Apache-2.0
"""Changes of the policy, and what the log of all that happens costs."""
import json
import subprocess

from . import world
from .bench import median
from .report import Row

BESIDE_MS = 400
REFUSED = "198.51.100.1"


def run_program(bench, name):
    """A program of the bench's own that prints a JSON object a line."""
    text = subprocess.run([bench.world.load.parent / name, str(bench.repetitions)], check=True,
                          capture_output=True, text=True).stdout
    measured = [json.loads(line) for line in text.splitlines()]
    bench.report.keep_samples(name, measured)
    return measured


def change(bench):
    for one in run_program(bench, "bench_policy"):
        bench.value("policy", one["what"], "ms", one["ms"], ("<=", one["goal_ms"]))


def log(bench):
    """A record of each answer, against the same answers without."""
    measured = {(one["asked"], one["noted"]): one["ns"]
                for one in run_program(bench, "bench_dns")}
    for asked in sorted({asked for asked, _ in measured}):
        bench.report.add(Row("log", f"one DNS answer, {asked}", "ns", measured[asked, True],
                             "not noted", measured[asked, False], judged="difference"))


def gate_for_each(bench, kind, rate):
    """What a refusal takes of the gate's CPU; other programs on the machine count for little in it."""
    results = bench.repeat(f"{kind} refused", {"sandgate": lambda: bench.sandgate.measure(
        "refused", kind, REFUSED, rate, BESIDE_MS)})
    for sample in results["sandgate"]:
        sample["cpu_us"] = sample["cpu_s"] * 1e6 / sample["refused"]
    each = median(results, "sandgate", "cpu_us")
    if each is not None:
        bench.value("refusals", f"{rate:,} {kind} a second, gate's CPU for each", "us", each, None)


def refusals(bench):
    """An allowed connection with refusals next to it, against the same one alone."""
    for kind in ("datagrams", "connections"):
        gate_for_each(bench, kind, 10000)
    def beside(rate):
        return lambda: bench.sandgate.measure("beside", world.SERVER, REFUSED, rate, BESIDE_MS)

    for rate in (10000, 100000):
        results = bench.repeat(f"{rate} refusals", {"sandgate": beside(rate), "alone": beside(0)})
        name = f"{rate:,} a second"
        bench.rows("refusals", f"{name}, allowed stream", "Gbit/s", results, "gbit_s",
                   {"alone": (">=", 0.95)})
        bench.rows("refusals", f"{name}, allowed round trip", "us", results, "trip_us",
                   {"alone": ("<=", 1.05)})
        refused = median(results, "sandgate", "refused")
        if refused is not None:
            bench.value("refusals", f"{name}, refused in fact", "/s", refused,
                        (">=", 0.95 * rate))
