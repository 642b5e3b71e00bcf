# SPDX-License-Identifier: Apache-2.0
"""What the sealer keeps up with. bench_audit prints a JSON object a line."""
from .live import run_program


def audit(bench):
    for one in run_program(bench, "bench_audit"):
        bench.value("audit", one["what"], one["unit"], one["value"], (one["sign"], one["goal"]))
