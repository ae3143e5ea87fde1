"""A Hugging Face Hub on loopback: refs, trees, files, and whatever can go wrong with them.

Two servers: the Hub itself, and a host for the bytes of large files, to which the Hub redirects. `hub.requests` lists
what was asked; `hub.plan(where, fault, …)` decides what the next requests at "api", "resolve" or "bytes" meet.
"""

import dataclasses
import hashlib
import json
import socket
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

LARGE = (".safetensors", ".bin", ".parquet")  # kept outside of git, known by their SHA-256


def git_hash(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclasses.dataclass
class Fault:
    """A fault that a request meets instead of its answer, or in addition to it."""

    status: int = 0  # answer with this
    headers: dict = dataclasses.field(default_factory=dict)  # added to the answer
    stop_after: int = -1  # bytes of the body, then the connection closes
    stall_after: int = -1  # bytes of the body, then nothing more
    rate: int = 0  # bytes per second
    ignore_range: bool = False
    body: bytes | None = None  # instead of the file's


@dataclasses.dataclass
class Request:
    method: str
    where: str  # "api", "resolve" or "bytes"
    path: str
    headers: dict
    status: int = 0


class Repository:
    def __init__(self):
        self.refs = {}  # branch: commit
        self.tags = {}
        self.commits = {}  # commit: {path: bytes}
        self.gated = False
        self.hidden = False  # has an empty list of files

    def commit(self, branch: str, files: dict[str, bytes]) -> str:
        digest = hashlib.sha1(branch.encode())
        for name, data in sorted(files.items()):
            digest.update(name.encode() + hashlib.sha1(data).digest())
        commit = digest.hexdigest()
        self.commits[commit] = dict(files)
        self.refs[branch] = commit
        return commit

    def find(self, revision: str):
        commit = revision if revision in self.commits else {**self.tags, **self.refs}.get(revision)
        return commit, self.commits.get(commit)


class FakeHub:
    def __init__(self):
        self.repositories = {}  # ("models", "org/name"): Repository
        self.requests: list[Request] = []
        self.faults = {"api": [], "resolve": [], "bytes": []}
        self.always = {}  # where: fault of every request
        self.token = None  # required where set
        self.gated_only = False  # and only for gated repositories
        self.page = 1000  # entries of a tree's page
        self.sending, self.most_sent_at_once = 0, 0  # bodies
        self.lock = threading.Lock()
        self.main, self.bytes = self._serve(_Hub), self._serve(_Bytes)
        self.endpoint = f"http://127.0.0.1:{self.main.server_port}"

    def _serve(self, handler):
        server = _Server(("127.0.0.1", 0), handler)
        server.hub = self
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server

    def close(self):
        for server in (self.main, self.bytes):
            server.shutdown()
            server.server_close()

    def encrypt(self, folder) -> Path:
        """From now on accepts only https, as localhost. Returns the certificate, which nobody trusts yet."""
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                        key, "-out", certificate, "-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
                       check=True, capture_output=True)  # fmt: skip
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.main.socket = context.wrap_socket(self.main.socket, server_side=True)
        self.endpoint = f"https://localhost:{self.main.server_port}"
        return certificate

    def repository(self, name, kind="models") -> Repository:
        return self.repositories.setdefault((kind, name), Repository())

    def plan(self, where, *faults):
        self.faults[where] += faults

    def asked(self, where=None, method=None, path="") -> list[Request]:
        return [r for r in self.requests
                if where in (None, r.where) and method in (None, r.method) and path in r.path]  # fmt: skip

    def fault(self, where) -> Fault:
        with self.lock:
            planned = self.faults[where]
            return (planned.pop(0) if planned else None) or self.always.get(where) or Fault()

    def blob(self, sha256: str) -> bytes | None:
        for repository in self.repositories.values():
            for files in repository.commits.values():
                for data in files.values():
                    if hashlib.sha256(data).hexdigest() == sha256:
                        return data
        return None

    def location(self, sha256: str) -> str:
        """Another host than the Hub's (in name and port), with a signed address."""
        return f"http://localhost:{self.bytes.server_port}/{sha256}?Signature=signed-secret"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        """Clients that are killed, or refuse the certificate, are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def note(self, where) -> Fault:
        self.request_ = Request(self.command, where, self.path, {k.lower(): v for k, v in self.headers.items()})
        with self.server.hub.lock:
            self.server.hub.requests.append(self.request_)
        return self.server.hub.fault(where)

    def answer(self, status, body=b"", headers=None, fault=None):
        fault = fault or Fault()
        self.request_.status = status
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **(headers or {}), **fault.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        hub = self.server.hub
        with hub.lock:
            hub.sending += 1
            hub.most_sent_at_once = max(hub.most_sent_at_once, hub.sending)
        try:
            self.write(body, fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with hub.lock:
                hub.sending -= 1

    def write(self, body, fault):
        end = len(body)
        for limit in (fault.stop_after, fault.stall_after):
            if 0 <= limit < end:
                end = limit
        step = max(1, fault.rate // 50) if fault.rate else end or 1
        for start in range(0, end, step):
            self.wfile.write(body[start : min(end, start + step)])
            if fault.rate:
                time.sleep(0.02)
        if end < len(body):
            if fault.stall_after >= 0:
                self.wfile.flush()
                time.sleep(30)
            self.close_connection = True

    def serve(self, data, fault, headers):
        """A file's bytes, from the requested offset."""
        if fault.body is not None:
            data = fault.body
        wanted = self.headers.get("Range")
        if wanted and not fault.ignore_range:
            start, end = wanted.removeprefix("bytes=").split("-")
            start, end = int(start), min(int(end or len(data)), len(data) - 1)
            if start >= len(data):
                return self.answer(416, headers={"Content-Range": f"bytes */{len(data)}"})
            headers = {**headers, "Content-Range": f"bytes {start}-{end}/{len(data)}"}
            return self.answer(206, data[start : end + 1], headers, fault)
        return self.answer(200, data, headers, fault)


