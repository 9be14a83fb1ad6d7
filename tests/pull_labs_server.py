"""KernelCI's side of the PULL_LABS protocol, on loopback: the events API, the storage of job
definitions and artifacts, and the callback, which wants a token."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "a secret"  # noqa: S105


class Server:
    """``events``: what the API announces; ``files``: what storage has, by path, where an address is
    a redirect; ``answers``: what came to the callback, by node, and ``tokens`` with it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.events: list[dict[str, Any]] = []
        self.files: dict[str, bytes | str] = {}
        self.answers: dict[str, Any] = {}
        self.tokens: list[str | None] = []

    def announce(self, node: str, job: dict[str, Any], **data: str) -> None:
        """Store a job definition, as the pipeline does, and the event of it."""
        self.files[f"/pull_labs_jobs/{node}.json"] = json.dumps(job).encode()
        self.event(node, f"{self.address}/pull_labs_jobs/{node}.json", **data)

    def event(self, node: str, definition: str, **data: str) -> None:
        """An event of a job whose definition is at an address."""
        known = {"id": node, "kind": "job", "group": "pull-labs"}
        known["artifacts"] = {"job_definition": definition}  # type: ignore[assignment]
        time = f"2026-11-26T00:00:{len(self.events) + 1:02}.000000"
        self.events.append({"timestamp": time, "node": known, "data": {"data": data}})

    def job(self, node: str, kernel: bytes = b"", **more: Any) -> dict[str, Any]:
        """A job definition, as ``pull_labs.jinja2`` renders it, whose kernel storage has."""
        self.files[f"/{node}/bzImage"] = kernel
        return {
            "artifacts": {"kernel": f"{self.address}/{node}/bzImage", "modules": "http://x/m.tar"},
            "tests": [
                {"id": "boot-test-1", "type": "boot", "depends": [], "timeout_s": 600},
                {"id": "ltp-smoke", "type": "ltp", "timeout_s": 60, "pre-commands": ["touch /x"]},
            ],
            "environment": {"platform": "qemu-x86_64", "arch": "x86_64", "console": {"baud": 9600}},
            "callback": {"url": f"{self.address}/node/{node}", "token_name": "t"},
            "integrity": {"sha256": {"kernel": hashlib.sha256(kernel).hexdigest()}},
        } | more


@contextmanager
def serving() -> Iterator[Server]:
    """A server on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            found = state.files.get(path)
            if path == "/latest/events":
                since = query.partition("from=")[2].replace("%3A", ":")
                found = json.dumps([e for e in state.events if e["timestamp"] > since]).encode()
            if isinstance(found, str):
                self.send_response(302)
                self.send_header("Location", found)
                self.end_headers()
            elif found is None:
                self.send_error(404)
            else:
                self.send_response(200)
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                self.wfile.write(found)

        def do_POST(self) -> None:
            state.tokens.append(self.headers["Authorization"])
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers["Authorization"] == TOKEN:
                state.answers[self.path.removeprefix("/node/")] = json.loads(body)
            self.send_response(202 if self.headers["Authorization"] == TOKEN else 401)
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state = Server(f"http://127.0.0.1:{server.server_address[1]}")
        Thread(target=server.serve_forever, daemon=True).start()
        yield state
        server.shutdown()
