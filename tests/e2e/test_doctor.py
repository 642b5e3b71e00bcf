# SPDX-License-Identifier: Apache-2.0
"""doctor: what this machine can make sandboxes with, beside bubblewrap."""

import json
import os
import shlex
import shutil
import socket

import pytest

DRIVER = "/run/docker/plugins/sandgate.sock"


def looked(world, sandgate, *breaking, person="dev"):
    """The rows by their names, on the machine after commands that root ran, which only this sees."""
    go = f"exec setpriv --reuid {1000 if person == 'dev' else 0} --clear-groups {sandgate.path} doctor --json"
    script = " && ".join([*breaking, go])
    done = world.machine.run(["unshare", "-m", "sh", "-c", script], person="root",
                             env=world.machine.environment(person))
    assert done.returncode == 0, done  # none of it is required
    return {row["check"]: row for row in json.loads(done.stdout)}


def instead(path, text):
    """A command that puts a program in the place of another."""
    return (f"printf '#!/bin/sh\\necho %s\\n' {shlex.quote(shlex.quote(text))} > /tmp/instead && "
            f"chmod 755 /tmp/instead && mount --bind /tmp/instead {path}")


# What doctor calls it, the program, Debian's package, what an older one says.
PROGRAMS = [
    ("podman", "podman", "podman", "podman version 3.0.1"),
    ("docker", "dockerd", "docker.io", "Docker version 19.03.15, build 99e3ed8919"),
    ("containerd", "containerd", "containerd", "containerd github.com/containerd/containerd 1.4.13~ds1"),
    ("qemu", "qemu-system-x86_64", "qemu-system-x86", "QEMU emulator version 5.2.0 (Debian 1:5.2)"),
]


@pytest.mark.parametrize("check, executable, package, older", PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_an_engine_that_is_missing_or_too_old_is_named_with_its_package(
        world, sandgate, check, executable, package, older):
    path = shutil.which(executable, path="/usr/bin:/usr/sbin")
    if not path:
        pytest.skip(f"{executable} is not installed ({package})")
    there = looked(world, sandgate)[check]
    assert there["status"] == "ok" and there["fix"] is None and not there["required"], there
    missing = looked(world, sandgate, f"mount --bind /dev/null {path}")[check]
    assert missing["status"] == "hint" and missing["detail"] == f"{executable} is not installed", missing
    assert missing["fix"] == f"apt-get install {package}"
    old = looked(world, sandgate, instead(path, older))[check]
    assert old["status"] == "hint" and old["detail"].startswith(older) and "or later is needed" in old["detail"], old
    assert old["fix"].startswith(f"install {package} ") and old["fix"].endswith(" or later"), old


def test_what_such_a_program_says_does_no_harm(world, sandgate):
    """Neither codes for a terminal, nor an endless line, nor no version at all."""
    path = shutil.which("podman")
    if not path:
        pytest.skip("podman is not installed (podman)")
    row = looked(world, sandgate, instead(path, "podman \033[mversion\007 4.9.1"))["podman"]
    assert row["status"] == "ok" and row["detail"] == "podman ?[mversion? 4.9.1", row
    for text in ("", "none", "x" * 5000 + " 9.9"):
        row = looked(world, sandgate, instead(path, text))["podman"]
        assert row["status"] == "hint" and len(row["detail"]) < 200, row


def test_rootless_podman_needs_users_to_give(world, sandgate):
    machine = world.machine
    assert looked(world, sandgate, person="root")["podman rootless"]["status"] == "ok"
    write = "echo {} > /etc/subuid && echo {} > /etc/subgid".format
    for none in (write("", ""), write("dev:100000:65536", ""), write("device:100000:65536", "dev:1:0")):
        row = looked(world, sandgate, none)["podman rootless"]
        assert row["status"] == "hint" and "dev has no range in /etc/subuid" in row["detail"], (none, row)
        assert row["fix"].startswith("sudo usermod --add-subuids ") and row["fix"].endswith(" dev"), row
    if not machine.has("newuidmap"):
        pytest.skip("newuidmap is not installed (uidmap)")
    for some in (write("dev:100000:65536", "dev:100000:65536"), write("1000:100000:65536", "1000:100000:65536")):
        assert looked(world, sandgate, some)["podman rootless"]["status"] == "ok", some
    hidden = looked(world, sandgate, f"mount --bind /dev/null {shutil.which('newuidmap')}")["podman rootless"]
    assert hidden["status"] == "hint" and hidden["fix"] == "apt-get install uidmap", hidden


def test_dockers_driver_is_one_that_answers(world, sandgate, kept_engines):
    """The file alone may be what a driver left that was killed."""
    kept_engines.end("docker")  # whose driver would be found
    row = looked(world, sandgate)["docker driver"]
    assert row["status"] == "hint" and DRIVER in row["detail"] and "docker-driver" in row["fix"], row

    def bound():
        os.makedirs(os.path.dirname(DRIVER))
        s = socket.socket(socket.AF_UNIX)
        s.bind(DRIVER)
        os.chmod(DRIVER, 0o666)
        return s
    listener = world.machine.place.call(bound)
    try:
        assert looked(world, sandgate)["docker driver"]["status"] == "hint"
        listener.listen()
        assert looked(world, sandgate)["docker driver"]["status"] == "ok"
        world.machine.place.call(lambda: os.chmod(os.path.dirname(DRIVER), 0o700))
        row = looked(world, sandgate)["docker driver"]
        assert row["status"] == "ok" and "as root" in row["detail"], row
    finally:
        listener.close()
        world.machine.place.call(lambda: shutil.rmtree(os.path.dirname(DRIVER)))


def test_the_cni_plugin_is_where_runtimes_look(world, sandgate):
    row = looked(world, sandgate)["cni plugin"]
    assert row["status"] == "hint" and row["fix"].startswith("ln -s "), row
    row = looked(world, sandgate, "mount -t tmpfs opt /opt", "mkdir -p /opt/cni/bin",
                 f"ln -s {sandgate.path} /opt/cni/bin/sandgate")["cni plugin"]
    assert row["status"] == "ok" and row["detail"] == "/opt/cni/bin/sandgate", row


def test_what_is_not_a_processor_for_guests_is_said(world, sandgate):
    row = looked(world, sandgate, "mount -t tmpfs dev /dev", "mknod -m 666 /dev/null c 1 3", "mkdir /dev/net",
                 "mknod -m 666 /dev/net/tun c 10 200")["kvm"]
    assert row["status"] == "hint" and row["detail"].startswith("/dev/kvm: ") and "QEMU emulates" in row["fix"], row
