# SPDX-License-Identifier: Apache-2.0
"""roff: text and a plain subset of Markdown as man(7)."""

import re

import commands


def escape(text):
    """Text as troff sees it: a backslash, a hyphen that is a minus, a line that begins a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def inline(text):
    """One line of text; `x` and **x** are bold, [x](y) is x."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    parts = re.split(r"(`[^`]+`|\*\*[^*]+\*\*)", text)
    out = []
    for part in parts:
        literal = re.fullmatch(r"`(.+)`|\*\*(.+)\*\*", part)
        if literal:
            out.append(f"\\fB{escape(literal[1] or literal[2])}\\fR")
        else:
            out.append(escape(part) if part else "")
    joined = "".join(out)
    return re.sub(r"^([.'])", r"\\&\1", joined)


def title(page, section, version):
    name = escape(page.upper())
    return [f'.TH {name} {section} "" "sandgate {version}" "sandgate manual"', ".nh", ".ad l"]


def literal(lines):
    return [".PP", ".RS 4", ".nf"] + [escape(line) for line in lines] + [".fi", ".RE"]


def paragraphs(text, first=".PP"):
    out = []
    for kind, block in commands.blocks(text):
        if kind == "literal":
            out += literal(block)
        else:
            out += [first, inline(block)]
        first = ".PP"
    return out


def _table(rows):
    """A table as a list: the first column as the tag, what follows as the text."""
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]
             for row in rows]
    out = []
    for row in cells[2:]:
        rest = ". ".join(cell.replace("\\|", "|") for cell in row[1:] if cell)
        out += [".TP", inline(row[0].replace("\\|", "|")), rest and inline(rest) or "\\&"]
    return out


def _list_item(text):
    return [".IP \\(bu 2", inline(text)]


class _Markdown:
    """Headings, paragraphs, lists, tables and fences; one line of state: what is being gathered."""

    def __init__(self):
        self.out, self.text, self.rows, self.fence, self.item = [], [], [], None, False

    def flush(self):
        if self.rows:
            self.out += _table(self.rows)
        elif self.text:
            joined = " ".join(self.text)
            self.out += _list_item(joined) if self.item else [".PP", inline(joined)]
        self.text, self.rows, self.item = [], [], False

    def heading(self, line):
        self.flush()
        level, words = re.fullmatch(r"(#+) (.*)", line).groups()
        if len(level) == 2:
            self.out.append(f".SH {escape(words.upper())}")
        elif len(level) == 3:
            self.out.append(f".SS {inline(words)}")

    def feed(self, line):
        if line.startswith("```"):
            self.flush()
            if self.fence is not None:
                self.out += literal(self.fence)
            self.fence = [] if self.fence is None else None
        elif self.fence is not None:
            self.fence.append(line)
        elif line.startswith("#"):
            self.heading(line)
        elif line.startswith("    ") and not self.text:
            self.out += literal([line[4:]])
        elif line.startswith("|"):
            self.rows.append(line)
        elif not line.strip():
            self.flush()
        elif line.startswith("- "):
            self.flush()
            self.item = True
            self.text = [line[2:].strip()]
        else:
            self.text.append(line.strip())


def markdown_page(name, text):
    """A whole Markdown file; its first heading says what the page is about."""
    first, _, rest = text.partition("\n")
    about = first.lstrip("# ").strip()
    out = [".SH NAME", f"{escape(name)} \\- {escape(about.lower())}", ".SH DESCRIPTION"]
    state = _Markdown()
    for line in rest.splitlines():
        state.feed(line)
    state.flush()
    return out + state.out
