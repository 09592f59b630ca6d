"""The way into a command and out of it: errors of usage, interrupts, and an error of ours with its exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NoReturn

import click

from sqlanon.commands import exit_codes, verbosity
from sqlanon.commands.signals import as_interrupts
from sqlanon.errors import (
    EngineError,
    IdentifyingColumnError,
    InputError,
    Interrupted,
    NoSolutionError,
    PolicyError,
    RepeatError,
    SqlanonError,
    UncoveredValuesError,
)

Work = Callable[..., int]
"""What a command does: called with its options, it returns the exit code."""


ANSWERS = "sqlanon.answers"


@dataclass(slots=True)
class Answers:
    """The documents of a command that does several things one after the other, printed as one array at its end.

    Attributes:
        about: keys that each document begins with from now on.
    """

    about: dict[str, Any] = field(default_factory=dict)
    documents: list[dict[str, Any]] = field(default_factory=list)


CONCEALING = "sqlanon.concealing"
TABLE, CSV = "sqlanon.table", "sqlanon.csv"
"""What ``--table`` names, and what options that stand for keys of ``--csv`` say."""


def concealing(conceal: Callable[[str], str]) -> None:
    """Rewrite messages from now on: hide what variables of a policy stand for, or name an option instead of a key."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta.setdefault(CONCEALING, []).append(conceal)


