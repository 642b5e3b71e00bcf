# SPDX-License-Identifier: Apache-2.0
"""The table for a person and the JSON for a program: two renderers of the same rows."""
import dataclasses
import json
import os
import platform

COLUMNS = (("what", 44), ("ours", 14), ("theirs", 27), ("ratio or +difference", 20), ("goal", 10),
           ("met", 3))


@dataclasses.dataclass
class Row:
    """One comparison. `goal` is at least (">=") or at most ("<=") a number of `judged`."""

    line: str
    what: str
    unit: str
    ours: float
    peer: str = ""
    theirs: float = None
    goal: tuple = None  # (">=", 0.9)
    judged: str = "ratio"  # "ratio" ours / theirs, "difference" ours - theirs, "value" ours

    def value(self):
        if self.judged == "value" or self.theirs is None:
            return self.ours
        if self.judged == "difference":
            return self.ours - self.theirs
        return self.ours / self.theirs if self.theirs else float("nan")

    def met(self):
        if self.goal is None:
            return None
        sign, bound = self.goal
        return self.value() >= bound if sign == ">=" else self.value() <= bound


def number(value):
    """Three digits that matter, no exponent."""
    if value is None:
        return ""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"


class Report:
    def __init__(self, out):
        self.out = out
        self.rows = []
        self.notes = []
        self.samples = {}
        self.heading()

    def heading(self):
        print(f"{os.cpu_count()} CPUs, Linux {platform.release()}, load "
              f"{os.getloadavg()[0]:.1f} at the start", file=self.out)
        self.print_cells([title for title, _ in COLUMNS])

    def print_cells(self, cells):
        text = "  ".join(f"{cell:<{width}}" for cell, (_, width) in zip(cells, COLUMNS))
        print(text.rstrip(), file=self.out, flush=True)

    def add(self, row):
        self.rows.append(row)
        theirs = f"{number(row.theirs)} {row.peer}" if row.theirs is not None else ""
        goal = f"{row.goal[0]} {number(row.goal[1])}" if row.goal else ""
        met = {True: "yes", False: "NO", None: ""}[row.met()]
        sign = "+" if row.judged == "difference" and row.value() > 0 else ""
        compared = sign + number(row.value()) if row.theirs is not None else ""
        self.print_cells([f"{row.line}: {row.what}", f"{number(row.ours)} {row.unit}", theirs,
                          compared, goal, met])

    def note(self, text):
        self.notes.append(text)
        print(f"  ({text})", file=self.out, flush=True)

    def keep_samples(self, line, samples):
        """What the medians were made of, by path."""
        self.samples[line] = samples

    def write_json(self, path):
        rows = [{**dataclasses.asdict(row), "value": row.value(), "met": row.met()}
                for row in self.rows]
        whole = {"cpus": os.cpu_count(), "kernel": platform.release(), "rows": rows,
                 "notes": self.notes, "samples": self.samples}
        path.write_text(json.dumps(whole, indent=1) + "\n")
        with_goal = [row for row in self.rows if row.goal]
        print(f"{sum(row.met() for row in with_goal)} of {len(with_goal)} goals met; "
              f"all numbers are in {path}", file=self.out)
