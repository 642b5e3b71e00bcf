# SPDX-License-Identifier: Apache-2.0
"""The ways from a client to the far side, each of which can start the same client program."""
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

from . import world

START_SECONDS = 10
MEASURE_SECONDS = 60


class Failed(Exception):
    """A client that did not do its work; the message is for a person."""


class Client:
    """A started client program (see tests/bench/load/load.h) and what carries its traffic."""

    def __init__(self, process, relay=None):
        self.process = process
        self.relay = relay  # the pid whose CPU time counts, once the client is ready
        self.cpu_seconds = 0.0

    def read_line(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise Failed(f"nothing for {seconds} s")
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"it ended with status {self.process.wait()}")
        return line.strip()

    def wait_ready(self):
        if self.read_line(START_SECONDS) != "ready":
            raise Failed("it did not get ready")

    def begin(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def result(self):
        return json.loads(self.read_line(MEASURE_SECONDS))

    def measure(self):
        before = world.cpu_seconds(self.relay) if self.relay else 0
        self.begin()
        result = self.result()
        if self.relay:
            result["cpu_s"] = world.cpu_seconds(self.relay) - before
        return result

    def stop(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def popen(command, **options):
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            **options)


class Path:
    """`start` gives a client that is ready to measure."""

    name = ""

    def __init__(self, made):
        self.world = made

    def missing(self):
        """What must be installed, or None."""
        return None

    def command(self, *arguments):
        raise NotImplementedError

    def relay_of(self, process):
        return None

    def spawn(self, *arguments):
        return popen(self.command(self.world.load, *arguments))

    @contextlib.contextmanager
    def start(self, *arguments):
        client = Client(self.spawn(*arguments))
        try:
            client.wait_ready()
            client.relay = self.relay_of(client.process)
            yield client
        except Failed as failure:
            raise Failed(f"{self.name}: {arguments[0]}: {failure}") from None
        finally:
            client.stop()

    def measure(self, *arguments):
        with self.start(*arguments) as client:
            return client.measure()


class Namespace(Path):
    """Straight from a namespace: no program in between."""

    def __init__(self, made, name, namespace):
        super().__init__(made)
        self.name, self.namespace = name, namespace

    def command(self, *arguments):
        return world.in_namespace(self.namespace, *arguments)


class Sandgate(Path):
    """`sandgate run`, with the policy of a file."""

    name = "sandgate"

    def __init__(self, made, policy):
        super().__init__(made)
        self.policy = made.folder / f"policy-{id(self)}.json"
        self.policy.write_text(json.dumps(policy))

    def command(self, *arguments):
        return world.in_namespace(world.HOST, self.world.sandgate, "run", "--quiet", "--policy",
                                  self.policy, "--", *arguments)

    def spawn(self, *arguments):
        return popen(self.command(self.world.load, *arguments), cwd=self.world.load.parent)

    def relay_of(self, process):
        return gate_of(process.pid)


def gate_of(supervisor):
    """The supervisor's child that holds the tun device in the host's network: the gate."""
    def network(pid):
        return os.readlink(f"/proc/{pid}/ns/net")

    for child in world.children_of(supervisor):
        with contextlib.suppress(OSError):
            if network(child) == network(supervisor) and holds_tun(child):
                return child
    raise Failed("there is no gate")


def holds_tun(pid):
    descriptors = pathlib.Path(f"/proc/{pid}/fd")
    return any(os.readlink(fd) == "/dev/net/tun" for fd in descriptors.iterdir())


class Pasta(Path):
    name = "pasta"

    def missing(self):
        return None if shutil.which("pasta") else "passt"

    def command(self, *arguments):
        return world.in_namespace(world.HOST, "pasta", "--runas", "0", "--netns-only", "--quiet",
                                  "--config-net", "-t", "none", "-u", "none", "-T", "none",
                                  "-U", "none", "--", *arguments)

    def spawn(self, *arguments):
        return popen(self.command(self.world.load, *arguments), stderr=subprocess.DEVNULL)

    def relay_of(self, process):
        return process.pid


class Slirp(Path):
    """slirp4netns joins a namespace that is there: the client waits for it."""

    name = "slirp4netns"

    def __init__(self, made):
        super().__init__(made)
        self.relay = None

    def missing(self):
        return None if shutil.which("slirp4netns") else "slirp4netns"

    def command(self, *arguments):
        return world.in_namespace(world.HOST, "unshare", "--net", "sh", "-c",
                                  'read joined && exec "$@"', "sh", *arguments)

    def spawn(self, *arguments):
        process = super().spawn(*arguments)
        read_end, write_end = os.pipe()
        wait_for_namespace(process.pid)
        self.relay = subprocess.Popen(
            world.in_namespace(world.HOST, "slirp4netns", "--configure", "--mtu=65520",
                               f"--ready-fd={write_end}", process.pid, "tap0"),
            pass_fds=[write_end], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write_end)
        select.select([read_end], [], [], START_SECONDS)
        os.close(read_end)
        process.stdin.write("joined\n")
        process.stdin.flush()
        return process

    def relay_of(self, process):
        return self.relay.pid

    @contextlib.contextmanager
    def start(self, *arguments):
        try:
            with super().start(*arguments) as client:
                yield client
        finally:
            if self.relay:
                self.relay.terminate()
                self.relay.wait()


def wait_for_namespace(pid):
    """Until `unshare` has left the namespace that it was started in."""
    there = pathlib.Path("/run/netns") / world.HOST
    for _ in range(200):
        own = os.stat(f"/proc/{pid}/ns/net")
        comm = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        if comm == "sh" and own.st_ino != there.stat().st_ino:
            return
        time.sleep(0.01)
    raise Failed("unshare made no namespace")


def wait_listening(process, namespace, port, name):
    probe = world.in_namespace(namespace, "ss", "-Hltn", f"sport = :{port}")
    for _ in range(100):
        if process.poll() is not None:
            raise Failed(f"{name}: it ended with status {process.returncode}")
        if subprocess.run(probe, capture_output=True).stdout:
            return
        time.sleep(0.1)
    raise Failed(f"{name}: it does not listen")


class Proxy(Path):
    """A web proxy on the host, used by the client behind the router."""

    port = 0
    package = ""
    binary = ""
    config = ""

    def missing(self):
        return None if shutil.which(self.binary) else self.package

    def command(self, *arguments):
        return world.in_namespace(world.CLIENT, *arguments)

    def proxy_command(self, config):
        raise NotImplementedError

    @contextlib.contextmanager
    def running(self):
        """The proxy runs as long as the measurements with it."""
        config = self.world.folder / f"{self.name}.conf"
        config.write_text(self.config.format(port=self.port, host=world.PROXY_HOST,
                                             folder=self.world.folder))
        self.process = subprocess.Popen(
            world.in_namespace(world.HOST, *self.proxy_command(config)),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_listening(self.process, world.HOST, self.port, self.name)
            yield self
        finally:
            self.process.terminate()
            self.process.wait()


class Tinyproxy(Proxy):
    name, package, binary, port = "tinyproxy", "tinyproxy", "tinyproxy", 8888
    config = ("Port {port}\nListen {host}\nTimeout 60\nMaxClients 200\n"
              "LogFile \"/dev/null\"\nLogLevel Critical\n")

    def proxy_command(self, config):
        return ["tinyproxy", "-d", "-c", config]


class Squid(Proxy):
    name, package, binary, port = "squid", "squid", "squid", 3128
    config = ("http_port {host}:{port}\nhttp_access allow all\ncache deny all\naccess_log none\n"
              "cache_log /dev/null\ncache_store_log none\npid_filename none\ncoredump_dir /tmp\n"
              "shutdown_lifetime 0 seconds\nmax_filedescriptors 4096\n")

    def proxy_command(self, config):
        return ["squid", "-N", "-f", config]
