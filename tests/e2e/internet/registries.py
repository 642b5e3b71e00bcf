# SPDX-License-Identifier: Apache-2.0
"""Package registries that take packages as well: verdaccio as npm's, and a little one for Python."""

import base64
import hashlib
import http.client
import json
import os
import socket

from . import services, tiny, web

# The catalogue has hosts by their domain; in one piece they are put together here.
NPM = ".".join(("registry", "npmjs", "org"))
PYPI, PYPI_FILES, PYPI_UPLOAD = "pypi.org", "files.pythonhosted.org", "upload.pypi.org"
PACKAGE = "little-package"

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../build-npm/test")
VERDACCIO = os.path.join(PROGRAMS, "node_modules/verdaccio/bin/verdaccio")
_PORT = 4873
_OF_A_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "content-length")
_CONFIG = """
storage: {folder}/storage
auth: {{htpasswd: {{file: {folder}/htpasswd}}}}
uplinks: {{}}
packages: {{'**': {{access: $all, publish: $all, unpublish: $all}}}}
middlewares: {{audit: {{enabled: false}}}}
web: {{enable: false}}
log: {{type: file, path: {folder}/log, level: error}}
listen: 127.0.0.1:{port}
"""


class Verdaccio(services.Service):
    """Anybody may publish there: what keeps a package out is not the registry.

    `site` is its front under the registry's name, and has the requests that came to it.
    """

    def __init__(self, world):
        self._world = world
        folder = services.new_folder(world)
        with open(f"{folder}/config.yaml", "w", encoding="ascii") as f:
            f.write(_CONFIG.format(folder=folder, port=_PORT))
        super().__init__(world, ["/usr/bin/node", VERDACCIO, "--config", f"{folder}/config.yaml"],
                         "127.0.0.1", _PORT, view=None, env={"PATH": os.environ["PATH"], "HOME": folder})
        self.site = world.site(NPM, handler=self._forward)
        self.publish()

    def _ask(self, method, path, body=None, headers=()):
        connection = http.client.HTTPConnection("127.0.0.1")
        connection.sock = self._world.internet.call(
            lambda: socket.create_connection((self.address, self.port), 30))
        connection.request(method, path, body, dict(headers))
        return connection.getresponse()

    def _forward(self, request):
        headers = [h for h in request.headers if h[0].lower() not in _OF_A_CONNECTION]
        answer = self._ask(request.method, request.target, request.body or None,
                           [*headers, ("X-Forwarded-Proto", "https")])
        return web.Response(answer.read(), answer.status,
                            [h for h in answer.getheaders() if h[0].lower() not in _OF_A_CONNECTION])

    def publish(self, name=PACKAGE, version="1.2.3"):
        """As npm does, from outside of every sandbox."""
        tarball = tiny.npm_tarball(name, version, "module.exports = 'installed';\n")
        address = f"https://{NPM}/{name}/-/{name}-{version}.tgz"
        digest = base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        about = {"name": name, "version": version, "_id": f"{name}@{version}",
                 "dist": {"tarball": address, "integrity": f"sha512-{digest}",
                          "shasum": hashlib.sha1(tarball).hexdigest()}}
        document = {"_id": name, "name": name, "dist-tags": {"latest": version},
                    "versions": {version: about},
                    "_attachments": {f"{name}-{version}.tgz": {
                        "content_type": "application/octet-stream", "length": len(tarball),
                        "data": base64.b64encode(tarball).decode()}}}
        answer = self._ask("PUT", f"/{name}", json.dumps(document), [("Content-Type", "application/json")])
        assert answer.status == 201, answer.read()

    def versions(self, name):
        """That the registry has, whatever a client was told."""
        answer = self._ask("GET", f"/{name}")
        return sorted(json.load(answer)["versions"]) if answer.status == 200 else []


class Pypi:
    """An index with one wheel; what is uploaded, wherever, is in `uploads`."""

    WHEEL = tiny.wheel_file(PACKAGE, "1.2.3")

    def __init__(self, world):
        self.uploads = []
        self._wheel = tiny.wheel(PACKAGE, "1.2.3", "WORD = 'installed'\n")
        self.index = world.site(PYPI, handler=self._index)
        self.files = world.site(PYPI_FILES, handler=self._file)
        self.upload = world.site(PYPI_UPLOAD, handler=self._upload)

    def _index(self, request):
        if request.method != "GET":
            return self._upload(request)
        if request.target != f"/simple/{PACKAGE}/":
            return web.Response(b"", 404)
        digest = hashlib.sha256(self._wheel).hexdigest()
        page = f"<a href='https://{PYPI_FILES}/packages/{self.WHEEL}#sha256={digest}'>{self.WHEEL}</a>"
        return web.Response(page, headers=[("Content-Type", "text/html")])

    def _file(self, request):
        found = request.target == f"/packages/{self.WHEEL}"
        return web.Response(self._wheel) if found else web.Response(b"", 404)

    def _upload(self, request):
        self.uploads.append(request)
        return web.Response(b"uploaded\n")