class _Bytes(_Handler):
    def do_GET(self):
        fault = self.note("bytes")
        if fault.status:
            return self.answer(fault.status, headers=fault.headers)
        data = self.server.hub.blob(urlsplit(self.path).path[1:])
        if data is None:
            return self.answer(404)
        return self.serve(data, fault, {"ETag": '"of-the-host-of-bytes"'})

    do_HEAD = do_GET


class _Hub(_Handler):
    def do_GET(self):
        hub, url = self.server.hub, urlsplit(self.path)
        parts = [unquote(part) for part in url.path.split("/")[1:]]
        api = parts[0] == "api"
        fault = self.note("api" if api else "resolve")
        if fault.status:
            return self.answer(fault.status, headers=fault.headers)
        kind = parts.pop(0) if parts[0] == "datasets" else "models"
        if api:
            kind, parts = parts[1], parts[2:]
        repository = hub.repositories.get((kind, "/".join(parts[:2])))
        allowed = hub.token is None or self.headers.get("Authorization") == f"Bearer {hub.token}"
        if repository is not None and repository.gated and not allowed:
            return self.fail(401 if "Authorization" not in self.headers else 403, "GatedRepo")
        if repository is None or not (allowed or self.server.hub.gated_only):
            return self.fail(401, "RepoNotFound")
        if parts[2:] == ["refs"]:
            return self.refs(repository, fault)
        commit, files = repository.find(parts[3])
        if files is None:
            return self.fail(404, "RevisionNotFound")
        if parts[2] == "tree":
            return self.tree({} if repository.hidden else files, "/".join(parts[4:]), parse_qs(url.query), fault)
        return self.resolve(commit, files, "/".join(parts[4:]), fault)

    do_HEAD = do_GET

    def fail(self, status, code, **headers):
        self.answer(status, headers={"X-Error-Code": code, "X-Error-Message": "no", **headers})

    def json(self, value, headers=None, fault=None):
        self.answer(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})}, fault)

    def refs(self, repository, fault):
        def listed(refs, folder):
            return [{"name": n, "ref": f"refs/{folder}/{n}", "targetCommit": c} for n, c in refs.items()]

        self.json({"branches": listed(repository.refs, "heads"), "tags": listed(repository.tags, "tags"), "converts": []},
                  fault=fault)  # fmt: skip

    def tree(self, files, folder, query, fault):
        """The files in a folder, and below it where the list is recursive."""
        entries = [{"type": "directory", "path": "folder", "oid": "0" * 40, "size": 0}]
        deep, cursor = query.get("recursive") == ["true"], int(query.get("cursor", ["0"])[0])
        inside = {n: d for n, d in files.items() if n.startswith(f"{folder}/" if folder else "")}
        if folder and not inside:
            return self.fail(404, "EntryNotFound")
        for name, data in sorted(inside.items()):
            if not deep and "/" in name[len(folder) :].lstrip("/"):
                continue
            entry = {"type": "file", "path": name, "size": len(data), "oid": git_hash(data)}
            if name.endswith(LARGE):
                pointer = b"pointer to " + hashlib.sha256(data).hexdigest().encode()
                entry |= {"oid": git_hash(pointer), "lfs": {
                    "oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": len(pointer)}}  # fmt: skip
            entries.append(entry)
        page = self.server.hub.page
        after = cursor + page
        more = f"cursor={after}&recursive=true" if deep else f"cursor={after}"
        link = f'<{self.server.hub.endpoint}{urlsplit(self.path).path}?{more}>; rel="next"'
        self.json(entries[cursor:after], {"Link": link} if after < len(entries) else {}, fault)

    def resolve(self, commit, files, name, fault):
        if name not in files:
            return self.fail(404, "EntryNotFound", **{"X-Repo-Commit": commit})
        data = files[name]
        if not name.endswith(LARGE):
            headers = {"X-Repo-Commit": commit, "ETag": f'"{git_hash(data)}"'}
            if name.startswith("tokenizer") and "cached" not in self.path:  # a redirect within the host
                return self.answer(307, headers={**headers, "Location": f"{urlsplit(self.path).path}?cached"}, fault=fault)
            return self.serve(data, fault, {**headers, **fault.headers})
        digest = hashlib.sha256(data).hexdigest()
        self.answer(302, headers={
            "X-Repo-Commit": commit, "X-Linked-Etag": f'"{digest}"', "X-Linked-Size": len(data),
            "ETag": f'"{digest}"', "Location": self.server.hub.location(digest)}, fault=fault)  # fmt: skip
