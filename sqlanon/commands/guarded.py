"""The way into a command and out of it: errors of usage, interrupts, and an error of ours with its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click

from sqlanon.commands.signals import as_interrupts
from sqlanon.errors import IdentifyingColumnError, Interrupted, NoSolutionError, PolicyError, SqlanonError

Work = Callable[..., int]
"""What a command does: called with its options, it returns the exit code."""


class GuardedCommand(click.Command):
    """A command whose function returns the work. It prints an error of ours and exits with that error's code.

    An option that is given twice, and a text that is empty because a variable was not set, are errors of usage: what
    they leave out would not be judged.
    """

    may_be_empty = ("node", "null_text")
    """Options whose empty text means something: a policy without quasi-identifiers, and a text that stands for NULL."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        as_json = "--json" in args
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if as_json:
                print(json.dumps({"error": "InputError", "message": error.format_message()}))
            raise

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = [*args]
        rest = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(args=given)
        for param in self.get_params(ctx):
            flag = isinstance(param, click.Option) and (param.is_flag or param.multiple)
            if isinstance(param, click.Option) and not flag and order.count(param) > 1:
                raise click.BadParameter("It is given more than once.", ctx, param)
            value = ctx.params.get(param.name or "")
            texts = value if isinstance(value, tuple) else (value,)
            if "" in texts and param.name not in self.may_be_empty:
                raise click.BadParameter("It is empty; is a variable not set?", ctx, param)
        return rest

    def invoke(self, ctx: click.Context) -> NoReturn:
        as_json = bool(ctx.params.get("as_json"))
        with as_interrupts() as received:
            try:
                assert self.callback is not None
                work: Work = self.callback()
                code = ctx.invoke(work, **ctx.params)
            except SqlanonError as error:
                _fail(error, as_json=as_json)
            except KeyboardInterrupt as stopped:
                _stop(stopped, as_json=as_json)
                sys.exit(received.exit_code)
        sys.exit(code)


def _stop(stopped: KeyboardInterrupt, *, as_json: bool) -> None:
    """Say that a command was interrupted, and what is known of its search."""
    known = stopped if isinstance(stopped, Interrupted) else Interrupted("Nothing was published.")
    print(f"Interrupted: {known}", file=sys.stderr)
    if as_json:
        document: dict[str, Any] = {"error": "Interrupted", **pick(known, "message", "published", "incumbent")}
        print(json.dumps(document | ({"hint": known.hint} if known.hint else {})))


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
        if isinstance(error, IdentifyingColumnError):
            document["columns"] = error.columns
        if error.hint:
            document["hint"] = error.hint
        print(json.dumps(document))
    sys.exit(error.exit_code)


def pick(facts: object, *names: str) -> dict[str, Any]:
    """Return some attributes by name, for a document that names them alike."""
    return {name: getattr(facts, name) for name in names}
