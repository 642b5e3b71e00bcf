# SPDX-License-Identifier: Apache-2.0
"""TCP: bulk, new connections, round trips, the time to connect."""
import contextlib

from . import world
from .bench import median
from .paths import Squid, Tinyproxy

BULK_MS, REQUEST_MS, TRIP_MS = 500, 1000, 400
AT_ONCE = 64
US_A_SECOND = 1e6


def bulk(bench):
    goals = {"kernel NAT": (">=", 0.90), "pasta": (">=", 1.4), "slirp4netns": (">=", 2.5)}
    for streams in (1, 8):
        for direction in ("up", "down"):
            what = f"{streams} stream{'s' * (streams > 1)} {direction}"
            results = bench.compare(f"bulk {what}", [bench.sandgate, *bench.peers()],
                                    "bulk", world.SERVER, direction, streams, BULK_MS)
            bench.rows("bulk", what, "Gbit/s", results, "gbit_s", goals)
            for sample in results["sandgate"]:
                sample["cpu_s_per_gbit"] = sample["cpu_s"] / sample["gbit"]
            cost = median(results, "sandgate", "cpu_s_per_gbit")
            if cost is not None:
                bench.value("bulk", f"{what}, gate's CPU", "s/Gbit", cost, ("<=", 0.045))


def connections(bench):
    """One small request each, 64 at once; ours with the decision and the check of the Host."""
    ours, by_address = "sandgate", "sandgate by address"

    def requests(path, host, connect_to, port=80):
        return lambda: path.measure("requests", host, connect_to, port, AT_ONCE, REQUEST_MS)

    name, server = world.SERVER_NAME, world.SERVER
    ways = {ours: requests(bench.by_name, name, name),
            by_address: requests(bench.sandgate, server, server)}
    ways.update({path.name: requests(path, name, server) for path in bench.peers()})
    with contextlib.ExitStack() as stack:
        for proxy in filter(None, map(bench.if_installed,
                                      (Tinyproxy(bench.world), Squid(bench.world)))):
            stack.enter_context(proxy.running())
            ways[proxy.name] = requests(proxy, name, world.PROXY_HOST, proxy.port)
        results = bench.repeat("connections", ways)
    report_connections(bench, results, ours)


def report_connections(bench, results, ours):
    errors = sum(sample["errors"] for sample in results[ours])
    bench.rows("connections", "a second, 64 at once", "/s", results, "rate",
               {"kernel NAT": (">=", 0.80), "pasta": (">=", 1.25), "squid": (">=", 2),
                "tinyproxy": (">=", 2), "slirp4netns": (">=", 8)})
    bench.rows("connections", "p99 of those", "us", results, "p99_us",
               {"kernel NAT": ("<=", 1.5)})
    for sample in (s for samples in results.values() for s in samples if "cpu_s" in s):
        sample["cpu_us"] = sample["cpu_s"] * US_A_SECOND / max(sample["count"], 1)
    relays = {key: samples for key, samples in results.items()
              if samples and "cpu_us" in samples[0]}
    bench.rows("connections", "CPU of each, gate or peer", "us", relays, "cpu_us", {})
    bench.value("connections", "that failed", "", errors, ("<=", 0))


def round_trip(bench):
    with bench.one_core():
        results = bench.compare("round-trip", [bench.sandgate, *bench.peers()],
                                "round-trips", world.SERVER, TRIP_MS)
    bench.rows("round-trip", "p50, one core", "us", results, "p50_us",
               {"kernel NAT": ("<=", 20)}, judged="difference")
    bench.rows("round-trip", "p99, one core", "us", results, "p99_us", {"kernel NAT": ("<=", 2)})


def set_up(bench):
    with bench.one_core():
        results = bench.compare("set-up", [bench.sandgate, *bench.peers()],
                                "connects", world.SERVER, TRIP_MS)
    bench.rows("set-up", "connect() p50, one core", "us", results, "p50_us",
               {"kernel NAT": ("<=", 120)}, judged="difference")
