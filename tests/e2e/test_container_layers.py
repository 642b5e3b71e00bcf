# SPDX-License-Identifier: Apache-2.0
"""The folder of certificates of a podman's container, which can be changed inside: what is written there is the
container's own, and what is its owner's or cannot be written stays as it is."""

import json

import pytest

from engines import guest
from engines.debian import BUNDLE, LOCAL
from program import HANGS

OPENED = "opened.example.com"
CA, CERTS = "/run/sandbox-files/ca", "/etc/ssl/certs"
SAYS = f"hello from {OPENED}\n"
BY_THE_SYSTEM = f"env -i /bin/curl -sSf https://{OPENED}/"
CHANGED = f"mv {BUNDLE} /tmp/b && cp /tmp/b {BUNDLE}.new && mv -f {BUNDLE}.new {BUNDLE} && echo changed"

pytestmark = pytest.mark.parametrize("engine_name", ["podman-rootless", "podman-rootful"])


@pytest.fixture
def policy(world, sandgate):
    world.site(OPENED)
    path = f"{world.machine.new_work(sandgate.person)}/policy.yaml"
    world.machine.write(path, json.dumps({"network": "deny", "allow": [OPENED], "inspect": [OPENED]}), sandgate.person)
    return path


@pytest.fixture
def image(world, engine):
    """image(CHANGE) is the name of one like the guest's with a folder for authorities; CHANGE(TREE) comes before."""
    made = []

    def build(change=lambda tree: None):
        tree = guest._with_trust(world.authority.pem)
        tree.folder(LOCAL)
        change(tree)
        made.append(engine.podman.import_image(f"layers{len(made)}", tree.tar()))
        return made[-1]
    yield build
    for name in made:
        engine.podman.try_run("rmi", "--force", name)


def run(engine, policy, image, *words, script):
    asks = [f"--annotation=sandgate.policy={policy}"] if policy else []
    return engine.podman.try_run("run", "--rm", "--network=none", *asks, *words, image, "sh", "-c", script,
                                 timeout=2 * HANGS)


def test_what_is_written_is_the_containers_own(world, engine, policy, image):
    """Not another one's, nor the image's, and nothing of it is left; when it is started again it trusts as before."""
    name, made = image(), "authorities-own"
    engine.podman.run("run", "--detach", "--name", made, "--network=none", f"--annotation=sandgate.policy={policy}", name,
                      "sh", "-c", f"echo one >{CERTS}/one.pem; echo more >>{BUNDLE}; exec sleep 1000")
    try:
        look = f"ls {CERTS}; tail -n 1 {BUNDLE} | grep -c more; grep -c more {CA}/bundle.pem; {BY_THE_SYSTEM}"
        assert engine.podman.try_run("exec", made, "sh", "-c", look).stdout == (
            f"ca-certificates.crt\none.pem\n1\n0\n{SAYS}")
        assert run(engine, policy, name, script=look).stdout == f"ca-certificates.crt\n0\n0\n{SAYS}"
        plain = run(engine, None, name, script=f"ls {CERTS} {LOCAL}; cat {BUNDLE}")
        assert plain.stdout == f"{CERTS}:\nca-certificates.crt\n\n{LOCAL}:\n{world.authority.pem}", plain
        engine.podman.run("stop", "--time", "0", made)
        mounted = engine.machine.run(["cat", "/proc/self/mountinfo"], "root").stdout
        assert " sandgate " not in mounted and "/ca-layers" not in mounted
        engine.podman.run("start", made)
        assert SAYS in engine.podman.run("exec", made, "sh", "-c", look) + "\n"
    finally:
        engine.podman.remove(made)


def test_a_root_that_cannot_be_written_has_the_mounted_file(engine, policy, image):
    done = run(engine, policy, image(), "--read-only", script=f"""
        {BY_THE_SYSTEM}; touch {BUNDLE} || touch {CERTS}/one.pem || ls {LOCAL}; grep -c ' {CERTS} ' /proc/mounts""")
    assert done.stdout == f"{SAYS}0\n" and done.stderr.count("Read-only file system") == 2, done


@pytest.mark.parametrize("place", [f"{CERTS}/mine.pem", LOCAL])
def test_what_the_person_mounts_is_not_hidden(world, engine, policy, image, place):
    """In the folder, and where authorities are put: then the bundle is a mounted file. Nothing is put into it."""
    work = world.machine.new_work(engine.person)
    engine.machine.run(["mkdir", f"{work}/mine"], engine.person).check_returncode()
    world.machine.write(f"{work}/mine/file", "mine alone\n", engine.person)
    source = f"{work}/mine" + ("/file" if place.endswith(".pem") else "")
    done = run(engine, policy, image(), f"--volume={source}:{place}", script=f"""
        cat {place} {place}/file 2>/dev/null; {BY_THE_SYSTEM}; {CHANGED}""")
    assert done.stdout == f"mine alone\n{SAYS}" and "busy" in done.stderr, done
    assert world.machine.run(["ls", f"{work}/mine"], "root").stdout == "file\n"


def test_a_folder_of_the_persons_stays_theirs(world, engine, policy, image):
    work = world.machine.new_work(engine.person)
    engine.machine.run(["mkdir", f"{work}/mine"], engine.person).check_returncode()
    world.machine.write(f"{work}/mine/ca-certificates.crt", "mine alone\n", engine.person)
    done = run(engine, policy, image(), f"--volume={work}/mine:{CERTS}", script=f"cat {BUNDLE}; {CHANGED}; cat {BUNDLE}")
    assert done.stdout == "mine alone\nchanged\nmine alone\n", done
    assert world.machine.run(["ls", f"{work}/mine"], "root").stdout == "ca-certificates.crt\n"


def test_the_store_of_java_can_be_replaced_as_well(engine, policy, image):
    done = run(engine, policy, image(lambda tree: tree.file(f"{CERTS}/java/cacerts", "of the image")), script=f"""
        cd {CERTS}/java; cmp cacerts {CA}/store.p12 && echo same; echo new >new && mv -f new cacerts && cat cacerts
        {CHANGED}; {BY_THE_SYSTEM}""")
    assert done.stdout == f"same\nnew\nchanged\n{SAYS}", done


def test_the_folder_belongs_to_whom_the_images_belongs(engine, policy, image):
    def change(tree):
        tree.folder(CERTS, 0o2775)
    done = run(engine, policy, image(change), script=f"stat -c '%a %u %g' {CERTS}; {CHANGED}; rm -r {CERTS}/*; ls {CERTS}")
    assert done.stdout == "2775 0 0\nchanged\n", done


# podman gives the bundle of a container that has a user namespace of its own to the root of that.
USERS = {"podman-rootless": [["--userns=keep-id", "--user=0"], ["--userns=keep-id"], ["--userns=auto"],
                             ["--userns=nomap"], ["--uidmap=0:5:1000"]],
         "podman-rootful": [["--uidmap=0:100000:1000"]]}


def test_with_users_of_its_own(engine_name, engine, policy, image):
    name = image()
    for words in USERS[engine_name]:
        done = run(engine, policy, name, *words, script=f"id -u; {BY_THE_SYSTEM}; {CHANGED}; {BY_THE_SYSTEM}")
        changed = "" if words == ["--userns=keep-id"] else "changed\n"  # nobody there may
        user = "0\n" if changed else f"{engine.machine.run(['id', '-u'], engine.person).stdout}"
        assert done.stdout == f"{user}{SAYS}{changed}{SAYS}", (words, done)
