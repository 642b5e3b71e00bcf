# SPDX-License-Identifier: Apache-2.0
"""The permissions of catalogue/, read strictly and resolved: one model for every generator.

permissions.yaml, operations.yaml, presets.yaml and agents.yaml say in their heads what their keys
mean. What an administrator's file may hold is the same, read by src/policy/catalogue_read.c.
"""
import re
import sys

import yaml

FILES = ("permissions", "operations", "presets", "agents")
PRESETS = ("locked", "standard", "open", "bake")
# Ids that stand for what the agent or the project has, beside their own hosts.
OF_THE_AGENT = ("model", "update", "sign-in")
CHECKS = ("graphql-query", "lfs-download", "lfs-upload", "scope-pull", "scope-push")

_ID = re.compile(r"[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*)?")
_WORD = re.compile(r"[a-z0-9][a-z0-9-]*")
_LABELS = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
# Whose requests are seen: TCP ports 80 and 443 of a name.
_SEEN = re.compile(r"[^:/\[\d][^:/]*(:(80|443|80,443))?(/tcp)?")
_PORTS = re.compile(r"(:(\*|\d+(-\d+)?(,\d+(-\d+)?)*))?(/(tcp|udp|icmp|raw))?")
_METHOD = re.compile(r"[A-Z]+")
_PATH = re.compile(r"[/*][!-\"$-~]*")


class Problem(Exception):
    """What is wrong with a file, for the person who edits it."""


class _Loader(yaml.BaseLoader):
    """Every value is a string; a key that stands twice is a problem."""

    def construct_mapping(self, node, deep=False):
        seen = {}
        for key, _ in node.value:
            if key.value in seen:
                raise Problem(f"{key.start_mark.name}:{key.start_mark.line + 1}: a second key "
                              f"`{key.value}`; the first is on line {seen[key.value]}")
            seen[key.value] = key.start_mark.line + 1
        return super().construct_mapping(node, deep=True)


def _load(folder, name):
    with open(folder / f"{name}.yaml", encoding="ascii") as file:
        return yaml.load(file, _Loader)


def _map(where, value, required, known):
    if not isinstance(value, dict):
        raise Problem(f"{where}: a map belongs here")
    missing, unknown = required - value.keys(), value.keys() - known
    if missing or unknown:
        raise Problem(f"{where}: missing keys {sorted(missing)}, unknown keys {sorted(unknown)}")
    return value


def _text(where, value):
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise Problem(f"{where}: one line of text belongs here")
    return value


def _list(where, value, pattern):
    if not isinstance(value, list) or not value:
        raise Problem(f"{where}: a list belongs here; leave the key out when there is nothing")
    for item in value:
        if not isinstance(item, str) or not pattern.fullmatch(item):
            raise Problem(f"{where}: {item!r} does not fit here")
    if len(set(value)) != len(value):
        raise Problem(f"{where}: an entry stands twice")
    return value


def _flag(where, entry, key):
    if entry.get(key, "true") != "true":
        raise Problem(f"{where}: {key} is `true` or left out")
    return key in entry


def _host(where, domain, written, suffixes):
    """The rule that an entry below a domain stands for: `@` is the domain itself."""
    label = re.match(r"[^:/]*", written).group()
    if not _PORTS.fullmatch(written[len(label):]):
        raise Problem(f"{where}: {written!r}: not ports or a protocol")
    if label == "@":
        return domain + written[len(label):]
    if label == "*" and domain in suffixes:
        raise Problem(f"{where}: *.{domain}: strangers can register names under it")
    if label != "*" and not _LABELS.fullmatch(label):
        raise Problem(f"{where}: {written!r}: not the part of a name before {domain}")
    return f"{label}.{domain}{written[len(label):]}"


def hosts(where, groups, suffixes):
    """`domain: [label, ...]`, as short rules."""
    if not isinstance(groups, dict):
        raise Problem(f"{where}: hosts are grouped, `domain: [label, ...]`")
    rules = []
    for domain, labels in groups.items():
        if not _LABELS.fullmatch(domain) or "." not in domain:
            raise Problem(f"{where}: {domain!r} is not a domain")
        if not isinstance(labels, list) or not labels:
            raise Problem(f"{where}: {domain}: a list of labels belongs here")
        rules += [_host(where, domain, label, suffixes) for label in labels]
    if len(set(rules)) != len(rules):
        raise Problem(f"{where}: a host stands twice")
    return rules


