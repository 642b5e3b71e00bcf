# SPDX-License-Identifier: Apache-2.0
"""The audit log as a person uses it: shown, verified, proven, put back, taken away."""

import base64
import hashlib
import json
import re

import pytest

from program import wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
STATE = {"dev": "/home/dev/.local/state/sandgate", "root": "/var/lib/sandgate"}


class Log:
    """The audit log of a sandbox that is kept, and its folder."""

    def __init__(self, one):
        self.one, self.sandgate = one, one.sandgate
        self.machine = one.sandgate.world.machine
        self.folder = f"{STATE[self.sandgate.person]}/sandboxes/{one.name}/audit"

    def shell(self, script):
        done = self.machine.run(script, person="root", cwd=self.folder)
        done.check_returncode()
        return done.stdout

    def entries(self, *options):
        shown = self.sandgate("audit", "show", *options, "--json", self.one.name)
        assert shown.ok, shown
        return shown.lines

    def verify(self, *options):
        done = self.sandgate("audit", "verify", *options, "--json", self.one.name)
        row, = json.loads(done.out)
        assert done.status == (0 if row["holds"] else 1), done
        return row


@pytest.fixture
def log(kept):
    """Of one that was started, refused something, and was changed while it ran."""
    one = kept("--only", "api.example.com")
    one.start()
    one.exec("curl -sS -m5 https://refused.example.org/ || true")
    assert one.sandgate("net", "allow", one.name, "new.example.com").ok
    return Log(one)


def actions(entries):
    return [entry["action"] for entry in entries]


@BOTH
def test_what_happened_is_shown(log, person):
    wait_until(lambda: "sandgate.policy.change" in actions(log.entries()), what="the change")
    log.one.stop()
    entries = log.entries()
    assert [entry["seq"] for entry in entries] == list(range(len(entries)))
    times = [entry["time"] for entry in entries]
    assert times == sorted(times)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)
    assert all(entry["sandbox"] == log.one.name for entry in entries)
    assert actions(entries)[0] == "sandgate.sandbox.start"
    assert actions(entries)[-1] == "sandgate.sandbox.stop"
    refusal = next(e for e in entries if e["action"] == "sandgate.egress.deny")
    assert refusal["verdict"] == "deny" and refusal["name"] == "refused.example.org"
    assert refusal["reason"] == "not-in-policy" and refusal["remedy"].startswith("sandgate net allow")
    change = next(e for e in entries if e["action"] == "sandgate.policy.change")
    assert "new.example.com" in json.dumps(change["after"])
    assert "new.example.com" not in json.dumps(change["before"])
    assert change["who"].startswith(person)
    # Chosen ones, as lines for a person.
    assert actions(log.entries("--action", "sandgate.policy.*")) == ["sandgate.policy.change"]
    assert log.entries("--since", "2999-01-01T00:00:00Z") == []
    text = log.sandgate("audit", "show", log.one.name).out
    assert len(text.splitlines()) == len(entries) and "dns  refused.example.org  no rule of the policy allows it" in text


@BOTH
def test_a_log_is_verified_while_it_is_written(log, person):
    wait_until(lambda: log.verify()["size"] >= 3, what="the signature")
    row = log.verify()
    assert row["holds"] and row["why"] is None and row["bad_seq"] is None
    assert row["origin"].startswith("sandgate/") and row["origin"].endswith("/" + log.one.name)
    for _ in range(20):
        log.one.exec("getent hosts busy.example.org || true")
        assert log.verify()["holds"]
    log.one.stop()
    row = log.verify()
    assert row["holds"] and row["unsealed"] == 0 and row["torn_bytes"] == 0
    assert row["size"] == len(log.entries())
    said = log.sandgate("audit", "verify", log.one.name)
    assert said.out == f"{log.one.name}: holds: {row['size']} entries are signed\n"


def test_a_changed_entry_is_named(log):
    log.one.stop()
    log.shell("sed -i 's/refused.example.org/allowed.example.org/' 000*.jsonl")
    row = log.verify()
    first = next(e["seq"] for e in log.entries() if e.get("name") == "allowed.example.org")
    assert not row["holds"] and row["bad_seq"] == first
    said = log.sandgate("audit", "verify", log.one.name)
    assert said.status == 1
    assert said.out == (f"{log.one.name}: does not hold: entry {first}: was changed after it was "
                        "sealed\n")
    # Nothing is started on top of it.
    started = log.sandgate("start", log.one.name)
    assert started.status == 125 and f"entry {first}: was changed" in started.err


