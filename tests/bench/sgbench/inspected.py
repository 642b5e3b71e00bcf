# SPDX-License-Identifier: Apache-2.0
"""HTTP whose requests are seen: TLS ended and begun anew, beside mitmproxy and squid's ssl-bump.

nginx is the far side and h2load the client, on one CPU; what is between them has the other. The
peers take the connections as the broker does: the client knows of no proxy. A second of CPU is
counted of all processes of sandgate's outside of the sandbox, and of a peer with its helpers.
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

from . import world
from .bench import LIMITS, policy
from .paths import Failed, Namespace, Proxy, Sandgate, popen, wait_listening

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from internet.pki import Authority  # noqa: E402

NAME, PORT = world.SERVER_NAME, 443
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
BODY = 4 << 20
SECONDS, TRIPS = 2, 2000
CLIENT_PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "load/h2load.py"
GOALS = {"mitmproxy": (">=", 3), "squid ssl-bump": (">=", 1.5)}

SINK_FOLDER = "/dev/shm"  # memory, of the bench's own

NGINX = """
daemon off; worker_processes 1; error_log stderr crit; pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 1000000000; client_max_body_size 0; sendfile on;
    client_body_temp_path {sink}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen {server}:443 ssl http2 backlog=1024;
        ssl_certificate {folder}/server.crt; ssl_certificate_key {folder}/server.key;
        http2_max_concurrent_streams 256;
        location = /small {{ default_type application/json; return 200 '{{"text": "{small}"}}'; }}
        location = /sink {{ root {sink}; dav_methods PUT; }}
        location / {{ root {folder}/www; }}
    }}
}}
"""


# ---- The far side ----

def with_children(pid):
    found = [pid]
    for one in found:
        found += world.children_of(one)
    return found


class Nginx:
    """With a certificate of an authority that the host trusts for as long."""

    def __init__(self, made):
        self.world = made
        self.folder = made.folder / "nginx"

    def missing(self):
        return None if shutil.which("nginx") else "nginx-light"

    def write_files(self):
        authority = Authority()
        certificate, key = authority.issue([NAME])
        (self.folder / "www").mkdir(parents=True)
        # Its worker is an ordinary user.
        self.world.folder.chmod(0o755)
        for name, text in (("server.crt", certificate), ("server.key", key),
                           ("authority.pem", authority.pem),
                           ("nginx.conf", NGINX.format(folder=self.folder, server=world.SERVER,
                                                       small="x" * 100, sink=SINK_FOLDER))):
            (self.folder / name).write_text(text)
        (self.folder / "www/big").write_bytes(os.urandom(BODY))

    def pin(self, cpu):
        for pid in with_children(self.process.pid):
            os.sched_setaffinity(pid, {cpu})

    @contextlib.contextmanager
    def running(self):
        self.write_files()
        bundle = self.folder / "bundle.pem"
        bundle.write_text(pathlib.Path(BUNDLE).read_text() + (self.folder / "authority.pem").read_text())
        world.run("mount", "--bind", bundle, BUNDLE)
        self.process = subprocess.Popen(world.in_namespace(
            world.INTERNET, "nginx", "-p", self.folder, "-c", self.folder / "nginx.conf"))
        try:
            wait_listening(self.process, world.INTERNET, PORT, "nginx")
            yield self
        finally:
            self.process.terminate()
            self.process.wait()
            world.run("umount", BUNDLE)


# ---- The ways there ----

class Way:
    """Measures with h2load. A mixin of a Path."""

    def spawn(self, _, cpu, *options):
        folder = self.world.folder / "client"
        folder.mkdir(exist_ok=True)
        (folder / "body").write_bytes(bytes(BODY))
        return popen(self.command("python3", "-c", CLIENT_PROGRAM.read_text(), cpu, *options,
                                  *self.where()), cwd=folder)

    def where(self):
        """How the client finds the server."""
        return [f"--connect-to={world.SERVER}:{PORT}"]

    def between(self, client):
        """The processes whose time counts."""
        return []

    def load(self, client_cpu, between_cpu, *options):
        with self.start("h2load", client_cpu, *options) as client:
            pids = self.between(client)
            for pid in pids:
                os.sched_setaffinity(pid, {between_cpu})
            before = sum(map(world.cpu_seconds, pids))
            client.begin()
            result = client.result()
            result["cpu_s"] = sum(map(world.cpu_seconds, pids)) - before
        if result["failed"] or not result["count"]:
            raise Failed(f"{self.name}: {result['failed']} of {result['count']} requests failed")
        return result


class Direct(Way, Namespace):
    """The kernel's NAT between client and server: what is added is added to this."""


