"""A server of files in the tests' own process, well-behaved or not: what a download may meet."""

import socketserver
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

Answer = Callable[["Mirror", BaseHTTPRequestHandler, bytes], None]


def whole(_: "Mirror", request: BaseHTTPRequestHandler, body: bytes) -> None:
    """What was asked for."""
    _head(request, len(body))
    request.wfile.write(body)


def cut(_: "Mirror", request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Half of what was announced."""
    _head(request, len(body))
    request.wfile.write(body[: len(body) // 2])


def short(_: "Mirror", request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Half the file, with no length announced."""
    _head(request)
    request.wfile.write(body[: len(body) // 2])


def login(_: "Mirror", request: BaseHTTPRequestHandler, body: bytes) -> None:
    """What networks of hotels answer to everything."""
    whole(_, request, b"<html>Please sign in.</html>")


def endless(mirror: "Mirror", request: BaseHTTPRequestHandler, body: bytes) -> None:
    """The file again and again, until the client hangs up."""
    _head(request)
    while not mirror.closing.is_set():
        request.wfile.write(body)


def trickle(mirror: "Mirror", request: BaseHTTPRequestHandler, body: bytes) -> None:
    """A byte now and then: no single wait is long."""
    _head(request, len(body))
    for place in range(len(body)):
        request.wfile.write(body[place : place + 1])
        if mirror.closing.wait(0.02):
            break


def silent(mirror: "Mirror", request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Nothing at all."""
    mirror.closing.wait()


def stuck(mirror: "Mirror", request: BaseHTTPRequestHandler, body: bytes) -> None:
    """Half the file, and then nothing."""
    _head(request, len(body))
    request.wfile.write(body[: len(body) // 2])
    request.wfile.flush()
    mirror.half.set()
    mirror.closing.wait()


def _head(request: BaseHTTPRequestHandler, length: int | None = None) -> None:
    request.send_response(200)
    if length is not None:
        request.send_header("Content-Length", str(length))
    request.end_headers()


class Mirror:
    """Serves files by their path on the server, while it is used as a context.

    Args:
        files: content, or the file that holds it, by path without the first slash.
        answer: how to answer a GET for one of them; anything else is a 404.
        head: how to answer a HEAD; default: at once.

    `asked` and `knocked` are the paths of the GETs and HEADs so far, `hung_up` is set when a client leaves in
    the middle, `half` when `stuck` got stuck.
    """

    def __init__(
        self, files: Mapping[str, bytes | Path], answer: Answer = whole, head: Answer | None = None
    ) -> None:
        self.asked: list[str] = []
        self.knocked: list[str] = []
        self.closing, self.hung_up, self.half = threading.Event(), threading.Event(), threading.Event()
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(self.path.removeprefix("/"))
                mirror.asked.append(path)
                if path not in files:
                    self.send_error(404)
                    return
                content = files[path]
                answer(mirror, self, content if isinstance(content, bytes) else content.read_bytes())

            def do_HEAD(self) -> None:
                mirror.knocked.append(unquote(self.path.removeprefix("/")))
                if head:
                    head(mirror, self, b"")
                else:
                    _head(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 64

            def handle_error(self, request: Any, client_address: Any) -> None:
                if isinstance(sys.exception(), ConnectionError):
                    mirror.hung_up.set()
                else:
                    socketserver.BaseServer.handle_error(self, request, client_address)

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> Self:
        serve = self._server.serve_forever
        threading.Thread(target=serve, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
