# SPDX-License-Identifier: Apache-2.0
"""Plugins of container networks on the world's machine, called as a runtime calls them."""

import hashlib
import itertools
import json
import subprocess

from internet.netns import Place
from program import _source

PLUGINS = "/usr/lib/cni"
FOLDER = "/run/cni-rig"
SUBNET4, SUBNET6 = "10.88.0.0/16", "fd00:88::/64"
NODE4, NODE6 = "10.88.0.1", "fd00:88::1"
_ids = itertools.count(1)

BRIDGE = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True,
          "ipam": {"type": "host-local", "ranges": [[{"subnet": SUBNET4}], [{"subnet": SUBNET6}]],
                   "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}}
PTP = {"type": "ptp", "ipMasq": True,
       "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.89.0.0/24"}]],
                "routes": [{"dst": "0.0.0.0/0"}]}}
PORTMAP = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}


def sandgate_plugin(**keys):
    return {"type": "sandgate", **keys}


class Failed(Exception):
    """A plugin that has refused: the specification's error."""

    def __init__(self, kind, done):
        super().__init__(f"{kind}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        self.kind, self.status = kind, done.returncode
        self.answer = json.loads(done.stdout)
        self.code, self.message = self.answer["code"], self.answer["msg"]


class Node:
    """The machine as a node: forwarding, and folders of plugins with the program under test."""

    def __init__(self, world, program):
        self.world, self.machine = world, world.machine
        self.bin = f"{FOLDER}/bin"
        self.machine.run(["sh", "-ec", f"mkdir -p {self.bin}; ln -sf {program} {self.bin}/sandgate"],
                         "root").check_returncode()
        self.path = f"{self.bin}:{PLUGINS}"
        self.machine.place.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1)
        world.on_reset(self._take_down)

    def _take_down(self):
        self.machine.place.sysctl(net__ipv4__ip_forward=0, net__ipv6__conf__all__forwarding=0)
        self.machine.run(["sh", "-c", "ip link del cni0; iptables -F; iptables -t nat -F; iptables -X; "
                          "iptables -t nat -X; ip6tables -t nat -F; ip6tables -t nat -X; "
                          "rm -rf /var/lib/cni " + FOLDER], "root")

    def call(self, command, config, pod, ifname="eth0", netns=None, **env):
        """One plugin's answer; Failed when it refuses."""
        kind = config["type"]
        place = self.bin if kind == "sandgate" else PLUGINS
        variables = {"CNI_COMMAND": command, "CNI_CONTAINERID": pod.id, "CNI_IFNAME": ifname,
                     "CNI_NETNS": pod.path if netns is None else netns, "CNI_PATH": self.path, **env}
        done = self.machine.run([f"{place}/{kind}"], "root", timeout=60, input=json.dumps(config),
                                env={**self.machine.environment("root"), **variables})
        if done.returncode:
            raise Failed(kind, done)
        return json.loads(done.stdout) if done.stdout.strip() else None

    def masquerading(self):
        return self.machine.run(["iptables", "-t", "nat", "-S"], "root").stdout


class Network:
    """A list of plugins (conflist), added and taken away as libcni does."""

    def __init__(self, node, *plugins, version="1.0.0", runtime=None):
        self.node, self.version, self.runtime = node, version, runtime or {}
        self.plugins = plugins

    def _config(self, plugin, before):
        config = {"cniVersion": self.version, "name": "net", **plugin}
        given = {key: self.runtime[key] for key in plugin.get("capabilities", {}) if key in self.runtime}
        if given:
            config["runtimeConfig"] = given
        if before is not None:
            config["prevResult"] = before
        return config

    def add(self, pod, **more):
        result = None
        for plugin in self.plugins:
            result = self.node.call("ADD", self._config(plugin, result), pod, **more)
        pod.networks.append((self, result))
        return result

    def check(self, pod, result):
        for plugin in self.plugins:
            self.node.call("CHECK", self._config(plugin, result), pod)

    def delete(self, pod, result, **more):
        """As often as one likes; prevResult is there from 0.4.0 on."""
        before = None if self.version == "0.3.1" else result
        for plugin in reversed(self.plugins):
            self.node.call("DEL", self._config(plugin, before), pod, **more)


class Pod:
    """A network namespace, and programs in it with every capability."""

    def __init__(self, world, identity=None):
        self.world, self.place = world, Place()
        self.id = identity or hashlib.sha256(f"{id(self)}-{next(_ids)}".encode()).hexdigest()
        self.networks, self._servers = [], []
        self.place.ip("link set lo up")
        self.place.sysctl(net__ipv6__conf__default__accept_dad=0)
        world.on_reset(self.close)

    @property
    def path(self):
        return self.place.path

    @property
    def sandbox(self):
        return f"cni-{self.id[:12]}"

    def ip(self, words):
        return self.place.run(["ip", *words.split()]).stdout

    def python(self, code, *arguments, timeout=60):
        done = self.place.run(["python3", "-c", _source("probe.py") + "\n" + code, *map(str, arguments)],
                              view=self.world.machine.view, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.strip().rsplit("\n", 1)[-1])

    def dials(self, address, port=80):
        return self.python("report(r=try_dial(sys.argv[1], sys.argv[2], 20)[0])", address, port)["r"]

    def curl(self, url, *more):
        return self.place.run(["curl", "-sS", "-m", "30", *more, url], view=self.world.machine.view,
                              timeout=30)

    def serve(self, port=8080):
        """HTTP over both families, and UDP that sends back."""
        code = f"""
import http.server, socket, threading
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("content-length", "2"); self.end_headers()
        self.wfile.write(b"up")
    def log_message(self, *a): pass
u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); u.bind(("::", {port}))
def echo():
    while True:
        data, who = u.recvfrom(9000); u.sendto(data, who)
threading.Thread(target=echo, daemon=True).start()
s = Server(("::", {port}), Handler)
print("ready", flush=True)
s.serve_forever()
"""
        server = self.place.popen(["python3", "-c", code], view=self.world.machine.view,
                                  stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "ready\n"
        self._servers.append(server)

    def close(self):
        for server in self._servers:
            server.kill()
            server.wait()
            server.stdout.close()
        self._servers = []
        for network, result in reversed(self.networks):
            network.delete(self, result)
        self.networks = []
        if self.place:
            self.place.close()
            self.place = None
