"""What the commands share: the console, the way out with an error's code, and how options become facts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console

from sqlanon.audit.nulls import printable
from sqlanon.commands.signals import as_interrupts
from sqlanon.errors import IdentifyingColumnError, Interrupted, NoSolutionError, PolicyError, SqlanonError
from sqlanon.policy import ON_INTERRUPT, Policy
from sqlanon.source.columns import match_columns
from sqlanon.source.files import Reading
from sqlanon.source.opening import Source, closed_on_error, open_source
from sqlanon.source.rights import with_readable_columns, with_visible_rows

STDERR = Console(stderr=True, highlight=False)

on_interrupt_option = click.option(
    "--on-interrupt",
    type=click.Choice(ON_INTERRUPT),
    help="Override search.on_interrupt: discard (the default) or publish what an interrupted search has found.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")


class GuardedCommand(click.Command):
    """A command whose function returns the exit code. It prints an error of ours and exits with that error's code.

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
                code = super().invoke(ctx)
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


def warn(text: str) -> None:
    """Print a warning to standard error."""
    print(f"Warning: {text}", file=sys.stderr)


def pick(facts: object, *names: str) -> dict[str, Any]:
    """Return some attributes by name, for a document that names them alike."""
    return {name: getattr(facts, name) for name in names}


def _column_names(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in lists with commas, each once.

    Raises:
        click.BadParameter: a name is empty.
    """
    parts = [part.strip() for text in given for part in text.split(",")]
    if not all(parts):
        raise click.BadParameter("A column's name is empty; is a variable not set?", ctx, param)
    return tuple(dict.fromkeys(parts))


_qi_option = partial(
    click.option,
    "--qi",
    multiple=True,
    callback=_column_names,
    metavar="COLUMN,…",
    help="Quasi-identifiers, with commas; given several times, all of them count.",
)
qi_option = _qi_option(required=True)
optional_qi_option = _qi_option()


@dataclass(frozen=True, slots=True)
class Judged:
    """What a command judged of a relation, by its exact names.

    Attributes:
        watched: the column of each model; None where a model watches none.
        others: columns that nothing was asked about; None where a name may be a value of a record.
        columns: how many columns the relation has.
    """

    source: str
    table: str | None
    quasi_identifiers: tuple[str, ...]
    watched: tuple[str | None, ...]
    entity: str | None
    others: tuple[str, ...] | None
    columns: int

    @classmethod
    def of(
        cls,
        opened: Source,
        given: tuple[str, str | None],
        quasi_identifiers: Sequence[str],
        watched: Sequence[str | None] = (),
        entity: str | None = None,
    ) -> Judged:
        """Look up what is asked for, in any case.

        Raises:
            SourceError: the relation has no such column.
        """
        named = [name for name in (*quasi_identifiers, *watched, entity) if name is not None]
        exact = dict(zip(named, match_columns(opened, named), strict=True))
        asked = tuple(dict.fromkeys(exact[name] for name in quasi_identifiers))
        others = tuple(name for name in opened.types if name not in exact.values())
        return cls(
            *given,
            asked,
            tuple(exact[name] if name is not None else None for name in watched),
            exact[entity] if entity is not None else None,
            others if not opened.header_line else None,
            len(opened.types),
        )

    def lines(self) -> list[str]:
        """Return what was judged, and what was not, for a person."""
        sensitive = dict.fromkeys(name for name in self.watched if name is not None)
        listed = {"quasi-identifiers": self.quasi_identifiers, "sensitive": tuple(sensitive)}
        listed["entity"] = (self.entity,) if self.entity is not None else ()
        listed["not judged"] = self.others or ()
        lines = [f"{what}: {', '.join(map(printable, names))}" for what, names in listed.items() if names]
        left = self.columns - len({*self.quasi_identifiers, *sensitive, *listed["entity"]})
        if self.others is None and left:
            lines.append(f"not judged: {left} other column{'s' if left > 1 else ''}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return the keys of a JSON document."""
        return {
            **pick(self, "source", "table", "quasi_identifiers", "entity"),
            "columns": self.columns,
            "columns_not_judged": self.others,
        }


def open_relation(source: str, table: str | None, reading: Reading) -> Source:
    """Open a relation to examine. Our release files hold one table, ``release``; other databases need a table.

    Warns if the session sees some of its rows only: then these are examined.
    """
    opened = open_source(
        source, table or ("release" if Path(source).suffix.lower() == ".duckdb" else None), reading=reading
    )
    with closed_on_error(opened.engine):
        opened = with_readable_columns(with_visible_rows(opened, accepted=True))
    for warning in opened.warnings:
        warn(warning)
    return opened


def reading_with(delimiter: str | None) -> Reading:
    """Return how to read files, with the delimiter of CSV if one is given."""
    return Reading({"delimiter": delimiter} if delimiter else {}, needs_records=True)


def read_policy(path: str, **search: Any) -> Policy:
    """Return the policy in a file.

    Args:
        search: options of its search to override; None leaves the policy's own.
    """
    policy = Policy.from_file(path)
    changes = {name: value for name, value in search.items() if value is not None}
    return replace(policy, search=replace(policy.search, **changes)) if changes else policy
