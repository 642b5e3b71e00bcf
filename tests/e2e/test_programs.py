# SPDX-License-Identifier: Apache-2.0
"""Real programs, unconfigured: no proxy variables, no settings, the names they always used."""

import pytest

from internet.services import Ssh, apt_site, git_site, npm_site
from internet.web import Response
from program import JAVA_FETCH

CA = "/etc/ssl/certs/ca-certificates.crt"


@pytest.fixture
def api(world):
    world.site("other.example.com")
    return world.site("api.example.com")


@pytest.fixture
def box(api, sandgate):
    return sandgate.box("--only", "api.example.com")


@pytest.mark.parametrize("command", [
    "curl -sS https://{}/", "wget -nv -O- https://{}/",
    "python3 -c \"import urllib.request as u; print(u.urlopen('https://{}/').read().decode())\"",
    "printf 'GET / HTTP/1.0\\r\\nHost: {0}\\r\\n\\r\\n' | openssl s_client -quiet -verify_return_error "
    "-connect {0}:443 -servername {0} 2>/dev/null",
])
def test_clients_reach_what_is_listed_and_fail_fast_elsewhere(box, command):
    assert "hello from api.example.com" in box.run(command.format("api.example.com")).out
    refused = box.run(command.format("other.example.com"))
    assert "hello" not in refused.out and refused.seconds < 3


def test_node_fetch_with_an_empty_environment(box, needs):
    """demands.md, clients 1: Node ignores proxies; `env -i node -e fetch` works, refused fast on
    another host."""
    needs("node")
    code = ("fetch('{}').then(r => r.text()).then(t => console.log(t), "
            "e => { console.log('failed', e.cause && e.cause.code); process.exit(3) })")
    got = box.run(["env", "-i", "/usr/bin/node", "-e", code.replace("{}", "http://api.example.com/")])
    assert "hello from api.example.com" in got.out, got
    got = box.run(["env", "-i", f"NODE_EXTRA_CA_CERTS={CA}", "/usr/bin/node", "-e",
                   code.replace("{}", "https://api.example.com/")])
    assert "hello from api.example.com" in got.out, got
    got = box.run(["env", "-i", "/usr/bin/node", "-e", code.replace("{}", "https://other.example.com/")])
    assert got.status == 3 and got.seconds < 3, got


def test_node_with_a_dead_ipv6_takes_ipv4_at_once(world, sandgate, needs):
    """demands.md, IPv6 33: refused v6 is refused, and does not wait for Node's attempt to time out."""
    needs("node")
    site = world.site("dual.example.com", dns=False)
    world.name("dual.example.com", site.address, "2a00:3::1")
    box = sandgate.box("--only", "dual.example.com")
    got = box.run(["env", "-i", "/usr/bin/node", "-e", "const t = Date.now(), net = require('net');"
                   "net.setDefaultAutoSelectFamilyAttemptTimeout?.(30000);"
                   "fetch('http://dual.example.com/').then(r => r.text())"
                   ".then(() => console.log(Date.now() - t))"])
    assert got.ok and int(got.out) < 20000, got


def test_java_unconfigured(box, needs):
    """demands.md, clients 3: the JVM ignores proxy variables too."""
    needs("javac")
    box.run(["tee", "Fetch.java"], input=JAVA_FETCH)
    got = box.run("java Fetch.java http://api.example.com/")
    assert "hello from api.example.com" in got.out, got
    assert not box.run("java Fetch.java http://other.example.com/").ok


def test_git_over_https(world, sandgate, needs):
    """demands.md, clients 4: clone and push with nothing set up."""
    needs("git")
    git_site(world, "code.example.com")
    box = sandgate.box("--only", "code.example.com")
    got = box.run("git clone -q https://code.example.com/project.git && cd project && cat README && "
                  "git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x && "
                  "git push -q origin HEAD:new && git ls-remote origin new | wc -l")
    assert got.out == "the project\n1\n", got
    assert not box.run("git clone -q https://other.example.com/project.git").ok


def test_git_over_ssh(world, sandgate, needs):
    """demands.md, clients 5 and 6: git+ssh needs no ProxyCommand."""
    needs("git", "/usr/sbin/sshd")
    address = world.address()
    world.name("code.example.com", address)
    server = Ssh(world, address)
    machine = world.machine
    work = machine.new_work()
    machine.run("git init -q --bare here.git", cwd=work)
    box = sandgate.box("--only", "code.example.com:22", files={"key": server.private_key})
    ssh = ("export GIT_SSH_COMMAND='ssh -i ../key -i key -o StrictHostKeyChecking=no -o "
           "UserKnownHostsFile=/dev/null -o LogLevel=ERROR'; ")
    got = box.run(ssh + f"git clone -q dev@code.example.com:{work}/here.git project && cd project && "
                  "git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m pushed && "
                  "git push -q origin HEAD:main")
    assert got.ok, got
    assert machine.run("git --git-dir=here.git log --format=%s main", cwd=work).stdout == "pushed\n"


