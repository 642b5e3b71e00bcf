# SPDX-License-Identifier: Apache-2.0
"""npm against verdaccio, pip and curl against an index: installing passes, publishing is refused.
go against a module proxy, which passes what it is asked on to others; Maven against a repository."""

import io
import zipfile

import pytest

from internet.registries import NPM, PACKAGE, PYPI, PYPI_UPLOAD, VERDACCIO, Pypi, Verdaccio
from internet.web import Response

BULK = "/-/npm/v1/security/advisories/bulk"
OWN = "package-of-the-agent"


@pytest.fixture
def registry(world, needs):
    needs("npm", VERDACCIO)
    return Verdaccio(world)


@pytest.fixture
def index(world, needs):
    needs("pip3")
    return Pypi(world)


def package_to_publish(box):
    """A folder `own`, signed in: npm asks the registry nothing without a token."""
    done = box.run(f"mkdir own && cd own && npm init -y --init-version=1.0.0 >/dev/null && "
                   f"npm pkg set name={OWN} && echo '//{NPM}/:_authToken=of-the-sandbox' > .npmrc")
    assert done.ok, done


def test_npm_installs_and_audits(registry, sandgate):
    box = sandgate.box("--allow", "install:node")
    got = box.run(f"npm install --audit --no-fund {PACKAGE} && node -p 'require(\"{PACKAGE}\")'")
    assert got.ok and got.out.endswith("installed\n"), got
    assert [r.target for r in registry.site.requests if r.method == "POST"] == [BULK]
    assert box.egress()["requests"]["refused"] == 0


def test_npm_is_refused_to_publish_and_says_what_would_allow_it(registry, sandgate):
    box = sandgate.box("--allow", "install:node")
    package_to_publish(box)
    refused = box.run("cd own && npm publish")
    assert not refused.ok and "E403" in refused.err, refused
    assert f"to allow it: sandgate net allow {box.name} publish:node" in refused.err, refused
    assert "PUT" not in [r.method for r in registry.site.requests]
    assert registry.versions(OWN) == []
    allowed = sandgate("net", "allow", box.name, "publish:node")
    assert allowed.ok, allowed
    published = box.run("cd own && npm publish")
    assert published.ok, published
    assert registry.versions(OWN) == ["1.0.0"]


def test_other_writes_to_a_registry_are_refused(registry, sandgate):
    box = sandgate.box("--allow", "install:node")
    package_to_publish(box)
    for command in (f"npm unpublish --force {PACKAGE}", f"npm dist-tag add {PACKAGE}@1.2.3 newest"):
        assert not box.run(f"cd own && {command}").ok, command
    assert {r.method for r in registry.site.requests} <= {"GET", "HEAD"}
    assert registry.versions(PACKAGE) == ["1.2.3"]


def test_pip_installs_and_no_upload_passes(index, sandgate):
    box = sandgate.box("--allow", "install:python")
    got = box.run(f"pip3 install -q --no-cache-dir --target=here {PACKAGE} && "
                  "PYTHONPATH=here python3 -c 'import little_package as p; print(p.WORD)'")
    assert got.out == "installed\n", got
    form = ("-F", ":action=file_upload", "-F", "content=@here/little_package.py")
    refused = box.curl(f"https://{PYPI}/legacy/", *form)
    assert refused.out.startswith(f"sandgate: POST {PYPI}/legacy/: "), refused
    assert not box.curl(f"https://{PYPI_UPLOAD}/legacy/", *form).ok
    assert index.uploads == []
    allowed = sandgate("net", "allow", box.name, "publish:python")
    assert allowed.ok, allowed
    assert box.curl(f"https://{PYPI_UPLOAD}/legacy/", *form).out == "uploaded\n"
    assert [r.target for r in index.uploads] == ["/legacy/"]


# --- a proxy of modules, which asks the domain of each ---

MODULE = "github.com/little/thing"


def zip_of(module):
    octets = io.BytesIO()
    with zipfile.ZipFile(octets, "w") as made:
        made.writestr(f"{module}@v1.0.0/go.mod", f"module {module}\n")
        made.writestr(f"{module}@v1.0.0/thing.go", "package thing\n")
    return octets.getvalue()


def modules(request):
    module, _, wanted = request.target[1:].partition("/@v/")
    return {"list": "v1.0.0\n", "v1.0.0.info": '{"Version": "v1.0.0"}', "v1.0.0.mod": f"module {module}\n",
            "v1.0.0.zip": zip_of(module)}.get(wanted, "")


def test_go_gets_modules_of_well_known_hosts_and_no_others(world, sandgate, needs):
    """The path of a module would reach whoever owns its domain."""
    needs("go")
    site = world.site("proxy.golang.org", handler=modules)
    box = sandgate.box("--allow", "install:go")
    get = "mkdir -p user && cd user && GONOSUMDB=* GOFLAGS=-mod=mod go mod download {}@v1.0.0"
    box.run("mkdir user && cd user && go mod init example.com/user")
    got = box.run(get.format(MODULE))
    assert got.ok and any(r.target == f"/{MODULE}/@v/v1.0.0.zip" for r in site.requests), got
    asked = len(site.requests)
    refused = box.run(get.format("0123456789abcdef.example.com/x"))
    assert not refused.ok and "sandgate: GET proxy.golang.org/0123456789abcdef.example.com/x/@v/v1.0.0.info: " \
        in refused.err, refused
    assert len(site.requests) == asked


# --- Maven, unconfigured ---

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
{}<artifactId>{}</artifactId><packaging>pom</packaging></project>
"""
PARENT = "<groupId>little</groupId><version>1.0</version>"
CHILD = "<parent><groupId>little</groupId><artifactId>parent</artifactId><version>1.0</version></parent>"


def test_maven_resolves(world, sandgate, needs):
    """Its TLS is the JDK's, and it reads no variable of a proxy (demands.md, 3)."""
    needs("mvn")
    site = world.site("repo.maven.apache.org", handler=lambda rq: Response(
        POM.format(PARENT, "parent"), status=200 if rq.target.endswith(".pom") else 404))
    box = sandgate.box("--allow", "install:java", files={"pom.xml": POM.format(CHILD, "child")})
    got = box.run("mvn -B -q validate", timeout=90)
    assert got.ok, got
    assert site.requests[0].target == "/maven2/little/parent/1.0/parent-1.0.pom"
    assert box.egress()["requests"]["inspected"] == len(site.requests)
