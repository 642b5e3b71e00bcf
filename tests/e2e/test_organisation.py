# SPDX-License-Identifier: Apache-2.0
"""The organisation's signed policy: what is not right stops everything, what it says nobody widens."""

import json

import pytest

DIR = "/etc/sandgate"
BOTH = pytest.mark.parametrize("person", ["dev", "root"])


class Organisation:
    """An administrator with a pair of keys, at work on the machine."""

    def __init__(self, sandgate):
        self.machine, self.root = sandgate.world.machine, sandgate.as_person("root")
        self.keys = self.machine.new_work("root")
        assert self.root("org", "keygen", "--out", self.keys).ok
        self.policy = f"{self.keys}/policy.json"

    def sign(self, policy):
        text = policy if isinstance(policy, str) else json.dumps(policy)
        self.machine.write(self.policy, text)
        return self.root("org", "sign", "--key", f"{self.keys}/policy.key", self.policy)

    def install(self, policy):
        assert self.sign(policy).ok
        done = self.root("org", "install", self.policy, "--pub", f"{self.keys}/policy.pub")
        assert done.ok, done

    def change(self, script):
        self.machine.run(script, person="root", cwd=DIR).check_returncode()


@pytest.fixture
def organisation(sandgate):
    yield Organisation(sandgate)
    sandgate.world.machine.run(f"rm -rf {DIR}", person="root")


def fetch(name):
    """What `github` lets through, where it is that which admits the host."""
    return f"curl -sS -m5 https://{name}/o/r/releases || echo refused"


# What stops everything.

SPOILED = {
    "another octet": ("echo >> policy.json", "signature is not that of the key"),
    "no signature": ("rm policy.json.sig", "not signed"),
    "an empty signature": (": > policy.json.sig", "not 64 octets in base64"),
    "a cut signature": ("truncate -s 80 policy.json.sig", "not 64 octets in base64"),
    "another signature": ("tr A-Za-z N-ZA-Mn-za-m < policy.json.sig > s; mv s policy.json.sig", "signature"),
    "no key": ("rm policy.pub", "no key to verify it with"),
    "no policy": ("rm policy.json", "it is not there, although"),
    "a key alone": ("rm policy.json policy.json.sig", "it is not there, although"),
    "no key in the key's file": ("echo no > policy.pub", "no public Ed25519 key"),
    "another's key": ("openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout > policy.pub",
                      "signature is not that of the key"),
    "for everyone to write": ("chmod 666 policy.json", "everyone may write it"),
    "a person's file": ("chown 1000 policy.json", "does not belong to root"),
    "a person's folder": (f"chown 1000 {DIR}", "does not belong to root"),
    "links to what is gone": ("for f in *; do mv $f /tmp/gone; ln -s /tmp/gone $f; rm /tmp/gone; done",
                              "a link to what is not there"),
    "a folder that is gone": (f"mv {DIR} /tmp/gone; ln -s /tmp/gone {DIR}; rm -r /tmp/gone",
                              "a link to what is not there"),
    "a file in its place": (f"rm -r {DIR}; echo >{DIR}", "it is no folder"),
    "a FIFO": ("rm policy.json; mkfifo policy.json", "no regular file"),
}


@BOTH
@pytest.mark.parametrize("script, says", SPOILED.values(), ids=SPOILED)
def test_what_is_not_right_stops_everything(world, sandgate, organisation, person, script, says):
    organisation.install({"deny": ["evil.example.com"]})
    assert sandgate.run("--net", "none", command="echo started").out == "started\n"
    organisation.change(script)
    world.start_watching()
    for argv in (["run", "--net", "none", "--", "echo", "started"],
                 ["run", "--net", "deny", "--allow", "a.example.com", "--", "echo", "started"],
                 ["org", "show"]):
        done = sandgate(*argv, timeout=20)
        assert done.status == 125 and done.out == "", (argv, done)
        assert done.err.startswith("sandgate: /etc/sandgate") and says in done.err, (argv, done)
    assert world.left_the_host(dns=True) == []


def test_nor_is_what_runs_changed(world, sandgate, organisation):
    """The policy in force stays, and says so."""
    world.site("api.example.com")
    organisation.install({"deny": ["evil.example.com"]})
    box = sandgate.box("--net", "deny")
    organisation.change("echo >> policy.json")
    done = sandgate("net", "allow", box.name, "api.example.com")
    assert done.status == 125 and "put back what was signed, or sign it again" in done.err, done
    assert box.curl("https://api.example.com/").status == 6
    organisation.install({"deny": ["evil.example.com"]})
    assert sandgate("net", "allow", box.name, "api.example.com").ok
    assert box.curl("https://api.example.com/").ok
    evil = sandgate("net", "allow", box.name, "evil.example.com")
    world.site("evil.example.com")
    assert box.curl("https://evil.example.com/").status == 6, evil


