# SPDX-License-Identifier: Apache-2.0
"""The matrix of real clients: each trusts the sandbox's authority with no flag of its own.

Every test runs its client twice in one sandbox: against a host that is inspected, whose certificate
there is the sandbox's authority's (the fixture looks, with openssl), and against one that is spliced,
whose chain is the far side's own. What a client trusts beside its own list (node, Chromium) is what
the person gave it on the machine: there, the little internet's authority.
"""

import base64
import glob
import json
import os
import ssl
import subprocess

import pytest

from clients import CLIENTS
from internet import tiny
from internet.registries import PROGRAMS

OPENED, SPLICED = "opened.example.com", "spliced.example.com"
HOSTS = (OPENED, SPLICED)
POLICY = f"""
allow: [{OPENED}, {SPLICED}]
inspect: [{OPENED}]
"""
OWN = "/home/dev/own.pem"
ISSUER_OWN = "Little Internet Test CA"


def issuer(box, host):
    got = box.run(f"openssl s_client -verify_return_error -connect {host}:443 -servername {host} "
                  "</dev/null")
    assert got.ok and "Verify return code: 0" in got.out, got
    return next(line for line in got.out.splitlines() if line.startswith("issuer="))


@pytest.fixture
def box(world, sandgate):
    """One of the two hosts is opened in it, and its certificate is the sandbox's own."""
    world.machine.write(OWN, world.authority.pem, "dev")
    env = world.machine.environment("dev", NODE_EXTRA_CA_CERTS=OWN)
    made = sandgate.box("--policy", "p.yaml", files={"p.yaml": POLICY}, env=env)
    return made


@pytest.fixture
def sites(world):
    """What both hosts answer; by default a line with their names."""
    def declare(answers=None):
        made = [world.site(host, handler=tiny.serve(answers(host)) if answers else None)
                for host in HOSTS]
        return made
    return declare


def check_issuers(box):
    assert f"sandbox {box.name}" in issuer(box, OPENED)
    assert ISSUER_OWN in issuer(box, SPLICED)


def fetch_both(box, command, **options):
    """The command, with HOST for the host, gets the host's line from each."""
    check_issuers(box)
    for host in HOSTS:
        argv = command.replace("HOST", host)
        got = box.run(argv, **options)
        assert got.ok and f"hello from {host}" in got.out, (argv, got)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_by_its_variable(sites, box, needs, client):
    needs(client.split()[0] if client in ("curl", "wget", "perl", "ruby", "php") else "node")
    sites()
    fetch_both(box, CLIENTS[client])


@pytest.mark.parametrize("client", ["curl", "wget", "openssl", "urllib", "requests", "perl",
                                    "ruby", "php"])
def test_a_client_without_any_variable(sites, box, client):
    """sudo, cron and test harnesses empty the environment: the system's own file is stood in for."""
    sites()
    fetch_both(box, f"env -i PATH=/usr/bin:/bin sh -c '{quoted(CLIENTS[client])}'")


def quoted(text):
    return text.replace("'", "'\\''")


DENO = ("const r = await fetch(\"https://HOST/\"); if (r.status != 200) throw r; "
        "console.log(await r.text())")


def test_deno(world, sites, sandgate):
    """It adds to a list of its own."""
    sites()
    program = world.machine.install(glob.glob(f"{PROGRAMS}/node_modules/@deno/*/deno")[0])
    box = sandgate.box("--policy", "p.yaml", "--ro", program, files={"p.yaml": POLICY})
    fetch_both(box, f"{program} eval '{DENO}'")


# It ends with its input, so that stays open until the answer is there.
GNUTLS = """
for host in sys.argv[1:]:
    p = subprocess.Popen(["gnutls-cli", host], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdin.write(f"GET / HTTP/1.0\\r\\nHost: {host}\\r\\n\\r\\n")
    p.stdin.flush()
    out = p.stdout.read()
    p.stdin.close()
    report(status=p.wait(), trusted="- Status: The certificate is trusted." in out,
           own="Little Internet Test CA" in out, body=f"hello from {host}" in out)
"""


@pytest.mark.parametrize("env", [None, {"PATH": "/usr/bin:/bin"}])
def test_gnutls(sites, box, needs, env):
    """It knows no variable: the system's own file."""
    needs("gnutls-cli")
    sites()
    got = box.python("import subprocess\n" + GNUTLS, *HOSTS, env=env)
    assert [(line["status"], line["trusted"], line["own"], line["body"]) for line in got.lines] == \
        [(0, True, False, True), (0, True, True, True)], got


def test_git(sites, box):
    sites(lambda host: tiny.repository({"README": f"hello from {host}\n"}))
    fetch_both(box, "rm -rf r && git clone -q https://HOST/repo.git r && cat r/README")


def test_pip(sites, box, needs):
    needs("pip3")
    sites(lambda host: tiny.pip_package())
    check_issuers(box)
    for host in HOSTS:
        got = box.run(f"PIP_INDEX_URL=https://{host}/simple/ pip3 download -q --no-deps "
                      f"--disable-pip-version-check --no-cache-dir -d {host} tiny-thing && ls {host}")
        assert got.ok and "tiny_thing-1.0.0-py3-none-any.whl" in got.out, got


def test_npm(sites, box, needs):
    needs("npm")
    sites(tiny.npm_package)
    check_issuers(box)
    for host in HOSTS:
        got = box.run(f"mkdir {host} && cd {host} && npm install --registry https://{host}/ --no-audit "
                      "--no-fund tiny-thing && node -p 'require(\"tiny-thing\")'")
        assert got.ok and got.out.endswith("tiny\n"), got


