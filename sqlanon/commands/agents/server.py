"""The server: the tools under the Model Context Protocol, over standard input and output, with a log of every call."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from threading import Lock
from typing import Any, TextIO

from sqlanon.commands.agents.sieve import without_numbers
from sqlanon.commands.agents.tools import Tools
from sqlanon.errors import SqlanonError, UnsupportedError
from sqlanon.version import VERSION

INSTRUCTIONS = (
    "Figures about personal records that stay where they are. Counts are rounded to multiples of k; smaller ones read "
    "'<k'. Nothing is written: a release is made by the operator, with `sqlanon run`."
)
UNEXPECTED = "The call failed. The operator finds what was asked in the log, and can run the command himself."


def serve(tools: Tools, log: TextIO) -> None:
    """Answer calls until standard input ends.

    Args:
        log: a line of JSON is written for each call: when, what was asked, and whether it was answered.

    Raises:
        UnsupportedError: the package mcp is not installed.
    """
    server_of(tools, log).run("stdio")


def server_of(tools: Tools, log: TextIO) -> Any:
    """Return the server, an ``MCPServer``."""
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        raise UnsupportedError(
            "A server for agents needs the package mcp, version 2.", hint="pip install 'sqlanon[mcp]'"
        ) from None
    server = MCPServer("sqlanon", instructions=INSTRUCTIONS, version=VERSION, log_level="ERROR")
    lock = Lock()
    annotations = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
    for tool in (tools.list_files, tools.profile, tools.risk, tools.check, tools.plan, tools.explain):
        server.tool(annotations=annotations)(_guarded(tool, log, lock))
    return server


def _guarded(tool: Callable[..., dict[str, Any]], log: TextIO, lock: Lock) -> Callable[..., dict[str, Any]]:
    """Return the tool, one call at a time: logged, and with errors that tell no count and nothing unforeseen."""

    @wraps(tool)
    def call(*given: Any, **named: Any) -> dict[str, Any]:
        with lock:
            fault = None
            try:
                answer = tool(*given, **named)
            except SqlanonError as error:
                message = without_numbers(str(error))
                answer = {"error": type(error).__name__, "message": message}
            except Exception as error:  # whatever a library says may quote a value: its kind goes to the log alone
                fault = type(error).__name__
                answer = {"error": "InternalError", "message": UNEXPECTED}
            asked = {"tool": tool.__name__, "arguments": named, "error": fault or answer.get("error")}
            print(json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds"), **asked}), file=log, flush=True)
            return answer

    return call
