# SPDX-License-Identifier: Apache-2.0
"""The plugin of container networks, called by hand: alone, and behind bridge, ptp and portmap. The
machine forwards and masquerades, so whatever passed by the gate would be seen to leave."""

import concurrent.futures
import json
import os
import signal

import pytest

from cni_rig import BRIDGE, NODE4, PLUGINS, PORTMAP, PTP, Failed, Network, Node, Pod, sandgate_plugin
from engines.engine import supervisor_of
from internet.services import echo_tcp, echo_udp
from internet.world import HOST4
from program import holds, ns_of, wait_until

pytestmark = [pytest.mark.parametrize("person", ["root"]),
              pytest.mark.skipif(not os.path.exists(f"{PLUGINS}/bridge"),
                                 reason="there are no CNI plugins (containernetworking-plugins)")]

VERSIONS = pytest.mark.parametrize("version", ["1.0.0", "0.4.0", "0.3.1"])


@pytest.fixture
def node(world, sandgate):
    return Node(world, sandgate.path)


@pytest.fixture
def pod(world, node):
    return Pod(world)


@pytest.fixture
def site(world):
    return world.site("api.example.com", "other.example.com")


def rows(sandgate):
    return {row["name"]: row for row in sandgate.json("ls")}


def on_node(world, code, *arguments):
    """What a program of the node gets."""
    done = world.machine.run(["python3", "-c", "import socket, sys\n" + code, *map(str, arguments)], "root")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def probe(world, address, port=8080):
    """A kubelet's: over HTTP, from the node."""
    host = f"[{address}]" if ":" in address else address
    return world.machine.run(["curl", "-sS", "-m", "30", f"http://{host}:{port}/"], "root").stdout


def ask_udp(world, address, port=8080, size=5):
    return on_node(world, """
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(30)
s.sendto(b"x" * int(sys.argv[3]), (sys.argv[1], int(sys.argv[2])))
print(len(s.recv(9000)))""", address, port, size)


# --- alone ---

@VERSIONS
def test_alone(sandgate, node, pod, site, version):
    network = Network(node, sandgate_plugin(only=["api.example.com"]), version=version)
    result = network.add(pod)
    assert result["cniVersion"] == version
    assert result["interfaces"] == [{"name": "eth0", "mac": "02:73:67:00:00:02", "sandbox": pod.path}]
    families = [one.get("version") for one in result["ips"]]
    assert families == ([None, None] if version == "1.0.0" else ["4", "6"])
    assert [one["address"] for one in result["ips"]] == ["192.0.0.2/29", "fd73:616e:6467:1::2/64"]
    assert result["routes"][0] == {"dst": "0.0.0.0/0", "gw": "192.0.0.1"}
    assert result["dns"] == {"nameservers": ["192.0.0.1"]}
    row = rows(sandgate)[pod.sandbox]
    assert (row["engine"], row["network"]) == ("cni", "deny")
    assert pod.curl("https://api.example.com/").returncode == 0
    assert pod.curl("https://other.example.com/").returncode != 0
    if version != "0.3.1":
        network.check(pod, result)
    network.delete(pod, result)
    network.delete(pod, result)
    assert pod.sandbox not in rows(sandgate)
    assert "eth0" not in pod.ip("-o link show")


def test_nothing_else_leaves(world, node, pod, site):
    """The address of a site that is not allowed, by every protocol."""
    Network(node, sandgate_plugin(only=["api.example.com"])).add(pod)
    denied = world.address()
    echo_tcp(world, denied, 80)
    world.start_watching()
    assert pod.dials(denied) == "ECONNREFUSED"
    pod.python("ask_udp(sys.argv[1], 53, b'x', 1); ask_udp(sys.argv[1], 9999, b'x', 1); report(r=0)", denied)
    assert world.left_the_host(to=denied, dns=True) == []


def test_addresses_of_an_ipam_plugin(sandgate, node, pod, site):
    ipam = {"type": "host-local", "ranges": [[{"subnet": "10.77.0.0/24"}]]}
    network = Network(node, sandgate_plugin(only=["api.example.com"], ipam=ipam))
    result = network.add(pod)
    assert result["ips"][0] == {"interface": 0, "address": "10.77.0.2/24", "gateway": "10.77.0.1"}
    assert "inet 10.77.0.2/24" in pod.ip("-o addr show eth0")
    assert pod.curl("https://api.example.com/").returncode == 0
    network.check(pod, result)
    network.delete(pod, result)
    # It was given back: the next one gets what is free.
    assert node.machine.listdir("/var/lib/cni/networks/net") == ["last_reserved_ip.0", "lock"]
    with pytest.raises(Failed) as refused:
        Network(node, sandgate_plugin(ipam={"type": "no-such"})).add(pod)
    assert refused.value.code == 4 and "CNI_PATH" in refused.value.message


