#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_permissions.py SANDGATE SOURCE: `net permissions`, the sample of docs/permissions.md, and what
the generator refuses.

Prints lines like a cmocka program. Root's catalogue is the system's, so it is run as nobody, with a
copy of the program that nobody can reach.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SANDGATE, SOURCE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
SUFFIXES = "/usr/share/publicsuffix/public_suffix_list.dat"
_CHECKS = []


def check(work):
    _CHECKS.append(work)
    return work


class Place:
    """A folder that anybody may read, with the program, a configuration and a project in it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.chmod(0o755)
        self.program = shutil.copy(SANDGATE, self.folder / "sandgate")
        self.catalogue = self.folder / "config" / "sandgate" / "catalogue"
        self.catalogue.mkdir(parents=True)
        self.project = self.folder / "project"
        self.project.mkdir()

    def run(self, *words):
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder),
               "XDG_CONFIG_HOME": str(self.folder / "config")}
        env.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        return subprocess.run([self.program, "net", "permissions", *words], env=env, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL, cwd=self.project,
                              check=False, timeout=60, **NOBODY)

    def listed(self, *words):
        done = self.run("--json", *words)
        assert done.returncode == 0, done
        return {one["id"]: one for one in json.loads(done.stdout)}


def generate(folder):
    """What the generator says to a changed copy of the catalogue."""
    return subprocess.run([sys.executable, SOURCE / "tools" / "gen_catalogue.py", folder, SUFFIXES,
                           pathlib.Path(folder, "out.c")], capture_output=True, text=True,
                          check=False, timeout=60)


@check
def every_permission_has_the_documented_keys(place):
    listed = place.listed()
    assert len(listed) > 40
    for one in listed.values():
        assert list(one) == ["id", "says", "hosts", "operations", "on"], one
        assert isinstance(one["on"], bool) and one["says"]
        for operation in one["operations"]:
            assert list(operation) == ["says", "host", "methods", "paths", "check", "write"]


@check
def hosts_are_all_that_a_permission_may_let_through(place):
    listed = place.listed()
    assert listed["install:python"]["hosts"] == ["pypi.org", "files.pythonhosted.org"]
    assert set(listed["install:ruby"]["hosts"]) < set(listed["install"]["hosts"])
    assert set(listed["github"]["hosts"]) < set(listed["github:push"]["hosts"])
    assert "api.anthropic.com" in listed["model"]["hosts"]
    assert "downloads.claude.ai" in listed["update"]["hosts"]
    assert listed["model:ollama"]["hosts"] == ["host.sandgate.internal:11434"]
    assert listed["web"]["hosts"] == ["*:80,443"]
    assert listed["model:azure"]["hosts"] == []
    assert any(o["write"] for o in listed["github:push"]["operations"])
    assert not any(o["write"] for o in listed["github"]["operations"])


@check
def on_is_what_the_preset_standard_has_for_this_project(place):
    on = {name for name, one in place.listed().items() if one["on"]}
    assert on == {"model", "update", "install:system", "github", "error-reports"}, on
    (place.project / "Cargo.toml").touch()
    on = {name for name, one in place.listed().items() if one["on"]}
    assert "install:rust" in on and "install:go" not in on
    (place.project / "Cargo.toml").unlink()


@check
def one_permission_is_shown_with_all_there_is(place):
    said = place.run("install:node").stdout
    for part in ("install:node: install JavaScript packages", "in the presets: standard, bake",
                 "\nhosts\n", "\n  nodejs.org\n", "POST /-/npm/v1/security/advisories/bulk",
                 "A request to such a host that is none of these is refused."):
        assert part in said, said
    said = place.run("web").stdout
    assert "asks first: the agent could send your code anywhere" in said
    assert "in the presets: none" in said
    assert "yours: with your credential" in place.run("github:push").stdout
    assert "no host by itself: name the resource" in place.run("model:azure").stdout
    assert "when claude runs\n  model:anthropic\n" in place.run("model").stdout
    assert list(place.listed("time")) == ["time"]


@check
def the_list_has_every_id_the_presets_and_the_version(place):
    said = place.run().stdout
    for name, one in place.listed().items():
        assert re.search(rf"^(on|asks|yours|removed)? *{name} +{re.escape(one['says'])}$", said, re.M), name
    for preset in ("locked", "standard", "open", "bake"):
        assert f"\n{preset} " in said
    assert re.search(r"catalogue \d{4}-\d\d-\d\d;", said)


@check
def an_unknown_id_names_the_nearest(place):
    done = place.run("install:pyton")
    assert done.returncode == 2 and done.stdout == "", done
    assert "`install:pyton` is no permission; did you mean `install:python`?" in done.stderr
    assert "without an ID all are listed" in place.run("zzzzzzzzz").stderr
    assert "\033" not in place.run("\033[31mgithub").stderr


@check
def the_sample_of_an_administrators_file_is_read(place):
    text = (SOURCE / "docs" / "permissions.md").read_text(encoding="ascii")
    sample = re.search(r"^```\n(permissions:.*?)^```$", text, re.M | re.S).group(1)
    (place.catalogue / "corp.yaml").write_text(sample, encoding="ascii")
    listed = place.listed()
    assert listed["corp:wiki"]["hosts"] == ["wiki.corp.example", "db.corp.example:5432",
                                            "10.20.0.0/16"]
    assert listed["corp"]["on"] and not listed["github"]["on"]
    assert "+local;" in place.run().stdout
    (place.catalogue / "late.yaml").write_text(
        "permissions:\n  corp: {says: x, attempt: x, hosts: {late.example: ['@']}}\n",
        encoding="ascii")
    assert place.listed("corp")["corp"]["hosts"] == ["late.example"]
    for file in place.catalogue.iterdir():
        file.unlink()


@check
def a_file_that_is_not_understood_stops_it(place):
    bad = place.catalogue / "bad.yaml"
    bad.write_text("permissions:\n  corp: {says: x, attempt: x, host: {}}\n", encoding="ascii")
    done = place.run()
    assert done.returncode == 125, done
    assert "bad.yaml:2:31: unknown key `host`; did you mean `hosts`?" in done.stderr, done
    bad.unlink()


# What is wrong → what the build says. The first is a change of text, `old` → `new`, in a file.
_MISTAKES = [
    ("permissions.yaml", "    says: ask for the time (NTP)\n", "    say: ask\n", "unknown keys"),
    ("permissions.yaml", "  time:\n", "  web:\n    says: x\n    attempt: x\n  time:\n",
     "a second key `web`"),
    ("permissions.yaml", "pypi.org: [\"@\"]", "pypi.org: [\"@\", \"@\"]", "a host stands twice"),
    ("permissions.yaml", "pypi.org: [\"@\"]", "github.io: [\"*\"]", "strangers can register"),
    ("permissions.yaml", "pypi.org: [\"@\"]", "pypi.org: [\"a.*\"]", "not the part of a name"),
    ("permissions.yaml", "\"pool:123/udp\"", "\"pool:x/udp\"", "not ports or a protocol"),
    ("permissions.yaml", "includes: [github:as-you]", "includes: [github:as-me]",
     "github:as-me is no permission"),
    ("permissions.yaml", "{use: openrouter-api}", "{use: openrooter-api}", "`use` names a list"),
    ("permissions.yaml", "host: api.anthropic.com", "host: api.example.com", "not a host of it"),
    ("permissions.yaml", "    warning: the agent could send your code anywhere\n", "",
     "needs a warning"),
    ("permissions.yaml", "pypi.org: [\"@\"]", "pypi.org: [\"@:443/raw\"]",
     "operations cannot be held for pypi.org:443/raw"),
    ("operations.yaml", "check: graphql-query", "check: graphql", "is none of"),
    ("presets.yaml", "permissions: [model, update,", "permissions: [model, updates,",
     "updates is no permission"),
    ("presets.yaml", "permissions: [install:system, install]", "permissions: [publish:node]",
     "a person's own to switch on"),
    ("agents.yaml", "commands: [codex]", "commands: [claude]", "belongs to two agents"),
    ("agents.yaml", "model: [model:openai]", "model: [model:openay]", "is no permission"),
]


@check
def the_build_fails_on_a_mistake_and_says_which(place):
    for number, (file, old, new, says) in enumerate(_MISTAKES):
        folder = place.folder / f"mistake-{number}"
        shutil.copytree(SOURCE / "catalogue", folder)
        text = (folder / file).read_text(encoding="ascii")
        assert old in text, (file, old)
        (folder / file).write_text(text.replace(old, new, 1), encoding="ascii")
        done = generate(folder)
        assert done.returncode != 0 and says in done.stderr, (file, new, done.stderr)
    assert generate(shutil.copytree(SOURCE / "catalogue", place.folder / "right")).returncode == 0


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sandgate-permissions-") as folder:
        place = Place(folder)
        for work in _CHECKS:
            try:
                work(place)
                print(f"[       OK ] {work.__name__}")
            except (AssertionError, ValueError, KeyError, OSError) as problem:
                failed += 1
                print(f"[  FAILED  ] {work.__name__}\n{type(problem).__name__}: {problem}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
