# SPDX-License-Identifier: Apache-2.0
"""Docker, by the network driver: a dockerd of the world's own on its machine."""

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import time

from program import read_proc, wait_until

from . import guest
from .engine import POLICY_ALONE, Engine, policy_of

# The fixed paths of the machine's own view: nobody else sees them.
API, PLUGIN = "/run/docker.sock", "/run/docker/plugins/sandgate.sock"
CONTAINERD_PID = "/run/docker/containerd/containerd.pid"
DATA, IMAGE = "/tmp/dockerd", "guest"
CAPABILITIES = ("NET_ADMIN", "NET_RAW")
# As src/airlock/addresses.h has them.
GATE4, SANDBOX4, SANDBOX6 = "192.0.0.1", "192.0.0.2", "fd73:616e:6467:1::2"
USUAL = [("192.0.0.0/29", "192.0.0.1"), ("fd73:616e:6467:1::/64", "fd73:616e:6467:1::1")]
_numbers = itertools.count(1)


class Dockerd:
    """dockerd and the driver on the machine of a world. Neither touches the machine's own files: the
    view has its own /run, /etc, /tmp and /var/lib."""

    def __init__(self, world, sandgate, **config):
        """`config`: of daemon.json, for good."""
        self.world, self.machine, self.sandgate = world, world.machine, sandgate
        self._config = {"live-restore": False, "shutdown-timeout": 2, **config}
        self.parent = f"sandgate-test-{os.getpid()}"
        self.dockerd = self.driver = None
        self.said = []  # by the driver
        try:
            self.start_driver()
            self.start_dockerd()
        except BaseException:
            self.close()
            raise

    # The two daemons.

    def _popen(self, argv, name, **env):
        out = self.machine.place.call(lambda: open(f"/run/{name}.log", "ab"), view=self.machine.view)
        with out:
            return self.machine.popen(argv, "root", stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                      start_new_session=True,
                                      env=self.machine.environment("root", **env))

    def log(self, name="driver"):
        return self.machine.read(f"/run/{name}.log")

    def start_driver(self):
        self.driver = self._popen([self.sandgate, "docker-driver"], "driver")
        wait_until(lambda: self._connects(PLUGIN) or self.driver.poll() is not None, 20, "the driver")
        assert self.driver.poll() is None, self.log()

    def end_driver(self, number=signal.SIGTERM):
        self.driver.send_signal(number)
        return self.driver.wait(60)

    def start_dockerd(self, **config):
        """`config`: of daemon.json, this time."""
        config = {**self._config, **config}
        self.machine.place.call(lambda: os.makedirs("/etc/docker", exist_ok=True))
        if not self.machine.exists("/etc/docker/daemon.json") or \
                json.loads(self.machine.read("/etc/docker/daemon.json")) != config:
            self.machine.write("/etc/docker/daemon.json", json.dumps(config))
            self._pass_a_second()
        # Its own firewall and bridge are not what is tested, and the machine's network is the world's.
        self.dockerd = self._popen(
            ["dockerd", "--data-root", DATA, "--cgroup-parent", self.parent, "--bridge=none",
             "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"],
            "dockerd", DOCKER_RAMDISK="1")
        wait_until(lambda: self("version").returncode == 0 or self.dockerd.poll() is not None, 60,
                   "dockerd")
        assert self.dockerd.poll() is None, self.log("dockerd")

    @staticmethod
    def _pass_a_second():
        """A file of the second in which dockerd begins may have been written after it was read."""
        now = int(time.time())
        wait_until(lambda: int(time.time()) > now + 1, 5, "the clock")

    def end_dockerd(self, number=signal.SIGTERM):
        """However it ends, its containerd ends with it; on a machine that is a service of its own."""
        self.dockerd.send_signal(number)
        self.dockerd.wait(60)
        if self.machine.exists(CONTAINERD_PID):
            pid = int(self.machine.read(CONTAINERD_PID))
            wait_until(lambda: not is_running(pid), 20, "containerd's end")
            self.machine.place.call(lambda: os.unlink(CONTAINERD_PID))

    def restart_dockerd(self, number=signal.SIGTERM, **config):
        self.end_dockerd(number)
        self.start_dockerd(**config)

    def _connects(self, path):
        def connect():
            with socket.socket(socket.AF_UNIX) as s:
                return s.connect_ex(path) == 0
        return self.machine.place.call(connect, view=self.machine.view)

    # The client.

    def __call__(self, *argv, timeout=60, **options):
        return self.machine.run(["/usr/bin/docker", *argv], "root", timeout=timeout, **options)

    def ok(self, *argv, **options):
        done = self(*argv, **options)
        assert done.returncode == 0, f"docker {' '.join(argv)}\n{done.stdout}{done.stderr}\n{self.log()}"
        return done.stdout.strip()

    def popen(self, *argv, **options):
        return self.machine.popen(["/usr/bin/docker", *argv], "root", **options)

    def load_image(self):
        if self("image", "inspect", IMAGE).returncode == 0:
            return
        tar = guest.image(self.world.authority.pem)
        process = self.popen("import", "-", IMAGE, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        out, _ = process.communicate(tar, 120)
        assert process.returncode == 0, out

    def pid_of(self, container):
        return int(self.ok("inspect", "--format", "{{.State.Pid}}", container))

    # The end.

    def close(self):
        if self.dockerd and self.dockerd.poll() is None:
            containers = self("ps", "-aq").stdout.split()
            if containers:
                self("rm", "-f", *containers)
            networks = self("network", "ls", "-q", "--filter", "type=custom").stdout.split()
            if networks:
                self("network", "rm", *networks)
            self.end_dockerd()
        if self.driver and self.driver.poll() is None:
            self.end_driver()
        self._remove_files()

    def _remove_files(self):
        """What dockerd leaves: mounts, and folders of cgroups that are everybody's."""
        def remove():
            subprocess.run("for m in $(grep -o ' /tmp/dockerd[^ ]*\\| /run/docker[^ ]*' /proc/mounts | sort -r);"
                           " do umount -l $m; done; rm -rf /tmp/dockerd /run/docker /etc/docker",
                           shell=True, check=False)
        self.machine.place.call(remove)
        for folder, names, _ in os.walk("/sys/fs/cgroup"):
            for name in names:
                if name == self.parent:
                    _remove_cgroup(os.path.join(folder, name))
            if folder.count("/") >= 4:
                names.clear()


def is_running(pid):
    """One whose parent has not asked for its end yet is none."""
    stat = read_proc(pid, "stat")
    return bool(stat) and stat.rpartition(")")[2].split()[0] != "Z"


def _remove_cgroup(path):
    for folder, _, _ in os.walk(path, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


class Docker(Engine):
    id = "docker"
    needs = (("dockerd", "docker.io"), ("/usr/bin/docker", "docker.io"))
    person = "root"

    def __init__(self, world, sandgate):
        super().__init__(world, sandgate)
        # So that it does not matter here what the machine's resolver is.
        self.docker = Dockerd(world, sandgate, dns=["192.0.2.53"])
        try:
            self.docker.load_image()
        except BaseException:
            self.docker.close()
            raise

    @classmethod
    def missing(cls):
        return super().missing() or guest.missing()

    def _policy(self, box):
        """The options of a network that say what those of `run` say."""
        options, words = list(box.options), {}
        if {"--inspect", "--splice"} & set(options):
            path, text = policy_of(options)
            if path is None:
                path = f"/run/{box.name}.yaml"
                self.machine.write(path, text)
            return [f"policy={os.path.join(box.cwd, path)}"]
        while options:
            option = options.pop(0)
            if option in POLICY_ALONE:
                continue
            key = {"--net": "policy", "--policy": "policy"}.get(option, option[2:])
            value = options.pop(0)
            words.setdefault(key, []).append(os.path.join(box.cwd, value) if option == "--policy" else value)
        return [f"{key}={','.join(values)}" for key, values in words.items()]

    def _make_network(self, box, subnets):
        words = [word for option in self._policy(box) for word in ("-o", option)]
        for subnet, gateway in subnets:
            words += ["--subnet", subnet, "--gateway", gateway] + (["--ipv6"] if ":" in subnet else [])
        return self.docker("network", "create", "-d", "sandgate", *words, box.name)

    def start(self, box, agent):
        """With the addresses that every sandbox has, which tests go by; a second one has others, since
        docker gives no prefix twice."""
        gate, fixed = GATE4, ["--ip", SANDBOX4] + (["--ip6", SANDBOX6] if self.world.ipv6 else [])
        made = self._make_network(box, USUAL[:2 if self.world.ipv6 else 1])
        if "overlap" in made.stderr:
            number, fixed = next(_numbers), []
            gate = f"10.77.{number}.1"
            made = self._make_network(box, [(f"10.77.{number}.0/24", f"10.77.{number}.1"),
                                            (f"fd00:77:{number}::/64", f"fd00:77:{number}::1")])
        assert made.returncode == 0, made.stderr
        # docker's own name server has ways of its own (test_docker.py); here the gate is asked.
        resolv = f"/run/{box.name}.resolv"
        self.machine.write(resolv, f"nameserver {gate}\n")
        words = ["-v", f"{resolv}:/etc/resolv.conf:ro"]
        words += [word for name in CAPABILITIES for word in ("--cap-add", name)]
        words += [word for item in (box.env or {}).items() for word in ("-e", "=".join(item))]
        return self.docker.popen(
            "run", "--rm", "-i", "--name", box.name, "--network", box.name, *fixed, *words, IMAGE, *agent,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True)

    def inner_pid(self, box):
        return self.docker.pid_of(box.name)

    def end(self, box):
        self.docker("rm", "-f", box.name)
        removed = self.docker("network", "rm", box.name)
        assert removed.returncode == 0, removed.stderr + self.docker.log()

    def close(self):
        self.docker.close()
