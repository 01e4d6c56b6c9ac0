"""A server of model files on this machine that can be told to misbehave."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Hub", "serving"]


@dataclass
class Hub:
    """`files` by path; what was asked, as path and range; and how to misbehave."""

    files: dict[str, bytes]
    asked: list[tuple[str, str]] = field(default_factory=list)
    cut_after: list[int] = field(default_factory=list)
    """The next answers break off after so many bytes of their body, the first one first."""
    status: list[int] = field(default_factory=list)
    """The next answers have this status and no body."""
    ranges: bool = True
    lengths: bool = True
    """Whether it says how long an answer is."""
    redirect_to: str = ""
    address: str = ""


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_GET(self) -> None:
        hub = self.server.hub
        wanted = self.headers.get("Range", "")
        hub.asked.append((self.path, wanted))
        body = hub.files.get(self.path)
        if hub.redirect_to:
            self._answer(302, b"", {"Location": hub.redirect_to + self.path})
        elif hub.status:
            self._answer(hub.status.pop(0), b"")
        elif body is None:
            self._answer(404, b"")
        elif wanted and hub.ranges:
            self._part(body, int(wanted.removeprefix("bytes=").rstrip("-")))
        else:
            self._answer(200, body)

    def _part(self, body: bytes, start: int) -> None:
        if start >= len(body):
            self._answer(416, b"")
        else:
            self._answer(
                206, body[start:], {"Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}"}
            )

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        told = {"Content-Length": str(len(body))} if self.server.hub.lengths else {}
        for name, value in {**told, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if body and self.server.hub.cut_after:
            body = body[: self.server.hub.cut_after.pop(0)]
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - inherited
        pass


class _Server(ThreadingHTTPServer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that hangs up is what some tests are about


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Hub]:
    """A hub on a free port of the loopback interface, until the block ends."""
    hub = Hub(files)
    server = _Server(hub)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
