"""The server of the page: on this machine alone, for whoever holds its token.

The page itself holds nothing of the table and is given to anybody on this machine. Whatever else is asked needs the
token in a header: a page of another origin cannot send it, and no cookie carries it. The token stands behind the ``#``
of the address, which browsers do not send, so that no log and no referrer has it.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from sqlanon.errors import SqlanonError, UnsupportedError
from sqlanon.studio.workbench import UNFORESEEN, Workbench

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
except ImportError:
    raise UnsupportedError(
        "The studio needs the packages starlette and uvicorn.", hint="pip install 'sqlanon[studio]'"
    ) from None

LOOPBACK = "127.0.0.1"
HEADER = "x-sqlanon-token"
MOST_BYTES = 1_000_000
"""Of what a page may send at once."""
STATIC = {
    "/report.css": ("sqlanon.report", "report.css", "text/css"),
    "/frontier.css": ("sqlanon.report", "frontier.css", "text/css"),
    "/studio.css": ("sqlanon.studio", "static/studio.css", "text/css"),
    "/studio.js": ("sqlanon.studio", "static/studio.js", "text/javascript"),
}
"""What is served to anybody on this machine, by path: the package and file that it is, and its type."""


class StudioServer:
    """A server of one workbench on a free port of the loopback interface.

    Args:
        port: 0 takes a free one.
        framed_by: origins that may show the page in a frame, as a notebook does.
    """

    def __init__(self, bench: Workbench, port: int = 0, framed_by: str = "'none'") -> None:
        self._bench, self._framed_by = bench, framed_by
        self.token = secrets.token_urlsafe(32)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((LOOPBACK, port))
            self._socket.listen(16)  # whoever has the address may ask before the server answers
        except OSError:
            self._socket.close()
            raise UnsupportedError(f"The port {port} is taken.", hint="name another, or leave --port out.") from None
        self.port = int(self._socket.getsockname()[1])
        self._hosts = {f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"}
        routes = [
            Route("/", self._guarded(self._page)),
            *[Route(path, self._guarded(_static(*where))) for path, where in STATIC.items()],
            Route("/state", self._guarded(self._state, secret=True)),
            Route("/change", self._guarded(self._change, secret=True), methods=["POST"]),
            Route("/policy", self._guarded(self._policy, secret=True)),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes), log_level="error", access_log=False, server_header=False, date_header=False,
            lifespan="off", ws="none", timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The address of the page, with the token."""
        return f"http://{LOOPBACK}:{self.port}/#{self.token}"

    def run(self) -> None:
        """Serve until the process is interrupted, or ``stop`` is called."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End ``run``, which runs in another thread."""
        self._server.should_exit = True

    def _guarded(
        self, answer: Callable[[Request], Awaitable[Response]], *, secret: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler of requests from a page of this server alone and, of a secret, with its token."""

        async def checked(request: Request) -> Response:
            try:
                response = self._refused(request, secret=secret) or await answer(request)
            except Exception as error:  # its message, and the trace of a server, may hold a value
                response = _fault(UNFORESEEN.format(type(error).__name__), 500)
            response.headers.update(self._headers())
            return response

        return checked

    def _refused(self, request: Request, *, secret: bool) -> Response | None:
        """Return the answer to a request that is not answered."""
        if request.headers.get("host", "") not in self._hosts:  # a name of others that leads here (DNS rebinding)
            return _fault("This host is not served.", 421)
        origin = request.headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return _fault("Pages of other origins are not served.", 403)
        given = request.headers.get(HEADER, "").encode("utf-8", "replace")
        if secret and not hmac.compare_digest(given, self.token.encode()):
            return _fault("The token is missing. Open the address that the command printed.", 403)
        return None

    def _headers(self) -> dict[str, str]:
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
            f"form-action 'none'; frame-ancestors {self._framed_by}"
        )
        return {
            "Content-Security-Policy": policy,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
        }

    async def _page(self, request: Request) -> Response:
        return Response(self._bench.pages.shell(), media_type="text/html")

    async def _state(self, request: Request) -> Response:
        text = request.query_params.get("since", "0")
        since = int(text) if text.isdecimal() and len(text) < 16 else 0
        return JSONResponse(await run_in_threadpool(self._bench.state, since))

    async def _change(self, request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return _fault("That is too long.", 413)
        return await run_in_threadpool(self._carry_out, request, body)

    def _carry_out(self, request: Request, body: bytes) -> Response:
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return _fault("This is no change.", 415)
        try:
            change = json.loads(body)
        except (ValueError, RecursionError):
            change = None
        if not isinstance(change, dict) or not all(_plain(each) for each in change.values()):
            return _fault("This is no change.", 400)
        try:
            self._bench.change(change)
        except SqlanonError as error:
            return _fault(error.message, 422, error.hint)
        return JSONResponse({"done": True})

    async def _policy(self, request: Request) -> Response:
        try:
            text = await run_in_threadpool(self._bench.policy_text)
        except SqlanonError as error:
            return _fault(error.message, 422, error.hint)
        return Response(text, media_type="application/yaml")


def _plain(value: object) -> bool:
    """Whether a value is one that a page sends: no list or mapping, and no text that is not Unicode."""
    if isinstance(value, str):
        return not any("\ud800" <= sign <= "\udfff" for sign in value)
    return isinstance(value, int | float)


def _fault(message: str, code: int, hint: str | None = None) -> Response:
    return JSONResponse({"error": message, "hint": hint or ""}, status_code=code)


def _static(package: str, name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    content = files(package).joinpath(name).read_bytes()

    async def answer(request: Request) -> Response:
        return Response(content, media_type=kind)

    return answer


def served(bench: Workbench, **options: Any) -> StudioServer:
    """Return the server of a workbench whose thread has begun."""
    server = StudioServer(bench, **options)
    bench.start()
    return server
