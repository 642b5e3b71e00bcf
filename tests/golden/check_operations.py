#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_operations.py CATALOGUE TABLE...: each operation of the catalogue is in the tables both ways.

Each is admitted by its permission in some row, and each that writes is refused in another without it.
"""

import pathlib
import re
import sys

import yaml


def read(folder, name):
    return yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))


def operations(folder):
    sets = read(folder, "operations")
    for name, permission in read(folder, "permissions")["permissions"].items():
        for entry in permission.get("operations", []):
            for operation in sets[entry["use"]] if "use" in entry else [entry]:
                yield name, operation["says"], operation.get("write", False)


def main():
    rows = "".join(pathlib.Path(table).read_text(encoding="utf-8") for table in sys.argv[2:])
    admitted = set(re.findall(r" => admit (\S+): (.*)", rows))
    refused = set(re.findall(r" => refuse \S+ (\S+): (.*)", rows))
    missing = 0
    for name, says, writes in operations(pathlib.Path(sys.argv[1])):
        if (name, says) not in admitted:
            missing += 1
            print(f"no row admits {name}: {says}")
        if writes and (name, says) not in refused:
            missing += 1
            print(f"no row refuses {name}: {says}")
    return 1 if missing or not admitted else 0


if __name__ == "__main__":
    sys.exit(main())
