# SPDX-License-Identifier: Apache-2.0
"""What goes through a connection that the broker opens, with real clients in a running sandbox."""

import asyncio
import os
import threading

from internet.services import Service, new_folder
from internet.web import Response
from program import descendants, read_proc

NAME = "api.example.com"
POLICY = f"network: deny\nallow: [{NAME}]\ninspect: [{NAME}]\n"
MIB = 1 << 20
FULL = bool(os.environ.get("SANDGATE_FULL"))
MANY = 10000 if FULL else 3000
QUIET = 31 * 60 if FULL else 1.5
ENDING = 1000 if FULL else 150
PAUSE = 11 * 60 if FULL else 1.5
LARGE = (1024 if FULL else 128) * MIB


def box_of(sandgate):
    return sandgate.box("--policy", "policy.yaml", files={"policy.yaml": POLICY})


def rss_of_broker(box):
    pid = next(p for p in descendants(box.process.pid) if read_proc(p, "comm").strip() == "sandgate-broker")
    return next(int(line.split()[1]) * 1024 for line in read_proc(pid, "status").splitlines()
                if line.startswith("VmRSS:"))


def serve(world, argv, *more_names):
    """A program at NAME:443; it gets a folder with `crt` and `key`, and its address."""
    folder, address = new_folder(world), world.address()
    for name, text in zip(("crt", "key"), world.authority.issue([NAME, *more_names])):
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(text)
    for name in (NAME, *more_names):
        world.name(name, address)
    return Service(world, [*argv, folder, address], address, 443)


# --- HTTP/1.1 ---

def test_the_first_event_comes_before_the_second_is_made(world, sandgate):
    seen = asyncio.Event()

    async def events():
        yield b"data: first\n\n"
        await asyncio.wait_for(seen.wait(), 20)
        yield b"data: second\n\n"

    def handler(rq):
        if rq.target == "/seen":
            seen.set()
            return Response("ok")
        return Response(events(), headers=[("Content-Type", "text/event-stream")])

    world.site(NAME, handler=handler)
    box = box_of(sandgate)
    got = box.python("""
import urllib.request
events = urllib.request.urlopen('https://api.example.com/events')
first = events.readline()
urllib.request.urlopen('https://api.example.com/seen').read()
report(first=first, rest=events.read())
""")
    assert got.json == {"first": "data: first\n", "rest": "\ndata: second\n\n"}, got


WEBSOCKET_SERVER = """
import asyncio, ssl, sys, websockets
async def echo(socket):
    async for message in socket:
        await socket.send(message)
async def main(folder, address):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + '/crt', folder + '/key')
    async with websockets.serve(echo, address, 443, ssl=context, max_size=None):
        await asyncio.Future()
asyncio.run(main(*sys.argv[1:]))
"""


def test_websocket_in_http1(world, sandgate):
    serve(world, ["/usr/bin/python3", "-c", WEBSOCKET_SERVER])
    box = box_of(sandgate)
    got = box.python("""
import asyncio, hashlib, websockets
async def main():
    async with websockets.connect('wss://api.example.com/chat', max_size=None) as s:
        await s.send('hello')
        text = await s.recv()
        large = os.urandom(3 << 20)
        await s.send(large)
        same = await s.recv() == large
        pong = await s.ping()
        await asyncio.wait_for(pong, 20)
    report(text=text, same=same, code=s.close_code)
asyncio.run(main())
""")
    assert got.json == {"text": "hello", "same": True, "code": 1000}, got


async def octets_of_body(rq):
    """Of a body in chunks, which is not kept."""
    reader, total = rq.connection.reader, 0
    while rq.method == "PUT" and (size := int(await reader.readline(), 16)):
        await reader.readexactly(size + 2)
        total += size
    if rq.method == "PUT":
        await reader.readline()
    return total


