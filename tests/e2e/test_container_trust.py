# SPDX-License-Identifier: Apache-2.0
"""Containers whose programs trust what the gate answers for inspected hosts, with no flag of theirs:
podman's by an annotation, and running ones that are attached."""

import io
import json
import re
import subprocess
import tarfile

import pytest

from engines.podman import IMAGE

PODMANS = pytest.mark.parametrize("engine_name", ["podman-rootless", "podman-rootful"])
OPENED, SPLICED = "opened.example.com", "spliced.example.com"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
CA = "/run/sandbox-files/ca"
URLLIB = f"import urllib.request as u; print(u.urlopen('https://{OPENED}/').read().decode())"
OPENED_SAYS, SPLICED_SAYS = f"hello from {OPENED}", f"hello from {SPLICED}"

pytestmark = PODMANS


@pytest.fixture
def policy(world, sandgate):
    """Of two hosts one is inspected, and has a credential; the path of a file that says so."""
    for host in OPENED, SPLICED:
        world.site(host)
    work = world.machine.new_work(sandgate.person)
    world.machine.write(f"{work}/token", "a-secret-of-a-test\n", sandgate.person, 0o600)
    world.machine.write(f"{work}/policy.yaml", json.dumps({
        "network": "deny", "allow": [OPENED, SPLICED], "inspect": [OPENED],
        "credentials": [{"host": OPENED, "header": "Authorization", "value": "Bearer ${secret}",
                         "from": f"file:{work}/token", "env": "API_TOKEN"}]}), sandgate.person)
    return f"{work}/policy.yaml"


@pytest.fixture
def image(world, engine):
    """image({PATH: what is there instead}) is the name of an image like the guest's: a link's target, "fifo", or None
    for nothing."""
    made = []

    def build(files):
        octets = changed(world.machine.place.call(read_image), files)
        path = f"{world.machine.new_work(engine.person)}/image.tar"

        def put():
            with open(path, "wb") as out:
                out.write(octets)
        world.machine.place.call(put)
        made.append(f"other{len(made)}")
        engine.podman.run("import", "-q", path, made[-1], timeout=120)
        return made[-1]
    yield build
    for name in made:
        engine.podman.run("rmi", "--force", name)


def read_image():
    with open(IMAGE, "rb") as f:
        return f.read()


def changed(octets, files):
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(octets)) as source, tarfile.open(fileobj=out, mode="w") as target:
        for info in source:
            if "/" + info.name not in files:
                target.addfile(info, source.extractfile(info) if info.isreg() else None)
        for path, what in files.items():
            if what is not None:
                info = tarfile.TarInfo(path[1:])
                info.type, info.linkname = (tarfile.FIFOTYPE, "") if what == "fifo" else (tarfile.SYMTYPE, what)
                target.addfile(info)
    return out.getvalue()


def run(engine, policy, *words, image="guest", script):
    return engine.podman.try_run("run", "--rm", "--network=none", f"--annotation=sandgate.policy={policy}", *words,
                                 image, "sh", "-c", script)


def test_clients_in_an_annotated_container_trust_what_is_inspected(engine, policy):
    """By the system's own file, with no variable at all, and by the variables."""
    done = run(engine, policy, script=f"""
        env -i curl -sSf https://{OPENED}/; env -i curl -sSf https://{SPLICED}/
        env -i python3 -c "{URLLIB}"; curl -sSf https://{OPENED}/; python3 -c "{URLLIB}"
        openssl s_client -connect {OPENED}:443 -servername {OPENED} </dev/null 2>/dev/null | grep ^issuer
        cat $NODE_EXTRA_CA_CERTS | grep -c BEGIN; echo $API_TOKEN""")
    lines = done.stdout.split("\n")
    assert [line for line in lines[:7] if line] == [OPENED_SAYS, SPLICED_SAYS, *3 * [OPENED_SAYS]], done
    assert "sandbox podman-" in done.stdout, done
    assert re.search(r"\n[1-9]\d*\nsandgate-placeholder-[0-9a-f]{32}\n$", done.stdout), done