def test_a_published_port(world, node, pod):
    runtime = {"portMappings": [{"hostPort": 18080, "containerPort": 8080, "protocol": "tcp"}]}
    plugin = sandgate_plugin(policy="deny", capabilities={"portMappings": True})
    Network(node, plugin, runtime=runtime).add(pod)
    pod.serve()
    assert probe(world, HOST4, 18080) == "up"
    assert probe(world, "127.0.0.1", 18080) == "up"
    assert probe(world, "::1", 18080) == "up"
    udp = {"portMappings": [{"hostPort": 18081, "containerPort": 8080, "protocol": "udp"}]}
    with pytest.raises(Failed) as refused:
        Network(node, plugin, runtime=udp).add(Pod(world))
    assert refused.value.code == 2 and "portmap" in refused.value.message


def test_another_device_is_refused(node, pod):
    pod.ip("link add other0 type veth peer name other1")
    with pytest.raises(Failed) as refused:
        Network(node, sandgate_plugin(policy="deny")).add(pod)
    assert refused.value.code == 100 and "other" in refused.value.message
    assert "eth0" not in pod.ip("-o link show")


def test_add_twice(sandgate, node, pod):
    network = Network(node, sandgate_plugin(policy="deny"))
    result = network.add(pod)
    with pytest.raises(Failed) as refused:
        network.add(pod)
    assert refused.value.code == 101 and "there already" in refused.value.message
    network.check(pod, result)
    # By another container too, while the device is there.
    other = Pod(node.world)
    network.delete(pod, result)
    with pytest.raises(Failed) as refused:
        pod.ip("link add eth0 type veth peer name eth1")
        network.add(pod)
    assert refused.value.code == 101
    assert other.sandbox not in rows(sandgate)


def test_of_adds_at_the_same_moment_one_has_it(world, sandgate, node):
    """The others are refused, and give back nothing of what the one was given."""
    ipam = {"type": "host-local", "ranges": [[{"subnet": "10.77.0.0/24"}]]}
    network = Network(node, sandgate_plugin(policy="deny", ipam=ipam))

    def add(pod):
        try:
            return network.add(pod)
        except Failed as refused:
            return refused
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            one = Pod(world)
            done = list(pool.map(add, [one] * 4))
            won = [result for result in done if not isinstance(result, Failed)]
            assert len(won) == 1, done
            assert {d.code for d in done if isinstance(d, Failed)} <= {11, 101}, done
            address = won[0]["ips"][0]["address"].split("/")[0]
            assert address in node.machine.listdir("/var/lib/cni/networks/net"), done
            network.check(one, won[0])
            network.delete(one, won[0])
            assert one.sandbox not in rows(sandgate)
    assert node.machine.listdir("/var/lib/cni/networks/net") == ["last_reserved_ip.0", "lock"]


def test_two_containers_whose_ids_begin_alike(world, sandgate, node):
    """An id that is no number in hexadecimal is told apart by a digest of all of it."""
    network = Network(node, sandgate_plugin(policy="deny"))
    pods = [Pod(world, f"sandbox-worker-{i}") for i in (1, 2)]
    results = [network.add(one) for one in pods]
    names = [name for name in rows(sandgate) if name.startswith("cni-sandbox-work-")]
    assert len(names) == 2
    network.delete(pods[0], results[0])
    network.check(pods[1], results[1])


def test_what_is_left_of_a_failure(world, sandgate, node, pod):
    before = set(rows(sandgate))
    with pytest.raises(Failed) as refused:
        Network(node, BRIDGE, sandgate_plugin(policy="no-such-preset")).add(pod)
    assert refused.value.code == 7
    for keys, word in (({"polciy": "deny"}, "did you mean policy"), ({"allow": [7]}, "allow"),
                       ({"only": ["github"], "policy": "deny"}, "nothing else"),
                       ({"policy": "etc/policy.yaml"}, "absolute"), ({"annotations": 1}, "true or false"),
                       ({"policy": "/no/such/policy.yaml"}, "/no/such")):
        with pytest.raises(Failed) as refused:
            node.call("ADD", {"cniVersion": "1.0.0", "name": "n", **sandgate_plugin(**keys)}, Pod(world))
        assert refused.value.code == 7 and word in refused.value.message, refused.value
    assert set(rows(sandgate)) == before