def test_npm_against_a_registry(world, sandgate, needs):
    needs("npm")
    npm_site(world, "registry.example.com")
    box = sandgate.box("--only", "registry.example.com", "--env", f"NODE_EXTRA_CA_CERTS={CA}")
    got = box.run("npm install --no-audit --no-fund --registry=https://registry.example.com "
                  "little-package @little/package && node -p 'require(\"little-package\")'")
    assert got.ok and got.out.endswith("installed\n"), got


def test_apt_update_as_root(world, sandgate, needs):
    """--as-root: the person's own apt-get, its folders where they always are."""
    needs("apt-get")
    apt_site(world, "deb.example.com")
    box = sandgate.box("--only", "deb.example.com", "--as-root")
    got = box.run("echo 'deb [trusted=yes] http://deb.example.com/ ./' > /tmp/list && O='-o Dir::Etc::sourcelist=/tmp/list "
                  "-o Dir::Etc::sourceparts=/dev/null' && apt-get $O -q update && apt-cache $O policy little-package "
                  "&& apt-get $O -q download little-package && ls *.deb")
    assert got.ok and "Candidate: 1.0" in got.out and got.out.endswith("little-package_1.0_all.deb\n"), got


def test_apt_against_a_mirror_as_root(world, sandgate, needs):
    """--as-root: apt and the like work."""
    needs("apt-get")
    apt_site(world, "deb.example.com")
    box = sandgate.box("--only", "deb.example.com", "--as-root")
    got = box.run(
        "mkdir -p a/lists/partial a/cache/archives/partial a/etc/preferences.d a/etc/apt.conf.d && "
        "echo 'deb [trusted=yes] http://deb.example.com/ ./' > a/etc/sources.list && "
        "O=\"-o Dir::State=$PWD/a -o Dir::State::status=/dev/null -o Dir::Cache=$PWD/a/cache "
        "-o Dir::Etc=$PWD/a/etc -o APT::Sandbox::User=root\" && "
        "apt-get $O -q update && apt-get $O -q download little-package && "
        "dpkg-deb -x little-package_1.0_all.deb x && cat x/usr/share/little-package/file")
    assert got.ok and got.out.endswith("installed\n"), got


def test_chromium_loads_a_page(world, sandgate, needs):
    """A browser: parallel connections, its own resolver, HTTPS records, QUIC attempts, and hosts
    that are not allowed, which must not hold the page up."""
    needs("chromium")
    page = ("<html><body><script src='https://cdn.example.com/s.js'></script>"
            "<script src='https://tracker.example.net/t.js'></script>"
            "<p id=p>plain</p></body></html>")
    world.site("www.example.com", handler=lambda r: Response(page, headers=[("Content-Type", "text/html")]))
    world.site("cdn.example.com", handler=lambda r: Response(
        "window.addEventListener('load', () => document.getElementById('p').textContent = 'scripted')",
        headers=[("Content-Type", "text/javascript")]))
    tracker = world.site("tracker.example.net")
    box = sandgate.box("--only", "www.example.com,cdn.example.com")
    got = box.run("chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
                  "--ignore-certificate-errors --user-data-dir=$HOME/profile "
                  "--dump-dom https://www.example.com/ 2>/dev/null", timeout=90)
    assert "scripted" in got.out, got
    assert tracker.connections == []


def test_parallel_downloads(world, sandgate):
    world.site("api.example.com", handler=lambda r: "x" * 100000)
    box = sandgate.box("--only", "api.example.com")
    got = box.run("curl -sS -Z --parallel-max 50 'https://api.example.com/[1-200]' -o 'f#1' "
                  "&& cat f* | wc -c")
    assert got.out.strip() == str(200 * 100000), got


def test_programs_with_their_own_resolver(world, sandgate, needs):
    """dig, host, ping: what asks DNS by itself gets the same answers."""
    needs("dig", "ping")
    address = world.address()
    world.name("any.example.com", address)
    box = sandgate.box("--only", "any.example.com:*")
    assert box.run("dig +short any.example.com").out == f"{address}\n"
    assert address in box.run("host any.example.com").out
    assert box.run("ping -c1 -W2 any.example.com").ok


def test_tools_of_a_shell_session(sandgate):
    """ps, top, df and the like do not stumble."""
    box = sandgate.box("--net", "deny")
    for command in ("ps aux", "df -h /", "free", "uptime", "id", "hostname", "uname -a", "date",
                    "ip addr", "ip route", "ss -tln", "cat /proc/net/route", "locale",
                    "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'"):
        got = box.run(command)
        assert got.ok, (command, got)
