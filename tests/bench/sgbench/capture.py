# SPDX-License-Identifier: Apache-2.0
"""What a capture costs: the same traffic with one and without. Prototypes lost a tenth of the rate."""
import itertools
import pathlib

from . import world
from .bench import LIMITS, policy
from .datagrams import datagrams
from .paths import Sandgate
from .tcp import AT_ONCE, BULK_MS, REQUEST_MS

# So much that the limit of no capture is met while something is measured.
CAPTURE = ("--pcap-max-mb", "4096", "--pcap-files", "1")


class Captured(Sandgate):
    """`sandgate run --pcap`: each client has a file, which is gone with it."""

    name = "sandgate, captured"

    def __init__(self, made, rules):
        super().__init__(made, rules)
        self.numbers = itertools.count(1)
        self.folder = pathlib.Path(made.folder) / "captures"
        self.folder.mkdir(exist_ok=True)

    def command(self, *arguments):
        self.file = self.folder / f"{next(self.numbers)}.pcapng"
        return world.in_namespace(world.HOST, self.world.sandgate, "run", "--quiet", "--policy",
                                  self.policy, "--pcap", self.file, *CAPTURE, "--", *arguments)

    def measure(self, *arguments):
        try:
            return super().measure(*arguments)
        finally:
            self.file.unlink(missing_ok=True)


def capture(bench):
    captured = Captured(bench.world, policy(world.SERVER, limits=LIMITS))
    for direction in "up", "down":
        results = bench.compare(f"pcap {direction}", [captured, bench.sandgate], "bulk", world.SERVER,
                                direction, 1, BULK_MS)
        bench.rows("pcap", f"1 stream {direction}, captured", "Gbit/s", results, "gbit_s",
                   {"sandgate": (">=", 0.9)}, ours=captured.name)
    results = bench.compare("pcap connections", [captured, bench.sandgate], "requests", world.SERVER,
                            world.SERVER, 80, AT_ONCE, REQUEST_MS)
    bench.rows("pcap", "connections a second, captured", "/s", results, "rate",
               {"sandgate": (">=", 0.9)}, ours=captured.name)
    results = bench.repeat("pcap datagrams", {path.name: datagrams(path, 0)
                                              for path in (captured, bench.sandgate)})
    bench.rows("pcap", "1 KiB datagrams a second, captured", "/s", results, "rate", {},
               ours=captured.name)
