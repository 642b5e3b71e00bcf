# SPDX-License-Identifier: Apache-2.0
"""The programs that give a secret run outside, as the person. What an agent writes into its working
directory must not be among them, nor say what they do. The judge is a file outside of it."""

import base64
import itertools
import os

import pytest

from internet.web import Response
from program import wait_until

NAME, SECRET, PLANTED = "api.example.com", "s3cret-0123456789", "planted-0123456789"
MARK = f"/var/tmp/sandgate-test-mark-{os.getpid()}"  # the folder is the host's, for all who test there
_numbers = itertools.count()


@pytest.fixture
def mark(world):
    """Where what runs outside can write, and the sandbox cannot."""
    path = f"{MARK}-{next(_numbers)}"
    world.machine.run(f"rm -f {path}")
    yield path
    world.machine.run(f"rm -f {path}")


def home_of(sandgate):
    return "/root" if sandgate.person == "root" else "/home/dev"


def is_there(world, path):
    return world.machine.run(f"test -e {path} && echo yes; true").stdout.strip() == "yes"


def plant(box, path, text):
    """As the agent: a program in its own folder."""
    done = box.run(f"mkdir -p $(dirname {path}) && cat > {path} <<'END'\n#!/bin/sh\n{text}\nEND\nchmod 755 {path}")
    assert done.ok, done


def credential(source):
    return f"""network: deny
allow: [{NAME}]
credentials:
  - {{host: {NAME}, header: X-Key, value: "${{secret}}", from: "{source}"}}
"""


def test_git_is_not_asked_in_a_repository_of_the_agents(world, sandgate, mark):
    """git takes the helpers that a repository names; the agent makes one around the person's git."""
    site = world.site("github.com", handler=lambda rq: Response("refs"))
    home = home_of(sandgate)
    world.machine.write(f"{home}/.gitconfig", "[credential]\n\thelper = store\n", sandgate.person)
    world.machine.write(f"{home}/.git-credentials", f"https://person:{SECRET}@github.com\n", sandgate.person, 0o600)
    try:
        box = sandgate.box("--net", "deny", "--allow", "github")
        done = box.run("git init -q . && git config credential.helper '' && git config --add credential.helper "
                       f"'!touch {mark}; echo password={PLANTED};:' && git config --get-all credential.helper")
        assert done.ok and mark in done.out, done
        assert sandgate("net", "allow", box.name, "github:as-you", "--yes").ok
        assert box.curl("https://github.com/a/b.git/info/refs?service=git-upload-pack").out == "refs"
        value = base64.b64decode(site.requests[-1].header("authorization").split()[1]).decode()
        assert not is_there(world, mark)
        assert value == f"x-access-token:{SECRET}"
    finally:
        world.machine.run(f"rm -f {home}/.gitconfig {home}/.git-credentials", sandgate.person)


@pytest.mark.parametrize("entry", ["{cwd}/bin", "bin", "", "{link}"])
def test_programs_are_not_taken_from_the_folder_of_the_agent(world, sandgate, mark, entry):
    """A PATH of the person's that leads there: `.venv/bin` of the project, for one."""
    site = world.site(NAME)
    cwd = world.machine.new_work(sandgate.person)
    link = f"{mark}-link"
    world.machine.run(f"ln -sfn {cwd}/bin {link}", sandgate.person)
    path = entry.format(cwd=cwd, link=link)
    env = world.machine.environment(sandgate.person)
    env["PATH"] = f"{path}:{env['PATH']}"
    try:
        box = sandgate.box("--policy", "policy.yaml", cwd=cwd, env=env,
                           files={"policy.yaml": credential(f"command:printf %s {SECRET}")})
        for name in ("bin/printf", "printf"):
            plant(box, name, f"touch {mark}; echo {PLANTED}")
        assert box.curl(f"https://{NAME}/").ok
        assert not is_there(world, mark)
        assert site.requests[-1].header("x-key") == SECRET
    finally:
        world.machine.run(f"rm -f {link}")


