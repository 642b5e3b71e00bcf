#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_cli.py SANDGATE: the parts of the command line that start no sandbox.

Prints lines like a cmocka program, one for each check.
"""

import json
import os
import pathlib
import pty
import resource
import subprocess
import sys
import tempfile

SANDGATE = os.path.abspath(sys.argv[1])
# Root keeps what outlives a run in the system's folders: it has some of its own here.
_OWN = "mount -t tmpfs -o mode=755 lib /var/lib && exec \"$0\" \"$@\""
if os.geteuid() == 0 and "SANDGATE_OWN_LIB" not in os.environ:
    os.environ["SANDGATE_OWN_LIB"] = "1"
    os.execvp("unshare", ["unshare", "-m", "sh", "-c", _OWN, sys.executable, *sys.argv])
_CHECKS = []
_CLEAN = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TERM": "xterm"}
_CLEAN.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})

POLICY = """network: deny
allow:
  - api.example.com
  - "*.cdn.example.com"
  - 10.20.0.0/16
deny: [bad.cdn.example.com]
"""


def check(work):
    _CHECKS.append(work)
    return work


def run(*words, env=None, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([SANDGATE, *words], capture_output="stdout" not in options, text=True,
                          env={**_CLEAN, **(env or {})}, check=False, timeout=60, **options)


def refused(done, *parts):
    """Status 2, nothing on standard output, one line on standard error that says these things."""
    assert done.returncode == 2, done
    assert done.stdout == "" and done.stderr.startswith("sandgate: "), done
    assert done.stderr.count("\n") == 1, done
    for part in parts:
        assert part in done.stderr, done


def on_terminal(*words, **env):
    """What comes out when standard output is a terminal."""
    main, other = pty.openpty()
    process = subprocess.Popen([SANDGATE, *words], stdin=subprocess.DEVNULL, stdout=other,
                               stderr=subprocess.DEVNULL, env={**_CLEAN, **env})
    os.close(other)
    said = b""
    while True:
        try:
            some = os.read(main, 65536)
        except OSError:
            break
        if not some:
            break
        said += some
    process.wait()
    os.close(main)
    return said.decode()


def write(text, name="sandgate.yaml"):
    pathlib.Path(name).write_text(text, encoding="utf-8")
    return name


@check
def nothing_written_is_bad_usage():
    done = run()
    assert done.returncode == 2 and done.stdout == "" and "Usage: sandgate" in done.stderr


@check
def help_is_the_same_by_every_way():
    overview = run("help")
    assert overview.returncode == 0 and "net explain" in overview.stdout
    assert run("--help").stdout == run("-h").stdout == overview.stdout
    one = run("help", "net", "explain")
    assert one.returncode == 0 and one.stdout.startswith("Usage: sandgate net explain")
    assert run("net", "explain", "--help").stdout == one.stdout
    group = run("help", "net")
    assert group.returncode == 0 and "sandgate net explain" in group.stdout
    assert run("net", "--help").stdout == group.stdout
    refused(run("help", "frobnicate"), "unknown command")


@check
def the_version_is_one_line():
    done = run("version")
    assert done.returncode == 0 and done.stdout.startswith("sandgate ")
    assert run("--version").stdout == done.stdout
    as_json = json.loads(run("version", "--json").stdout)
    assert done.stdout == f"sandgate {as_json['version']}\n"


@check
def what_is_unknown_names_the_nearest():
    refused(run("rnu"), "rnu", "did you mean \"sandgate run\"?")
    refused(run("ls", "--jsno"), "--jsno", "did you mean --json?")
    refused(run("run", "--allwo", "x", "--", "true"), "did you mean --allow?")
    refused(run("run", "--net", "dney", "--", "true"), "--net", "deny")


@check
def control_characters_do_not_reach_the_terminal():
    refused(run("evil\x1b]0;title\x07"), "evil?]0;title?")


@check
def options_of_run_are_checked_before_anything_starts():
    true = ("--", "true")
    refused(run("run", "--name", "Bad_Name", *true), "--name", "small letters")
    refused(run("run", "--name", "doctor", *true), "--name", "doctor")
    refused(run("run", "--name", "a" * 64, *true), "--name", "63")
    refused(run("run", "--engine", "docker", *true), "--engine docker", "sandgate attach")
    refused(run("run", "--image", "x", *true), "--image", "starts from no image")
    refused(run("run", "--engine", "bwarp", *true), "did you mean bwrap?")
    refused(run("run", "--quiet"), "no command to run", "-- COMMAND")
    refused(run("attach"), "--netns PATH, --pid PID and --container ID")
    refused(run("attach", "--contaner", "x"), "did you mean --container?")
    refused(run("detach"), "detach")
    refused(run("run", "--pcap", "f", "--pcap-max-mb", "0", *true), "--pcap-max-mb", "no number from 1 to")
    refused(run("run", "--pcap", "f", "--pcap-files", "1x", *true), "--pcap-files", "no number from 1 to 10000")
    refused(run("run", "--pcap-keys", *true), "--pcap-keys", "no capture without a file")
    refused(run("pcap", "box", "f", "--stop"), "either a file to capture to, or --stop")
    refused(run("run", "--agent", "cloude", *true), "--agent", "did you mean claude?")
    refused(run("run", "--unattended", "--yes", *true), "--unattended and --yes")
    refused(run("run", "--net", "open", *true), "send your code anywhere", "--yes")
    refused(run("run", "--allow", "web", *true), "send your code anywhere", "--yes")
    refused(run("run", "--env", "NAME", *true), "--env", "KEY=VALUE")
    refused(run("run", "--publish", "8080", *true), "--publish", "8080:3000")
    refused(run("run", "--publish", "8080:0", *true), "--publish")
    refused(run("run", "--publish", "8080:3000,8080:4000", *true), "8080", "twice")
    refused(run("run", "--host-port", "70000", *true), "--host-port", "65535")
    refused(run("run", "--host-port", "080", *true), "--host-port")
    refused(run("run", "curl", "x"), "put \"--\" before the command")


@check
def contradictions_are_refused():
    true = ("--", "true")
    refused(run("run", "--only", "a.example", "--allow", "b.example", *true), "--only and --allow")
    refused(run("run", "--only", "a.example", "--net", "any", *true), "--only and --net any")
    refused(run("run", "--net", "any", "--allow", "a.example", *true), "any")
    write(POLICY)
    refused(run("run", "--only", "a.example", "--policy", "sandgate.yaml", *true),
            "--only and --policy")


@check
def rules_on_the_command_line_are_refused_by_name():
    true = ("--", "true")
    refused(run("run", "--allow", "api.example.com,*.com", *true), "--allow", "*.com")
    refused(run("run", "--deny", "10.0.0.5/8", *true), "--deny", "10.0.0.0/8")
    refused(run("run", "--only", "https://example.com/x", *true), "--only", "example.com")


@check
def a_policy_that_cannot_be_read_is_refused_by_its_cause():
    refused(run("run", "--policy", "missing.yaml", "--", "true"), "missing.yaml", "no such file")
    refused(run("policy", "check", "."), ".: it is a folder")
    refused(run("policy", "check", "/dev/zero"), "/dev/zero", "larger than 64 MiB")


@check
def a_policy_is_explained_rule_by_rule():
    write(POLICY)
    done = run("policy", "check", "sandgate.yaml")
    assert done.returncode == 0 and done.stderr == "", done
    for part in ("sandgate.yaml: valid", "network: deny", "api.example.com", "80", "443",
                 "*.cdn.example.com", "10.20.0.0/16", "bad.cdn.example.com"):
        assert part in done.stdout, (part, done.stdout)
    model = json.loads(run("policy", "check", "--json", "sandgate.yaml").stdout)
    assert (model["file"], model["valid"], model["error"]) == ("sandgate.yaml", True, None)
    assert model["network"] == "deny"
    assert [(r["effect"], r["rule"]) for r in model["rules"]] == [
        ("allow", "api.example.com"), ("allow", "*.cdn.example.com"), ("allow", "10.20.0.0/16"),
        ("deny", "bad.cdn.example.com")]
    assert all(r["says"] for r in model["rules"])


@check
def settings_are_shown_as_a_file_has_them():
    write("network: deny\nallow: [api.example.com]\nquic: allow\nlimits: {flows: 10}\n", "set.yaml")
    done = run("policy", "check", "set.yaml")
    assert done.stdout.endswith("quic: allow\nlimits: {\"flows\": 10}\n"), done
    model = json.loads(run("policy", "check", "--json", "set.yaml").stdout)
    assert model["settings"] == {"quic": "allow", "limits": {"flows": 10}}


@check
def a_policy_may_come_from_standard_input():
    for text in (POLICY, '{"network": "deny", "allow": ["api.example.com"]}'):
        done = subprocess.run([SANDGATE, "policy", "check", "-"], input=text, capture_output=True,
                              text=True, env=_CLEAN, check=False)
        assert done.returncode == 0 and "api.example.com" in done.stdout, done
        assert done.stdout.startswith("standard input: valid"), done


@check
def a_file_that_names_no_base_adds_to_the_everyday_set():
    write("allow: [api.example.com]\n", "plain.yaml")
    assert json.loads(run("policy", "check", "--json", "plain.yaml").stdout)["network"] == "standard"
    explain = ("net", "explain", "--json", "--policy", "plain.yaml")
    assert json.loads(run(*explain, "api.example.com").stdout)["step"] == 3
    github = json.loads(run(*explain, "github.com").stdout)
    assert (github["verdict"], github["step"], github["permission"]) == ("allow", 5, "github")
    assert github["note"] == "each request is judged by its method and path", github
    assert (github["inspected"], github["operation"]) == ("operations", None), github
    assert json.loads(run(*explain, "example.com").stdout)["verdict"] == "deny"


@check
def permissions_of_a_file_are_shown_and_must_be_known():
    write("network: standard\npermissions: [install:rust, -error-reports]\n", "ids.yaml")
    model = json.loads(run("policy", "check", "--json", "ids.yaml").stdout)
    on = [permission["id"] for permission in model["permissions"]]
    assert "install:rust" in on and "github" in on and "error-reports" not in on, on
    assert on == sorted(on) and all(permission["says"] for permission in model["permissions"])
    assert "install:rust" in run("policy", "check", "ids.yaml").stdout
    write("permissions: [install:rst]\n", "ids.yaml")
    refused(run("policy", "check", "ids.yaml"), "ids.yaml:1:15: permission `install:rst`", "did you mean `install:rust`")
    write("network: locked\npermissions:\n  - model\n  - languages\n  - -gitub\n", "ids.yaml")
    for command in (("policy", "check", "ids.yaml"), ("net", "explain", "--policy", "ids.yaml", "a.example"),
                    ("run", "--policy", "ids.yaml", "--", "true")):
        refused(run(*command), "ids.yaml:5:5: permission `gitub`", "did you mean `github`")
    write("permissions: [site:example.com]\n", "ids.yaml")
    refused(run("policy", "check", "ids.yaml"), "ids.yaml:1:15", "`allow`")
    write("version: 7\n", "ids.yaml")
    refused(run("policy", "check", "ids.yaml"), "ids.yaml:1:10", "knows version 7")


@check
def credentials_are_checked_and_shown_without_a_secret():
    entry = "credentials:\n  - {host: api.example.com, query: key, from: 'env:SG_TOKEN'}\n"
    write("network: deny\nallow: [api.example.com]\n" + entry, "keys.yaml")
    model = json.loads(run("policy", "check", "--json", "keys.yaml").stdout)
    assert model["valid"] and model["note"] is None, model
    assert model["settings"]["credentials"] == [{"host": "api.example.com", "query": "key", "from": "env:SG_TOKEN"}]
    write("network: deny\nallow: [x.example.com]\n" + entry, "keys.yaml")
    done = run("policy", "check", "keys.yaml")
    assert done.returncode == 0 and "note: the credential ?key at api.example.com is never used: " \
        "no rule admits api.example.com; add it under `allow`" in done.stdout, done
    write("network: deny\ncredentials:\n  - {host: a.example, query: key, from: ghp_notasource}\n", "keys.yaml")
    done = run("policy", "check", "keys.yaml")
    refused(done, "keys.yaml:3:41", "it is no source of a secret")
    assert "ghp_notasource" not in done.stdout + done.stderr, done


@check
def a_policy_that_is_wrong_says_where():
    write("network: deny\nallow:\n  - api.example.com\n  - '*.com'\n", "bad.yaml")
    refused(run("policy", "check", "bad.yaml"), "bad.yaml:4:5", "*.com")
    done = run("policy", "check", "--json", "bad.yaml")
    model = json.loads(done.stdout)
    assert done.returncode == 2 and done.stderr == "", done
    assert model["valid"] is False and "bad.yaml:4:5" in model["error"] and model["rules"] == []
    write('{"network": "deny", "alow": []}', "bad.json")
    refused(run("policy", "check", "bad.json"), "bad.json:1:", "alow", "allow")
    refused(run("policy", "check", "none.yaml"), "none.yaml")


@check
def explain_says_what_would_happen():
    write(POLICY)
    explain = ("net", "explain", "--policy", "sandgate.yaml")
    good = run(*explain, "https://api.example.com/x")
    assert good.returncode == 0 and "api.example.com" in good.stdout, good
    for target, verdict in (("https://api.example.com/", "allow"), ("10.20.1.2:22/tcp", "allow"),
                            ("https://bad.cdn.example.com/", "deny")):
        assert json.loads(run(*explain, "--json", target).stdout)["verdict"] == verdict
    model = json.loads(run(*explain, "--json", "https://other.example.com/x").stdout)
    assert {"verdict", "step", "rule", "reason", "remedy", "name", "address", "port", "proto",
            "method", "path"} <= model.keys(), model
    assert model["verdict"] == "deny" and model["reason"] == "not-in-policy"
    assert model["name"] == "other.example.com" and model["port"] == 443
    assert "other.example.com" in model["remedy"]


@check
def explain_names_the_operation_and_what_would_admit_it():
    write("network: standard\n", "plain.yaml")
    explain = ("net", "explain", "--policy", "plain.yaml")
    push = run(*explain, "https://github.com/x/y.git/git-receive-pack", "POST")
    assert push.returncode == 0 and push.stdout.startswith("deny "), push
    for line in ("request POST /x/y.git/git-receive-pack", "request push, of permission github:push",
                 "remedy  sandgate run --allow github:push ..."):
        assert line + "\n" in push.stdout, push
    model = json.loads(run(*explain, "--json", "https://github.com/x/y.git/git-upload-pack", "POST").stdout)
    assert (model["verdict"], model["operation"], model["operation_of"]) == ("allow", "clone and fetch", "github")
    write("network: deny\nallow: [{host: api.example.com, methods: [GET]}]\n", "get.yaml")
    explain = ("net", "explain", "--json", "--policy", "get.yaml", "https://api.example.com/x")
    for method, verdict, reason in (("GET", "allow", "allowed"), ("POST", "deny", "method-not-allowed")):
        model = json.loads(run(*explain, method).stdout)
        assert (model["verdict"], model["reason"], model["inspected"]) == (verdict, reason, "rules"), model


@check
def hosts_to_open_and_to_keep_closed_are_checked():
    write("network: open\ninspect: [api.example.com, '*.example.org:8443']\nsplice: [bank.example]\n", "tls.yaml")
    done = run("policy", "check", "tls.yaml")
    assert done.returncode == 0 and done.stdout.endswith(
        'inspect: ["api.example.com", "*.example.org:8443"]\nsplice: ["bank.example"]\n'), done
    write("network: open\ninspect: all\n", "tls.yaml")
    assert json.loads(run("policy", "check", "--json", "tls.yaml").stdout)["settings"] == {"inspect": "all"}
    write("network: open\ninspect: ['*.com']\n", "tls.yaml")
    refused(run("policy", "check", "tls.yaml"), "tls.yaml:2:11", "`com` is a public suffix")
    write("network: deny\nallow:\n  - host: a.example.com\n    methods: [GET]\nsplice: [a.example.com]\n", "tls.yaml")
    refused(run("policy", "check", "tls.yaml"), "tls.yaml:5:10", "cannot stay closed", "leave it out of `splice`")


@check
def hosts_of_options_are_read_as_those_of_files():
    for option, value, says in (("--inspect", "*.com", "--inspect: `*.com`: `com` is a public suffix"),
                                ("--inspect", "a.example,10.0.0.1", "--inspect: `10.0.0.1`"),
                                ("--inspect", "a.example,", "--inspect: ``: it is empty"),
                                ("--splice", "all", "--splice: `all` goes with --inspect"),
                                ("--splice", "a.example,github", "--splice: `github` is a permission; write its hosts"),
                                ("--inspect", "github:push", "--inspect: `github:push` is a permission"),
                                ("--splice", "all:80", "--splice: `all:80`: port 80 is plain HTTP"),
                                ("--splice", "https://a.example/", "--splice: ")):
        refused(run("run", option, value, "--", "true"), says)
    refused(run("run", "--inspect", "x.a.example", "--splice", "*.a.example", "--", "true"),
            "`x.a.example` is to be opened, and kept closed by `*.a.example`")


@check
def explain_wants_a_policy_and_a_target():
    write(POLICY)
    refused(run("net", "explain", "https://x.example/"), "--policy")
    refused(run("net", "explain", "--policy", "sandgate.yaml", "name", "x.example"), "write its URL")
    refused(run("net", "explain", "--policy", "sandgate.yaml", "a..b"), "a..b")
    refused(run("net", "explain", "--policy", "sandgate.yaml", "https://a.example/", "post"), "write `POST`")
    refused(run("net", "explain", "--policy", "sandgate.yaml", "a.example", "POST"), "write its URL, `https://a.example/`")
    refused(run("net", "explain", "--policy", "sandgate.yaml", "a.example", "POST", "x"), "--policy")


@check
def a_sandbox_that_does_not_run_is_named():
    with tempfile.TemporaryDirectory() as folder:
        done = run("egress", "no-such-sandbox", env={"XDG_RUNTIME_DIR": folder})
        assert done.returncode == 125 and "no-such-sandbox" in done.stderr, done
        assert done.stderr.startswith("sandgate: ") and done.stdout == "", done


@check
def doctor_says_what_is_missing_and_how_to_get_it():
    rows = json.loads(run("doctor", "--json").stdout)
    assert all(row.keys() == {"check", "status", "required", "detail", "fix"} for row in rows)
    assert {"kernel", "user namespaces", "tun", "airlock", "bubblewrap", "seccomp", "landlock",
            "resolver", "ipv6", "ping", "open files", "pipes", "locked memory",
            "certificates", "podman", "podman rootless", "docker", "docker driver", "containerd",
            "cni plugin", "qemu", "kvm"} <= {row["check"] for row in rows}

    def little():
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
    row, = [row for row in json.loads(run("doctor", "--json", preexec_fn=little).stdout)
            if row["check"] == "locked memory"]
    assert row["status"] == "missing" and row["detail"].startswith("64 KiB at most"), row
    assert "memlock" in row["fix"], row
    # Not what PATH begins with, which may be a project's folder.
    with tempfile.TemporaryDirectory() as folder:
        for name in "bwrap", "podman", "dockerd", "containerd", "qemu-system-x86_64":
            planted = pathlib.Path(folder, name)
            planted.write_text(f"#!/bin/sh\n>{folder}/ran\necho {name} 9.9.9\n")
            planted.chmod(0o755)
        done = run("doctor", "--json", env={"PATH": f"{folder}:/usr/bin:/bin"})
        assert not pathlib.Path(folder, "ran").exists() and "9.9.9" not in done.stdout, done


@check
def colours_are_for_terminals_that_want_them():
    assert "\033[" not in run("doctor").stdout
    assert "\033[32m" in on_terminal("doctor")
    assert "\033[" not in on_terminal("doctor", NO_COLOR="1")
    assert "\033[32m" in on_terminal("doctor", NO_COLOR="")
    assert "\033[" not in on_terminal("doctor", TERM="dumb")
    assert "\033[" not in on_terminal("doctor", "--json")


@check
def output_that_cannot_be_written_is_a_failure():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = run("help", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 125 and "cannot write" in done.stderr, done


def main():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sandgate-cli-") as folder:
        os.chdir(folder)
        for work in _CHECKS:
            try:
                work()
                print(f"[       OK ] {work.__name__}")
            except (AssertionError, ValueError, StopIteration, OSError) as problem:
                failed += 1
                print(f"[  FAILED  ] {work.__name__}\n{type(problem).__name__}: {problem}")
        os.chdir("/")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