def recompute(proof, key):
    """The root that the proof leads to, and the checkpoint's, in a few lines of another language."""
    head, checkpoint = proof.split("\n\n", 1)
    lines = head.split("\n")
    assert lines[0] == "c2sp.org/tlog-proof@v1"
    line = base64.b64decode(lines[1].removeprefix("extra "))
    index = int(lines[2].removeprefix("index "))
    origin, size, root = checkpoint.split("\n")[:3]
    node = hashlib.sha256(b"\0" + line).digest()
    last = int(size) - 1
    for sibling in map(base64.b64decode, lines[3:]):
        if index % 2 or index == last:
            node = hashlib.sha256(b"\1" + sibling + node).digest()
            while index % 2 == 0 and index:
                index, last = index >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\1" + node + sibling).digest()
        index, last = index >> 1, last >> 1
    return line, base64.b64encode(node).decode(), root, checkpoint


def test_a_third_party_checks_a_proof(log):
    log.one.stop()
    machine, elsewhere = log.machine, log.machine.new_work("dev")
    entries = log.entries()
    seq = next(e["seq"] for e in entries if e["action"] == "sandgate.policy.change")
    proof = log.sandgate("audit", "proof", log.one.name, str(seq))
    assert proof.ok, proof
    machine.write(f"{elsewhere}/p", proof.out, "dev")
    machine.write(f"{elsewhere}/key.pub", log.shell("cat key.pub"), "dev")
    checked = log.sandgate("audit", "check", "--key", "key.pub", "--json", "p", cwd=elsewhere)
    assert checked.ok, checked
    assert json.loads(checked.out)["entry"] == entries[seq]
    # Without this program: SHA-256 for the tree, openssl for the signature.
    line, root, signed, checkpoint = recompute(proof.out, log.shell("cat key.pub"))
    assert json.loads(line) == entries[seq] and root == signed
    text, signature = checkpoint.split("\n\n")
    octets = base64.b64decode(signature.split(" ")[2])[4:]
    machine.write(f"{elsewhere}/text", text + "\n", "dev")
    machine.write(f"{elsewhere}/signature", base64.b64encode(octets).decode() + "\n", "dev")
    verified = machine.run("base64 -d signature > s && openssl pkeyutl -verify -pubin -inkey key.pub "
                           "-rawin -in text -sigfile s", cwd=elsewhere)
    assert verified.returncode == 0, verified
    # Another's key; another entry.
    machine.run("openssl genpkey -algorithm ed25519 | openssl pkey -pubout > other.pub",
                cwd=elsewhere).check_returncode()
    bad = log.sandgate("audit", "check", "--key", "other.pub", "p", cwd=elsewhere)
    assert bad.status == 1 and "not signed with this key" in bad.err
    machine.write(f"{elsewhere}/line", json.dumps(entries[0]), "dev")
    bad = log.sandgate("audit", "check", "--key", "key.pub", "--entry", "line", "p", cwd=elsewhere)
    assert bad.status == 1 and f"this entry is not number {seq} of the log" in bad.err
    assert log.sandgate("audit", "proof", log.one.name, "9999").status == 125


def test_a_log_that_was_put_back_is_found_by_its_anchor(log):
    log.one.stop()
    elsewhere = log.machine.new_work("dev")
    log.machine.write(f"{elsewhere}/early", log.shell("cat checkpoint"), "dev")
    log.shell("cp -a . ../before")
    log.one.start()
    log.one.stop()
    log.machine.write(f"{elsewhere}/late", log.shell("cat checkpoint"), "dev")
    sizes = [int(log.machine.read(f"{elsewhere}/{name}").split("\n")[1]) for name in ("early", "late")]
    assert sizes[0] < sizes[1]
    for name in "early", "late":
        row = log.verify("--anchor", f"{elsewhere}/{name}")
        assert row["holds"] and row["anchors"] == 1
    log.shell("rm -rf ../audit/* && cp -a ../before/. .")
    itself = log.sandgate("audit", "verify", "--dir", log.folder)
    assert itself.ok and f"holds: {sizes[0]} entries are signed" in itself.out, itself
    # The host remembers what was signed when it stopped.
    row = log.verify()
    assert not row["holds"] and row["bad_seq"] == sizes[0]
    assert row["why"].startswith("against the checkpoint in the host's own log: ")
    row = log.verify("--anchor", f"{elsewhere}/late")
    assert not row["holds"] and row["bad_seq"] == sizes[0]
    assert f"rolled back: the anchor has {sizes[1]} entries, the log {sizes[0]}" in row["why"]