@pytest.mark.parametrize("variable, value", [
    ("PYTHONPATH", "/usr/lib/nothing:{cwd}"), ("LD_PRELOAD", "{cwd}/planted.so"), ("BASH_ENV", "{cwd}/planted.sh")])
def test_nothing_of_the_agents_is_loaded_into_one(world, sandgate, mark, variable, value):
    """Variables of a developer's shell that lead into the project."""
    site = world.site(NAME)
    cwd, script = world.machine.new_work(sandgate.person), f"{home_of(sandgate)}/give"
    world.machine.write(script, "#!/bin/bash\n"
                        f"test -z \"${variable}\" || touch {mark}\n"
                        "exec python3 -c 'import base64; print(base64.b64decode(b\"czNjcmV0LTAxMjM0NTY3ODk=\").decode())'\n",
                        sandgate.person, 0o700)
    env = world.machine.environment(sandgate.person, **{variable: value.format(cwd=cwd)})
    try:
        box = sandgate.box("--policy", "policy.yaml", cwd=cwd, env=env,
                           files={"policy.yaml": credential(f"command:{script}")})
        assert box.run(f"echo 'import os; os.system(\"touch {mark}\")' > base64.py; "
                       f"echo 'touch {mark}' > planted.sh").ok
        assert box.curl(f"https://{NAME}/").ok
        assert site.requests[-1].header("x-key") == SECRET
        assert not is_there(world, mark)
    finally:
        world.machine.run(f"rm -f {script}")


def test_a_program_that_the_agent_may_write_is_not_run(world, sandgate, mark):
    site = world.site(NAME)
    cwd = world.machine.new_work(sandgate.person)
    box = sandgate.box("--policy", "policy.yaml", cwd=cwd, files={"policy.yaml": credential(f"command:{cwd}/give")})
    plant(box, "give", f"touch {mark}; echo {PLANTED}")
    done = box.curl(f"https://{NAME}/", "-i")
    assert not is_there(world, mark) and site.requests == []
    assert " 502 " in done.out.splitlines()[0] + " " and "a sandbox may write it" in done.out, done


def test_a_file_that_the_agent_may_write_is_not_read(world, sandgate):
    """In its place: a link to any file of the person's, which would go to the server."""
    site = world.site(NAME)
    cwd, home = world.machine.new_work(sandgate.person), home_of(sandgate)
    world.machine.write(f"{home}/other-secret", PLANTED, sandgate.person, 0o600)
    try:
        box = sandgate.box("--policy", "policy.yaml", cwd=cwd,
                           files={"policy.yaml": credential(f"file:{cwd}/token"), "token": SECRET})
        assert box.run(f"rm token && ln -s {home}/other-secret token").ok
        done = box.curl(f"https://{NAME}/", "-i")
        assert " 502 " in done.out.splitlines()[0] + " " and "a sandbox may write it" in done.out, done
        assert site.requests == []
    finally:
        world.machine.run(f"rm -f {home}/other-secret", sandgate.person)


def test_the_command_that_anchors_the_log_finds_nothing_there(world, sandgate, mark):
    cwd, push = world.machine.new_work(sandgate.person), f"{home_of(sandgate)}/push"
    env = world.machine.environment(sandgate.person)
    env["PATH"] = f"{cwd}/bin:{env['PATH']}"
    world.machine.write(push, f"#!/bin/sh\ncp /dev/stdin {mark}-anchor\n", sandgate.person, 0o700)
    assert sandgate("config", "set", "audit.anchor", f"command:{push}").ok
    try:
        done = sandgate.run(command=f"mkdir bin && printf '#!/bin/sh\ntouch {mark}\n' > bin/cp && chmod 755 bin/cp",
                            cwd=cwd, env=env)
        assert done.ok, done
        wait_until(lambda: is_there(world, f"{mark}-anchor") or is_there(world, mark), 10, "the checkpoint")
        assert not is_there(world, mark)
    finally:
        sandgate("config", "unset", "audit.anchor")
        world.machine.run(f"rm -f {mark}-anchor {push}")
