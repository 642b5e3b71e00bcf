# SPDX-License-Identifier: Apache-2.0
"""Clients that people have, in containers of podman (by an annotation) and of docker (by its network):
each trusts what the gate answers for an inspected host, and a spliced host's own certificate, with no
flag or variable of its user's.

The image has this machine's programs, by a volume: what is tried is the clients, not an image.
"""

import json
import re

import pytest

from clients import CLIENTS
from engines.docker import IMAGE
from internet import tiny
from internet.web import Response

OPENED, SPLICED = "opened.example.com", "spliced.example.com"
HOSTS = (OPENED, SPLICED)
PROGRAMS = ("--volume=/usr:/usr:ro", "--volume=/etc/alternatives:/etc/alternatives:ro")
NEEDED = ("curl", "wget", "openssl", "node", "npm", "perl", "ruby", "php", "pip3", "git")

# What each writes where it was answered.
PACKAGES = {
    "pip": ("PIP_INDEX_URL=https://HOST/simple/ pip3 download -q --no-deps --disable-pip-version-check "
            "--no-cache-dir -d pip tiny-thing && ls pip", "tiny_thing-1.0.0-py3-none-any.whl"),
    "npm": ("npm install --registry https://HOST/ --no-audit --no-fund tiny-thing && "
            "node -p 'require(\"tiny-thing\")'", "\ntiny\n"),
    "git": ("git clone -q https://HOST/repo.git repo && cat repo/README", "hello from HOST"),
}
# Their own list of authorities has not the little internet's: a spliced host of it can show nothing.
OWN_LIST = ("node fetch", "node https", "undici")
# What reads the system's own file whatever a variable says: GnuTLS, perl, and npm where it is told to.
SYSTEM_FILE = ("wget", "perl", "npm")
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
COMMANDS = {**{name: (command, "hello from HOST") for name, command in CLIENTS.items()}, **PACKAGES}


def answers(host):
    hello = f"hello from {host}\n"
    return {"/": Response(hello), **tiny.pip_package(), **tiny.npm_package(host),
            **tiny.repository({"README": hello})}


@pytest.fixture
def policy(world, sandgate, needs):
    """The path of one that allows both hosts and inspects the first."""
    needs(*NEEDED)
    for host in HOSTS:
        world.site(host, handler=tiny.serve(answers(host)))
    path = f"{world.machine.new_work(sandgate.person)}/policy.yaml"
    world.machine.write(path, json.dumps({"network": "deny", "allow": HOSTS, "inspect": [OPENED]}),
                        sandgate.person)
    return path


def commands_for(host, without):
    return {name: [text.replace("HOST", host) for text in texts] for name, texts in COMMANDS.items()
            if name not in without and (host == OPENED or name not in OWN_LIST)}


def script_of(commands):
    """One after the other, each behind a line with its name."""
    parts = ["export HOME=/tmp"]
    for name, (command, _) in commands.items():
        parts += [f"mkdir -p '/tmp/{name}'; cd '/tmp/{name}'", f"echo; echo '== {name}'",
                  f"( {command} ) </dev/null 2>&1"]
    return "\n".join([*parts, "exit 0"])


def check(run, without=()):
    """run(SCRIPT) is what it wrote in a container."""
    for host in HOSTS:
        commands = commands_for(host, without)
        parts = re.split(r"^== (.*)\n", run(script_of(commands)), flags=re.M)
        said = dict(zip(parts[1::2], parts[2::2]))
        assert list(said) == list(commands), parts
        assert {name: said[name] for name, (_, wanted) in commands.items() if wanted not in said[name]} == {}


@pytest.mark.parametrize("engine_name", ["podman-rootless", "podman-rootful"])
def test_in_an_annotated_container(engine, policy):
    check(lambda script: engine.podman.run(
        "run", "--rm", "--network=none", f"--annotation=sandgate.policy={policy}", *PROGRAMS, "guest", "sh", "-c",
        script, timeout=180))


@pytest.mark.parametrize("engine_name", ["docker"])
@pytest.mark.parametrize("person", ["root"])
@pytest.mark.parametrize("over", [False, True], ids=["by variables", "bundle over the image's"])
def test_in_a_container_of_a_network(engine, sandgate, policy, over):
    docker = engine.docker
    docker.ok("network", "create", "-d", "sandgate", "-o", f"policy={policy}", "--subnet=10.77.0.0/24", "clients")
    try:
        words = sandgate("docker-args", "clients").out.split()
        folder = sandgate("docker-args", "--folder", "clients").out.strip()
        more = ["-v", f"{folder}/bundle.pem:{BUNDLE}:ro"] if over else []
        check(lambda script: docker.ok("run", "--rm", *words, *more, *PROGRAMS, IMAGE, "sh", "-c", script,
                                       timeout=180), without=() if over else SYSTEM_FILE)
    finally:
        docker("rm", "-f", *docker("ps", "-aq").stdout.split())
        docker.ok("network", "rm", "clients")
