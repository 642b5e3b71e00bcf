#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sum_results.py BUILD_FOLDER...: what the test runs in these folders came to.

Reads FOLDER/test-results: the log of meson, whose programs may hold many cases (cmocka), and the
JUnit files of pytest; of SUITE-again.xml, what had failed and was run once more alone. Says what
failed, what passed only alone and why something was skipped, and ends with the line
"N passed, N failed, N skipped".
"""

import json
import pathlib
import re
import sys
import xml.etree.ElementTree

_CASE = re.compile(r"^\[ *(OK|FAILED|SKIPPED) *\] (\w+)$", re.MULTILINE)
_SKIPPED_PROGRAM = {"SKIP"}
_GOOD_PROGRAM = {"OK", "EXPECTEDFAIL"}


class Sum:
    def __init__(self):
        self.passed, self.failed, self.skipped, self.unsteady = 0, [], [], []

    def add(self, where, outcome, why=""):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "failed":
            self.failed.append(where)
        else:
            self.skipped.append((why or "no reason given", where))


def _last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def add_program(total, run):
    """One test program: its cases when it names them, else itself."""
    said = run.get("stdout", "") + "\n" + run.get("stderr", "")
    name = run["name"].replace("sandgate:", "")
    if run["result"] in _SKIPPED_PROGRAM:
        total.add(name, "skipped", _last_line(said))
        return
    cases = {}
    for word, case in _CASE.findall(said):
        cases[case] = word
    outcomes = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    for case, word in cases.items():
        total.add(f"{name} {case}", outcomes[word], "skipped by the test program")
    if run["result"] not in _GOOD_PROGRAM and "FAILED" not in cases.values():
        total.add(f"{name} ({run['result'].lower()})", "failed")
    elif not cases:
        total.add(name, "passed")


def _cases(path):
    """(where, outcome, why) of each test of a pytest run. One that did not write its file to the end has failed."""
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError) as problem:
        yield f"{path}: {problem}", "failed", ""
        return
    for case in root.iter("testcase"):
        where = f"{case.get('classname', '')}::{case.get('name', '')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            yield where, "failed", ""
        elif skipped is not None:
            yield where, "skipped", skipped.get("message", "")
        else:
            yield where, "passed", ""


def add_junit(total, path):
    again = path.with_name(f"{path.stem}-again.xml")
    alone = {where for where, outcome, _ in _cases(again) if outcome == "passed"} if again.exists() else set()
    for where, outcome, why in _cases(path):
        if outcome == "failed" and where in alone:
            total.unsteady.append(where)
            outcome = "passed"
        total.add(where, outcome, why)


def add_folder(total, folder):
    results = pathlib.Path(folder) / "test-results"
    log = results / "testlog.json"
    if log.exists():
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            add_program(total, json.loads(line))
    for path in sorted(results.glob("*.xml")):
        if not path.stem.endswith("-again"):
            add_junit(total, path)


def _print_skipped(skipped):
    reasons = {}
    for why, where in skipped:
        reasons.setdefault(why, []).append(where)
    for why, wheres in sorted(reasons.items()):
        more = f" and {len(wheres) - 1} more" if len(wheres) > 1 else ""
        print(f"skipped: {wheres[0]}{more}: {why}")


def main():
    total = Sum()
    for folder in sys.argv[1:]:
        add_folder(total, folder)
    print()
    _print_skipped(total.skipped)
    for where in total.unsteady:
        print(f"unsteady: {where}: failed beside other tests, passed alone")
    for where in total.failed:
        print(f"failed: {where}")
    print(f"{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
