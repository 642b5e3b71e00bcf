# SPDX-License-Identifier: Apache-2.0
"""Namespaces put behind a gate by the plugin of container networks, alone, as a runtime calls it: the
agent is root in them with every capability and sees the files of the machine."""

import hashlib
import json

from .engine import policy_of
from .netns import Netns

class Cni(Netns):
    id = "cni"
    takes_value = ("--publish",)

    def _attach(self, box, pid):
        identity = hashlib.sha256(box.name.encode()).hexdigest()
        box.name = f"cni-{identity[:12]}"
        box.call = {"CNI_CONTAINERID": identity, "CNI_IFNAME": "eth0", "CNI_NETNS": f"/proc/{pid}/ns/net"}
        box.network = self._network(box)
        return self._call(box, "ADD")

    def _network(self, box):
        options, ports, rest = list(box.options), [], []
        while options:
            option = options.pop(0)
            if option != "--publish":
                rest.append(option)
                continue
            for pair in options.pop(0).split(","):
                host, inside = map(int, pair.split(":"))
                ports += [{"hostPort": host, "containerPort": inside, "hostIP": ip}
                          for ip in ("127.0.0.1", "::1")]
        path, text = policy_of(rest)
        if text is not None:
            path = f"{box.cwd}/.{box.name}.yaml"
            self.machine.write(path, text, "root")
        elif not path.startswith("/"):
            path = f"{box.cwd}/{path}"
        network = {"cniVersion": "1.0.0", "name": "agents", "type": "sandgate", "policy": path}
        if ports:
            network.update(capabilities={"portMappings": True}, runtimeConfig={"portMappings": ports})
        return network

    def _call(self, box, command):
        return box.sandgate(input=json.dumps(box.network), env={
            **self.machine.environment("root"), "CNI_COMMAND": command, **box.call})

    def end(self, box):
        self._call(box, "DEL")