def concealed(value: Any) -> Any:
    """Return a message, or a document with messages, without what policies hide."""
    context = click.get_current_context(silent=True)
    hide: list[Callable[[str], str]] = [] if context is None else context.meta.get(CONCEALING, [])
    if not hide:
        return value
    if isinstance(value, dict):
        return {key: concealed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [concealed(item) for item in value]
    for conceal in hide if isinstance(value, str) else ():
        value = conceal(value)
    return value


def answer(document: dict[str, Any]) -> None:
    """Print the document of a command, or keep it for the array of several (``Answers``)."""
    context = click.get_current_context(silent=True)
    several: Answers | None = None if context is None else context.meta.get(ANSWERS)
    if several is None:
        print(json.dumps(document))
    else:
        several.documents.append({**several.about, **document})


HELP_OPTIONS = ["-h", "--help"]


class Helped(click.Command):
    """A command with ``-h`` and ``--help``, in whichever context it is asked first: click keeps its first answer."""

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        return [*HELP_OPTIONS]


class HelpedGroup(Helped, click.Group):
    """A group of commands, with the same two options."""


class GuardedCommand(Helped):
    """A command that prints an error of ours and exits with that error's code. Its function has its help alone.

    Its work is the function ``execute`` of the module of its name, or of the one, and the function, that ``work`` names
    (``module:function``). The module is loaded when the command is carried out.

    An option that is given twice, and a text that is empty because a variable was not set, are errors of usage: what
    they leave out would not be judged.
    """

    may_be_empty = ("node", "null_text")
    """Options whose empty text means something: a policy without quasi-identifiers, and a text that stands for NULL."""

    def __init__(self, *arguments: Any, work: str | None = None, **keys: Any) -> None:
        super().__init__(*arguments, **keys)
        self._place = work or str(self.name)

    def work(self) -> Work:
        """Return the work of the command."""
        module, _, function = self._place.partition(":")
        work: Work = getattr(import_module(f"sqlanon.commands.{module}"), function or "execute")
        return work

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        *own, last = super().get_params(ctx)  # the option --help
        return [*own, *_COMMON, last]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        exit_codes.write(formatter, *ctx.command_path.split()[1:])

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
        _merge(ctx)
        if ctx.resilient_parsing:  # of a shell that completes what is not yet written
            return rest
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
        asked = verbosity.verbosity()
        with as_interrupts() as received:
            try:
                if asked.verbose:
                    from sqlanon.commands.account import Account

                    asked.account = Account()
                code = attempt(lambda: self._carry_out(ctx), as_json=as_json)
            except KeyboardInterrupt as stopped:
                _stop(stopped, as_json=as_json)
                code = received.exit_code
            several: Answers | None = ctx.meta.get(ANSWERS)
            if several is not None and as_json:
                print(json.dumps(several.documents))
            if asked.account is not None:
                asked.account.close()
                if several is None:
                    asked.account.report()
        sys.exit(code)

    def _carry_out(self, ctx: click.Context) -> int:
        _check_paths(self, ctx)
        code: int = ctx.invoke(self.work(), **ctx.params)
        return code


_COMMON = verbosity.options()


def _merge(ctx: click.Context) -> None:
    """Put what ``--table`` and the short options of ``--csv`` say where the argument TABLE and ``--csv`` stand.

    Raises:
        click.UsageError: TABLE and ``--table`` name two tables.
    """
    named = ctx.meta.pop(TABLE, None)
    if named is not None and ctx.params.setdefault("table", None) not in (None, named):
        raise click.UsageError("TABLE and --table name two tables; name one of them.", ctx)
    if named is not None:
        ctx.params["table"] = named
    if said := ctx.meta.pop(CSV, None):
        ctx.params["csv"] = (*ctx.params["csv"], *said)


def attempt(work: Callable[[], int], *, as_json: bool) -> int:
    """Return the exit code of some work; an error of ours is printed, and its code is returned."""
    try:
        return work()
    except SqlanonError as error:
        return _fail(error, as_json=as_json)
    except UnicodeEncodeError:  # of a path; texts are written as UTF-8
        return _fail(_unreadable_path(), as_json=as_json)
    except MemoryError as error:  # of Python, numpy or Arrow; a database says so itself
        return _fail(_out_of_memory(type(error).__name__), as_json=as_json)


def _stop(stopped: KeyboardInterrupt, *, as_json: bool) -> None:
    """Say that a command was interrupted, and what is known of its search."""
    known = stopped if isinstance(stopped, Interrupted) else Interrupted("Nothing was published.")
    print(verbosity.label("Interrupted:", "red", sys.stderr), known, file=sys.stderr)
    if as_json:
        document: dict[str, Any] = {"error": "Interrupted", "message": known.message}
        document |= {"published": known.published, "incumbent": known.incumbent}
        answer(document | ({"hint": known.hint} if known.hint else {}))


def _check_paths(command: click.Command, ctx: click.Context) -> None:
    """Refuse paths whose bytes this process cannot read as text; databases take no other.

    Raises:
        InputError: there is one.
    """
    for param in command.get_params(ctx):
        value = ctx.params.get(param.name or "")
        given = value if isinstance(value, tuple) else () if value is None else (value,)
        paths = [each for path in given for each in (path if isinstance(path, tuple) else (path,))]
        for path in paths if isinstance(param.type, click.Path) else ():
            try:
                os.path.abspath(path).encode()
            except UnicodeEncodeError:
                raise _unreadable_path() from None


def _unreadable_path() -> InputError:
    return InputError(
        f"A path has bytes that are no {sys.getfilesystemencoding()}, in which this process reads names of files.",
        hint="set PYTHONUTF8=1 (or LC_ALL=C.UTF-8), or rename the file or its folder.",
    )


def _out_of_memory(kind: str) -> EngineError:
    return EngineError(
        "This process ran out of memory.",
        hint="give it more; or lower engine.memory_limit, which leaves more to all but the embedded database; or say "
        "search: {where: engine}, so that the database judges the nodes.",
        statement="",
        kind=kind,
    )


def _fail(error: SqlanonError, *, as_json: bool) -> int:
    """Print an error where the user looks for it, and return its code."""
    print(verbosity.label(f"{type(error).__name__}:", "red", sys.stderr), concealed(str(error)), file=sys.stderr)
    if as_json:
        document: dict[str, Any] = {"error": type(error).__name__, "message": error.message or str(error)}
        if isinstance(error, NoSolutionError):
            document["nearest"] = error.nearest
        if isinstance(error, PolicyError):
            document["message"] = str(error)
            document["faults"] = [{"key": f.key, "message": f.message, "hint": f.hint} for f in error.faults]
        if isinstance(error, IdentifyingColumnError):
            document["columns"] = error.columns
        if isinstance(error, UncoveredValuesError):
            document["queries"] = error.queries
        if isinstance(error, RepeatError):
            document["differing"] = error.differing
        if error.hint:
            document["hint"] = error.hint
        said = {key: concealed(document[key]) for key in ("message", "faults", "hint", "queries") if key in document}
        answer({**document, **said})
    return error.exit_code