def test_a_signed_policy_that_is_none_stops_everything(world, sandgate, organisation):
    """Signed by hand: `org sign` refuses it."""
    refused = organisation.sign('{"denied": []}')
    assert refused.status == 2 and "unknown key `denied`; did you mean `deny`?" in refused.err, refused
    organisation.install({"deny": ["evil.example.com"]})
    organisation.change(
        f"echo '{{\"denied\": []}}' > policy.json; openssl pkeyutl -sign -rawin -in policy.json "
        f"-inkey {organisation.keys}/policy.key | base64 -w0 > policy.json.sig")
    done = sandgate.run("--net", "none", command="echo started")
    assert done.status == 125 and "policy.json:1:2: unknown key" in done.err, done


def test_one_that_is_not_signed_is_not_installed(organisation):
    organisation.machine.write(organisation.policy, '{"deny": ["evil.example.com"]}')
    done = organisation.root("org", "install", organisation.policy, "--pub", f"{organisation.keys}/policy.pub")
    assert done.status == 2 and f"{organisation.policy}.sig: there is no such file" in done.err, done
    assert not organisation.machine.exists(f"{DIR}/policy.json")


def test_a_policy_without_a_key_stops_everything(world, sandgate, organisation):
    organisation.machine.run(f"mkdir {DIR}; echo '{{}}' > {DIR}/policy.json", person="root")
    done = sandgate.run("--net", "none", command="echo started")
    assert done.status == 125 and "no key to verify it with" in done.err, done


def test_no_variable_moves_it(world, sandgate, organisation):
    organisation.install({"deny": ["evil.example.com"]})
    organisation.change("echo >> policy.json")
    machine = world.machine
    for name in ("SANDGATE_ETC", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "SANDGATE_CONFIG", "HOME"):
        env = machine.environment("dev", **{name: machine.new_work()})
        done = sandgate.run("--net", "none", command="echo started", env=env)
        assert done.status == 125 and done.out == "", (name, done)


# The commands.

def test_keys_are_private_and_never_overwritten(world, sandgate, organisation):
    machine = world.machine
    work = machine.new_work()
    assert sandgate("org", "keygen", cwd=work).ok
    before = machine.read(f"{work}/policy.key")
    assert machine.run("stat -c '%a %n' policy.key policy.pub", cwd=work).stdout == \
        "600 policy.key\n644 policy.pub\n"
    again = sandgate("org", "keygen", "--out", work)
    assert again.status == 125 and "never overwritten" in again.err
    assert machine.read(f"{work}/policy.key") == before


def test_openssl_agrees_on_the_signature(world, sandgate, organisation):
    assert organisation.sign({"locked": True}).ok
    got = world.machine.run(
        "base64 -d policy.json.sig > sig; openssl pkeyutl -verify -rawin -pubin -inkey policy.pub "
        "-in policy.json -sigfile sig", person="root", cwd=organisation.keys)
    assert "Verified Successfully" in got.stdout, got


def test_only_root_installs_and_only_what_is_verified(world, sandgate, organisation):
    assert organisation.sign({"locked": True}).ok
    root, keys = organisation.root, organisation.keys
    pub = ["--pub", f"{keys}/policy.pub"]
    person = sandgate("org", "install", organisation.policy, *pub)
    assert person.status == 125 and "only root" in person.err
    assert "--pub" in root("org", "install", organisation.policy).err       # no key is there yet
    other = world.machine.new_work("root")
    assert root("org", "keygen", "--out", other).ok
    wrong = root("org", "install", organisation.policy, "--pub", f"{other}/policy.pub")
    assert wrong.status == 2 and "not that of the key" in wrong.err
    assert not world.machine.exists(DIR)
    assert root("org", "install", organisation.policy, *pub).ok
    assert sandgate.json("org", "show")["locked"] is True
    # The key that is there verifies the next one.
    assert organisation.sign({"locked": False}).ok
    assert root("org", "install", organisation.policy).ok
    assert sandgate.json("org", "show")["locked"] is False
    world.machine.write(organisation.policy, '{"locked": true}')
    assert root("org", "install", organisation.policy).status == 2
    assert sandgate.json("org", "show")["locked"] is False
    assert sandgate.run("--net", "none", command="true").ok


def test_what_was_spoiled_is_mended_by_installing_again(world, sandgate, organisation):
    organisation.install({"deny": ["evil.example.com"]})
    organisation.change("echo no > policy.pub")
    organisation.install({"deny": ["evil.example.com"]})
    assert sandgate.run("--net", "none", command="true").ok


