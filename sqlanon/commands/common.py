"""What the commands share: the console, the way out with an error's code, and how options become facts."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from sqlanon.errors import NoSolutionError, PolicyError, SqlanonError
from sqlanon.policy import Policy
from sqlanon.source.files import Reading
from sqlanon.source.opening import Source, open_source

STDERR = Console(stderr=True, highlight=False)
INTERRUPTED = "Interrupted; nothing was published."

json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")


class GuardedCommand(click.Command):
    """A command whose function returns the exit code. It prints an error of ours and exits with that error's code."""

    def invoke(self, ctx: click.Context) -> NoReturn:
        as_json = bool(ctx.params.get("as_json"))
        try:
            code = super().invoke(ctx)
        except SqlanonError as error:
            _fail(error, as_json=as_json)
        except KeyboardInterrupt:
            print(INTERRUPTED, file=sys.stderr)
            if as_json:
                print(json.dumps({"error": "SearchStoppedError", "message": INTERRUPTED}))
            sys.exit(1)
        sys.exit(code)


def _fail(error: SqlanonError, *, as_json: bool) -> NoReturn:
    """Print an error where the user looks for it, and exit with its code."""
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    if as_json:
        document: dict[str, Any] = {"error": type(error).__name__, "message": error.message or str(error)}
        if isinstance(error, NoSolutionError):
            document["nearest"] = error.nearest
        if isinstance(error, PolicyError):
            document["message"] = str(error)
            document["faults"] = [pick(fault, "key", "message", "hint") for fault in error.faults]
        if error.hint:
            document["hint"] = error.hint
        print(json.dumps(document))
    sys.exit(error.exit_code)


def warn(text: str) -> None:
    """Print a warning to standard error."""
    print(f"Warning: {text}", file=sys.stderr)


def pick(facts: object, *names: str) -> dict[str, Any]:
    """Return some attributes by name, for a document that names them alike."""
    return {name: getattr(facts, name) for name in names}


def split_columns(text: str) -> list[str]:
    """Return the names in a list with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def open_relation(source: str, table: str | None, reading: Reading) -> Source:
    """Open a relation to examine. Our release files hold one table, ``release``; other databases need a table."""
    return open_source(
        source, table or ("release" if Path(source).suffix.lower() == ".duckdb" else None), reading=reading
    )


def reading_with(delimiter: str | None) -> Reading:
    """Return how to read files, with the delimiter of CSV if one is given."""
    return Reading({"delimiter": delimiter} if delimiter else {})


def read_policy(path: str, *, strategy: str | None = None, time_limit: float | None = None) -> Policy:
    """Return the policy in a file, with what the options override."""
    policy = Policy.from_file(path)
    overrides: dict[str, Any] = {"strategy": strategy, "time_limit": time_limit}
    changes = {name: value for name, value in overrides.items() if value is not None}
    return replace(policy, search=replace(policy.search, **changes)) if changes else policy