@BOTH
def test_a_removed_log_leaves_its_checkpoint(log, person):
    one, sandgate = log.one, log.sandgate
    one.stop()
    log.shell("cp -a .. /tmp/early")
    early = log.verify()["size"]
    one.start()
    one.stop()
    size = log.verify()["size"]
    assert early < size
    assert sandgate("rm", one.name).ok
    rows = {row["name"]: row for row in sandgate.json("audit", "verify")}
    assert rows["(host)"]["holds"]
    assert rows[one.name]["checkpoint"].split("\n")[1] == str(size)
    said = sandgate("audit", "verify")
    assert said.ok and re.search(rf"^{one.name}: was removed .*; its last checkpoint, at size {size}, is "
                                 r"in the host's own log$", said.out, re.M), said
    shown = sandgate("audit", "show", "--host", "--json").lines
    assert {"sandgate.sandbox.create", "sandgate.sandbox.remove"} <= set(actions(shown))
    # Back again, as it was before: it proves itself, and the host remembers more.
    log.machine.run(f"mv /tmp/early {STATE[person]}/sandboxes/{one.name}",
                    person="root").check_returncode()
    row = log.verify()
    assert not row["holds"] and row["bad_seq"] == early
    assert row["why"].startswith("against the checkpoint in the host's own log: ")
    assert f"the anchor has {size} entries, the log {early}" in row["why"]
    # All are verified, and one that does not hold makes the status.
    assert sandgate("audit", "verify").status == 1


BY_HOST = "against the checkpoint in the host's own log: "
SWAPS = {
    "gone": ("rm -rf ../audit", None),
    "the folder gone": ("mv ../../{name} ../../.gone", None),
    "begun anew": ("rm -rf ../audit", "again"),
    "begun anew, and longer": ("rm -rf ../audit", "longer"),
    "another sandbox's": ("rm -rf * && cp -a ../../{other}/audit/. .", None),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_a_log_in_its_place_or_none_is_found_by_the_host(log, kept, swap):
    """Each of them proves itself, with a key of its own; whoever starts it again signs for the new one."""
    one, sandgate = log.one, log.sandgate
    other = kept("--net", "none")
    other.start()
    other.stop()
    one.stop()
    assert log.verify()["holds"]
    script, then = SWAPS[swap]
    log.shell(script.format(other=other.name, name=one.name))
    for _ in range({None: 0, "again": 1, "longer": 4}[then]):
        one.start()
        one.stop()
    row = log.verify()
    assert not row["holds"], row
    if "gone" in swap:
        assert "its log is gone, and was not taken away by `sandgate rm`" in row["why"], row
    else:
        assert row["why"].startswith(BY_HOST), row
        assert ("not the one of the anchor" if then else f"/{other.name}, it had ") in row["why"], row
    rows = {r["name"]: r for r in json.loads(sandgate("audit", "verify", "--json").out)}
    assert rows["(host)"]["holds"] and rows[other.name]["holds"] and not rows[one.name]["holds"]
    assert sandgate("audit", "verify").status == 1
    log.machine.run("test ! -e .gone || mv .gone " + one.name, person="root",
                    cwd=f"{STATE['dev']}/sandboxes").check_returncode()


def test_a_copy_is_verified_where_it_is(log):
    log.one.stop()
    log.shell("mkdir /tmp/copy && cp *.jsonl hashes edge checkpoint key.pub /tmp/copy && "
              "chmod -R a+rX /tmp/copy")
    for option in "verify", "show":
        done = log.sandgate("audit", option, "--dir", "/tmp/copy")
        assert done.ok, done
    log.machine.run("rm /tmp/copy/hashes", person="root").check_returncode()
    done = log.sandgate("audit", "verify", "--dir", "/tmp/copy")
    log.machine.run("rm -rf /tmp/copy", person="root").check_returncode()
    assert done.status == 1 and 'there is no file "hashes"' in done.out


WRONG = {
    "no log named": (["show"], 2, "which log?"),
    "two logs named": (["verify", "--host", "--dir", "/tmp"], 2, "which log?"),
    "no such sandbox": (["verify", "nobody"], 125, "nobody: there is no sandbox of that name"),
    "no log there": (["verify", "--dir", "/tmp"], 125, "/tmp: no audit log there"),
    "no such folder": (["show", "--dir", "/nowhere"], 125, "/nowhere: there is no such folder; correct the path"),
    "no such anchor": (["verify", "--dir", "/tmp", "--anchor", "/nowhere"], 125,
                       "/nowhere: there is no such file; correct the path"),
    "no number": (["proof", "--dir", "/tmp", "first"], 2, "first: no sequence number"),
    "no key": (["check", "/etc/passwd"], 2, "--key is missing"),
    "no time": (["show", "--host", "--since", "soon"], 2, "soon"),
    "an anchor for all": (["verify", "--anchor", "/etc/passwd"], 2, "--anchor and --key are about one log"),
    "a proof that is none": (["check", "--key", "/etc/passwd", "/etc/passwd"], 125, "no public key"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said(sandgate, what):
    argv, status, words = WRONG[what]
    done = sandgate("audit", *argv)
    assert done.status == status and words in done.err, done