def test_what_is_installed_is_shown(world, sandgate, organisation):
    assert sandgate.json("org", "show")["installed"] is False
    organisation.install({"deny": ["evil.example.com"], "allow": ["*.corp.example.com"], "locked": True,
                          "default_network": "locked", "permissions_removed": ["web"]})
    assert sandgate.json("org", "show") == {
        "installed": True, "locked": True, "default_network": "locked", "allow": ["*.corp.example.com"],
        "deny": ["evil.example.com"], "permissions_removed": ["web"]}
    text = sandgate("org", "show").out
    for word in ("signed", "locked", "evil.example.com", "*.corp.example.com", "web"):
        assert word in text


def test_a_reader_never_meets_half_of_a_change(world, sandgate, organisation):
    """While a set is replaced, again and again, every start goes well."""
    organisation.install({"deny": ["evil.example.com"]})
    for name in "ab":
        organisation.machine.write(f"{organisation.keys}/{name}.json", json.dumps({"deny": [f"{name}.example.com"]}))
        assert organisation.root("org", "sign", "--key", f"{organisation.keys}/policy.key",
                                 f"{organisation.keys}/{name}.json").ok
    writer = organisation.machine.popen(
        f"for i in $(seq 40); do {sandgate.path} org install {organisation.keys}/a.json; "
        f"{sandgate.path} org install {organisation.keys}/b.json; done", person="root")
    try:
        shown = set()
        while writer.poll() is None:
            shown.add(sandgate.json("org", "show")["deny"][0])
        assert shown <= {"evil.example.com", "a.example.com", "b.example.com"} and len(shown) > 1
    finally:
        writer.wait(60)


# What it says.

@BOTH
def test_what_it_denies_nobody_allows(world, sandgate, organisation, person):
    evil = world.site("evil.example.com")
    world.site("good.example.com")
    organisation.install({"deny": ["evil.example.com", "*.bad.example.com"]})
    tries = [["--allow", "evil.example.com,good.example.com"], ["--only", "*.example.com"],
             ["--net", "any"], ["--net", "open", "--yes"]]
    for options in tries:
        done = sandgate.run(*options, command=f"{fetch('evil.example.com')}; {fetch('good.example.com')}")
        assert done.out == "refused\nhello from good.example.com\n", (options, done)
    assert evil.connections == []


def test_what_it_allows_is_allowed_unless_somebody_denies_it(world, sandgate, organisation):
    world.site("wiki.corp.example.com")
    organisation.install({"allow": ["wiki.corp.example.com"]})
    assert sandgate.run(command=fetch("wiki.corp.example.com")).out == "hello from wiki.corp.example.com\n"
    denied = sandgate.run("--deny", "wiki.corp.example.com", command=fetch("wiki.corp.example.com"))
    assert denied.out == "refused\n"


def test_its_default_network_holds_until_a_person_says_another(world, sandgate, organisation):
    world.site("github.com")
    organisation.install({"default_network": "deny"})
    assert sandgate.run(command=fetch("github.com")).out == "refused\n"
    assert sandgate.run("--net", "standard", command=fetch("github.com")).out == "hello from github.com\n"


def test_locked_a_person_narrows_and_does_not_widen(world, sandgate, organisation):
    world.site("github.com")
    organisation.install({"default_network": "standard", "locked": True})
    narrow = sandgate.run("--deny", "github", command=fetch("github.com"))
    assert narrow.out == "refused\n", narrow
    assert sandgate.run(command=fetch("github.com")).out == "hello from github.com\n"
    for options in (["--allow", "api.example.com"], ["--net", "open", "--yes"], ["--net", "any"],
                    ["--allow", "gitlab"]):
        done = sandgate.run(*options, command="echo started")
        assert done.status == 2 and done.out == "" and "locked" in done.err, (options, done)
    machine = world.machine
    machine.run("mkdir -p .config/sandgate/catalogue")
    try:
        machine.write("/home/dev/.config/sandgate/catalogue/mine.yaml",
                      "permissions:\n  github:\n    says: x\n    hosts: {example.com: [api]}\n", "dev")
        done = sandgate.run(command="echo started")
        assert done.status == 125 and "locked" in done.err and "mine.yaml" in done.err, done
    finally:
        machine.run("rm -rf .config/sandgate")


def test_a_permission_that_was_removed_cannot_be_had(world, sandgate, organisation):
    world.site("github.com")
    organisation.install({"permissions_removed": ["github", "web"]})
    assert sandgate.run(command=fetch("github.com")).out == "refused\n"
    for options in (["--allow", "github"], ["--allow", "web", "--yes"]):
        done = sandgate.run(*options, command="echo started")
        assert done.status == 2 and done.out == "" and "organisation" in done.err, (options, done)
