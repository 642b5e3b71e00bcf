# SPDX-License-Identifier: Apache-2.0
"""UDP and DNS."""
from . import world
from .bench import FRESH_NAMES, FRESH_ZONE, median

DATAGRAM_OCTETS, DATAGRAM_MS, DNS_MS = 1024, 500, 400
DNS_AT_ONCE = 64
GATE_DNS = "192.0.0.1"


def datagrams(path, rate):
    return lambda: path.measure("datagrams", world.SERVER, DATAGRAM_OCTETS, rate, DATAGRAM_MS)


def udp(bench):
    paths = [bench.sandgate, *bench.peers()]
    results = bench.repeat("udp", {path.name: datagrams(path, 0) for path in paths})
    bench.rows("udp", "1 KiB datagrams a second", "/s", results, "rate", {})
    relays = {key: samples for key, samples in results.items()
              if samples and "cpu_s" in samples[0]}
    for sample in (s for samples in relays.values() for s in samples):
        sample["per_core"] = sample["received"] / sample["cpu_s"]
    bench.rows("udp", "the same, a core", "/s", relays, "per_core", {"pasta": (">=", 1.2)})
    rate = median(results, "sandgate", "rate")
    if rate is not None:
        half_rate(bench, int(rate / 2))


def half_rate(bench, rate):
    results = bench.repeat("udp at half the rate", {"sandgate": datagrams(bench.sandgate, rate)})
    lost = sum(sample["sent"] - sample["received"] for sample in results["sandgate"])
    bench.value("udp", f"lost at half that rate, {number_sent(results)} sent", "", lost,
                ("<=", 0))


def number_sent(results):
    return sum(sample["sent"] for sample in results["sandgate"])


def dns(bench):
    """One name again and again is the gate's own table; names never asked go to the resolver."""
    def questions(path, server, name, fresh, at_once):
        return lambda: path.measure("questions", server, name, fresh, at_once, DNS_MS)

    cached = bench.repeat("dns from the table", {
        "sandgate": questions(bench.by_name, GATE_DNS, world.SERVER_NAME, 0, DNS_AT_ONCE)})
    for sample in cached["sandgate"]:
        sample["per_core"] = sample["count"] / sample["cpu_s"]
    per_core = median(cached, "sandgate", "per_core")
    if per_core is not None:
        bench.value("dns", "answers a second a core, own table", "/s", per_core, (">=", 60000))
    asked = bench.repeat("dns from the resolver", {
        "sandgate": questions(bench.by_name, GATE_DNS, FRESH_ZONE, FRESH_NAMES, 1),
        "the resolver itself": questions(bench.veth, world.SERVER, FRESH_ZONE, FRESH_NAMES, 1)})
    bench.rows("dns", "p50 of a name never asked", "us", asked, "p50_us",
               {"the resolver itself": ("<=", 80)}, judged="difference")
    refused = sum(sample["refused"] for results in (cached, asked)
                  for sample in results["sandgate"])
    bench.value("dns", "questions refused", "", refused, ("<=", 0))
