# SPDX-License-Identifier: Apache-2.0
"""Whom the programs inside trust: the sandbox's own files, where they are, and who can write them."""

import os

import pytest

from program import wait_until

BOTH = pytest.mark.parametrize("person", ["dev", "root"])
NAME = "api.example.com"
BUNDLE = "/run/sandbox-files/ca/bundle.pem"
SYSTEM = "/etc/ssl/certs/ca-certificates.crt"
HEAD = 65536
SEEN = f"allow: [{NAME}]\ninspect: [{NAME}]\n"


def registry(world, person):
    return "/run/sandgate" if person == "root" else "/run/user/1000/sandgate"


def seen_box(sandgate, *options, **more):
    return sandgate.box("--policy", "p.yaml", *options, files={"p.yaml": SEEN}, **more)


@BOTH
def test_without_a_broker_the_host_s_certificates_and_nothing_else(world, sandgate, person):
    world.site(NAME)
    box = sandgate.box("--only", NAME)
    head = box.run(f"head -c {HEAD} {BUNDLE}").out
    assert len(head) == HEAD and head.strip() == ""
    rest = box.run(f"tail -c +{HEAD + 1} {BUNDLE}").out
    assert rest == world.machine.read(SYSTEM)
    assert box.run(f"cmp {BUNDLE} {SYSTEM}").ok
    got = box.run(["openssl", "s_client", "-verify_return_error", "-connect", f"{NAME}:443",
                   "-servername", NAME], input="")
    assert "Verify return code: 0" in got.out and "Little Internet Test CA" in got.out


def test_node_starts_in_silence_with_an_empty_list(sandgate):
    """It warns of a file that it cannot read as certificates."""
    box = sandgate.box("--only", NAME)
    got = box.run("node -e 'require(\"tls\").createSecureContext(); console.log(\"here\")'")
    assert (got.out, got.err) == ("here\n", "")


def test_none_has_no_certificates_of_its_own(sandgate):
    box = sandgate.box("--net", "none")
    got = box.run("env; ls /run/sandbox-files")
    assert "CERT" not in got.out and "JAVA_TOOL_OPTIONS" not in got.out and "ca" not in got.out.split()


def test_the_person_s_env_wins(sandgate):
    box = sandgate.box("--net", "deny", "--env", "SSL_CERT_FILE=/mine", "--env", "JAVA_TOOL_OPTIONS=-Da=b")
    assert box.run("echo $SSL_CERT_FILE $JAVA_TOOL_OPTIONS $PIP_CERT").out.split() == \
        ["/mine", "-Da=b", BUNDLE]


def test_what_exec_runs_has_them_too(world, started):
    world.site(NAME)
    one = started("--only", NAME)
    got = one.exec(f"echo $SSL_CERT_FILE $NODE_EXTRA_CA_CERTS; curl -sS https://{NAME}/")
    assert got.ok and got.out.split("\n")[0] == f"{BUNDLE} /run/sandbox-files/ca/extra.pem", got


@pytest.mark.parametrize("person,options", [("dev", ()), ("root", ()), ("dev", ("--as-root",)),
                                            ("root", ("--as-root",))])
def test_nothing_inside_can_write_it(world, sandgate, person, options):
    """Not the file, not its folder, not another in its place. What it moves of its own /run fools itself
    alone: the files are the host's."""
    world.site(NAME)
    box = seen_box(sandgate, *options)
    before = box.run(f"sha256sum {BUNDLE} {SYSTEM}").out
    assert "BEGIN" in box.run(f"head -c {HEAD} {BUNDLE}").out
    for attempt in (f"echo x >>{BUNDLE}", f"chmod 666 {BUNDLE}", f"rm -f {BUNDLE}",
                    f"mv {BUNDLE} /tmp/b", f"ln -sf /tmp/b {BUNDLE}", f"cp /etc/hosts {SYSTEM}",
                    "mv /run/sandbox-files/ca /tmp/ca",
                    "mkdir /run/sandbox-files/ca/new", f"mount --bind /etc/hosts {BUNDLE}",
                    f"umount {BUNDLE}", f"umount {SYSTEM}", "mount -o remount,rw /run/sandbox-files/ca",
                    f"python3 -c 'import os; os.open(\"{BUNDLE}\", os.O_RDWR)'",
                    f"python3 -c 'import os; os.truncate(\"{BUNDLE}\", 0)'",
                    f"exec 3<{BUNDLE}; echo x >/proc/self/fd/3"):
        assert not box.run(attempt).ok, attempt
    assert box.run(f"sha256sum {BUNDLE} {SYSTEM}").out == before
    assert box.curl(f"https://{NAME}/").ok


