# SPDX-License-Identifier: Apache-2.0
"""An image whose folders of certificates are traps for who mounts the sandbox's there: the container runs, and no
file of the machine's is read, made or changed; nor is its start held up."""

import io
import json
import os
import tarfile

import pytest

from engines import guest
from engines.debian import BUNDLE, LOCAL
from program import HANGS

OPENED = "opened.example.com"
CERTS, CA, UP = "/etc/ssl/certs", "/run/sandbox-files/ca/bundle.pem", "../" * 20

pytestmark = pytest.mark.parametrize("engine_name", ["podman-rootless", "podman-rootful"])


def small_tree():
    """Of BusyBox alone, with the folders that a system has which can make its authorities anew."""
    tree = guest.Tree()
    for path in "/dev", "/proc", "/run", "/sys", "/tmp", LOCAL:
        tree.folder(path)
    tree.file("/bin/busybox", guest._read(guest.BUSYBOX), 0o755)
    for name in "sh", "cat", "cp", "cut", "df", "grep", "ls", "mv", "rm", "sha256sum", "tail", "tr", "wc":
        tree.link(f"/bin/{name}", "busybox")
    tree.file(BUNDLE, "of the image\n")
    return tree


@pytest.fixture
def start(world, sandgate, engine):
    """start(CHANGE, SCRIPT): what a container of an image says whose files CHANGE(TREE) has changed; with a FIFO."""
    world.site(OPENED)
    path = f"{world.machine.new_work(sandgate.person)}/policy.yaml"
    world.machine.write(path, json.dumps({"network": "deny", "allow": [OPENED], "inspect": [OPENED]}), sandgate.person)

    def go(change, script, fifo=None):
        tree = small_tree()
        change(tree)
        engine.podman.import_image("trap", with_fifo(tree.tar(), fifo) if fifo else tree.tar())
        return engine.podman.try_run("run", "--rm", "--network=none", f"--annotation=sandgate.policy={path}", "trap",
                                     "sh", "-c", f"echo runs; {script}", timeout=HANGS)
    yield go
    engine.podman.try_run("rmi", "--force", "trap")


def with_fifo(octets, path):
    out = io.BytesIO(octets)
    with tarfile.open(fileobj=out, mode="a") as archive:
        info = tarfile.TarInfo(path[1:])
        info.type = tarfile.FIFOTYPE
        archive.addfile(info)
    return out.getvalue()


def replace(tree, path, target):
    """By a link; without a target by nothing, in a folder that is there."""
    for kept in tree.files, tree.links, tree.folders:
        for name in [name for name in kept if name == path or name.startswith(path + "/")]:
            del kept[name]
    if target:
        tree.link(path, target)
    else:
        tree.folder(os.path.dirname(path))


@pytest.mark.parametrize("place, kind", [
    (CERTS, "up"), (CERTS, "fifo"), ("/etc/ssl", "absolute"), (BUNDLE, "up"), (BUNDLE, "fifo"), (f"{CERTS}/java", "up"),
    (f"{CERTS}/java/cacerts", "fifo"), (LOCAL, "absolute"), ("/usr/local/share", "up"), (f"{LOCAL}/sandgate.crt", "absolute"),
    (f"{LOCAL}/sandgate.crt", "fifo")])
def test_a_place_that_is_a_trap(world, engine, start, place, kind):
    """A link at a folder of the machine's, by ".." and by its whole path, and a FIFO."""
    work = world.machine.new_work(engine.person)
    engine.machine.run(["mkdir", "-p", f"{work}/victim/ca-certificates", f"{work}/victim/certs"],
                       engine.person).check_returncode()
    for name in "ca-certificates.crt", "cacerts", "ca-certificates/little", "certs/ca-certificates.crt":
        world.machine.write(f"{work}/victim/{name}", "untouched\n", engine.person)
    before = world.machine.run(["find", f"{work}/victim", "-printf", "%p %m %s %T@ %l\n"], "root").stdout
    target = {"up": UP + work[1:] + "/victim", "absolute": f"{work}/victim", "fifo": None}[kind]
    look = f"cat {BUNDLE} {CERTS}/* 2>/dev/null | grep untouched; " if target else ""
    done = start(lambda tree: replace(tree, place, target), look + "grep ' sandgate ' /proc/self/mountinfo",
                 fifo=None if target else place)
    assert done.stdout == "runs\n", done
    assert world.machine.run(["find", f"{work}/victim", "-printf", "%p %m %s %T@ %l\n"], "root").stdout == before


def test_nothing_of_a_large_folder_is_copied(engine, start):
    """Ten thousand names and 128 MiB: it is changed in place of that, and what it takes is a few pages."""
    def change(tree):
        for number in range(10000):
            tree.link(f"{CERTS}/{number}.pem", f"/x/{number}")
        tree.file(f"{CERTS}/large", bytes(128 << 20))
    done = start(change, f"cd {CERTS}; ls | wc -l; wc -c <large; df -k . | tail -n 1 | tr -s ' ' | cut -d ' ' -f 1,3; "
                         f"cp {BUNDLE} n && mv -f n {BUNDLE} && echo changed")
    lines = done.stdout.splitlines()
    assert lines[:3] == ["runs", "10002", str(128 << 20)] and lines[4:] == ["changed"], done
    assert lines[3].startswith("sandgate ") and int(lines[3].split()[1]) < 64, done


def test_what_is_trusted_outside_is_not_changed_from_inside(engine, start):
    """Root with every right writes and removes what it sees: the files that the broker reads stay."""
    done = start(lambda tree: None, f"""
        sum() {{ cat {CA} | sha256sum; }}; before=$(sum); echo more >>{BUNDLE} && : >{BUNDLE} && rm {BUNDLE}
        [ "$before" = "$(sum)" ] && echo same; ls {BUNDLE}""")
    assert done.stdout == "runs\nsame\n" and "No such file" in done.stderr, done
