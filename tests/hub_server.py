"""A stand-in for the Hugging Face hub: enough of its API to push and fetch models, on this machine.

Repositories are dictionaries from commit to files. ``HubServer.broken`` makes every answer a 500.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: May write; anybody else may only read what is not private.
TOKEN = "hf_may_write"


class Repository:
    """Commits in order, each with all files."""

    def __init__(self, private: bool = False, files: dict[str, bytes] | None = None) -> None:
        self.private = private
        self.commits: dict[str, dict[str, bytes]] = {}
        self.commit({".gitattributes": b"", **(files or {})})

    def commit(self, files: dict[str, bytes]) -> str:
        name = hashlib.sha1(f"{len(self.commits)}".encode()).hexdigest()
        self.commits[name] = {**self.files, **files} if self.commits else dict(files)
        return name

    @property
    def head(self) -> str:
        return list(self.commits)[-1]

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[self.head]

    def find(self, revision: str) -> str | None:
        return self.head if revision in ("main", "HEAD") else revision


class HubServer:
    """The server; use it as a context."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.blobs: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.broken = False
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *given: Any) -> None:
                return

            def answer(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size)
                hub.requests.append((self.command, self.path))
                status, headers, content = hub.answer(
                    self.command,
                    self.path.split("?")[0],
                    body,
                    (self.headers.get("Authorization") or "").removeprefix("Bearer ") == TOKEN,
                )
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_POST = do_PUT = answer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self) -> HubServer:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(
        self, verb: str, path: str, body: bytes, may_write: bool
    ) -> tuple[int, dict[str, str], bytes]:
        if self.broken:
            return 500, {}, b"{}"
        if path == "/api/validate-yaml":
            return 200, {}, b'{"errors": [], "warnings": []}'
        if path == "/api/repos/create":
            return self._create(json.loads(body), may_write)
        if path.startswith("/lfs/"):
            self.blobs[path.removeprefix("/lfs/")] = body
            return 200, {}, b""
        if found := re.fullmatch(r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch", path):
            return self._batch(json.loads(body))
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/(preupload|commit)/(.+)", path):
            return self._write(found[1], found[2], body, may_write)
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            return self._info(found[1], found[2] or "main", may_write)
        if found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self._file(found[1], found[2], found[3], may_write)
        return 404, {}, b"{}"

    def _create(self, wanted: dict[str, Any], may: bool) -> tuple[int, dict[str, str], bytes]:
        if not may:
            return 401, {}, b'{"error": "Invalid credentials"}'
        name = f"{wanted['organization']}/{wanted['name']}"
        if wanted["organization"] != "me":
            return 403, {}, b'{"error": "You do not have the rights"}'
        page = json.dumps({"url": f"{self.url}/{name}"}).encode()
        if name in self.repositories:
            return 409, {}, page
        private = wanted.get("visibility") == "private" or bool(wanted.get("private"))
        self.repositories[name] = Repository(private)
        return 200, {}, page

    def _batch(self, wanted: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        objects = [
            one | {"actions": {"upload": {"href": f"{self.url}/lfs/{one['oid']}"}}}
            for one in wanted["objects"]
        ]
        return 200, {}, json.dumps({"transfer": "basic", "objects": objects}).encode()

    def _write(
        self, name: str, what: str, body: bytes, may: bool
    ) -> tuple[int, dict[str, str], bytes]:
        if not may:
            return 403, {}, b'{"error": "You do not have the rights"}'
        if what == "preupload":
            files = [
                {
                    "path": one["path"],
                    "uploadMode": "lfs" if one["path"].endswith(".safetensors") else "regular",
                    "shouldIgnore": False,
                }
                for one in json.loads(body)["files"]
            ]
            return 200, {}, json.dumps({"files": files}).encode()
        new: dict[str, bytes] = {}
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                new[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                new[value["path"]] = self.blobs[value["oid"]]
        commit = self.repositories[name].commit(new)
        said = {"commitUrl": f"{self.url}/{name}/commit/{commit}", "commitOid": commit}
        return 200, {}, json.dumps(said).encode()

    def _seen(self, name: str, revision: str, may: bool) -> str | dict[str, str]:
        """The commit that is meant, or headers of the error."""
        known = self.repositories.get(name)
        if known is None or (known.private and not may):
            return {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
        commit = known.find(revision)
        if commit not in known.commits:
            return {"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"}
        return commit

    def _info(self, name: str, revision: str, may: bool) -> tuple[int, dict[str, str], bytes]:
        found = self._seen(name, revision, may)
        if isinstance(found, dict):
            return 404 if may else 401, found, b"{}"
        siblings = [{"rfilename": file} for file in self.repositories[name].commits[found]]
        about = {"id": name, "modelId": name, "sha": found, "siblings": siblings, "tags": []}
        about["private"] = self.repositories[name].private
        return 200, {}, json.dumps(about).encode()

    def _file(
        self, name: str, revision: str, file: str, may: bool
    ) -> tuple[int, dict[str, str], bytes]:
        found = self._seen(name, revision, may)
        if isinstance(found, dict):
            return 404 if may else 401, found, b"{}"
        content = self.repositories[name].commits[found].get(file)
        if content is None:
            headers = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": found}
            return 404, headers, b"Entry not found"
        digest = hashlib.sha256(content).hexdigest()
        return 200, {"ETag": f'"{digest}"', "X-Repo-Commit": found}, content