CARGO_PACKAGE = """[package]
name = "user"
version = "0.1.0"
edition = "2021"
[dependencies]
tiny-thing = {{ version = "1.0.0", registry = "{0}" }}
"""


def test_cargo(sites, box, needs):
    """Debian's, whose TLS is libcurl's; the index comes by git, the crate by cargo itself."""
    needs("/usr/bin/cargo")
    made = sites(tiny.crate)
    check_issuers(box)
    for name, host, site in zip(("one", "two"), HOSTS, made):
        box.run(["sh", "-c", f"mkdir -p {name}/src; touch {name}/src/lib.rs; cat >{name}/Cargo.toml"],
                input=CARGO_PACKAGE.format(name))
        got = box.run(f"cd {name} && CARGO_NET_GIT_FETCH_WITH_CLI=true "
                      f"CARGO_REGISTRIES_{name.upper()}_INDEX=https://{host}/index /usr/bin/cargo fetch")
        assert got.ok and "Downloaded tiny-thing" in got.err, got
        assert any(r.target == "/crates/tiny-thing.crate" for r in site.requests)


JAVA = """
import java.net.URI;
import java.net.http.*;
public class Fetch {
    public static void main(String[] hosts) throws Exception {
        for (String host : hosts) {
            var request = HttpRequest.newBuilder(URI.create("https://" + host + "/")).build();
            var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            System.out.println(answer.statusCode() + " " + answer.body());
        }
    }
}
"""

GO = """
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	for _, host := range os.Args[1:] {
		answer, err := http.Get("https://" + host + "/")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		body, _ := io.ReadAll(answer.Body)
		fmt.Println(answer.StatusCode, answer.TLS.PeerCertificates[0].Issuer, string(body))
	}
}
"""


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """built(LANGUAGE): the folder of a program that fetches from the hosts it is given."""
    made = {}

    def build(language, name, source, *argv, **env):
        if language not in made:
            folder = made[language] = tmp_path_factory.mktemp(language)
            (folder / name).write_text(source, encoding="utf-8")
            subprocess.run(argv, cwd=folder, check=True, timeout=300,
                           env={**os.environ, "HOME": str(folder), **env})
        return made[language]
    return build


@pytest.mark.parametrize("clean", ["", "env -i "])
def test_java(sites, box, needs, built, clean):
    """By the variable, and by the JDK's own file without it."""
    needs("javac", "/etc/ssl/certs/java/cacerts")
    box.bring("Fetch.class", (built("java", "Fetch.java", JAVA, "javac", "Fetch.java") / "Fetch.class").read_bytes())
    sites()
    check_issuers(box)
    got = box.run(f"{clean}java -Xshare:auto -cp . Fetch {OPENED} {SPLICED}")
    assert got.ok and [line for line in got.out.splitlines() if line] == \
        [f"200 hello from {host}" for host in HOSTS], got


def test_keytool_lists_the_authority_and_all_of_the_hosts(box, needs):
    """Whatever password is given, and none."""
    needs("keytool")
    counted = box.run("grep -c BEGIN /run/sandbox-files/ca/bundle.pem").out.strip()
    got = box.run("keytool -list -keystore /run/sandbox-files/ca/store.p12 -storepass changeit")
    assert got.ok and f"contains {counted} entries" in got.out and "sandgate-1, " in got.out, got
    got = box.run("keytool -list -keystore /run/sandbox-files/ca/store.p12", input="\n")
    assert got.ok and f"contains {counted} entries" in got.out, got


@pytest.mark.parametrize("clean", ["", "env -i "])
def test_go(sites, box, needs, built, clean):
    needs("go")
    folder = built("go", "fetch.go", GO, "go", "build", "fetch.go", GOFLAGS="-mod=mod", GO111MODULE="off")
    box.bring("fetch", (folder / "fetch").read_bytes())
    sites()
    got = box.run(f"{clean}./fetch {OPENED} {SPLICED}")
    lines = got.out.split("\n")[::2]
    assert got.ok and f"sandbox {box.name}" in lines[0] and ISSUER_OWN in lines[1], got
    assert all(f"hello from {host}" in line for host, line in zip(HOSTS, lines)), got


@pytest.fixture
def browser_policy(world):
    """The person has told Chromium of the little internet's authority, for the spliced host."""
    folder, name = "/etc/chromium/policies/managed", "own.json"
    der = base64.b64encode(ssl.PEM_cert_to_DER_cert(world.authority.pem)).decode()
    text = json.dumps({"CACertificatesWithConstraints": [
        {"certificate": der, "constraints": {"permitted_dns_names": [SPLICED]}}]})
    world.machine.place.call(lambda: os.makedirs(folder, exist_ok=True))
    world.machine.write(f"{folder}/{name}", text)
    yield
    world.machine.place.call(lambda: os.remove(f"{folder}/{name}"))
    world.machine.place.call(lambda: os.removedirs(folder) if os.path.isdir(folder) else None)


def test_chromium(sites, browser_policy, box, needs):
    """A fresh profile, headless. It has a list of its own and takes ours from a policy, beside what
    the person's policies say."""
    needs("chromium")
    sites()
    fetch_both(box, "chromium --headless --no-sandbox --disable-gpu --dump-dom https://HOST/ "
                    "2>/dev/null", timeout=90)


def test_chromium_without_a_policy_of_the_persons(sites, box, needs):
    needs("chromium")
    sites()
    got = box.run(f"chromium --headless --no-sandbox --disable-gpu --dump-dom https://{OPENED}/ "
                  "2>/dev/null", timeout=90)
    assert f"hello from {OPENED}" in got.out, got
