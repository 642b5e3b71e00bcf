# SPDX-License-Identifier: Apache-2.0
"""The command table of docs/commands.yaml: loaded, checked, and shared by the generators."""

import re
import sys
import textwrap

import yaml

_COMMAND_KEYS = {"name", "summary", "usage", "arguments", "command", "sandbox", "complete",
                 "description", "options", "borrow", "exit", "examples", "see"}
_OPTION_KEYS = {"name", "value", "many", "complete", "help", "empty"}


class Problem(Exception):
    """What is wrong with the file, for the person who edits it."""


def _require_keys(where, item, required, known):
    missing, unknown = required - item.keys(), item.keys() - known
    if missing or unknown:
        raise Problem(f"{where}: missing {sorted(missing)}, unknown {sorted(unknown)}")


class Option:
    def __init__(self, where, item):
        _require_keys(where, item, {"name"}, _OPTION_KEYS)
        self.name = item["name"]
        where = f"{where} --{self.name}"
        if not re.fullmatch(r"[a-z][a-z-]*", self.name):
            raise Problem(f"{where}: not an option's name")
        self.value = item.get("value")
        self.many = item.get("many", False)
        self.complete = item.get("complete")
        self.empty = item.get("empty")
        self.help = item.get("help", "").strip()
        if not self.help:
            raise Problem(f"{where}: needs help")

    def spelled(self):
        return f"--{self.name} {self.value}" if self.value else f"--{self.name}"


class Command:
    def __init__(self, item, earlier):
        where = item.get("name", "a command")
        _require_keys(where, item, {"name", "summary", "usage", "arguments", "description"},
                      _COMMAND_KEYS)
        self.name = item["name"]
        self.words = self.name.split(" ")
        self.summary = item["summary"]
        self.usage = item["usage"]
        self.fewest, self.most = item["arguments"]
        self.takes_command = bool(item.get("command", False))
        self.needs_command = item.get("command") is True
        self.sandbox = item.get("sandbox", False)
        self.complete = item.get("complete")
        self.description = item["description"].strip()
        self.options = self._borrowed(where, item.get("borrow", {}), earlier)
        self.options += [Option(where, option) for option in item.get("options", [])]
        self.exit = item.get("exit", "").strip()
        self.examples = item.get("examples", [])
        self.see = item.get("see", [])

    @staticmethod
    def _borrowed(where, borrow, earlier):
        """Options that an earlier command has as well, each written once."""
        found = []
        for lender, names in borrow.items():
            has = {option.name: option for command in earlier if command.name == lender
                   for option in command.options}
            if set(names) - has.keys():
                raise Problem(f"{where}: {lender} has no {sorted(set(names) - has.keys())}")
            found += [has[name] for name in names]
        return found

    def symbol(self):
        return self.name.replace(" ", "_").replace("-", "_")


class Program:
    def __init__(self, tree):
        program = tree["program"]
        self.summary = program["summary"]
        self.description = program["description"].strip()
        self.environment = program["environment"]
        self.exit = program["exit"].strip()
        self.see = program["see"]
        self.pages = tree["pages"]
        self.commands = []
        for item in tree["commands"]:
            self.commands.append(Command(item, self.commands))

    def command(self, name):
        return next(c for c in self.commands if c.name == name)

    def first_words(self):
        return list(dict.fromkeys(c.words[0] for c in self.commands))

    def group(self, word):
        """The commands that begin with this word."""
        return [c for c in self.commands if c.words[0] == word]

    def page_of(self, command):
        """The man page that describes a command; "sandgate" when it has none of its own."""
        for page, about in self.pages.items():
            if command.name in about.get("commands", []):
                return page
        return "sandgate"


def load(path):
    try:
        with open(path, encoding="ascii") as file:
            return Program(yaml.safe_load(file))
    except (Problem, yaml.YAMLError, UnicodeError) as problem:
        sys.exit(f"{path}: {problem}")


def blocks(text):
    """Splits text into ("text", one line) and ("literal", lines) blocks."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        if all(line.startswith("  ") for line in lines):
            yield "literal", [line[2:] for line in lines]
        else:
            yield "text", " ".join(line.strip() for line in lines)


def wrapped(text, indent="", width=79):
    """Text as paragraphs for a terminal."""
    parts = []
    for kind, block in blocks(text):
        if kind == "literal":
            parts.append("\n".join(f"{indent}  {line}" for line in block))
        else:
            parts.append(textwrap.fill(block, width, initial_indent=indent,
                                       subsequent_indent=indent, break_on_hyphens=False,
                                       break_long_words=False))
    return "\n\n".join(parts)
