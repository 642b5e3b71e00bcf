# SPDX-License-Identifier: Apache-2.0
"""Containers of podman in which the list of authorities is made anew: by update-ca-certificates, and by dpkg when
it installs the package that has them. Afterwards what the gate answers is trusted as before."""

import json

import pytest

from engines import debian
from engines.debian import BUNDLE, DEB
from internet.machine import UID
from program import HANGS

OPENED, SPLICED = "opened.example.com", "spliced.example.com"

# By the system's file alone, by the hashed folder alone where `hashed`, and by the variables that there are.
TRUSTED = f"""
trusted() {{
    for host in {OPENED} {SPLICED}; do
        env -i /usr/bin/curl -sSf https://$host/ || echo "curl: $host"
        curl -sSf https://$host/ >/dev/null || echo "curl with variables: $host"
        openssl s_client -connect $host:443 -servername $host -CAfile {BUNDLE} -verify_return_error \
            </dev/null >/dev/null 2>&1 || echo "openssl: $host"
        [ -z "$1" ] || env -i /usr/bin/openssl s_client -connect $host:443 -servername $host -CApath /etc/ssl/certs \
            -verify_return_error </dev/null >/dev/null 2>&1 || echo "openssl by the folder: $host"
    done
    python3 -c "import urllib.request as u; u.urlopen('https://{OPENED}/').read()" || echo python
    [ -z "$1" ] || env -i /usr/bin/python3 -c "
import ssl, urllib.request as u
c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); c.load_verify_locations(capath='/etc/ssl/certs')
u.urlopen('https://{OPENED}/', context=c).read()" || echo python by the folder
}}
run() {{ "$@" >/tmp/said 2>&1; status=$?; echo "$*: $status"; [ $status = 0 ] || cat /tmp/said; }}
export DEBIAN_FRONTEND=noninteractive
"""
BOTH = f"hello from {OPENED}\nhello from {SPLICED}\n"
EVERYTHING = TRUSTED + f"""
trusted; run update-ca-certificates; trusted hashed; run update-ca-certificates --fresh; trusted hashed
run dpkg -i {DEB}; trusted hashed; ls {BUNDLE}.* 2>&1 | grep -v 'No such file'
"""
SAYS = (BOTH + f"update-ca-certificates: 0\n{BOTH}update-ca-certificates --fresh: 0\n{BOTH}"
        f"dpkg -i {DEB}: 0\n{BOTH}")


@pytest.fixture
def policy(world, sandgate):
    """The path of one that inspects one of two hosts."""
    if debian.missing():
        pytest.skip(debian.missing())
    for host in OPENED, SPLICED:
        world.site(host)
    path = f"{world.machine.new_work(sandgate.person)}/policy.yaml"
    world.machine.write(path, json.dumps({"network": "deny", "allow": [OPENED, SPLICED], "inspect": [OPENED]}),
                        sandgate.person)
    return path


@pytest.fixture
def image(world, engine):
    """image(CHANGE) is the name of an image like Debian; CHANGE(TREE) changes its files (guest.Tree) before."""
    made = []

    def build(change=lambda tree: None):
        tree = debian.tree(world.authority.pem)
        change(tree)
        made.append(engine.podman.import_image(f"debian{len(made)}", tree.tar()))
        return made[-1]
    yield build
    for name in made:
        engine.podman.try_run("rmi", "--force", name)


CRUN = ("umount /sys/fs/cgroup/unified; exec setpriv --reuid $0 --regid $0 --clear-groups podman --runtime crun "
        "\"$@\"")


def run(engine, policy, image, *words, script, runtime="runc"):
    """crun does not take a machine with both kinds of control groups: one is hidden from it."""
    argv = ["run", "--rm", "--network=none", f"--annotation=sandgate.policy={policy}", *words, image, "sh", "-c", script]
    if runtime == "runc":
        return engine.podman.try_run(*argv, timeout=2 * HANGS)
    engine.podman.let_go()
    try:
        return engine.machine.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", CRUN,
                                   str(UID[engine.person]), *argv], "root", env=engine.podman.env, cwd="/",
                                  timeout=2 * HANGS)
    finally:
        engine.podman.let_go()


ANNOTATED = pytest.mark.parametrize("engine_name", ["podman-rootless", "podman-rootful"])


@ANNOTATED
@pytest.mark.parametrize("runtime", ["runc", "crun"])
def test_authorities_are_made_anew_in_an_annotated_container(engine, policy, image, needs, runtime):
    needs(runtime)
    done = run(engine, policy, image(), script=EVERYTHING, runtime=runtime)
    assert done.stdout == SAYS, done


def without_bundle(tree):
    del tree.files[BUNDLE], tree.files["/etc/ca-certificates.conf"], tree.links["/usr/lib/ssl/certs"]
    del tree.folders["/etc/ssl/certs"]


@ANNOTATED
def test_the_package_is_installed_into_an_image_without_authorities(engine, policy, image):
    """Its postinst makes the bundle, with the sandbox's authority in it."""
    done = run(engine, policy, image(without_bundle), script=TRUSTED + f"""
        ls /etc/ssl/certs 2>&1; run dpkg -i {DEB}; ln -s /etc/ssl/certs /usr/lib/ssl/certs; trusted hashed""")
    assert done.stdout == f"ls: cannot access '/etc/ssl/certs': No such file or directory\ndpkg -i {DEB}: 0\n{BOTH}", done
