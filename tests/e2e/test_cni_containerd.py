# SPDX-License-Identifier: Apache-2.0
"""containerd: its client gives a container the networks of /etc/cni/net.d, before it starts."""

import io
import json
import signal
import subprocess
import tarfile

import pytest

from cni_rig import BRIDGE, PLUGINS, Node, sandgate_plugin
from engines import guest
from internet.services import echo_tcp
from program import wait_until

pytestmark = pytest.mark.parametrize("person", ["root"])

FOLDER = "/run/containerd-rig"
SOCKET = f"{FOLDER}/containerd.sock"
CONF = f"""version = 2
root = "{FOLDER}/root"
state = "{FOLDER}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "{SOCKET}"
"""
NEEDS = (("containerd", "containerd"), ("ctr", "containerd"), ("runc", "runc"),
         (f"{PLUGINS}/bridge", "containernetworking-plugins"))
SERVER = ["python3", "-c", "import http.server as h; "
          "h.HTTPServer(('', 8080), h.SimpleHTTPRequestHandler).serve_forever()"]


class Containerd:
    """A daemon of its own; /opt and /etc are the machine's own there."""

    def __init__(self, world, program, *plugins):
        self.world, self.machine = world, world.machine
        self.node = Node(world, program)
        self.root = f"{FOLDER}/guest"
        self.daemon = None
        world.on_reset(self.close)
        self._prepare()
        self.machine.write("/etc/cni/net.d/10-agents.conflist", json.dumps(
            {"cniVersion": "1.0.0", "name": "agents", "plugins": list(plugins)}))
        self.daemon = self.machine.popen(["containerd", "--config", f"{FOLDER}/config.toml"], "root",
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.try_run("version").returncode == 0, timeout=30, what="containerd")

    def _prepare(self):
        self.machine.run(["sh", "-ec", f"mkdir -p {self.root} /etc/cni/net.d; mount -t tmpfs opt /opt; "
                          f"mkdir -p /opt/cni; ln -s {self.node.bin} /opt/cni/bin; "
                          f"for p in {PLUGINS}/*; do ln -sf $p {self.node.bin}/; done"],
                         "root").check_returncode()
        self.machine.write(f"{FOLDER}/config.toml", CONF)
        image = guest.image(self.world.authority.pem)

        def unpack():
            with tarfile.open(fileobj=io.BytesIO(image)) as tar:
                tar.extractall(self.root)
        self.machine.place.call(unpack)

    def try_run(self, *argv, **options):
        return self.machine.run(["ctr", "--address", SOCKET, *argv], "root", timeout=60, **options)

    def run(self, *argv):
        done = self.try_run(*argv)
        assert done.returncode == 0, f"ctr {' '.join(argv)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def start(self, name, *argv):
        self.run("run", "--detach", "--cni", "--rootfs", "--null-io", "--env", f"PATH={guest.PATH}",
                 "--mount", "type=bind,src=/etc/resolv.conf,dst=/etc/resolv.conf,options=rbind:ro",
                 self.root, name, *argv)

    def exec(self, name, *argv):
        return self.try_run("task", "exec", "--exec-id", "one", name, *argv)

    def remove(self, name):
        """As ctr does it, the network comes after the task's end."""
        self.try_run("task", "kill", "--signal", "SIGKILL", name)
        self.try_run("task", "rm", "--force", name)
        self.try_run("container", "rm", name)

    def close(self):
        if self.daemon:
            for name in self.try_run("container", "ls", "-q").stdout.split():
                self.remove(name)
            self.daemon.send_signal(signal.SIGTERM)
            self.daemon.wait(60)
        self.machine.run(["sh", "-c", f"umount -l /opt; rm -rf /etc/cni {FOLDER}"], "root")


@pytest.fixture
def containerd(world, sandgate, needs):
    for program, _ in NEEDS:
        needs(program)
    if guest.missing():
        pytest.skip(guest.missing())
    return lambda *plugins: Containerd(world, sandgate.path, *plugins)


def sandbox_of(sandgate):
    return [row["name"] for row in sandgate.json("ls") if row["engine"] == "cni"]


def test_alone(world, sandgate, containerd):
    world.site("api.example.com", "other.example.com")
    daemon = containerd(sandgate_plugin(only=["api.example.com"]))
    name = sandgate.new_name()
    daemon.start(name, "sleep", "1000")
    [sandbox] = sandbox_of(sandgate)
    assert sandbox.startswith("cni-default-")
    got = daemon.exec(name, "curl", "-sS", "-m", "30", "https://api.example.com/")
    assert got.returncode == 0, got
    assert daemon.exec(name, "curl", "-sS", "-m", "30", "https://other.example.com/").returncode != 0
    daemon.remove(name)
    sandgate("detach", sandbox)


def test_behind_a_bridge(world, sandgate, containerd):
    world.site("api.example.com")
    denied = world.address()
    echo_tcp(world, denied, 80)
    daemon = containerd(BRIDGE, sandgate_plugin(only=["api.example.com"]))
    name = sandgate.new_name()
    daemon.start(name, *SERVER)
    wait_until(lambda: world.machine.run(["curl", "-sS", "-m", "30", "-o", "/dev/null", "-w", "%{http_code}",
                                          "http://10.88.0.2:8080/"], "root").stdout == "200",
               what="a probe")
    world.start_watching()
    assert daemon.exec(name, "curl", "-sS", "-m", "30", "https://api.example.com/").returncode == 0
    assert daemon.exec(name, "curl", "-sS", "-m", "30", f"http://{denied}/").returncode != 0
    assert world.left_the_host(to=denied) == []
    daemon.remove(name)
    [sandbox] = sandbox_of(sandgate)
    assert sandgate("detach", sandbox).ok


def test_a_policy_that_cannot_be_refuses_the_container(sandgate, containerd):
    daemon = containerd(sandgate_plugin(policy="no-such"))
    done = daemon.try_run("run", "--rm", "--cni", "--rootfs", "--env", f"PATH={guest.PATH}", daemon.root,
                          sandgate.new_name(), "touch", "/ran")
    assert done.returncode != 0 and "no-such" in done.stderr
    assert not daemon.machine.exists(f"{daemon.root}/ran")