class Operation:
    KEYS = {"says", "methods", "paths", "check", "write"}

    def __init__(self, where, entry, host=None):
        _map(where, entry, {"says"}, self.KEYS)
        self.host = host
        self.says = _text(where, entry["says"])
        self.methods = _list(where, entry["methods"], _METHOD) if "methods" in entry else None
        self.paths = _list(where, entry["paths"], _PATH) if "paths" in entry else None
        self.check = entry.get("check")
        if self.check is not None and self.check not in CHECKS:
            raise Problem(f"{where}: check {self.check!r} is none of {', '.join(CHECKS)}")
        self.write = _flag(where, entry, "write")


def _operations(where, entries, sets):
    """Entries are operations, or `use: SET`; both may be bound to one host."""
    if not isinstance(entries, list) or not entries:
        raise Problem(f"{where}: a list of operations belongs here")
    out = []
    for entry in entries:
        _map(where, entry, set(), Operation.KEYS | {"use", "host"})
        host = entry.get("host")
        if "use" not in entry:
            own = {k: v for k, v in entry.items() if k != "host"}
            out.append(Operation(where, own, host))
        elif entry["use"] not in sets or entry.keys() - {"use", "host"}:
            raise Problem(f"{where}: `use` names a list of operations.yaml and stands alone or "
                          f"with `host`: {entry}")
        else:
            out += [Operation(where, one, host) for one in sets[entry["use"]]]
    return out


class Permission:
    KEYS = {"says", "attempt", "hosts", "rules", "includes", "operations", "host_port", "files",
            "web", "warning", "personal", "instead"}
    _RULE = re.compile(r"[!-~]+")
    _FILE = re.compile(r"(\*\.)?[A-Za-z0-9._-]+")

    def __init__(self, name, entry, sets, suffixes):
        where = f"permissions.yaml: {name}"
        if not _ID.fullmatch(name):
            raise Problem(f"{where}: not an id")
        _map(where, entry, {"says", "attempt"}, self.KEYS)
        self.id = name
        self.says, self.attempt = _text(where, entry["says"]), _text(where, entry["attempt"])
        self.rules = hosts(where, entry.get("hosts", {}), suffixes)
        self.rules += _list(where, entry["rules"], self._RULE) if "rules" in entry else []
        self.includes = _list(where, entry["includes"], _ID) if "includes" in entry else []
        self.operations = _operations(where, entry["operations"], sets) \
            if "operations" in entry else []
        self.host_port = int(entry.get("host_port", "0"))
        self.files = _list(where, entry["files"], self._FILE) if "files" in entry else []
        self.web = _flag(where, entry, "web")
        self.personal = _flag(where, entry, "personal")
        self.warning, self.instead = entry.get("warning"), entry.get("instead")
        self._check(where)

    def _check(self, where):
        if not 0 <= self.host_port <= 65535:
            raise Problem(f"{where}: host_port is a port")
        if self.web and not self.warning:
            raise Problem(f"{where}: what opens the web asks first, and needs a warning")
        for rule in self.rules:
            if self._is_narrowed(cut_rule(rule)) and not _SEEN.fullmatch(rule):
                raise Problem(f"{where}: operations cannot be held for {rule}")
        nothing = not (self.rules or self.includes or self.host_port or self.web)
        if nothing != bool(self.instead) and self.id not in OF_THE_AGENT:
            raise Problem(f"{where}: a permission has hosts, or says what to write instead")

    def _is_narrowed(self, host):
        there = [o for o in self.operations if o.host in (None, host)]
        return bool(there) and all(o.methods or o.paths or o.check for o in there)

    def writes(self):
        return any(operation.write for operation in self.operations)


def cut_rule(rule):
    """A rule's host, without ports and protocol."""
    return re.match(r"[^:/]*", rule).group()


class Preset:
    def __init__(self, name, entry):
        where = f"presets.yaml: {name}"
        _map(where, entry, {"says"}, {"says", "permissions", "open", "warning"})
        self.name, self.says = name, _text(where, entry["says"])
        self.permissions = _list(where, entry["permissions"], _ID) \
            if "permissions" in entry else []
        self.open, self.warning = _flag(where, entry, "open"), entry.get("warning")
        if self.open and not self.warning:
            raise Problem(f"{where}: what opens the network asks first, and needs a warning")


