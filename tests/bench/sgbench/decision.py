# SPDX-License-Identifier: Apache-2.0
"""The policy core alone: one decision, one compilation. bench_decide prints a JSON object a line."""
import json
import subprocess

from .report import Row


def decision(bench):
    program = bench.world.load.parent / "bench_decide"
    text = subprocess.run([program, str(bench.repetitions)], check=True, capture_output=True,
                          text=True).stdout
    measured = [json.loads(line) for line in text.splitlines()]
    bench.report.keep_samples("decision", measured)
    for one in measured:
        for row in rows(one):
            bench.report.add(row)


def rows(one):
    if one["bench"] == "decide":
        what = f"{one['names']:,} names, {one['asked']}"
        yield value("decision", what, "ns", one["ns"], one["goal_ns"])
    elif one["bench"] == "inspects":
        yield value("opened or not", one["asked"], "ns", one["ns"], one["goal_ns"])
    elif one["bench"] == "compile":
        names = f"{one['names']:,} names"
        yield value("compile", names, "s", one["seconds"], one["goal_seconds"])
        yield value("compile", f"{names}, octets a name beyond it", "", one["bytes_a_name"],
                    one["goal_bytes_a_name"])


def value(line, what, unit, ours, goal):
    return Row(line, what, unit, ours, goal=("<=", goal), judged="value")