def test_errors_of_the_environment(node, pod):
    good = {"cniVersion": "1.0.0", "name": "n", **sandgate_plugin(policy="deny")}
    for env, word in (({"CNI_COMMAND": "MAKE"}, "CNI_COMMAND"), ({"CNI_CONTAINERID": "../x"}, "CNI_CONTAINERID"),
                      ({"CNI_IFNAME": "a/b"}, "CNI_IFNAME"), ({"CNI_IFNAME": "all"}, "take another, such as eth0"),
                      ({"CNI_IFNAME": "default"}, "take another, such as eth0"), ({"CNI_NETNS": ""}, "CNI_NETNS"),
                      ({"CNI_NETNS": "/etc/passwd"}, ""), ({"CNI_NETNS": "/proc/self/ns/net"}, "")):
        with pytest.raises(Failed) as refused:
            node.call("ADD", good, pod, **env)
        assert refused.value.code == 4 and word in refused.value.message and refused.value.status == 1
    with pytest.raises(Failed) as refused:
        node.call("ADD", {**good, "cniVersion": "0.2.0"}, pod)
    assert refused.value.code == 1
    with pytest.raises(Failed) as refused:
        node.call("CHECK", good, pod)
    assert refused.value.code == 7
    assert node.call("VERSION", good, pod)["supportedVersions"] == ["0.3.1", "0.4.0", "1.0.0"]


def test_not_for_ordinary_users(world, sandgate, pod):
    env = {**world.machine.environment("dev"), "CNI_COMMAND": "ADD", "CNI_CONTAINERID": "a",
           "CNI_NETNS": pod.path, "CNI_IFNAME": "eth0"}
    done = world.machine.run([sandgate.path], "dev", env=env,
                             input=json.dumps({"cniVersion": "1.0.0", **sandgate_plugin(policy="deny")}))
    assert done.returncode == 1 and "only root" in json.loads(done.stdout)["msg"]


ANNOTATIONS = "io.kubernetes.cri.pod-annotations"


def annotated(node, said, **keys):
    plugin = sandgate_plugin(capabilities={ANNOTATIONS: True}, **keys)
    return Network(node, plugin, runtime={ANNOTATIONS: {"other/key": "x", **said}})


def test_annotations_count_only_when_the_network_says_so(sandgate, node, pod, site):
    said = {"sandgate.policy": "deny", "sandgate.allow": "api.example.com"}
    network = annotated(node, said, policy="deny", allow=["other.example.com"])
    result = network.add(pod)
    assert pod.curl("https://api.example.com/").returncode != 0
    network.delete(pod, result)
    annotated(node, said, policy="standard", allow=["other.example.com"], annotations=True).add(pod)
    assert pod.curl("https://api.example.com/").returncode == 0
    # What a pod says takes the place of what the network allows.
    assert pod.curl("https://other.example.com/").returncode != 0


def test_what_a_pod_cannot_say(world, node, pod, site):
    said = {"sandgate.only": "api.example.com,other.example.com"}
    annotated(node, said, deny=["other.example.com"], annotations=True).add(pod)
    assert pod.curl("https://api.example.com/").returncode == 0
    assert pod.curl("https://other.example.com/").returncode != 0
    for key, value in ("sandgate.policy", "/etc/shadow"), ("sandgate.polcy", "deny"), ("sandgate.allow", "a\nb"):
        with pytest.raises(Failed) as refused:
            annotated(node, {key: value}, annotations=True).add(Pod(world))
        assert refused.value.code == 7 and "annotations" in refused.value.message


@pytest.mark.parametrize("said", [{"sandgate.allow": "github:as-you"}, {"sandgate.policy": "open"}])
def test_a_pod_accepts_nothing_for_root(world, node, said):
    """Neither root's credentials nor what is asked about first."""
    with pytest.raises(Failed) as refused:
        annotated(node, said, policy="deny", annotations=True).add(Pod(world))
    assert refused.value.code == 7 and "for who runs this machine" in refused.value.message


