# SPDX-License-Identifier: Apache-2.0
"""Podman: containers that a person or root starts with an annotation, and ones of `sandgate run`."""

import os
import signal
import subprocess

from internet.machine import RUNTIME
from program import descendants, read_proc, wait_until

from . import guest
from .engine import POLICY_ALONE, Engine, supervisor_of

FOLDER = "/run/podman-rig"
CONF, STORAGE, HOOKS, IMAGE = (f"{FOLDER}/containers.conf", f"{FOLDER}/storage.conf", f"{FOLDER}/hooks.d",
                               f"{FOLDER}/image.tar")

_CONF = f"""[containers]
default_ulimits = ["nofile=20000:20000", "nproc=9000:9000"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
hooks_dir = ["{HOOKS}"]
"""

NEEDS = (("podman", "podman"), ("conmon", "conmon"), ("runc", "runc"), ("newuidmap", "uidmap"),
         ("slirp4netns", "slirp4netns"))


class Podman:
    """podman of one person on the world's machine: files, images and containers are the machine's own."""

    def __init__(self, world, sandgate, person):
        self.world, self.machine, self.person = world, world.machine, person
        self._set_up(sandgate)
        self.run("import", "-q", IMAGE, "guest", timeout=120)

    def _set_up(self, sandgate):
        machine = self.machine
        if machine.exists(CONF):
            return
        machine.run(["mkdir", "-p", FOLDER], "root").check_returncode()
        tar = guest.image(self.world.authority.pem)

        def put():
            with open(IMAGE, "wb") as f:
                f.write(tar)
        machine.place.call(put)
        for name in "subuid", "subgid":
            machine.write(f"/etc/{name}", "dev:100000:65536\n")
        done = machine.run([sandgate, "setup", "podman", "--dir", HOOKS], "root")
        assert done.returncode == 0, done.stderr
        machine.write(CONF, _CONF)

    @property
    def env(self):
        return self.machine.environment(self.person, CONTAINERS_CONF=CONF)

    def try_run(self, *argv, timeout=60, **options):
        return self.machine.run(["podman", *argv], self.person, env=self.env, timeout=timeout, **options)

    def run(self, *argv, **options):
        done = self.try_run(*argv, **options)
        assert done.returncode == 0, f"podman {' '.join(argv)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    def import_image(self, name, tar):
        """An image of these octets; its name."""
        path = f"{self.machine.new_work(self.person)}/image.tar"

        def put():
            with open(path, "wb") as out:
                out.write(tar)
        self.machine.place.call(put)
        self.run("import", "-q", path, name, timeout=120)
        self.machine.run(["rm", path], self.person)
        return name

    def popen(self, *argv, **options):
        return self.machine.popen(["podman", *argv], self.person, env=self.env, **options)

    def remove(self, name):
        self.try_run("rm", "--force", "--time", "0", "--ignore", name)

    def pid_of(self, name):
        """The first process of a container, as the host numbers it."""
        return int(self.run("container", "inspect", "--format", "{{.State.Pid}}", name))

    def names(self):
        return self.run("ps", "--all", "--format", "{{.Names}}").split()

    def let_go(self):
        """Ends the process that holds a person's namespaces between two commands: the next one makes them anew,
        where it is run."""
        path = f"{RUNTIME[self.person]}/libpod/tmp/pause.pid"
        if self.machine.exists(path):
            pid = int(self.machine.read(path))
            if read_proc(pid, "comm").startswith("podman"):  # its number may be another's, when it was ended before
                os.kill(pid, signal.SIGKILL)
            self.machine.run(["rm", path], self.person)

    def close(self):
        """Nothing of it runs any more."""
        self.try_run("rm", "--all", "--force", "--time", "0")
        self.try_run("pod", "rm", "--all", "--force", "--time", "0")
        self.let_go()


class _Annotated(Engine):
    """`podman run --annotation sandgate.policy=FILE`: the agent is root in the container."""

    needs = NEEDS
    takes_value = ("--publish",)

    def __init__(self, world, sandgate):
        super().__init__(world, sandgate)
        self.podman = Podman(world, sandgate, self.person)

    @classmethod
    def missing(cls):
        return super().missing() or guest.missing()

    def start(self, box, agent):
        # podman splits the value at commas, unless it is quoted as in CSV.
        annotations = [f'--annotation="sandgate.{key}={value}"' for key, value in
                       [("name", box.name), *self._annotations(box)]]
        return self.podman.popen(
            "run", "--rm", "--interactive", "--name", box.name, "--network", "none",
            "--volume", f"{box.cwd}:{box.cwd}", "--workdir", box.cwd, *annotations, "guest", *agent,
            cwd=box.cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True)

    def _annotations(self, box):
        options, asked, lists, file = list(box.options), False, {}, False
        policy = "standard"
        while options:
            option = options.pop(0)
            if option in POLICY_ALONE:
                asked = asked or option == "--yes"
                continue
            value = options.pop(0)
            if option in ("--net", "--policy"):
                policy, file = value, option == "--policy"
            elif option == "--only":
                policy = "deny"
            key = {"--only": "allow"}.get(option, option[2:])
            if key in ("allow", "deny", "publish"):
                lists.setdefault(key, []).append(value)
            elif option not in ("--net", "--policy"):
                self.cannot(f"has no annotation for {option}")
        if file:
            policy = f"{box.cwd}/{policy}" if not policy.startswith("/") else policy
        elif asked:  # what is asked about is for a file to say
            path = f"{box.cwd}/.{box.name}.yaml"
            self.machine.write(path, f"network: {policy}\n", self.person)
            policy = path
        return [("policy", policy), *((key, ",".join(values)) for key, values in lists.items())]

    def inner_pid(self, box):
        return self.podman.pid_of(box.name)

    def end(self, box):
        self.podman.remove(box.name)

    def close(self):
        self.podman.close()


class Rootless(_Annotated):
    id = "podman-rootless"
    person = "dev"
    namespaces = ("user", *Engine.namespaces)


class Rootful(_Annotated):
    id = "podman-rootful"
    person = "root"

    def supervisor_pid(self, box):
        return supervisor_of(self.machine, "root", box.name)


class Run(Engine):
    """`sandgate run --engine podman`, by an ordinary user."""

    id = "podman-run"
    person = "dev"
    needs = NEEDS
    namespaces = ("user", *Engine.namespaces)
    says_its_end = True
    given_cwd = True
    takes_value = ("--publish", "--host-port", "--rw", "--ro", "--hide", "--env", "--pcap")

    def __init__(self, world, sandgate):
        super().__init__(world, sandgate)
        self.podman = Podman(world, sandgate, self.person)

    @classmethod
    def missing(cls):
        return super().missing() or guest.missing()

    def start(self, box, agent):
        return self.machine.popen(
            [self.sandgate, "run", "--engine", "podman", "--image", "guest", "--name", box.name,
             *box.options, "--", *agent], self.person, cwd=box.cwd, env={**self.podman.env, **(box.env or {})},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", start_new_session=True)

    def inner_pid(self, box):
        first = self.podman.pid_of(f"sandgate-{box.name}")
        for pid in descendants(first):
            if read_proc(pid, "cmdline").startswith("python3\0-u\0-c"):
                return pid
        raise AssertionError("the agent is gone")

    def supervisor_pid(self, box):
        return box.process.pid

    def end(self, box):
        wait_until(lambda: f"sandgate-{box.name}" not in self.podman.names(), what="the container's end")
        box.sandgate("rm", box.name)

    def close(self):
        self.podman.close()
