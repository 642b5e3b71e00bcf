# SPDX-License-Identifier: Apache-2.0
"""GitHub, as far as its clients see it: git's own http-backend, Git LFS, the API with GraphQL."""

import hashlib
import json
import subprocess

from . import services, web

NAME, API = "github.com", "api.github.com"
STORE = "github-cloud.s3.amazonaws.com"  # where its LFS has the files
LARGE = b"a large file " * 1000
_JSON = [("Content-Type", "application/vnd.git-lfs+json")]


def _pointer(content):
    return (f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(content).hexdigest()}\n"
            f"size {len(content)}\n").encode()


class Forge:
    """github.com/project.git with README and, when `lfs`, LARGE in large.bin."""

    def __init__(self, world, files=None, lfs=False):
        self.stored = {hashlib.sha256(LARGE).hexdigest(): LARGE} if lfs else {}
        files = dict(files or {})
        if lfs:
            files[".gitattributes"] = b"*.bin filter=lfs diff=lfs merge=lfs -text\n"
            files["large.bin"] = _pointer(LARGE)
        self.site, self.folder = services.git_site(world, NAME, files, self._lfs)
        self.store = world.site(STORE, handler=self._store)
        self.api = world.site(API, handler=self._api)

    # What the far side has, whatever a client was told.

    def git(self, *argv):
        return subprocess.run(["git", "-c", "safe.directory=*", "--git-dir", f"{self.folder}/project.git",
                               *argv], check=True, capture_output=True, text=True).stdout

    def branches(self):
        return self.git("for-each-ref", "--format=%(refname:short)").split()

    def requests(self, piece):
        """Those that came with this in their target."""
        return [r for r in self.site.requests if piece in r.target]

    # The servers' answers.

    def _lfs(self, request):
        if not request.target.startswith("/project.git/info/lfs/"):
            return None
        if request.target.endswith("/locks/verify"):
            return web.Response(json.dumps({"ours": [], "theirs": []}), headers=_JSON)
        asked = json.loads(request.body)
        objects = [self._object(asked["operation"], o) for o in asked["objects"]]
        return web.Response(json.dumps({"transfer": "basic", "objects": objects}), headers=_JSON)

    def _object(self, operation, asked):
        action = {"href": f"https://{STORE}/{asked['oid']}"}
        return {**asked, "authenticated": True, "actions": {operation: action}}

    def _store(self, request):
        oid = request.target[1:]
        if request.method == "PUT":
            self.stored[oid] = request.body
            return b""
        return web.Response(self.stored[oid]) if oid in self.stored else web.Response(b"", 404)

    def _api(self, request):
        answer = {"data": {"viewer": {"login": "somebody"}}}
        return web.Response(json.dumps(answer), headers=[("Content-Type", "application/json")])