# --- behind another plugin ---

CHAINS = pytest.mark.parametrize("first, address", [(BRIDGE, "10.88.0.2"), (PTP, "10.89.0.2")],
                                 ids=["bridge", "ptp"])


@CHAINS
def test_chained(world, sandgate, node, pod, site, first, address):
    network = Network(node, first, sandgate_plugin(only=["api.example.com"]))
    before = None
    result = network.add(pod)
    assert before is None and result["ips"][0]["address"].split("/")[0] == address
    assert result["interfaces"][-1]["name"] == "eth0"
    assert pod.curl("https://api.example.com/").returncode == 0
    assert pod.curl("https://other.example.com/").returncode != 0
    pod.serve()
    wait_until(lambda: probe(world, address) == "up", what="a probe over HTTP")
    assert ask_udp(world, address) == "5"
    assert ask_udp(world, address, size=4000) == "4000"
    assert world.machine.run(["ping", "-c1", "-W3", address], "root").returncode == 0
    # All plugins of the list find what they made.
    network.check(pod, result)
    masquerading = node.masquerading()
    assert "CNI-" in masquerading
    network.delete(pod, result)
    assert "CNI-" not in node.masquerading()
    assert pod.ip("-o link show").count("\n") == 1
    assert pod.sandbox not in rows(sandgate)
    network.delete(pod, result)


@VERSIONS
def test_chained_in_every_version(world, node, pod, version):
    network = Network(node, BRIDGE, sandgate_plugin(policy="deny"), version=version)
    result = network.add(pod)
    assert result["cniVersion"] == version
    pod.serve()
    wait_until(lambda: probe(world, "10.88.0.2") == "up", what="a probe")
    network.delete(pod, result)
    assert "CNI-" not in node.masquerading()
    assert pod.ip("-o link show").count("\n") == 1


def test_both_families_come_in(world, node, pod):
    Network(node, BRIDGE, sandgate_plugin(policy="deny")).add(pod)
    pod.serve()
    for address in "10.88.0.2", "fd00:88::2":
        wait_until(lambda a=address: probe(world, a) == "up", what=f"a probe of {address}")
        wait_until(lambda a=address: world.machine.run(["ping", "-c1", "-W1", a], "root").returncode == 0,
                   what="an echo reply")


def test_host_ports_and_other_pods(world, node, pod):
    runtime = {"portMappings": [{"hostPort": 18080, "containerPort": 8080, "protocol": "tcp"},
                                {"hostPort": 18080, "containerPort": 8080, "protocol": "udp"}]}
    network = Network(node, BRIDGE, PORTMAP, sandgate_plugin(policy="deny"), runtime=runtime)
    result = network.add(pod)
    pod.serve()
    wait_until(lambda: probe(world, HOST4, 18080) == "up", what="the host's port")
    # From far away, translated on the way, over both transports.
    far = world.internet.run(["curl", "-sS", "-m", "30", f"http://{HOST4}:18080/"])
    assert far.stdout == "up", far
    other = Pod(world)
    Network(node, BRIDGE).add(other)
    wait_until(lambda: other.curl("http://10.88.0.2:8080/").stdout == "up", what="another pod")
    # portmap 1.1 does not find its own rules of IPv6 again when there are only some of IPv4.
    for plugin in network.plugins[0], network.plugins[-1]:
        Network(node, plugin).check(pod, result)


def test_what_the_pod_opens_does_not_leave_by_the_door(world, node, pod, site):
    """Neither to the node, nor to another pod, nor to the world that is masqueraded."""
    Network(node, BRIDGE, sandgate_plugin(policy="deny")).add(pod)
    other, denied = Pod(world), world.address()
    Network(node, BRIDGE).add(other)
    other.serve()
    echo_tcp(world, denied, 80)
    echo_udp(world, denied, 9999)
    world.start_watching()
    assert pod.dials(denied) == "ECONNREFUSED"
    assert pod.dials("10.88.0.3", 8080) == "ECONNREFUSED"
    assert pod.dials(NODE4, 22) == "ECONNREFUSED"
    got = pod.python("report(r=ask_udp(sys.argv[1], 9999, b'x', 1)[0])", denied)
    assert got["r"] is None
    assert world.left_the_host(to=denied) == []


