#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gen_man.py COMMANDS.yaml VERSION PAGE OUT [TEXT.md [CATALOGUE]]: one man page.
gen_man.py COMMANDS.yaml VERSION --links OUT...: pages that lead to another, of all commands that have
none by their own name.

PAGE is a page of COMMANDS.yaml ("sandgate-run"), or NAME.SECTION with the Markdown file that it is
made from ("sandgate-policy.5"). With CATALOGUE the permissions of that folder follow.
"""

import pathlib
import sys

import commands
import permissions
import roff


def see_also(pages):
    refs = []
    for page in pages:
        name, section = page.rstrip(")").split("(")
        refs.append(f"\\fB{roff.escape(name)}\\fR({section})")
    return [".SH SEE ALSO", ", ".join(refs)] if refs else []


def synopsis(command_list):
    out = [".SH SYNOPSIS", ".nf"]
    for command in command_list:
        for form in command.usage:
            out.append(f"\\fBsandgate {roff.escape(command.name)}\\fR {roff.escape(form)}".rstrip())
    return out + [".fi"]


def option(item):
    spelled = f"\\fB\\-\\-{roff.escape(item.name)}\\fR"
    if item.value:
        spelled += f" \\fI{roff.escape(item.value)}\\fR"
    return [".TP", spelled] + roff.paragraphs(item.help)[1:]


def examples(command):
    out = []
    for example in command.examples:
        if "says" in example:
            out += [".PP", roff.inline(example["says"])]
        out += roff.literal([example["run"]])
    return out


def command_parts(command, several):
    """The sections of one command; under a heading of its own when the page has several."""
    out = [f".SH {roff.escape(command.name.upper()) if several else 'DESCRIPTION'}"]
    out += roff.paragraphs(command.description)
    if command.options:
        out.append(".SS Options" if several else ".SH OPTIONS")
        for item in command.options:
            out += option(item)
    if command.exit:
        out.append(".SS Exit status" if several else ".SH EXIT STATUS")
        out += roff.paragraphs(command.exit)
    if command.examples:
        out.append(".SS Examples" if several else ".SH EXAMPLES")
        out += examples(command)
    return out


def command_page(program, page):
    about = program.pages[page]
    described = [program.command(name) for name in about["commands"]]
    summary = about.get("summary", described[0].summary)
    out = [".SH NAME", f"{roff.escape(page)} \\- {roff.escape(summary)}"] + synopsis(described)
    for command in described:
        out += command_parts(command, len(described) > 1)
    refs = ["sandgate(1)"] + [ref for command in described for ref in command.see]
    return out + see_also(dict.fromkeys(refs))


def overview_page(program):
    out = [".SH NAME", f"sandgate \\- {roff.escape(program.summary)}", ".SH SYNOPSIS",
           "\\fBsandgate\\fR COMMAND [OPTION]... [ARGUMENT]...", ".SH DESCRIPTION"]
    out += roff.paragraphs(program.description) + [".SH COMMANDS"]
    for command in program.commands:
        page = program.page_of(command)
        where = "" if page == "sandgate" else f", see {page}(1)"
        out += [".TP", f"\\fBsandgate {roff.escape(command.name)}\\fR",
                roff.escape(command.summary + where)]
    out += [".SH ENVIRONMENT"]
    for variable in program.environment:
        out += [".TP", f"\\fB{variable['name']}\\fR", roff.inline(variable["help"].strip())]
    out += [".SH EXIT STATUS"] + roff.paragraphs(program.exit)
    return out + see_also(program.see)


def operation_lines(operation):
    """What passes where: one line for the host and purpose, one for the request."""
    what = ", ".join(operation.methods or ["every method"])
    if operation.paths:
        what += " " + " ".join(operation.paths)
    if operation.check:
        what += f", checked as {operation.check}"
    writes = " (writes)" if operation.write else ""
    return [f"{operation.host or 'each host'}: {operation.says}{writes}", f"  {what}"]


def permission_item(catalogue, permission):
    says = permission.says
    held = [p.name for p in catalogue.presets if permission.id in catalogue.in_preset(p)]
    notes = [f"In {', '.join(held)}." if held else "In no preset."]
    if permission.warning:
        notes.append("Asks first.")
    if permission.personal:
        notes.append("With a credential of yours.")
    if permission.includes:
        notes.append(f"Includes {', '.join(f'`{name}`' for name in permission.includes)}.")
    if permission.host_port:
        notes.append(f"Port {permission.host_port} of the host's loopback.")
    if permission.instead:
        notes.append(f"No host by itself: {permission.instead}.")
    out = [".TP", f"\\fB{roff.escape(permission.id)}\\fR", roff.inline(f"{says}."), ".br",
           roff.inline(" ".join(notes))]
    lines = permission.rules + [line for o in permission.operations for line in operation_lines(o)]
    return out + ([".RS"] + roff.literal(lines) + [".RE"] if lines else [])


def agent_item(agent):
    notes = [f"Model: {', '.join(f'`{name}`' for name in agent.model)}."]
    for what, rules in (("Updates", agent.update), ("Sign-in", agent.sign_in)):
        if rules:
            notes.append(f"{what}: {', '.join(f'`{rule}`' for rule in rules)}.")
    return [".TP", f"\\fB{roff.escape(agent.name)}\\fR", roff.inline(" ".join(notes))]


def permission_sections(catalogue):
    out = [".SH PRESETS"]
    for preset in catalogue.presets:
        held = ", ".join(f"`{name}`" for name in preset.permissions)
        out += [".TP", f"\\fB{roff.escape(preset.name)}\\fR",
                roff.inline(f"{preset.says}: {held}." if held else f"{preset.says}.")]
    out += [".SH PERMISSIONS", ".PP", f"Catalogue of {catalogue.version}."]
    for permission in catalogue.permissions.values():
        out += permission_item(catalogue, permission)
    out.append(".SH AGENTS")
    for agent in catalogue.agents:
        out += agent_item(agent)
    return out + see_also(["sandgate-net(1)", "sandgate-run(1)", "sandgate-policy(5)"])


def link_pages(program):
    """{"sandgate-net-allow": "sandgate-net"}"""
    named = {"sandgate-" + command.name.replace(" ", "-"): command for command in program.commands}
    return {page: program.page_of(command) for page, command in named.items()
            if page not in program.pages}


def write_links(program, outputs):
    links = link_pages(program)
    paths = {pathlib.Path(out).stem: out for out in outputs}
    if paths.keys() != links.keys():
        sys.exit(f"docs/meson.build: the pages that lead to another are {sorted(links)}")
    for page, path in paths.items():
        pathlib.Path(path).write_text(f".so man1/{links[page]}.1\n", encoding="ascii")


def main():
    path, version, page, out = sys.argv[1:5]
    program = commands.load(path)
    if page == "--links":
        write_links(program, sys.argv[4:])
        return
    if len(sys.argv) > 5:
        name, section = page.rsplit(".", 1)
        with open(sys.argv[5], encoding="ascii") as file:
            lines = roff.title(name, section, version) + roff.markdown_page(name, file.read())
        if len(sys.argv) > 6:
            lines += permission_sections(permissions.load(pathlib.Path(sys.argv[6])))
    else:
        body = overview_page(program) if page == "sandgate" else command_page(program, page)
        lines = roff.title(page, 1, version) + body
    with open(out, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