def test_what_the_person_gave_stays(world, engine, policy):
    """Variables with -e, and a file of their own over the image's."""
    mine = policy.replace("policy.yaml", "mine.pem")
    world.machine.write(mine, "mine alone\n", engine.person)
    done = run(engine, policy, "-e", "SSL_CERT_FILE=/mine", "-e", "API_TOKEN=mine", f"--volume={mine}:{BUNDLE}",
               script=f"echo $SSL_CERT_FILE $API_TOKEN; cat {BUNDLE}; ls {CA}")
    assert done.stdout == "/mine mine\nmine alone\nbundle.pem\nextra.pem\npolicy.json\nstore.p12\n", done


def test_an_image_without_certificates_runs_and_trusts_by_the_variables(engine, policy, image):
    bare = image({BUNDLE: None, "/usr/lib/ssl/cert.pem": None, "/run": None})
    done = run(engine, policy, image=bare, script=f"""
        curl -sSf https://{OPENED}/; python3 -c "{URLLIB}"; ls {BUNDLE}""")
    assert done.stdout.split("\n")[:2] == [OPENED_SAYS, OPENED_SAYS] and f"{BUNDLE}: No such file" in done.stderr, done


def test_a_container_that_inspects_nothing_keeps_its_own(engine, world):
    world.site(SPLICED)
    done = engine.podman.try_run(
        "run", "--rm", "--network=none", "--annotation=sandgate.policy=deny", f"--annotation=sandgate.allow={SPLICED}",
        "guest", "sh", "-c", f"curl -sSf https://{SPLICED}/; env | grep -c CERT; ls {CA}; grep -c {BUNDLE} /proc/mounts")
    assert done.stdout.split("\n")[:3] == [SPLICED_SAYS, "0", "0"], done


def test_a_container_that_joins_a_network_trusts_its_gate(engine, policy, sandgate):
    """Its files are its own, and the gate is there already."""
    name, asks = sandgate.new_name(), f"--annotation=sandgate.policy={policy}"
    engine.podman.run("run", "--detach", "--name", name, "--network=none", asks, "guest", "sleep", "1000")
    try:
        done = engine.podman.try_run("run", "--rm", f"--network=container:{name}", asks, "guest", "env", "-i",
                                     "/bin/curl", "-sSf", f"https://{OPENED}/")
        assert done.stdout == f"{OPENED_SAYS}\n", done
        assert len(sandgate.json("ls")) == 1
    finally:
        engine.podman.remove(name)


def test_no_place_leads_out_of_the_root_of_a_container(world, engine, policy, image):
    """Links that point out of it, at another's file and at no file at all: the container runs, and each file that it
    was not given is what it was."""
    work = world.machine.new_work(engine.person)
    engine.machine.run(["mkdir", f"{work}/volume"], engine.person).check_returncode()
    for name in "victim", "volume/file":
        world.machine.write(f"{work}/{name}", "untouched\n", engine.person)
    up = "../" * 20
    evil = image({BUNDLE: up + work[1:] + "/victim", "/etc/pki/tls/certs/ca-bundle.crt": "/proc/1/root/etc/hosts",
                  "/etc/ssl/ca-bundle.pem": "/data/file", "/etc/ssl/cert.pem": "fifo",
                  "/etc/pki/tls/cert.pem": "/etc/pki/tls/cert.pem", "/run": None})
    done = run(engine, policy, f"--volume={work}/volume:/data", image=evil,
               script=f"cat /data/file; curl -sSf https://{OPENED}/; echo; cat /proc/self/mountinfo")
    out = done.stdout
    assert out.startswith(f"untouched\n{OPENED_SAYS}\n"), done
    mounts = [line.split() for line in out.splitlines() if "/sandgate/podman-" in line]
    assert [mount[4] for mount in mounts] == [CA] and mounts[0][5].startswith("ro,nosuid,nodev,noexec"), out
    assert world.machine.read(f"{work}/victim") == world.machine.read(f"{work}/volume/file") == "untouched\n"
    assert "/sandgate/podman-" not in engine.machine.run(["cat", "/proc/self/mountinfo"], "root").stdout


