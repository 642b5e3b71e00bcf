#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_sum_results.py SOURCE: what tools/sum_results.py makes of test runs. Prints as a cmocka program does."""

import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]) / "tools" / "sum_results.py"
FAILED = "<failure/>"


def junit(**cases):
    return "<testsuite>" + "".join(f'<testcase classname="e2e" name="{name}">{outcome}</testcase>'
                                   for name, outcome in cases.items()) + "</testsuite>"


def summed(**files):
    """(status, lines) of files in one folder's test-results."""
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "test-results"
        results.mkdir()
        for name, text in files.items():
            (results / f"{name.replace('_', '-')}.xml").write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.split("\n")[1:-1]


def check_what_failed_has_failed():
    assert summed(e2e=junit(a="", b=FAILED)) == (1, ["failed: e2e::b", "1 passed, 1 failed, 0 skipped"])


def check_what_passes_alone_is_named_and_passed():
    status, lines = summed(e2e=junit(a="", b=FAILED), e2e_again=junit(b=""))
    assert (status, lines[-1]) == (0, "2 passed, 0 failed, 0 skipped"), lines
    assert lines[0].startswith("unsteady: e2e::b: "), lines


def check_what_fails_alone_as_well_has_failed():
    status, lines = summed(e2e=junit(a=FAILED, b=FAILED), e2e_again=junit(a="", b=FAILED))
    assert (status, lines[-2:]) == (1, ["failed: e2e::b", "1 passed, 1 failed, 0 skipped"]), lines


def check_what_was_not_run_again_or_was_skipped_has_failed():
    assert summed(e2e=junit(a=FAILED), e2e_again=junit(b=""))[0] == 1
    assert summed(e2e=junit(a=FAILED), e2e_again=junit(a='<skipped message="x"/>'))[0] == 1
    assert summed(e2e=junit(a=FAILED), e2e_again="")[0] == 1


def check_another_suite_is_not_passed_by_it():
    assert summed(escape=junit(a=FAILED), e2e=junit(), e2e_again=junit(a=""))[0] == 1


def check_a_run_that_was_cut_or_empty_has_failed():
    assert summed(e2e="")[0] == 1
    assert summed(e2e=junit())[0] == 1


def main():
    failed = False
    for name, check in [(n, c) for n, c in globals().items() if n.startswith("check_")]:
        try:
            check()
            print(f"[       OK ] {name}")
        except AssertionError as problem:
            failed = True
            print(f"[  FAILED  ] {name}\n{problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
