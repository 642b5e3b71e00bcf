# SPDX-License-Identifier: Apache-2.0
"""podman's hook, and a container that is gone in the middle of it, or whose number is another's by then."""

import concurrent.futures
import json
import threading
import time

import pytest

from internet.netns import Place
from program import read_proc, wait_until

pytestmark = pytest.mark.parametrize("person", ["root"])
# Before it is looked at, while its gate is made, and when that is done; not asserted, but all are met.
MOMENTS_MS = (0, 5, 10, 20, 30, 40, 60, 90)


class Container:
    """As a runtime shows it to a hook: a process in namespaces of its own, and its bundle. One of a pod
    has the network of `pod`, another one."""

    def __init__(self, world, pod=None, words=()):
        self.machine, self.folder = world.machine, world.machine.new_work("root")
        self.pod, network = pod, {"type": "network"}
        if pod:
            network["path"] = f"/proc/{pod.process.pid}/ns/net"
        config = {"ociVersion": "1.0.2", "root": {"path": f"{self.folder}/root"}, "mounts": [],
                  "process": {"args": ["x"], "cwd": "/"}, "linux": {"namespaces": [network, {"type": "mount"}]}}
        self.machine.run(f"mkdir -p {self.folder}/root/etc", "root").check_returncode()
        self.machine.write(f"{self.folder}/config.json", json.dumps(config), "root")
        network = ["nsenter", f"--net=/proc/{pod.process.pid}/ns/net", "unshare"] if pod else ["unshare", "-n", *words]
        self.process = self.machine.popen([*network, "-m", "sleep", "1000"], "root")
        wait_until(lambda: read_proc(self.process.pid, "comm").strip() == "sleep", what="the container")
        self.place = Place.of_process(self.process.pid)

    def state(self, pid=None, **annotations):
        of_pod = {"io.kubernetes.cri-o.SandboxID": f"{self.pod.process.pid:064x}"} if self.pod else {}
        return json.dumps({"ociVersion": "1.0.2", "id": f"race{self.process.pid}", "pid": pid or self.process.pid,
                           "bundle": self.folder, "status": "creating",
                           "annotations": {**of_pod, **{f"sandgate.{key}": value
                                                        for key, value in annotations.items()}}})

    def devices(self):
        return self.place.run(["ip", "-o", "link"]).stdout.count("\n")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.kill()
        self.place.close()


@pytest.fixture
def container(world):
    made = []

    def make(**options):
        made.append(Container(world, **options))
        return made[-1]
    yield make
    for one in reversed(made):
        one.close()


def hooks_at_once(sandgate, *states):
    with concurrent.futures.ThreadPoolExecutor(len(states)) as pool:
        return list(pool.map(lambda state: sandgate("oci-hook", input=state), states))


def test_one_that_exits_in_the_middle(sandgate, container):
    """The hook refuses, or its gate ends with the container: nothing stays of either."""
    refused = 0
    for ms in MOMENTS_MS:
        one = container()
        killer = threading.Thread(target=lambda: (time.sleep(ms / 1000), one.kill()))
        killer.start()
        done = sandgate("oci-hook", input=one.state(policy="deny"))
        killer.join()
        assert done.ok or (done.status == 125 and "sandgate: " in done.err), done
        refused += not done.ok
        wait_until(lambda: sandgate.json("ls") == [], what="the end of its sandbox")
        wait_until(lambda: one.devices() == 1, what="the end of its link")
    assert refused


def test_a_number_that_is_another_s(world, sandgate, container):
    """Of a process of the host's, and of nobody: the machine's own network is touched by neither."""
    one, before = container(), world.machine.run(["ip", "-o", "link"], "root").stdout
    other = world.machine.popen(["sleep", "1000"], "root")
    try:
        done = sandgate("oci-hook", input=one.state(other.pid, policy="deny"))
        assert done.status == 125 and "network namespace of sandgate itself" in done.err, done
    finally:
        other.kill()
        other.wait()
    done = sandgate("oci-hook", input=one.state(other.pid, policy="deny"))
    assert done.status == 125 and "no process of that number" in done.err, done
    assert world.machine.run(["ip", "-o", "link"], "root").stdout == before and sandgate.json("ls") == []


def test_a_bundle_of_another_s(world, sandgate, container):
    """Its configuration is not believed: neither of a user who is root nowhere, nor of one who is root in
    another user namespace than the container's."""
    plain, with_users = container(), container(words=["-U", "--map-root-user"])
    for one in plain, with_users:
        world.machine.run(["chown", "4321", one.folder], "root").check_returncode()
        done = sandgate("oci-hook", input=one.state(policy="deny"))
        assert done.status == 125 and "it is not yours" in done.err, done
        world.machine.run(["chown", "0", one.folder], "root").check_returncode()
    world.machine.run(["chmod", "777", plain.folder], "root").check_returncode()
    done = sandgate("oci-hook", input=plain.state(policy="deny"))
    assert done.status == 125 and "everyone may write it" in done.err, done
    assert sandgate.json("ls") == []


def test_the_containers_of_a_pod_at_the_same_moment(sandgate, container):
    """All of them run behind the one gate, whoever makes it; one with other annotations is refused."""
    for _ in range(4):
        pod = container()
        of_it = [container(pod=pod) for _ in range(4)]
        done = hooks_at_once(sandgate, *(one.state(policy="deny") for one in of_it))
        assert all(d.ok for d in done), done
        rows = sandgate.json("ls")
        assert [row["state"] for row in rows] == ["running"] and rows[0]["name"].startswith("pod-"), rows
        assert pod.devices() == 2
        pod.kill()
        wait_until(lambda: sandgate.json("ls") == [], what="the end of its sandbox")


def test_of_a_pod_with_two_policies_one_is_refused_in_words(sandgate, container):
    for _ in range(4):
        pod = container()
        done = hooks_at_once(sandgate, container(pod=pod).state(policy="deny"), container(pod=pod).state(policy="locked"))
        assert sorted(d.status for d in done) == [0, 125], done
        refused = next(d for d in done if not d.ok)
        assert "with another policy; give both the same annotations" in refused.err, refused
        assert len(sandgate.json("ls")) == 1
        pod.kill()
        wait_until(lambda: sandgate.json("ls") == [], what="the end of its sandbox")


def test_one_of_a_pod_that_exits_while_the_others_start(sandgate, container):
    """The gate is the pod's: whoever's hook made it, it holds the others."""
    for ms in MOMENTS_MS:
        pod = container()
        gone, *others = (container(pod=pod) for _ in range(3))
        killer = threading.Thread(target=lambda: (time.sleep(ms / 1000), gone.kill()))
        killer.start()
        done = hooks_at_once(sandgate, *(one.state(policy="deny") for one in (gone, *others)))
        killer.join()
        assert all(d.ok for d in done[1:]), done
        assert len(sandgate.json("ls")) == 1 and pod.devices() == 2
        pod.kill()
        wait_until(lambda: sandgate.json("ls") == [], what="the end of its sandbox")
