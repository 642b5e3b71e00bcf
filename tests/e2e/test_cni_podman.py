# SPDX-License-Identifier: Apache-2.0
"""podman's CNI backend, rootful: the plugin alone, and at the end of a list that podman could have
written itself."""

import json

import pytest

from cni_rig import BRIDGE, PLUGINS, PORTMAP, Node, sandgate_plugin
from engines import guest
from engines.podman import NEEDS, Podman
from internet.services import echo_tcp
from internet.world import HOST4
from program import wait_until

pytestmark = pytest.mark.parametrize("person", ["root"])

FOLDER = "/run/cni-podman"
CONF = f"""[containers]
default_ulimits = ["nofile=20000:20000", "nproc=9000:9000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
[network]
network_backend = "cni"
network_config_dir = "{FOLDER}"
cni_plugin_dirs = ["@BIN@", "{PLUGINS}"]
default_network = "agents"
"""
SERVER = ["python3", "-c", "import http.server as h; "
          "h.HTTPServer(('', 8080), h.SimpleHTTPRequestHandler).serve_forever()"]


class CniPodman(Podman):
    """Its containers are on the one network `agents`."""

    def __init__(self, world, sandgate, *plugins, version="1.0.0"):
        for program, package in (*NEEDS, (f"{PLUGINS}/bridge", "containernetworking-plugins")):
            if not world.machine.has(program):
                pytest.skip(f"{program} is not installed ({package})")
        if guest.missing():
            pytest.skip(guest.missing())
        self.node = Node(world, sandgate.path)
        world.machine.run(["mkdir", "-p", FOLDER], "root").check_returncode()
        world.machine.write(f"{FOLDER}/containers.conf", CONF.replace("@BIN@", self.node.bin))
        conflist = {"cniVersion": version, "name": "agents", "plugins": list(plugins)}
        world.machine.write(f"{FOLDER}/agents.conflist", json.dumps(conflist))
        super().__init__(world, sandgate.path, "root")
        world.on_reset(self.close)

    @property
    def env(self):
        return self.machine.environment(self.person, CONTAINERS_CONF=f"{FOLDER}/containers.conf")

    def start(self, name, *argv, options=()):
        self.run("run", "--detach", "--name", name, *options, "guest", *argv)
        return self.run("container", "inspect", "--format", "{{.Id}}", name)

    def exec(self, name, *argv):
        return self.try_run("exec", name, *argv)


def rows(sandgate):
    return {row["name"]: row for row in sandgate.json("ls")}


def test_alone(world, sandgate):
    world.site("api.example.com", "other.example.com")
    podman = CniPodman(world, sandgate, sandgate_plugin(only=["api.example.com"]))
    name = sandgate.new_name()
    identity = podman.start(name, "sleep", "1000")
    assert rows(sandgate)[f"cni-{identity[:12]}"]["engine"] == "cni"
    assert podman.exec(name, "curl", "-sS", "-m", "30", "https://api.example.com/").returncode == 0
    assert podman.exec(name, "curl", "-sS", "-m", "30", "https://other.example.com/").returncode != 0
    podman.remove(name)
    assert f"cni-{identity[:12]}" not in rows(sandgate)


@pytest.mark.parametrize("version", ["1.0.0", "0.4.0"])
def test_behind_a_bridge(world, sandgate, version):
    world.site("api.example.com")
    denied = world.address()
    echo_tcp(world, denied, 80)
    podman = CniPodman(world, sandgate, BRIDGE, PORTMAP, sandgate_plugin(only=["api.example.com"]),
                       version=version)
    name = sandgate.new_name()
    identity = podman.start(name, *SERVER, options=["--publish", "18091:8080", "--privileged"])
    address = podman.run("container", "inspect", "--format",
                         "{{(index .NetworkSettings.Networks \"agents\").IPAddress}}", name)
    assert address.startswith("10.88.")
    for url in f"http://{address}:8080/", f"http://{HOST4}:18091/":
        wait_until(lambda u=url: world.machine.run(["curl", "-sS", "-m", "30", "-o", "/dev/null", "-w",
                                                    "%{http_code}", u], "root").stdout == "200", what=url)
    world.start_watching()
    assert podman.exec(name, "curl", "-sS", "-m", "30", "https://api.example.com/").returncode == 0
    assert podman.exec(name, "curl", "-sS", "-m", "30", f"http://{denied}/").returncode != 0
    assert world.left_the_host(to=denied) == []
    podman.run("restart", "--time", "0", name, timeout=120)
    assert podman.exec(name, "curl", "-sS", "-m", "30", "https://api.example.com/").returncode == 0
    podman.remove(name)
    assert f"cni-{identity[:12]}" not in rows(sandgate)
    assert "CNI-" not in podman.node.masquerading().replace("CNI-HOSTPORT", "")


def test_a_policy_that_cannot_be_refuses_the_container(world, sandgate):
    podman = CniPodman(world, sandgate, BRIDGE, sandgate_plugin(policy="no-such"))
    name = sandgate.new_name()
    done = podman.try_run("run", "--rm", "--name", name, "guest", "true")
    assert done.returncode != 0 and "no-such" in done.stderr
    podman.remove(name)
    assert rows(sandgate) == {}