class Inspecting(Way, Sandgate):
    def where(self):
        return []

    def between(self, client):
        supervisor = client.process.pid
        return [supervisor, *world.children_of(supervisor)]


class Redirected(Way, Proxy):
    """A proxy that is given the connections of the client's namespace."""

    only_http1 = False
    REDIRECT = ("table ip sgbench_redirect {{ chain in {{ type nat hook prerouting priority dstnat; "
                'iifname "lan" tcp dport {of} redirect to :{to}; }}; }}')

    @contextlib.contextmanager
    def redirected(self):
        route = ("ip", "-n", world.CLIENT, "route")
        world.run(*world.in_namespace(world.HOST, "nft",
                                      self.REDIRECT.format(of=PORT, to=self.port)))
        world.run(*route, "add", world.SERVER, "via", world.PROXY_HOST)
        try:
            yield
        finally:
            world.run(*route, "delete", world.SERVER)
            world.run(*world.in_namespace(world.HOST, "nft", "delete table ip sgbench_redirect"))

    def load(self, *arguments):
        with self.redirected():
            return super().load(*arguments)

    def between(self, client):
        return with_children(self.process.pid)


class Mitmproxy(Redirected):
    name, package, binary, port = "mitmproxy", "mitmproxy", "mitmdump", 8080

    def proxy_command(self, config):
        folder = self.world.folder
        options = (f"confdir={folder}/mitmproxy", "stream_large_bodies=64k",
                   f"ssl_verify_upstream_trusted_ca={folder}/nginx/authority.pem")
        return ["mitmdump", "--quiet", "--mode", "transparent", "--listen-host", world.PROXY_HOST,
                "--listen-port", self.port, *(f"--set={option}" for option in options)]


class SquidBump(Redirected):
    """Debian's squid-openssl. It speaks no HTTP/2."""

    name, package, binary, port = "squid ssl-bump", "squid-openssl", "squid", 3129
    only_http1 = True
    certificates = "/usr/lib/squid/security_file_certgen"
    config = ("http_port {host}:3128\n"
              "https_port {host}:{port} intercept ssl-bump generate-host-certificates=on "
              "tls-cert={folder}/squid.crt tls-key={folder}/squid.key\n"
              "sslcrtd_program " + certificates + " -s {folder}/squid-certificates -M 4MB\n"
              "acl hello at_step SslBump1\nssl_bump peek hello\nssl_bump bump all\n"
              "tls_outgoing_options cafile={folder}/nginx/authority.pem\n"
              "http_access allow all\ncache deny all\naccess_log none\ncache_log /dev/null\n"
              "cache_store_log none\npid_filename none\ncoredump_dir /tmp\n"
              "shutdown_lifetime 0 seconds\nmax_filedescriptors 4096\n")

    def missing(self):
        return None if os.path.exists(self.certificates) else self.package

    def proxy_command(self, config):
        folder = self.world.folder
        world.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                  "-nodes", "-days", "2", "-subj", "/CN=bench", "-keyout", folder / "squid.key",
                  "-out", folder / "squid.crt", stderr=subprocess.DEVNULL)
        shutil.rmtree(folder / "squid-certificates", ignore_errors=True)
        world.run(self.certificates, "-c", "-s", folder / "squid-certificates", "-M", "4MB",
                  stdout=subprocess.DEVNULL)
        world.run("chown", "-R", "proxy:", folder / "squid-certificates")  # squid's own user
        return ["squid", "-N", "-f", config]