def gates(world, sandgate, name):
    """The processes that hold a tun device and live in the host's network, below the supervisor."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        if holds(pid, "/dev/net/tun") and ns_of(pid, "net") == f"net:[{os.fstat(world.machine.place.fd).st_ino}]":
            found.append(pid)
    return found


def test_inbound_goes_on_when_the_gate_has_died(world, sandgate, node, pod, site):
    Network(node, BRIDGE, sandgate_plugin(only=["api.example.com"])).add(pod)
    pod.serve()
    wait_until(lambda: probe(world, "10.88.0.2") == "up", what="a probe")
    for pid in gates(world, sandgate, pod.sandbox):
        os.kill(pid, signal.SIGKILL)
    assert probe(world, "10.88.0.2") == "up"
    wait_until(lambda: pod.curl("https://api.example.com/").returncode == 0, what="another gate")


def test_without_the_door(world, node, pod, site):
    result = Network(node, BRIDGE, sandgate_plugin(only=["api.example.com"], inbound=False)).add(pod)
    assert result["ips"][0]["address"] == "10.88.0.2/16"
    assert "inet 10.88.0.2/16" in pod.ip("-o addr show eth0")
    pod.serve()
    assert probe(world, "10.88.0.2") == ""
    assert pod.curl("https://api.example.com/").returncode == 0


def test_a_check_sees_what_is_broken(world, sandgate, node, pod):
    network = Network(node, BRIDGE, sandgate_plugin(policy="deny"))
    result = network.add(pod)
    own = Network(node, sandgate_plugin(policy="deny"))
    own.check(pod, result)
    pod.ip("addr del fd00:88::2/64 dev eth0")
    with pytest.raises(Failed) as broken:
        own.check(pod, result)
    assert broken.value.code == 102 and "fd00:88::2" in broken.value.message
    assert sandgate("detach", pod.sandbox).ok
    with pytest.raises(Failed) as broken:
        own.check(pod, result)
    assert broken.value.code == 102


def test_the_namespace_is_gone_before_it_is_deleted(sandgate, node, pod):
    network = Network(node, BRIDGE, sandgate_plugin(policy="deny"))
    result = network.add(pod)
    network.delete(pod, result, netns="/run/netns/no-such")
    assert pod.sandbox not in rows(sandgate)
    pod.networks = []


def test_a_capture_of_a_pod(world, sandgate, node, pod, site):
    world.machine.run(["mkdir", "-p", "-m", "700", "/root/captures"], "root").check_returncode()
    network = Network(node, sandgate_plugin(only=["api.example.com"], pcap="/root/captures"))
    result = network.add(pod)
    assert pod.curl("https://api.example.com/").returncode == 0
    network.delete(pod, result)
    assert node.machine.listdir("/root/captures") == [f"{pod.sandbox}.pcapng"]


def test_everything_closes_when_the_supervisor_has_died(world, sandgate, node, pod, site):
    network = Network(node, BRIDGE, sandgate_plugin(only=["api.example.com"]))
    result = network.add(pod)
    pod.serve()
    wait_until(lambda: probe(world, "10.88.0.2") == "up", what="a probe")
    os.kill(supervisor_of(world.machine, "root", pod.sandbox), signal.SIGKILL)
    wait_until(lambda: "eth0" not in pod.ip("-o link show"), what="the link's end")
    assert probe(world, "10.88.0.2") == ""
    assert pod.curl("https://api.example.com/").returncode != 0
    with pytest.raises(Failed) as broken:
        Network(node, sandgate_plugin(policy="deny")).check(pod, result)
    assert broken.value.code == 102
    network.delete(pod, result)


def test_many_pods_at_once(world, sandgate, node):
    network = Network(node, BRIDGE, sandgate_plugin(policy="deny"))
    pods = [Pod(world) for _ in range(6)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        results = list(pool.map(network.add, pods))
        assert {one.sandbox for one in pods} <= set(rows(sandgate))
        addresses = [result["ips"][0]["address"].split("/")[0] for result in results]
        assert len(set(addresses)) == len(pods)
        for one, address in zip(pods, addresses):
            wait_until(lambda a=address: world.machine.run(["ping", "-c1", "-W1", a], "root").returncode == 0,
                       what=f"an answer of {address}")
        list(pool.map(network.delete, pods, results))
    assert not {one.sandbox for one in pods} & set(rows(sandgate))
    assert "CNI-" not in node.masquerading()
