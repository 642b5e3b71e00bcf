#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_docs.py SANDGATE PARSE_EXAMPLE SOURCE: what the documents show is what the program takes.

Every policy in a fence passes `policy check`; every `sandgate` command line parses; each rule in the
tables of docs/policy.md is admitted or refused as its table says. The lines that it prints are those
of a cmocka program, so that the sum of the tests counts each example.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SANDGATE, PARSE_EXAMPLE = (os.path.abspath(path) for path in sys.argv[1:3])
SOURCE = pathlib.Path(sys.argv[3])
sys.path.insert(0, str(SOURCE / "tools"))

import commands  # noqa: E402

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_POLICY_LANGUAGES = {"yaml": ".yaml", "json": ".json"}
# Shell that is no argument: it ends the command line.
_SHELL = {"|", "&&", "||", ";", ">", "<", "&"}


class Checks:
    def __init__(self, folder):
        self.folder, self.failed = folder, 0

    def run(self, program, *words):
        return subprocess.run([program, *words], cwd=self.folder, capture_output=True, text=True,
                              check=False)

    def note(self, good, what, said=""):
        name = re.sub(r"\W+", "_", what).strip("_")
        if not good:
            self.failed += 1
            print(f"{what}\n{said}")
        print(f"[       OK ] {name}" if good else f"[  FAILED  ] {name}")

    def policy(self, where, suffix, text):
        path = self.folder / f"example{suffix}"
        path.write_text(text, encoding="utf-8")
        done = self.run(SANDGATE, "policy", "check", path.name)
        self.note(done.returncode == 0, where, done.stderr + text)

    def command_line(self, where, line):
        words = shlex.split(line, comments=True)
        end = next((i for i, word in enumerate(words) if word in _SHELL), len(words))
        done = self.run(PARSE_EXAMPLE, *words[1:end])
        self.note(done.returncode == 0, f"{where} {line}", done.stderr)

    def rule(self, rule, admitted):
        done = self.run(PARSE_EXAMPLE, "run", "--allow", rule, "--", "true")
        self.note((done.returncode == 0) == admitted, f"rule {rule}", done.stderr)


def documents():
    return sorted(SOURCE.glob("*.md")) + sorted(SOURCE.glob("docs/**/*.md"))


def check_commands(checks, where, text, line_start):
    """Each line that shows `sandgate`, but for synopses with [OPTIONAL] or dots."""
    for line in re.findall(line_start + r"(?:[$#] )?(sandgate .*)", text.replace("\\\n", " ")):
        if not re.search(r"\[|\.\.\.", line):
            checks.command_line(where, line)


def check_document(checks, path):
    text = path.read_text(encoding="utf-8")
    for number, (language, body) in enumerate(_FENCE.findall(text), 1):
        where = f"{path.name} fence {number}"
        if language in _POLICY_LANGUAGES and "network" in body:
            checks.policy(where, _POLICY_LANGUAGES[language], body)
        elif language in ("", "sh", "console"):
            check_commands(checks, where, body, r"(?m)^")
    check_commands(checks, path.name, _FENCE.sub("", text), r"(?m)^    ")


def check_help(checks):
    for command in commands.load(SOURCE / "docs" / "commands.yaml").commands:
        for example in command.examples:
            # What another program is to be given is not ours to parse.
            if example["run"].split()[0] == "sandgate":
                checks.command_line(f"help {command.name}", example["run"])


def table_rules(text, heading):
    """The rules in the first column of the table under a heading: cells of nothing but rules."""
    section = text.split(f"## {heading}\n")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (`[^`]+`(?:, `[^`]+`)*) \|", section, re.MULTILINE):
        yield from re.findall(r"`([^`]+)`", row)


def check_tables(checks):
    text = (SOURCE / "docs" / "policy.md").read_text(encoding="utf-8")
    for rule in table_rules(text, "Rules"):
        checks.rule(rule, True)
    for rule in table_rules(text, "What is refused when it is written"):
        checks.rule(rule, False)


def main():
    with tempfile.TemporaryDirectory(prefix="sandgate-docs-") as name:
        folder = pathlib.Path(name)
        (folder / "sandgate.yaml").write_text("network: deny\nallow: [api.example.com]\n",
                                              encoding="ascii")
        checks = Checks(folder)
        for path in documents():
            check_document(checks, path)
        check_help(checks)
        check_tables(checks)
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
