# SPDX-License-Identifier: Apache-2.0
"""A disk that has room for so many files and no more, while a sandbox is made: whichever file is the one too many,
it is refused in words, nothing of it is left, and nothing is open that was not before."""

import os
from contextlib import contextmanager

import pytest

from cni_rig import PLUGINS, Failed, Network, Node, sandgate_plugin
from cni_rig import Pod as CniPod
from program import wait_until
from test_attach import POD, Attached, Pod

pytestmark = pytest.mark.parametrize("person", ["root"])
BOTH = pytest.mark.parametrize("folder", ["/run/sandgate", "/var/lib/sandgate"])
SAYS = "no space left; make room there"
MOST = 40


@contextmanager
def room_for(world, folder, files):
    """Of the machine's; the folder itself is the first."""
    machine = world.machine
    done = machine.run(f"mkdir -p -m 700 {folder} && mount -t tmpfs -o nr_inodes={files},mode=700 small {folder}", "root")
    assert done.returncode == 0, done
    try:
        yield
    finally:
        assert machine.run(f"umount --lazy {folder}", "root").returncode == 0


def until_there_is_room(world, folder, attempt, step=2):
    """attempt(files) says whether it was made, or fails; how often it was refused."""
    for files in range(1, MOST, step):
        with room_for(world, folder, files):
            if attempt(files):
                return files // step
    raise AssertionError("it was never made")


def assert_gone(world, folder, name):
    found = world.machine.run(f"find {folder} -name '*{name}*'", "root").stdout
    assert found == ""


def is_as_it_was_or_closed(pod):
    devices = pod.devices()
    return devices == ["lo"] or (devices == ["eth0", "lo"] and POD in pod.ip("addr show eth0"))


@BOTH
def test_attach(world, sandgate, folder):
    pods = []

    def attempt(_):
        world.machine.place.run(["ip", "link", "del", "pod0"])  # of the attempt before, if it is there still
        pods.append(Pod(world))
        one = Attached(sandgate, "--net", "deny", "--netns", pods[-1].place.path)
        if one.done.ok:
            assert one.detach().ok
            return True
        assert one.done.status == 125 and SAYS in one.done.err, one.done
        assert_gone(world, folder, one.name)
        wait_until(lambda: not one.family, what="its processes' end")
        # It is as it was, or closed already; the kernel takes a link of ours away a moment later.
        wait_until(lambda: is_as_it_was_or_closed(pods[-1]), what="the link's end")
        return False
    assert until_there_is_room(world, folder, attempt) >= 2


@BOTH
@pytest.mark.skipif(not os.path.exists(f"{PLUGINS}/bridge"), reason="there are no CNI plugins (containernetworking-plugins)")
def test_a_pod(world, sandgate, folder):
    network = Network(Node(world, sandgate.path), sandgate_plugin(only=["api.example.com"]))

    def attempt(_):
        pod = CniPod(world)
        try:
            result = network.add(pod)
        except Failed as refused:
            assert SAYS in refused.message, refused
            assert_gone(world, folder, pod.sandbox)
            wait_until(lambda: pod.ip("-o link").count("\n") == 1, what="the link's end")
            network.delete(pod, None)  # as a runtime does then
            return False
        network.delete(pod, result)
        pod.networks = []
        return True
    assert until_there_is_room(world, folder, attempt) >= 2


def test_one_that_is_kept(world, sandgate):
    folder = "/var/lib/sandgate"

    def attempt(_):
        name = sandgate.new_name()
        done = sandgate("create", name, "--net", "deny")
        if done.ok:
            return True
        assert done.status == 125 and SAYS in done.err, done
        assert_gone(world, folder, name)
        return False
    assert until_there_is_room(world, folder, attempt, step=1) >= 2