# ---- The lines ----

SMALL, BIG, SINK = (f"https://{NAME}/{what}" for what in ("small", "big", "sink"))
HTTP1, HTTP2 = ("--h1",), ("--npn-list=h2",)
SIXTEEN = {HTTP1: ("--clients=16",), HTTP2: ("--clients=2", "--max-concurrent-streams=16")}
FOUR, ONE = ("--clients=4",), ("--clients=1",)
UPLOAD = ("--data=body", "--header=:method: PUT")


def rates(sample):
    """By the clock, on one CPU, and by the time that it took of the CPU."""
    mb = sample["count"] * BODY / 1e6
    sample.update(rate=sample["count"] / sample["seconds"], mb_s=mb / sample["seconds"],
                  cpu_rate=sample["count"] / sample["cpu_s"], cpu_mb_s=mb / sample["cpu_s"])
    return sample


class Measurement:
    """Of one protocol. `ways`: (Way, the protocol that it is used with), ours first."""

    def __init__(self, bench, nginx, words, ways):
        self.bench, self.nginx, self.words, self.ways = bench, nginx, words, ways

    def repeat(self, what, measure):
        return self.bench.repeat(f"{self.words} {what}", {
            way.name: lambda way=way, protocol=protocol: measure(way, protocol)
            for way, protocol in self.ways})

    def throughput(self, what, unit, field, options):
        """`options` of a protocol."""
        cpus = sorted(os.sched_getaffinity(0))
        self.nginx.pin(cpus[-1])
        results = self.repeat(what, lambda way, protocol: rates(way.load(
            cpus[-1], cpus[0], f"--duration={SECONDS}", *protocol, *options(protocol))))
        for key, how in ((f"cpu_{field}", "for a second of CPU"), (field, "a second, on one CPU")):
            self.bench.rows("inspected", f"{self.words}, {what}, {how}", unit, results, key, GOALS)

    def latency(self):
        """One request after the other, all of it on one CPU. The kernel's NAT opens no TLS."""
        cpu = min(os.sched_getaffinity(0))
        self.nginx.pin(cpu)
        results = self.repeat("round trip", lambda way, protocol: way.load(
            cpu, cpu, f"--requests={TRIPS}", *ONE, *protocol, SMALL))
        self.bench.rows("inspected", f"{self.words}, p50 of a request, on one CPU", "us", results,
                        "p50_us", {"kernel NAT": ("<=", 150)}, judged="difference")


def inspected(bench):
    """HTTP/1.1 beside both peers; HTTP/2 beside mitmproxy, and beside squid's HTTP/1.1."""
    made = bench.world
    nginx = bench.if_installed(Nginx(made))
    if not nginx:
        return
    ours = Inspecting(made, policy(NAME, inspect=[NAME], limits=LIMITS))
    direct = Direct(made, "kernel NAT", world.CLIENT)
    with contextlib.ExitStack() as stack:
        stack.enter_context(nginx.running())
        peers = [stack.enter_context(peer.running())
                 for peer in map(bench.if_installed, (Mitmproxy(made), SquidBump(made))) if peer]
        for words, protocol in (("HTTP/1.1", HTTP1), ("HTTP/2", HTTP2)):
            ways = [(ours, protocol),
                    *((peer, HTTP1 if peer.only_http1 else protocol) for peer in peers)]
            one = Measurement(bench, nginx, words, ways)
            one.throughput("small requests", "/s", "rate", lambda p: (*SIXTEEN[p], SMALL))
            one.throughput("4 MiB down", "MB/s", "mb_s", lambda p: (*FOUR, BIG))
            one.throughput("4 MiB up", "MB/s", "mb_s", lambda p: (*FOUR, *UPLOAD, SINK))
            Measurement(bench, nginx, words, [*ways, (direct, protocol)]).latency()
