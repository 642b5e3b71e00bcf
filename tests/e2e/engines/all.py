# SPDX-License-Identifier: Apache-2.0
"""The engines by their names, in the order in which they are tried."""

import importlib

# name: (file of this folder, class)
_ENGINES = {
    "bwrap": ("bwrap", "Bwrap"),
    "netns": ("netns", "Netns"),
    "podman-rootless": ("podman", "Rootless"),
    "podman-rootful": ("podman", "Rootful"),
    "podman-run": ("podman", "Run"),
    "docker": ("docker", "Docker"),
    "cni": ("cni", "Cni"),
    "cni-bridge": ("cni", "Bridge"),
    "vm-tap": ("vm", "Tap"),
    "vm-stream": ("vm", "Stream"),
    "vm-dgram": ("vm", "Dgram"),
}


# In full runs alone: what they have in common with another is all but how they are asked.
_LESS_USUAL = ("podman-run", "cni-bridge")


def names():
    return list(_ENGINES)


def usual():
    return [name for name in _ENGINES if name not in _LESS_USUAL]


def get(name):
    module, cls = _ENGINES[name]
    return getattr(importlib.import_module(f"engines.{module}"), cls)
