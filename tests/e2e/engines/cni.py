# SPDX-License-Identifier: Apache-2.0
"""Namespaces put behind a gate by the plugin of container networks, as a runtime calls it: alone, and
behind the plugin bridge. The agent is root in them with every capability and sees the files of the
machine."""

import hashlib
import json

from .engine import policy_of
from .netns import Netns

BRIDGE = "/usr/lib/cni/bridge"


class Cni(Netns):
    id = "cni"
    takes_value = ("--publish",)

    def _attach(self, box, pid):
        self._name(box, pid)
        box.network = self._network(box)
        return self._call(box, "ADD")

    @staticmethod
    def _name(box, pid):
        identity = hashlib.sha256(box.name.encode()).hexdigest()
        box.name = f"cni-{identity[:12]}"
        box.call = {"CNI_CONTAINERID": identity, "CNI_IFNAME": "eth0", "CNI_PATH": "/usr/lib/cni",
                    "CNI_NETNS": f"/proc/{pid}/ns/net"}

    def _network(self, box):
        options, ports, lists, policy, rest = list(box.options), [], {}, {}, []
        while options:
            option = options.pop(0)
            if not options or options[0].startswith("--"):
                continue
            value = options.pop(0)
            if option == "--publish":
                ports += [pair.split(":") for pair in value.split(",")]
            elif option in ("--allow", "--deny", "--only"):
                lists.setdefault(option[2:], []).append(value)
            elif option in ("--net", "--policy"):
                policy["policy"] = value
            else:
                rest += [option, value]
        if rest:  # there is no key for it
            lists, policy["policy"] = {}, f"{box.cwd}/.{box.name}.yaml"
            self.machine.write(policy["policy"], policy_of(
                [o for o in box.options if o != "--publish"])[1], "root")
        elif "--policy" in box.options and not policy["policy"].startswith("/"):
            policy["policy"] = f"{box.cwd}/{policy['policy']}"
        network = {"cniVersion": "1.0.0", "name": "agents", "type": "sandgate", **policy, **lists}
        if ports:
            network["runtimeConfig"] = {"portMappings": [
                {"hostPort": int(host), "containerPort": int(inside), "hostIP": ip}
                for host, inside in ports for ip in ("127.0.0.1", "::1")]}
        return network

    def _call(self, box, command):
        return box.sandgate(input=json.dumps(box.network), env={
            **self.machine.environment("root"), "CNI_COMMAND": command, **box.call})

    def end(self, box):
        self._call(box, "DEL")


class Bridge(Cni):
    """Its eth0 was that of a bridge, with the addresses that a sandbox has elsewhere: the machine
    forwards and masquerades what leaves by the door."""

    id = "cni-bridge"
    needs = ((BRIDGE, "containernetworking-plugins"),)
    takes_value = ()

    def _attach(self, box, pid):
        self._name(box, pid)
        box.bridge = {
            "cniVersion": "1.0.0", "name": "agents", "type": "bridge", "bridge": f"b{box.name[4:]}",
            "isGateway": True, "ipMasq": True,
            "ipam": {"type": "static", "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}], "addresses": [
                {"address": "192.0.0.2/29", "gateway": "192.0.0.3"},
                {"address": "fd73:616e:6467:1::2/64", "gateway": "fd73:616e:6467:1::3"}]}}
        self.machine.place.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1)
        done = self._bridge(box, "ADD")
        box.network = {**self._network(box), "prevResult": json.loads(done.stdout)}
        return self._call(box, "ADD")

    def _bridge(self, box, command):
        done = self.machine.run([BRIDGE], "root", input=json.dumps(box.bridge), env={
            **self.machine.environment("root"), "CNI_COMMAND": command, **box.call})
        assert done.returncode == 0, done.stdout
        return done

    def end(self, box):
        super().end(box)
        self._bridge(box, "DEL")
        self.machine.place.ip(f"link del {box.bridge['bridge']}")
        self.machine.place.sysctl(net__ipv4__ip_forward=0, net__ipv6__conf__all__forwarding=0)
