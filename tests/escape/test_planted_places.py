# SPDX-License-Identifier: Apache-2.0
"""Another user of the host was there before: links, pipes and folders by the names that sandgate uses where a
person has no folder of their own for it. Nothing is followed, used or waited for."""

import pytest

pytestmark = pytest.mark.parametrize("person", ["dev"])

# What nobody else has to be root for: /tmp and /var/tmp are everybody's.
PLANTED = {
    "link to the person's own": "mkdir -p -m 700 {own} && chown dev {own} && ln -s {own} {place}",
    "link to where root is": "ln -s /etc {place}",
    "link that leads nowhere": "ln -s {own} {place}",
    "pipe": "mkfifo -m 666 {place}",
    "file": "touch {place} && chmod 666 {place}",
    "folder for everybody": "mkdir {place} && chmod 777 {place} && chown nobody {place}",
    "folder of another's": "mkdir -m 700 {place} && chown nobody {place}",
    "folder with a group": "mkdir {place} && chmod 770 {place} && chown dev:nogroup {place}",
}
RUNTIME, STATE = "/tmp/sandgate-1000", "/var/tmp/sandgate-1000"
# As a service's user has it: no home, no session. The machine's own files are not touched.
ALONE = ("mount -t tmpfs -o mode=1777 tmpfs /tmp && mount -t tmpfs -o mode=1777 tmpfs /var/tmp && "
         "mount -t tmpfs tmpfs /run/user && mkdir -p -m 777 /tmp/at && {plant}; cd /tmp/at && "
         "setpriv --reuid 1000 --regid 1000 --clear-groups env -i PATH=/usr/bin:/bin HOME=/nowhere {command}; "
         "status=$?; ls -lRn {place} /etc/sandbox* /etc/lock {own} 2>/dev/null; exit $status")


def alone(world, plant, command, **names):
    words = ALONE.format(plant=plant.format(**names), command=command, **names)
    return world.machine.run(["unshare", "-m", "sh", "-c", words], person="root", timeout=30)


@pytest.mark.parametrize("place", [RUNTIME, STATE])
def test_by_names_that_everybody_knows(world, sandgate, place):
    names = {"place": place, "own": "/tmp/at/own"}
    command = "run --net deny -- echo ran" if place == RUNTIME else "create planted --net deny"
    for what, plant in PLANTED.items():
        done = alone(world, plant, f"{sandgate.path} {command}", **names)
        assert done.returncode == 125, (what, done)
        assert f"{place}: it " in done.stderr and "own with mode 0700" in done.stderr, (what, done)
        assert "ran" not in done.stdout and "sandboxes" not in done.stdout and "lock" not in done.stdout, (what, done)
    done = alone(world, "true", f"{sandgate.path} {command}", **names)
    assert done.returncode == 0, done  # or the above would show nothing


@pytest.mark.parametrize("plant", ["mkfifo {0}", "ln {1} {0}", "ln -s {1} {0}", "ln -s /dev/null {0}"])
def test_where_a_capture_will_be(world, sandgate, plant):
    """By another user who may write into the folder. Nothing is opened, so nothing is waited for."""
    folder, machine = world.machine.new_work("dev"), world.machine
    machine.write(f"{folder}/kept", "kept", "dev")
    assert machine.run(["sh", "-c", plant.format(f"{folder}/all.pcapng", f"{folder}/kept")], "dev").returncode == 0
    root = sandgate.as_person("root")
    done = root.run("--net", "deny", "--pcap", f"{folder}/all.pcapng", command="echo ran")
    assert done.status == 125 and "is there already" in done.err and "ran" not in done.out, done
    assert machine.read(f"{folder}/kept") == "kept"