def test_a_large_body_each_way_in_constant_memory(world, sandgate):
    async def large():
        block = bytes(256 * 1024)
        for _ in range(LARGE // len(block)):
            yield block

    async def answer(rq):
        return Response(large() if rq.method == "GET" else str(await octets_of_body(rq)))

    world.site(NAME, handler=answer, streams_body=True)
    box = box_of(sandgate)
    assert box.curl(f"https://{NAME}/", "-o", "/dev/null", "-r", "0-0", "-X", "HEAD", "-I").ok
    before, most = rss_of_broker(box), [0]
    pending = box.start(f"curl -sS -o /dev/null -w '%{{size_download}}' https://{NAME}/large")
    done = threading.Event()

    def watch():
        while not done.wait(0.05):
            most[0] = max(most[0], rss_of_broker(box))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert pending.wait(300).out == str(LARGE)
        up = box.run(f"head -c {LARGE} /dev/zero | curl -sS -T - https://{NAME}/up", timeout=300)
        assert up.out == str(LARGE), up
    finally:
        done.set()
        watcher.join()
    if not os.environ.get("SANDGATE_SANITIZED", "0") == "1":
        assert most[0] - before < MIB, f"grew by {(most[0] - before) // 1024} KiB"


def test_many_requests_on_one_connection(world, sandgate):
    connections, address = [], world.address()

    async def answer(reader, writer):
        """Each in one segment: Nagle's algorithm would measure the machine's timers."""
        connections.append(0)
        while await reader.readuntil(b"\r\n\r\n"):
            connections[-1] += 1
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    world.tcp(address, 443, answer, ssl=world.tls_context(NAME))
    world.name(NAME, address)
    box = box_of(sandgate)
    got = box.python("""
import http.client
c = http.client.HTTPSConnection('api.example.com')
seen = 0
for i in range(int(sys.argv[1])):
    c.request('GET', f'/{i}')
    seen += c.getresponse().read() == b'ok'
report(seen=seen)
""", MANY, timeout=300)
    assert got.json == {"seen": MANY} and connections == [MANY]
    assert box.egress()["requests"]["inspected"] == MANY


def test_a_connection_that_is_quiet_for_long(world, sandgate):
    """Seconds here; half an hour when all is asked for."""
    site = world.site(NAME, handler=lambda rq: Response("ok"))
    box = box_of(sandgate)
    got = box.python("""
import http.client
c = http.client.HTTPSConnection('api.example.com')
for seconds in (float(sys.argv[1]), 0):
    c.request('GET', '/')
    c.getresponse().read()
    time.sleep(seconds)
report(done=True)
""", QUIET, timeout=QUIET + 60)
    assert got.json == {"done": True} and len({id(r.connection) for r in site.requests}) == 1


def test_an_answer_that_pauses_for_long(world, sandgate):
    """A model that thinks: a head, then nothing for a while."""
    async def parts():
        yield b"data: first\n\n"
        await asyncio.sleep(PAUSE)
        yield b"data: second\n\n"

    world.site(NAME, handler=lambda rq: Response(parts(), headers=[("Content-Type", "text/event-stream")]))
    box = box_of(sandgate)
    got = box.run(["curl", "-sSN", f"https://{NAME}/"], timeout=PAUSE + 60)
    assert got.out == "data: first\n\ndata: second\n\n", got


def test_heads_go_on_as_they_were_sent(world, sandgate):
    """Of a path each octet, as npm's scopes need; of an answer all but what leads around the broker."""
    http3 = [("Alt-Svc", 'h3=":443"; ma=86400'), ("X-Own", "stays")]
    site = world.site(NAME, handler=lambda rq: Response("ok", headers=http3))
    box = box_of(sandgate)
    targets = ["/@scope%2fname", "/a;b/%7E/c%20d//e?x=%2F&y=a+b", "/caf%C3%A9/%2e"]
    for target in targets:
        got = box.curl(f"https://{NAME}{target}", "--path-as-is", "-i")
        assert "alt-svc" not in got.out.lower() and "x-own: stays" in got.out.lower(), got
    assert [r.target for r in site.requests] == targets


def test_answers_that_end_with_their_connection_are_whole(world, sandgate):
    """demands.md, 36. Each of another length, up to a few TLS records."""
    def answer(rq):
        n = int(rq.target[1:])
        return Response(bytes(i % 251 for i in range(n * 37 % 40000)), length=False)

    world.site(NAME, handler=answer)
    box = box_of(sandgate)
    got = box.python("""
import http.client, ssl
context, whole = ssl.create_default_context(), 0
for n in range(int(sys.argv[1])):
    c = http.client.HTTPSConnection('api.example.com', context=context)
    c.request('GET', f'/{n}')
    whole += c.getresponse().read() == bytes(i % 251 for i in range(n * 37 % 40000))
report(whole=whole)
""", ENDING, timeout=300)
    assert got.ok and got.json == {"whole": ENDING}, got


def test_a_client_that_has_said_all_gets_the_whole_answer(world, sandgate):
    """It ends its side, of TLS and of TCP, before a long answer comes."""
    world.site(NAME, handler=lambda rq: Response(bytes(10 * MIB)))
    box = box_of(sandgate)
    got = box.python("""
import ssl
there, here = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = ssl.create_default_context().wrap_bio(there, here, server_hostname=sys.argv[1])
s = socket.create_connection((sys.argv[1], 443))
def step(work):
    while True:
        try:
            return work()
        except ssl.SSLWantReadError:
            s.sendall(here.read())
            there.write(s.recv(65536))
step(tls.do_handshake)
tls.write(b'GET / HTTP/1.1\\r\\nHost: ' + sys.argv[1].encode() + b'\\r\\n\\r\\n')
try: tls.unwrap()
except ssl.SSLWantReadError: pass
s.sendall(here.read())
s.shutdown(socket.SHUT_WR)
got = 0
while part := s.recv(65536): got += len(part)
report(got=got)
""", NAME)
    assert got.json["got"] > 10 * MIB, got


def test_chunks_of_a_method_without_a_body_go_up_whole(world, sandgate):
    """A proxy once took them for the next request (demands.md, smuggling)."""
    site = world.site(NAME, handler=lambda rq: Response("ok"))
    box = box_of(sandgate)
    body = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
    for method in "DELETE", "OPTIONS", "GET":
        got = box.run(["curl", "-sS", "-X", method, "-H", "Transfer-Encoding: chunked", "-d", body,
                       f"https://{NAME}/{method}", f"https://{NAME}/{method}/2"])
        assert got.out == "okok", got
    assert [(r.method, r.body.decode()) for r in site.requests] == [
        (m, body) for m in ("DELETE", "OPTIONS", "GET") for _ in range(2)]


def test_another_host_later_on_a_connection(world, sandgate):
    """Each request of a kept connection is judged, also one that came in the same segment."""
    other = "other.example.com"
    site = world.site(NAME, other, handler=lambda rq: Response("ok"))
    box = sandgate.box("--policy", "policy.yaml", files={
        "policy.yaml": f"network: deny\nallow: [{NAME}, {other}]\ninspect: all\n"})
    got = box.python("""
import ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection((sys.argv[1], 443)), server_hostname=sys.argv[1])
ask = 'GET /%d HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n'
s.sendall(''.join(ask % (i, host) for i, host in enumerate([sys.argv[1], sys.argv[2], sys.argv[1]])).encode())
got = b''
while got.count(b'HTTP/1.1 ') < 3: got += s.recv(65536)
report(got=got.decode())
""", NAME, other).json["got"]
    assert [part[:3] for part in got.split("HTTP/1.1 ")[1:]] == ["200", "403", "200"], got
    assert got.count("sandgate-reason: sni-mismatch") == 1
    assert [r.target for r in site.requests] == ["/0", "/2"]


def test_sessions_are_resumed_on_both_sides(world, sandgate):
    """With the client, and with the server; and one certificate is made for a name, and kept."""
    resumed = []

    def answer(rq):
        resumed.append(rq.connection.writer.get_extra_info("ssl_object").session_reused)
        return Response("ok")
    world.site(NAME, handler=answer)
    box = box_of(sandgate)
    got = box.python("""
import ssl
context, session = ssl.create_default_context(), None
for _ in range(3):
    s = context.wrap_socket(socket.create_connection((sys.argv[1], 443)), server_hostname=sys.argv[1], session=session)
    s.sendall(b'GET / HTTP/1.1\\r\\nHost: ' + sys.argv[1].encode() + b'\\r\\nConnection: close\\r\\n\\r\\n')
    while s.recv(65536): pass
    report(resumed=s.session_reused, certificate=s.getpeercert()['serialNumber'])
    session = s.session
    s.close()
""", NAME)
    assert [line["resumed"] for line in got.lines] == [False, True, True] == resumed, (got, resumed)
    assert len({line["certificate"] for line in got.lines}) == 1


# --- HTTP/2 ---

HTTP2_SERVER = """
const http2 = require('http2'), fs = require('fs'), {Readable} = require('stream');
const [folder, address] = process.argv.slice(1);
const server = http2.createSecureServer({key: fs.readFileSync(folder + '/key'),
  cert: fs.readFileSync(folder + '/crt'), settings: {enableConnectProtocol: true}});
function* large(n) { const block = Buffer.alloc(65536); for (let i = 0; i < n / block.length; i++) yield block; }
server.on('stream', (stream, headers) => {
  stream.on('error', () => {});
  if (headers[':method'] === 'CONNECT') {
    stream.respond({':status': headers[':protocol'] === 'websocket' ? 200 : 400});
    stream.pipe(stream);
  } else if (headers[':method'] === 'GET') {
    stream.respond({':status': 200, 'x-asked': headers[':authority'] + ' ' + stream.session.socket.servername});
    Readable.from(large(Number(headers[':path'].slice(1)))).pipe(stream);
  } else {
    let n = 0;
    stream.on('data', (d) => { n += d.length; });
    stream.on('end', () => { stream.respond({':status': 200}); stream.end(String(n)); });
  }
});
server.listen(443, address);
"""

HTTP2_WEBSOCKET = """
const http2 = require('http2');
const session = http2.connect('https://api.example.com');
session.on('remoteSettings', (settings) => {
  if (!settings.enableConnectProtocol) { console.log('no connect protocol'); process.exit(1); }
  const stream = session.request({':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'https',
    ':path': '/chat', ':authority': 'api.example.com', 'sec-websocket-version': '13'});
  let seen = '';
  stream.on('response', (headers) => { seen += headers[':status'] + ' '; stream.write('hello'); });
  stream.on('data', (d) => { seen += d; if (seen.endsWith('hello')) stream.end(' bye'); });
  stream.on('end', () => { console.log(seen); session.close(); });
});
"""


def test_websocket_in_http2(world, sandgate):
    serve(world, ["node", "-e", HTTP2_SERVER])
    box = box_of(sandgate)
    got = box.run(["node", "-e", HTTP2_WEBSOCKET])
    assert got.out == "200 hello bye\n", got


def test_a_hundred_megabytes_over_http2(world, sandgate):
    serve(world, ["node", "-e", HTTP2_SERVER])
    box = box_of(sandgate)
    n = 100 * MIB
    got = box.run(f"curl -sS --http2 -o /dev/null -w '%{{http_version}} %{{size_download}}' https://{NAME}/{n}",
                  timeout=120)
    assert got.out == f"2 {n}", got
    got = box.run(f"head -c {n} /dev/zero | curl -sS --http2 -T - https://{NAME}/up", timeout=120)
    assert got.out == str(n), got


ONLY_HTTP2 = """
const session = require('http2').connect('https://api.example.com');
let left = 40;
for (let i = 0; i < 40; i++) {
  const stream = session.request({':method': i % 2 ? 'POST' : 'GET', ':path': '/' + i});
  let status, got = '';
  stream.on('response', (headers) => { status = headers[':status']; });
  stream.on('data', (d) => { got += d; });
  stream.on('end', () => {
    console.log(i, status, got);
    if (--left === 0) session.close();
  });
  stream.end(i % 2 ? 'x'.repeat(i * 1000) : undefined);
}
"""


def test_a_client_of_http2_alone_and_a_server_of_http1(world, sandgate):
    site = world.site(NAME, handler=lambda rq: f"{rq.method} {len(rq.body)}")
    box = box_of(sandgate)
    got = box.run(["node", "-e", ONLY_HTTP2])
    assert sorted(got.out.splitlines(), key=lambda line: int(line.split()[0])) == [
        f"{i} 200 " + (f"POST {i * 1000}" if i % 2 else "GET 0") for i in range(40)], got
    assert len(site.requests) == 40 and 1 <= len(site.connections) <= 4
    assert {r.header("host") for r in site.requests} == {f"{NAME}:443"}  # as node says it


GRPC_SERVER = """
import sys, time
from concurrent import futures
import grpc
raw = lambda octets: octets
def one(request, context):
    if request == b'fail':
        context.abort(grpc.StatusCode.NOT_FOUND, 'there is none')
    context.set_trailing_metadata((('x-sum', '1'),))
    return request and b'one ' + request
def many(request, context):
    for i in range(3):
        yield b'%d ' % i + request
def collect(requests, context):
    return b' '.join(requests)
def both(requests, context):
    for r in requests:
        yield b'echo ' + r
handlers = grpc.method_handlers_generic_handler('test.Test', {
    'One': grpc.unary_unary_rpc_method_handler(one, raw, raw),
    'Many': grpc.unary_stream_rpc_method_handler(many, raw, raw),
    'Collect': grpc.stream_unary_rpc_method_handler(collect, raw, raw),
    'Both': grpc.stream_stream_rpc_method_handler(both, raw, raw)})
folder, address = sys.argv[1:]
server = grpc.server(futures.ThreadPoolExecutor(8), handlers=(handlers,))
key, certificate = (open(f'{folder}/{name}', 'rb').read() for name in ('key', 'crt'))
server.add_secure_port(f'{address}:443', grpc.ssl_server_credentials([(key, certificate)]))
server.start()
server.wait_for_termination()
"""

GRPC_CLIENT = """
import grpc
raw = lambda octets: octets
roots = open(os.environ['SSL_CERT_FILE'], 'rb').read()
channel = grpc.secure_channel('api.example.com:443', grpc.ssl_channel_credentials(roots))
one = channel.unary_unary('/test.Test/One', raw, raw)
answer, call = one.with_call(b'a', timeout=20)
try:
    one(b'fail', timeout=20)
    failed = None
except grpc.RpcError as e:
    failed = [e.code().name, e.details()]
turns = []
def ask():
    yield b'first'
    while len(turns) < 1:
        time.sleep(0.01)
    yield b'second'
for answer_of_both in channel.stream_stream('/test.Test/Both', raw, raw)(ask(), timeout=20):
    turns.append(answer_of_both)
report(one=answer, empty=one(b'', timeout=20), sum=dict(call.trailing_metadata()).get('x-sum'), failed=failed,
       many=list(channel.unary_stream('/test.Test/Many', raw, raw)(b'b', timeout=20)),
       collect=channel.stream_unary('/test.Test/Collect', raw, raw)(iter([b'x', b'y', b'z']), timeout=20),
       both=turns)
"""


def test_grpc_in_all_four_kinds_of_calls(world, sandgate):
    serve(world, ["/usr/bin/python3", "-c", GRPC_SERVER])
    box = box_of(sandgate)
    got = box.python(GRPC_CLIENT)
    assert got.ok and got.json == {
        "one": "one a", "empty": "", "sum": "1", "failed": ["NOT_FOUND", "there is none"], "many": ["0 b", "1 b", "2 b"],
        "collect": "x y z", "both": ["echo first", "echo second"]}, got


GRPC_REFUSED = """
import grpc
raw = lambda octets: octets
roots = open(os.environ['SSL_CERT_FILE'], 'rb').read()
channel = grpc.secure_channel('api.example.com:443', grpc.ssl_channel_credentials(roots))
said = {}
for kind, method in ('unary_unary', 'One'), ('stream_stream', 'Both'):
    call = getattr(channel, kind)('/test.Test/' + method, raw, raw)
    try:
        said[method] = str(call(b'a', timeout=20) if method == 'One' else list(call(iter([b'x']), timeout=20)))
    except grpc.RpcError as e:
        said[method] = [e.code().name, e.details()]
report(**said)
"""


def test_grpc_that_is_refused_says_so_to_its_client(world, sandgate):
    serve(world, ["/usr/bin/python3", "-c", GRPC_SERVER])
    text = f"network: deny\nallow:\n  - {{host: {NAME}, paths: [/test.Test/One]}}\n"
    box = sandgate.box("--policy", "policy.yaml", files={"policy.yaml": text})
    got = box.python(GRPC_REFUSED).json
    assert got["One"] == "b'one a'"
    code, details = got["Both"]
    assert code == "PERMISSION_DENIED", got
    assert details.startswith(f"sandgate: POST {NAME}/test.Test/Both: ") and "path" in details, got


def test_another_name_on_an_http2_connection(world, sandgate):
    """Both are at one address with one certificate, as of a CDN: a client may use a connection again for the other,
    and is told to make one of its own."""
    other = "other.example.com"
    serve(world, ["node", "-e", HTTP2_SERVER], other)
    box = sandgate.box("--policy", "policy.yaml", files={
        "policy.yaml": f"network: deny\nallow: [{NAME}, {other}]\ninspect: all\n"})
    got = box.curl(f"https://{NAME}/0", "-i", "--http2", "-H", f"Host: {other}")
    assert got.out.startswith("HTTP/2 421") and "sandgate-reason: sni-mismatch" in got.out, got
    for name in NAME, other:
        assert f"x-asked: {name} {name}\n" in box.curl(f"https://{name}/0", "-i").out.replace("\r", "")
