"""What the commands share: the console, the way out with an error's code, and the policy with its overrides."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from rich.console import Console

from sqlanon.errors import NoSolutionError, PolicyError, SqlanonError
from sqlanon.policy import Policy

STDERR = Console(stderr=True, highlight=False)


def fail(error: SqlanonError, *, as_json: bool) -> NoReturn:
    """Tell an error where the user looks for it, and exit with its code."""
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    if as_json:
        document: dict[str, Any] = {"error": type(error).__name__, "message": error.message or str(error)}
        if isinstance(error, NoSolutionError):
            document["nearest"] = error.nearest
        if isinstance(error, PolicyError):
            document["message"] = str(error)
            document["faults"] = [
                {"key": fault.key, "message": fault.message, "hint": fault.hint} for fault in error.faults
            ]
        if error.hint:
            document["hint"] = error.hint
        print(json.dumps(document))
    sys.exit(error.exit_code)


def guarded(action: Callable[[], int], *, as_json: bool = False) -> NoReturn:
    """Carry an action out and exit with its code, or with that of the error it raised."""
    try:
        code = action()
    except SqlanonError as error:
        fail(error, as_json=as_json)
    except KeyboardInterrupt:
        print("Interrupted; nothing was published.", file=sys.stderr)
        if as_json:
            print(json.dumps({"error": "SearchStoppedError", "message": "Interrupted; nothing was published."}))
        sys.exit(1)
    sys.exit(code)


def policy_of(path: str, *, strategy: str | None = None, time_limit: float | None = None) -> Policy:
    """The policy in a file, with what the options override."""
    made = Policy.from_file(path)
    if strategy is None and time_limit is None:
        return made
    changes: dict[str, Any] = {"strategy": strategy, "time_limit": time_limit}
    search = replace(made.search, **{name: value for name, value in changes.items() if value is not None})
    return replace(made, search=search)
