#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Turns catalogue/*.yaml into one C file of constant tables (src/policy/catalogue.h).

    gen_catalogue.py CATALOGUE_FOLDER PUBLIC_SUFFIX_LIST OUTPUT

The public suffix list is read for one thing that libpsl cannot say: which domains lie above a
suffix (`amazonaws.com` above `s3.amazonaws.com`), since a wildcard over such a domain covers it.
"""
import ipaddress
import pathlib
import sys

import yaml

import permissions

CLASSES = ("public", "private", "metadata", "loopback", "unwrap", "withheld")


def fail(where, what):
    sys.exit(f"gen_catalogue: {where}: {what}")


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def load(folder, name):
    with open(folder / f"{name}.yaml", encoding="utf-8") as f:
        return yaml.safe_load(f)


def special_rows(entries, version):
    rows = []
    for entry in entries:
        if set(entry) != {"range", "what", "source", "class"} or entry["class"] not in CLASSES:
            fail("special-purpose.yaml", f"not a row: {entry}")
        net = ipaddress.ip_network(entry["range"])
        if net.version != version:
            fail("special-purpose.yaml", f"{net} is in the wrong list")
        rows.append((net, entry["class"], f"{entry['what']} ({entry['source']})"))
    return rows


def longest_match(rows, address):
    holding = [row for row in rows if address in row[0]]
    return max(holding, key=lambda row: row[0].prefixlen, default=None)


def emit_special_v4(rows):
    """Disjoint ranges in ascending order, so that one binary search finds the longest match."""
    edges = {int(net.network_address) for net, _, _ in rows}
    edges |= {int(net.broadcast_address) + 1 for net, _, _ in rows}
    edges = sorted(edges | {0, 1 << 32})
    lines = []
    for low, after in zip(edges, edges[1:]):
        row = longest_match(rows, ipaddress.IPv4Address(low))
        if row:
            lines.append(f"\t{{{low:#010x}, {after - 1:#010x}, SPECIAL_{row[1].upper()}, "
                         f"{c_string(row[2])}}},")
    return ["const struct special_v4 catalogue_special_v4[] = {", *lines, "};",
            f"const size_t catalogue_n_special_v4 = {len(lines)};"]


def emit_special_v6(rows):
    """The longest first: the first range that holds an address is its longest match."""
    lines = []
    for net, kind, text in sorted(rows, key=lambda row: -row[0].prefixlen):
        octets = ", ".join(f"{b:#04x}" for b in net.network_address.packed)
        lines.append(f"\t{{{{{{{{{octets}}}}}, {net.prefixlen}}}, SPECIAL_{kind.upper()}, "
                     f"{c_string(text)}}},")
    return ["const struct special_v6 catalogue_special_v6[] = {", *lines, "};",
            f"const size_t catalogue_n_special_v6 = {len(lines)};"]


def emit_messages(messages):
    lines = []
    for word, sentence in messages.items():
        constant = "REASON_NONE" if word == "allowed" else \
            "REASON_" + word.upper().replace("-", "_")
        lines.append(f"\t[{constant}] = {{{c_string(word)}, {c_string(sentence)}}},")
    return ["const struct message catalogue_messages[] = {", *lines, "};",
            f'static_assert(REASONS == {len(lines)}, "every reason has a message");']


def emit_names(variable, names):
    lines = [f"\t{c_string(name)}," for name in sorted(names)]
    return [f"const char *const catalogue_{variable}[] = {{", *lines, "};",
            f"const size_t catalogue_n_{variable} = {len(lines)};"]


def a_label(label):
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def read_suffixes(path):
    """The rules of the public suffix list, `*.` kept, exceptions left out, as A-labels."""
    suffixes = set()
    with open(path, encoding="utf-8") as f:
        for line in f:
            rule = line.split()[0] if line.strip() else "//"
            if not rule.startswith(("//", "!")):
                suffixes.add(".".join(a_label(label) for label in rule.lower().split(".")))
    return suffixes


def domains_above(suffixes):
    """Each domain that is no suffix but has one below it → the shortest such suffix."""
    above = {}
    for suffix in sorted(suffixes, key=lambda s: (s.count("."), s)):
        labels = suffix.split(".")
        for i in range(1, len(labels)):
            domain = ".".join(labels[i:])
            if domain not in suffixes:
                above.setdefault(domain, suffix)
    return above


def emit_above(above):
    lines = [f"\t{{{c_string(domain)}, {c_string(above[domain])}}},"
             for domain in sorted(above)]
    return ["const struct above_suffix catalogue_above_suffix[] = {", *lines, "};",
            f"const size_t catalogue_n_above_suffix = {len(lines)};"]


# ---- Permissions ----

def c_text(text):
    return "NULL" if text is None else c_string(text)


def c_bool(value):
    return "true" if value else "false"


def c_list(strings):
    """A compound literal at file scope lives as long as the program."""
    if not strings:
        return "NULL"
    return "(const char *const[]){" + ", ".join(map(c_string, strings)) + ", NULL}"


def operation(o):
    return (f"{{{c_string(o.says)}, {c_text(o.host)}, {c_list(o.methods)}, {c_list(o.paths)}, "
            f"{c_text(o.check)}, {c_bool(o.write)}}}")


def operations(ops):
    if not ops:
        return "NULL"
    return "(const struct operation[]){" + ", ".join(map(operation, ops)) + "}"


def permission(p):
    return "\t{" + ", ".join([
        f".id = {c_string(p.id)}", f".says = {c_string(p.says)}",
        f".attempt = {c_string(p.attempt)}", f".rules = {c_list(p.rules) if p.rules else 'none'}",
        f".includes = {c_list(p.includes)}", f".operations = {operations(p.operations)}",
        f".n_operations = {len(p.operations)}", f".host_port = {p.host_port}",
        f".web = {c_bool(p.web)}", f".asks = {c_bool(p.warning)}",
        f".warning = {c_text(p.warning)}", f".personal = {c_bool(p.personal)}",
        f".instead = {c_text(p.instead)}"]) + "},"


def preset(p):
    return (f"\t{{{c_string(p.name)}, {c_string(p.says)}, "
            f"{c_list(p.permissions) if p.permissions else 'none'}, {c_bool(p.open)}, "
            f"{c_bool(p.warning)}, {c_text(p.warning)}}},")


def agent(a):
    return f"\t{{{c_string(a.name)}, " + ", ".join(
        c_list(strings) if strings else "none"
        for strings in (a.commands, a.model, a.update, a.sign_in)) + "},"


def table(kind, name, rows):
    return [f"static const struct {kind} {name}[] = {{", *rows, "};"]


def emit_permissions(catalogue):
    sets = [(name, catalogue.operations_of(name)) for name in catalogue.sets]
    everyone = catalogue.permissions.values()
    tables = {
        "permissions": ("permission", [permission(p) for p in everyone]),
        "operation_sets": ("operation_set", [
            f"\t{{{c_string(name)}, {operations(ops)}, {len(ops)}}}," for name, ops in sets]),
        "presets": ("preset", [preset(p) for p in catalogue.presets]),
        "agents": ("agent", [agent(a) for a in catalogue.agents]),
        "languages": ("language", [
            f"\t{{{c_string(p.id)}, {c_list(p.files)}}}," for p in everyone if p.files]),
    }
    lines = ["static const char *const none[] = {NULL};",
             f"const char *const catalogue_checks[] = {{"
             f"{', '.join(map(c_string, permissions.CHECKS))}, NULL}};"]
    for name, (kind, rows) in tables.items():
        lines += table(kind, name, rows)
    lines += ["const struct catalogue catalogue_compiled_in = {",
              f"\t.version = {c_string(catalogue.version)},"]
    for name, (_, rows) in tables.items():
        lines.append(f"\t.{name} = {name}, .n_{name} = {len(rows)},")
    return lines + ["};"]


def main():
    folder, suffix_list, output = map(pathlib.Path, sys.argv[1:])
    special = load(folder, "special-purpose")
    overlay = load(folder, "suffix-overlay")
    encrypted = load(folder, "encrypted-dns")
    if len(set(overlay)) != len(overlay):
        fail("suffix-overlay.yaml", "a suffix stands twice")
    suffixes = read_suffixes(suffix_list)
    if len(suffixes) < 1000:
        fail(suffix_list, "this is not the public suffix list")
    lines = ["/* Made by tools/gen_catalogue.py from catalogue/; do not edit. */",
             "#include <assert.h>", '#include "policy/catalogue.h"',
             '#include "policy/permission.h"']
    lines += emit_special_v4(special_rows(special["ipv4"], 4))
    lines += emit_special_v6(special_rows(special["ipv6"], 6))
    lines += emit_messages(load(folder, "messages"))
    lines += emit_names("suffix_overlay", overlay)
    lines += emit_names("encrypted_dns", encrypted)
    lines += emit_above(domains_above(suffixes | set(overlay)))
    lines += emit_permissions(permissions.load(folder, suffixes | set(overlay)))
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
