# SPDX-License-Identifier: Apache-2.0
"""git, Git LFS, gh and curl against GitHub's names: reads pass, writes are refused in their own output."""

import os

import pytest

from internet.forge import LARGE, NAME, STORE, Forge

TOKEN = "gho_the0token0of0the0person0000000000"
COMMIT = "git -c user.name=x -c user.email=x@example.com commit -q"
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _programs(needs):
    needs("git")


@pytest.fixture
def forge(world):
    return Forge(world)


@pytest.fixture
def signed_in(world):
    """The person is signed in with gh, in a file that no sandbox sees."""
    machine = world.machine
    machine.run("mkdir -p .config/gh")
    machine.write("/home/dev/.config/gh/hosts.yml",
                  f"github.com:\n  user: dev\n  oauth_token: {TOKEN}\n  git_protocol: https\n",
                  "dev", 0o600)
    yield TOKEN
    machine.run("rm -r .config/gh")


def clone(box, *options):
    got = box.run(["git", "clone", "-q", *options, f"https://{NAME}/project.git"])
    assert got.ok, got
    return got


def commit_and_push(box, branch="new", timeout=60):
    return box.run(f"cd project && {COMMIT} --allow-empty -m x && git push origin HEAD:{branch}",
                   timeout=timeout)


@pytest.mark.parametrize("options", [("--net", "standard"), ("--allow", "github")])
def test_clone_passes_and_push_is_refused_in_gits_output(forge, sandgate, options):
    box = sandgate.box(*options)
    clone(box)
    assert box.run("cat project/README").out == "the project\n"
    refused = commit_and_push(box)
    assert not refused.ok
    line = next(li for li in refused.err.splitlines() if li.startswith("remote: sandgate: "))
    assert "github.com/project.git" in line
    assert line.endswith(f"to allow it: sandgate net allow {box.name} github:push"), line
    assert forge.requests("receive-pack") == [] and forge.branches() == ["main"]
    assert box.egress()["requests"]["refused"] >= 1


def test_the_same_push_passes_after_the_command_it_named(forge, sandgate, signed_in):
    box = sandgate.box("--allow", "github")
    clone(box)
    refused = commit_and_push(box)
    command = refused.err.split("to allow it: sandgate ")[1].split("\n")[0].split()
    assert command == ["net", "allow", box.name, "github:push"]
    assert forge.requests("receive-pack") == []
    allowed = sandgate(*command, "--yes")
    assert allowed.ok, allowed
    pushed = box.run("cd project && git push origin HEAD:new")
    assert pushed.ok, pushed
    assert forge.branches() == ["main", "new"]
    assert box.run("git -C project rev-parse HEAD").out == forge.git("rev-parse", "new")
    for request in forge.requests("receive-pack"):
        assert request.header("authorization"), request  # as the person, who is not inside
    inside = box.run("env; git config -l; cat ~/.gitconfig ~/.config/gh/* 2>/dev/null; gh auth token")
    assert signed_in not in inside.out + inside.err


def test_push_of_a_large_pack_in_chunks(forge, sandgate, signed_in):
    """git sends a pack over 1 MiB chunked, after a probe of 4 octets."""
    box = sandgate.box("--allow", "github:push", "--yes")
    clone(box)
    got = box.run(f"cd project && head -c {8 * MIB} /dev/urandom > big && git add big && {COMMIT} -m big "
                  "&& git push -q origin HEAD:big && sha256sum < big")
    assert got.ok, got
    bodies = [(r.header("transfer-encoding"), len(r.body)) for r in forge.requests("/git-receive-pack")]
    assert any(coding == "chunked" and size > 8 * MIB for coding, size in bodies), bodies
    assert forge.git("cat-file", "-s", "big:big") == f"{8 * MIB}\n"


def test_a_shallow_clone_of_20_mib(world, sandgate):
    content = os.urandom(20 * MIB)
    forge = Forge(world, {"big": content})
    box = sandgate.box("--allow", "github")
    clone(box, "--depth", "1")
    assert box.run("git -C project hash-object project/big big 2>/dev/null; git -C project hash-object big"
                   ).out.split()[-1] == forge.git("rev-parse", "main:big").strip()


# ---- Large files ----

@pytest.fixture
def lfs(world, needs):
    needs("git-lfs")
    return Forge(world, lfs=True)


def test_lfs_downloads_pass(lfs, sandgate):
    box = sandgate.box("--allow", "github")
    clone(box)
    assert box.run("cat project/large.bin").out.encode() == LARGE
    assert [r.method for r in lfs.store.requests] == ["GET"]


def test_lfs_uploads_are_refused_in_its_output(lfs, sandgate):
    box = sandgate.box("--allow", "github")
    clone(box)
    got = box.run(f"cd project && echo other > other.bin && git add other.bin && {COMMIT} -m other && "
                  "git lfs push origin main")
    assert not got.ok
    assert f"sandgate net allow {box.name} github:push" in got.err, got
    assert "PUT" not in [r.method for r in lfs.store.requests]
    assert [r for r in lfs.requests("/objects/batch") if b'"upload"' in r.body] == []


def test_lfs_uploads_pass_with_the_permission(lfs, sandgate, signed_in):
    box = sandgate.box("--allow", "github:push", "--yes")
    clone(box)
    got = box.run(f"cd project && echo other > other.bin && git add other.bin && {COMMIT} -m other && "
                  "git push -q origin HEAD:main")
    assert got.ok, got
    assert b"other\n" in lfs.stored.values()
    assert all(r.header("authorization") is None for r in lfs.store.requests), \
        f"{STORE} is not where the token belongs"


# ---- The API ----

QUERY, MUTATION = "query { viewer { login } }", "mutation { createGist(input: {}) { id } }"


def test_gh_queries_and_is_refused_a_mutation(forge, sandgate, needs):
    needs("gh")
    box = sandgate.box("--allow", "github", "--env", "GH_TOKEN=anything")
    got = box.run(["gh", "api", "graphql", "-f", f"query={QUERY}"])
    assert got.ok and "somebody" in got.out, got
    refused = box.run(["gh", "api", "graphql", "-f", f"query={MUTATION}"])
    assert not refused.ok
    assert f"sandgate net allow {box.name} github:push" in refused.err, refused
    assert [r.target for r in forge.api.requests] == ["/graphql"]


def test_curl_queries_and_is_refused_a_mutation_and_a_gist(forge, sandgate):
    box = sandgate.box("--allow", "github")

    def post(path, body):
        return box.curl(f"https://api.github.com{path}", "--json", body)
    assert "somebody" in post("/graphql", f'{{"query": "{QUERY}"}}').out
    for path, body in (("/graphql", f'{{"query": "{MUTATION}"}}'), ("/gists", '{"files": {}}')):
        refused = post(path, body).json
        assert "github:push" in refused["message"], refused
    assert [r.target for r in forge.api.requests] == ["/graphql"]