@BOTH
def test_no_option_shares_the_folder_that_holds_it(world, sandgate, person):
    box = seen_box(sandgate, "--ro", "/etc")
    for way in ("--rw", "--ro"):
        got = sandgate("run", way, f"{registry(world, person)}/{box.name}/ca", "--", "true")
        assert got.status == 125 and "sandgate's own files are not shared" in got.err
    assert box.run(f"cmp {BUNDLE} {SYSTEM}").ok


@BOTH
def test_the_files_go_with_the_sandbox(world, sandgate, person):
    box = seen_box(sandgate)
    folder = f"{registry(world, person)}/{box.name}"
    assert world.machine.listdir(f"{folder}/ca") == ["bundle.pem", "extra.pem", "policy.json", "store.p12"]
    box.stop()
    assert not world.machine.exists(folder)


def test_those_of_a_killed_supervisor_go_with_the_next_sandbox(world, sandgate, person):
    box = seen_box(sandgate)
    folder = f"{registry(world, person)}/{box.name}"
    box.process.kill()
    box.process.wait()
    assert world.machine.exists(f"{folder}/ca")
    wait_until(lambda: sandgate("run", "--net", "none", "--", "true").ok and
               not world.machine.exists(folder), what="the sweep")


def test_ssl_cert_file_of_the_person_is_whom_the_broker_believes(world, sandgate):
    """One without the far side's authority: nothing is promised to the client, who is told why."""
    world.site(NAME)
    other = world.machine.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                               "ec_paramgen_curve:P-256", "-nodes", "-keyout", "/dev/null", "-subj",
                               "/CN=another", "-days", "9"]).stdout
    world.machine.write("/home/dev/other.pem", other, "dev")
    world.machine.write("/home/dev/own.pem", other + world.authority.pem, "dev")
    for path, status in (("/home/dev/other.pem", "502"), ("/home/dev/own.pem", "200")):
        env = world.machine.environment("dev", SSL_CERT_FILE=path)
        box = seen_box(sandgate, env=env)
        assert box.run(f"tail -c +{HEAD + 1} {BUNDLE}").out == world.machine.read(path)
        got = box.curl(f"https://{NAME}/", "-o", "body", "-w", "%{http_code}")
        assert got.out == status, (got, box.run("cat body"))


def test_one_that_a_sandbox_may_write_is_not_believed(world, sandgate):
    """An agent's own authority in the project, and an .envrc that names it."""
    world.site(NAME)
    work = world.machine.new_work("dev")
    world.machine.write(f"{work}/mine.pem", world.authority.pem, "dev")
    env = world.machine.environment("dev", SSL_CERT_FILE=f"{work}/mine.pem")
    box = seen_box(sandgate, cwd=work, env=env)
    said = f"sandgate: SSL_CERT_FILE is {work}/mine.pem: a sandbox may write it; the system's authorities are taken"
    wait_until(lambda: said in box.err_lines, what="the words for the person")
    assert box.run(f"tail -c +{HEAD + 1} {BUNDLE}").out == world.machine.read(SYSTEM)


@pytest.fixture
def no_bundle(world):
    """A machine without ca-certificates."""
    place = world.machine.place
    place.call(lambda: os.rename(SYSTEM, SYSTEM + ".away"))
    yield
    place.call(lambda: os.rename(SYSTEM + ".away", SYSTEM))


def test_a_machine_without_certificates_trusts_nobody_and_says_so(world, sandgate, no_bundle):
    world.site(NAME)
    box = sandgate.box("--only", NAME)
    assert box.run(f"tail -c +{HEAD + 1} {BUNDLE}").out == ""
    assert not box.curl(f"https://{NAME}/").ok
    world.machine.write("/home/dev/seen.yaml", SEEN, "dev")
    got = sandgate("run", "--policy", "/home/dev/seen.yaml", "--", "true")
    assert got.status == 125 and got.err == \
        "sandgate: the host's certificate bundle has no certificate in it; install one (on Debian: " \
        "the package ca-certificates)\n", got