class Agent:
    def __init__(self, name, entry, suffixes):
        where = f"agents.yaml: {name}"
        if not _WORD.fullmatch(name):
            raise Problem(f"{where}: not a name")
        _map(where, entry, {"commands", "model"}, {"commands", "model", "update", "sign-in"})
        self.name = name
        self.commands = _list(where, entry["commands"], re.compile(r"[A-Za-z0-9._-]+"))
        self.model = _list(where, entry["model"], _ID)
        self.update = hosts(where, entry.get("update", {}), suffixes)
        self.sign_in = hosts(where, entry.get("sign-in", {}), suffixes)


class Catalogue:
    """`permissions` by id, sorted; `presets` in the order of PRESETS; `agents` by name."""

    def __init__(self, folder, suffixes=frozenset()):
        trees = {name: _load(folder, name) for name in FILES}
        _map("permissions.yaml", trees["permissions"], {"version", "permissions"},
             {"version", "permissions"})
        self.version = trees["permissions"]["version"]
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", self.version):
            raise Problem("permissions.yaml: version is a date")
        self.sets = {name: trees["operations"][name] for name in sorted(trees["operations"])}
        for name, entries in self.sets.items():
            _operations(f"operations.yaml: {name}", entries, {})
        self.permissions = {
            name: Permission(name, entry, self.sets, suffixes)
            for name, entry in sorted(trees["permissions"]["permissions"].items())}
        presets = _map("presets.yaml", trees["presets"], set(PRESETS), set(PRESETS))
        self.presets = [Preset(name, presets[name]) for name in PRESETS]
        self.agents = [Agent(name, entry, suffixes)
                       for name, entry in sorted(trees["agents"].items())]
        self._check()

    def operations_of(self, name):
        return _operations(name, self.sets[name], {})

    def reach(self, name):
        """The permission and all that it includes."""
        seen, left = [], [name]
        while left:
            at = left.pop(0)
            if at not in seen:
                seen.append(at)
                left += self.permissions[at].includes
        return [self.permissions[one] for one in seen]

    def in_preset(self, preset):
        """The ids that a preset holds, those of every language included."""
        ids = [p.id for name in preset.permissions if name != "languages"
               for p in self.reach(name)]
        if "languages" in preset.permissions:
            ids += [p.id for p in self.permissions.values() if p.files]
        return sorted(set(ids))

    def _check(self):
        for p in self.permissions.values():
            self._known(f"permissions.yaml: {p.id}", p.includes)
        for p in self.permissions.values():
            inner = self.reach(p.id)[1:]
            if p in [q for one in inner for q in self.reach(one.id)]:
                raise Problem(f"permissions.yaml: {p.id} includes itself")
            if any(q.personal for q in inner) and not p.personal:
                raise Problem(f"permissions.yaml: {p.id} includes a personal one and is not")
            reached = {cut_rule(rule) for q in [p, *inner] for rule in q.rules}
            for operation in p.operations:
                if operation.host and operation.host not in reached:
                    raise Problem(f"permissions.yaml: {p.id}: an operation at {operation.host}, "
                                  "which is not a host of it")
        for preset in self.presets:
            where = f"presets.yaml: {preset.name}"
            self._known(where, [i for i in preset.permissions if i != "languages"])
            for name in self.in_preset(preset):
                p = self.permissions[name]
                if p.personal or p.warning or p.writes():
                    raise Problem(f"{where}: {name} is a person's own to switch on")
        commands = [command for agent in self.agents for command in agent.commands]
        if len(set(commands)) != len(commands):
            raise Problem("agents.yaml: a command belongs to two agents")
        for agent in self.agents:
            self._known(f"agents.yaml: {agent.name}", agent.model)

    def _known(self, where, ids):
        for name in ids:
            if name not in self.permissions:
                raise Problem(f"{where}: {name} is no permission")


def load(folder, suffixes=frozenset()):
    try:
        return Catalogue(folder, suffixes)
    except (Problem, yaml.YAMLError, OSError, UnicodeError, ValueError) as problem:
        sys.exit(f"catalogue: {problem}")
