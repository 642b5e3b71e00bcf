# SPDX-License-Identifier: Apache-2.0
"""The plugin of container networks, killed in the middle of ADD, as a runtime's time-out does."""

import json
import os
import subprocess
import time

import pytest

from cni_rig import BRIDGE, PLUGINS, Failed, Network, Node, Pod, sandgate_plugin
from program import HANGS, wait_until

pytestmark = [pytest.mark.parametrize("person", ["root"]),
              pytest.mark.skipif(not os.path.exists(f"{PLUGINS}/bridge"),
                                 reason="there are no CNI plugins (containernetworking-plugins)")]

# Before it has read what it is given, while addresses are given, while the gate is made, and after.
MOMENTS_MS = (0, 5, 10, 20, 30, 40, 60, 90, 130, 200)
IPAM = {"type": "host-local", "ranges": [[{"subnet": "10.77.0.0/24"}]]}
KINDS = pytest.mark.parametrize("plugins", [
    [sandgate_plugin(policy="deny", ipam=IPAM)],
    [BRIDGE, sandgate_plugin(policy="deny")],
    [BRIDGE, sandgate_plugin(policy="deny", inbound=False)],
], ids=["alone", "behind", "without-the-door"])


@pytest.fixture
def node(world, sandgate):
    return Node(world, sandgate.path)


class Killed(Network):
    """One whose last plugin, which is ours, is killed `ms` after it was started."""

    def add_and_kill(self, pod, ms):
        result = None
        for plugin in self.plugins[:-1]:
            result = self.node.call("ADD", self._config(plugin, result), pod)
        machine = self.node.machine
        env = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": pod.id, "CNI_IFNAME": "eth0", "CNI_NETNS": pod.path,
               "CNI_PATH": self.node.path}
        one = machine.popen([f"{self.node.bin}/sandgate"], "root", env={**machine.environment("root"), **env},
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        one.stdin.write(json.dumps(self._config(self.plugins[-1], result)))
        one.stdin.close()
        time.sleep(ms / 1000)
        one.kill()
        said = one.stdout.read()
        one.stdout.close()
        one.wait(HANGS)
        return bool(said)


def processes_of(pod):
    """Whatever the plugin has started and left: all have its environment, or its name in it."""
    found, mark = [], f"CNI_CONTAINERID={pod.id}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark in f.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def leases(node):
    return [name for name in node.machine.listdir("/var/lib/cni/networks/net") if name[0].isdigit()]


def names(sandgate):
    return [row["name"] for row in sandgate.json("ls")]


def assert_nothing_is_left(world, sandgate, node, pod, rules):
    assert pod.sandbox not in names(sandgate)
    assert pod.ip("-o link show").count("\n") == 1, pod.ip("-o addr show")
    assert leases(node) == [] and node.masquerading() == rules
    wait_until(lambda: processes_of(pod) == [], what="the end of what was started")
    assert pod.sandbox not in world.machine.listdir("/run/sandgate")


@KINDS
def test_a_del_takes_everything_away(world, sandgate, node, plugins):
    """At once after the kill: what ADD had started is waited for, and cannot come later."""
    warm, network = Pod(world), Killed(node, *plugins)
    network.delete(warm, network.add(warm))  # bridge, chains and folders are there from now on
    warm.networks, rules = [], node.masquerading()
    for ms in MOMENTS_MS:
        pod = Pod(world)
        network.add_and_kill(pod, ms)
        network.delete(pod, None)
        assert_nothing_is_left(world, sandgate, node, pod, rules)
        network.delete(pod, None)
        pod.close()


@KINDS
def test_without_a_del_it_ends_by_itself(world, sandgate, node, plugins):
    """Unless it had said that it was done, which the runtime knows; a DEL much later finds the rest."""
    network, told = Killed(node, *plugins), 0
    warm = Pod(world)
    network.delete(warm, network.add(warm))
    warm.networks, rules = [], node.masquerading()
    for ms in MOMENTS_MS:
        pod = Pod(world)
        said = network.add_and_kill(pod, ms)
        told += said
        if said:
            assert pod.sandbox in names(sandgate)
        elif processes_of(pod):
            # It has told the plugin, which was killed with that in its hands, or it ends.
            until = time.monotonic() + 5
            while processes_of(pod) and time.monotonic() < until:
                time.sleep(0.05)
            if processes_of(pod):
                assert pod.sandbox in names(sandgate)
        with_ours = pod.sandbox in names(sandgate)
        # The next ADD of the container says what to do; where nothing stayed it is as the first.
        if with_ours:
            with pytest.raises(Failed) as refused:
                node.call("ADD", {"cniVersion": "1.0.0", "name": "net", **sandgate_plugin(policy="deny")}, pod)
            assert "DEL comes before another ADD" in refused.value.message
        network.delete(pod, None)
        assert_nothing_is_left(world, sandgate, node, pod, rules)
        pod.close()
