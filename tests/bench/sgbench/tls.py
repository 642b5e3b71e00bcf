# SPDX-License-Identifier: Apache-2.0
"""What TLS costs the broker. bench_tls prints a JSON object a line."""
from .live import run_program


def tls(bench):
    for one in run_program(bench, "bench_tls"):
        bench.value("tls", one["what"], one["unit"], one["value"], (one["sign"], one["goal"]))