def test_a_running_container_that_is_attached_trusts_as_well(world, sandgate, engine, policy):
    """And once more after it was detached, with another authority."""
    name = sandgate.new_name()
    engine.podman.run("run", "--detach", "--name", name, "--network=none", "guest", "sh", "-c",
                      "echo nameserver 192.0.0.1 >/etc/resolv.conf; exec sleep 1000")
    try:
        for _ in range(2):
            done = sandgate("attach", "--yes", "--policy", policy, "--container", name, env=engine.podman.env)
            assert done.ok and f"trust that authority by {BUNDLE}" in done.err, done
            assert f"NODE_EXTRA_CA_CERTS={CA}/extra.pem" in done.err, done
            for host in OPENED, SPLICED:
                assert engine.podman.run("exec", name, "curl", "-sSf", f"https://{host}/") == f"hello from {host}"
            assert engine.podman.run("exec", name, "sh", "-c", f"grep -c BEGIN {CA}/extra.pem") != "0"
            assert sandgate("detach", name).ok
    finally:
        engine.podman.remove(name)


@pytest.fixture
def process(world, sandgate):
    """process(UNSHARE'S OPTION..., script=) has a network of its own, and runs until the test's end; its number."""
    made = []

    def start(*options, script="", cwd=None):
        rights = [] if sandgate.person == "root" else ["--user", "--map-root-user"]
        made.append(world.machine.popen(
            ["unshare", *rights, "--net", *options, "sh", "-c", script or "echo ready; exec sleep 1000"],
            sandgate.person, cwd=cwd, stdout=subprocess.PIPE, text=True))
        assert made[-1].stdout.readline() == "ready\n"
        return str(made[-1].pid)
    yield start
    for one in made:
        one.kill()
        one.wait()


@pytest.mark.parametrize("mounts, says", [
    ([], "whom its programs trust is theirs: mount or copy"),
    (["--mount", "--propagation", "private"], "no folder is made there"),
], ids=["none of its own", "its own"])
def test_the_files_of_the_machine_are_left_as_they_are(world, sandgate, policy, process, mounts, says):
    """A process with a network of its own, but with the machine's root."""
    pid = process(*mounts)
    before = world.machine.read(BUNDLE)
    done = sandgate("attach", "--policy", policy, "--pid", pid)
    assert done.ok and says in done.err, done
    name = done.out.strip()
    mounted = world.machine.run(["cat", "/proc/self/mountinfo"], "root").stdout
    assert world.machine.read(BUNDLE) == before and f"/{name}/ca" not in mounted and not world.machine.exists(CA)
    assert sandgate("detach", name).ok


@pytest.mark.parametrize("kind, says", [
    ("shared", f"{BUNDLE}: it lies on a mount that is shared with others"),
    ("private", f"its programs trust that authority by {BUNDLE}")])
def test_nothing_is_mounted_where_others_would_see_it(world, sandgate, policy, process, kind, says):
    """A root that the engine shares with whoever looks at the same folder."""
    root = world.machine.new_work(sandgate.person)
    world.machine.run(f"mkdir -p etc/ssl/certs run bin; echo own >.{BUNDLE}; cp /bin/busybox bin/", sandgate.person,
                      cwd=root).check_returncode()
    pid = process("--mount", "--propagation", "private", cwd=root, script=f"""
        mount --bind . .; cd "$PWD"; mount --make-{kind} .; exec chroot . /bin/busybox sh -c 'echo ready; exec \
        /bin/busybox sleep 1000'""")
    done = sandgate("attach", "--policy", policy, "--pid", pid)
    assert done.ok and says in done.err, done
    mounts = world.machine.run(["cat", f"/proc/{pid}/mountinfo"], sandgate.person).stdout
    assert [line.split()[4] for line in mounts.splitlines() if "/netns/ca" in line] == (
        [BUNDLE, CA] if kind == "private" else []), mounts
    assert sandgate("detach", done.out.strip()).ok
