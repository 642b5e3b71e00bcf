#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gen_commands.py COMMANDS.yaml OUT.c OUT.h: the command table and the help, as C."""

import sys
import textwrap

import commands

_HELP_COLUMN = 26


def option_help(option):
    spelled = f"  {option.spelled()}"
    text = commands.wrapped(option.help, " " * _HELP_COLUMN)
    if len(spelled) + 2 <= _HELP_COLUMN:
        return spelled.ljust(_HELP_COLUMN) + text.lstrip()
    return f"{spelled}\n{text}"


def example_help(example):
    says = example.get("says")
    line = f"  {example['run']}"
    return line + ("\n" + textwrap.indent(commands.wrapped(says), " " * 6) if says else "")


def usage_lines(command):
    starts = ["Usage: "] + ["       "] * (len(command.usage) - 1)
    return "\n".join(f"{start}sandgate {command.name} {form}".rstrip()
                     for start, form in zip(starts, command.usage))


def command_help(command):
    parts = [usage_lines(command), commands.wrapped(command.description)]
    if command.options:
        parts.append("Options:\n" + "\n".join(option_help(o) for o in command.options))
    if command.exit:
        parts.append("Exit status:\n" + commands.wrapped(command.exit, "  "))
    if command.examples:
        parts.append("Examples:\n" + "\n".join(example_help(e) for e in command.examples))
    if command.see:
        parts.append("See " + ", ".join(command.see) + ".")
    return "\n\n".join(parts) + "\n"


def program_help(program):
    width = max(len(c.name) for c in program.commands) + 4
    listing = "\n".join(f"  {c.name.ljust(width)}{c.summary}" for c in program.commands)
    return "\n\n".join([
        "Usage: sandgate COMMAND [OPTION]... [ARGUMENT]...",
        commands.wrapped(program.description),
        "Commands:\n" + listing,
        "`sandgate help COMMAND` says all about one. A first try:\n\n"
        "  sandgate run --only example.com -- curl -sI https://example.com",
    ]) + "\n"


def c_string(text):
    """A C string literal, one source line a line of text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    lines = escaped.split("\n")
    pieces = [line + "\\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return "\n\t\t".join(f'"{piece}"' for piece in pieces) or '""'


def option_index(command, option):
    return f"{command.symbol()}_{option.name}".upper().replace("-", "_")


def header(program):
    out = ["/* Made from docs/commands.yaml: the index of each option in its command's specs. */",
           "#ifndef SG_CLI_COMMAND_OPTIONS_H", "#define SG_CLI_COMMAND_OPTIONS_H", ""]
    for command in program.commands:
        if command.options:
            out.append("enum {")
            out += [f"\t{option_index(command, option)}," for option in command.options]
            out.append("};")
    for command in program.commands:
        out.append(f"int cmd_{command.symbol()}(const struct args *a);")
    return "\n".join(out + ["", "#endif", ""])


def option_spec(option):
    fields = [f'.name = "{option.name}"']
    if option.value:
        fields.append(f'.value = "{option.value}"')
    if option.empty:
        fields.append(f".empty = {c_string(option.empty)}")
    if option.many:
        fields.append(".many = true")
    return "\t{" + ", ".join(fields) + "},"


def command_entry(command):
    lines = [f'.name = "{command.name}"', f".run = cmd_{command.symbol()}",
             f".summary = {c_string(command.summary)}",
             f".fewest = {command.fewest}", f".most = {command.most}"]
    if command.takes_command:
        lines.append(".takes_command = true")
        if command.needs_command:
            lines.append(".needs_command = true")
    if command.options:
        lines.append(f".options = {command.symbol()}_options")
        lines.append(f".n_options = sg_array_len({command.symbol()}_options)")
    lines.append(f".help = {c_string(command_help(command))}")
    return "\t{\n" + "".join(f"\t\t{line},\n" for line in lines) + "\t},"


def source(program):
    out = ["/* Made from docs/commands.yaml. */", '#include "cli/command.h"',
           '#include "base/compiler.h"', '#include "command_options.h"', ""]
    for command in program.commands:
        if command.options:
            out.append(f"static const struct option_spec {command.symbol()}_options[] = {{")
            out += [option_spec(option) for option in command.options]
            out += ["};", ""]
    out.append("const struct command command_table[] = {")
    out += [command_entry(command) for command in program.commands]
    out += ["};", "const size_t command_count = sg_array_len(command_table);", ""]
    out += [f"const char command_overview[] = {c_string(program_help(program))};", ""]
    return "\n".join(out)


def main():
    path, out_c, out_h = sys.argv[1:]
    program = commands.load(path)
    with open(out_c, "w", encoding="ascii") as file:
        file.write(source(program))
    with open(out_h, "w", encoding="ascii") as file:
        file.write(header(program))


if __name__ == "__main__":
    main()
