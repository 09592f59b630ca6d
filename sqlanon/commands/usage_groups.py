"""The arguments and options of commands of two words, and of ``counts``; ``usage`` has those of the others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from sqlanon.commands.guarded import CSV, TABLE, GuardedCommand, HelpedGroup

Decorated = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
ON_INTERRUPT = ("discard", "publish")
AUDIENCES = ("operator", "recipient")
"""Of the report of ``run`` and ``counts``, and of ``evidence``."""
report_option = click.option(
    "--report", type=click.Path(), help="Write a report for people here, .html, .md, .txt or .json."
)
certificate_option = click.option(
    "--certificate", type=click.Path(), help="Write the operator's proof here, for `sqlanon verify`."
)
audience_option = click.option(
    "--audience",
    type=click.Choice(AUDIENCES),
    default=AUDIENCES[0],
    show_default=True,
    help="For whom the report is: operator has exact counts, recipient no more than the release and its manifest.",
)
on_interrupt_option = click.option(
    "--on-interrupt",
    type=click.Choice(ON_INTERRUPT),
    help="Override search.on_interrupt: discard (the default) or publish what an interrupted search has found.",
)


def column_names(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
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
    callback=column_names,
    metavar="COLUMN,…",
    help="Quasi-identifiers, with commas; given several times, all of them count.",
)
qi_option = _qi_option(required=True)
optional_qi_option = _qi_option()


def _note_table(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[TABLE] = value


def _note_delimiter(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value == "":
        raise click.BadParameter("It is empty; is a variable not set?", ctx, param)
    if value is not None:
        ctx.meta.setdefault(CSV, []).append(f"delimiter={value}")


def _note_read(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
    if not all(text.partition("=")[0].partition(":")[2] for text in value):
        raise click.BadParameter("Write FORMAT:KEY=VALUE, such as excel:sheet=Patients.", ctx, param)
    ctx.meta.setdefault(CSV, []).extend(value)


def _note_no_header(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta.setdefault(CSV, []).append("header=false")


def table_argument(command: Decorated) -> Decorated:
    """Let a command take a table of a database, as TABLE or with ``--table``."""
    about = "The same as TABLE: the relation of a database."
    option = click.option("--table", "table_named", expose_value=False, callback=_note_table, help=about)
    return click.argument("table", required=False)(option(command))


def csv_option(command: Decorated) -> Decorated:
    """Let a command that takes a source say how CSV files are read."""
    about = "How CSV files are read, as in a policy: encoding=latin-1,skip=2; see `sqlanon help csv`."
    delimiter = "The same as --csv delimiter=…; by default the one that fits all lines."
    short = click.option("--delimiter", expose_value=False, callback=_note_delimiter, help=delimiter)
    read = click.option(
        "--read",
        multiple=True,
        expose_value=False,
        callback=_note_read,
        metavar="FORMAT:KEY=VALUE,…",
        help="How other files are read, as in a policy: excel:sheet=Patients,skip=2; see `sqlanon help excel`.",
    )
    return click.option("--csv", multiple=True, metavar="KEY=VALUE,…", help=about)(short(read(command)))


def like_options(command: Decorated) -> Decorated:
    """Let a command say how a release repeats an earlier one."""
    about = "Keep the levels of the release of MANIFEST (key like): they are judged, and not searched."
    replan = "With like: search again, from the levels of the earlier release, and say what changes."
    changed = "Write nothing, with the exit code 3, where the release at the target is equal to the new one."
    command = click.option("--if-changed", is_flag=True, help=changed)(command)
    command = click.option("--replan", is_flag=True, help=replan)(command)
    return click.option("--like", type=click.Path(), metavar="MANIFEST", help=about)(command)


no_header_option = click.option(
    "--no-header",
    is_flag=True,
    expose_value=False,
    callback=_note_no_header,
    help="The same as --csv header=false: the first line is a record and names no columns.",
)


def foreign_counts_options(command: Decorated) -> Decorated:
    """Let ``check`` audit a table of counts that was made elsewhere."""
    several = {
        "--by": ("COLUMN,…", "With --counts: the columns with categories; region>district are nested."),
        "--count": ("COLUMN,…", "With --counts: the columns with counts; sex=F,M,All are a dimension."),
        "--total": ("TEXT", "With --counts: a category that is a total; North=a,b one that is the sum of others."),
        "--mark": ("TEXT[=COUNT]", "With --counts: what stands for a suppressed count, or for others: -=0, c=1-4."),
        "--with": ("NAME", "With --counts: a sheet, table or file that is judged together with it."),
    }
    for name, (metavar, about) in reversed(several.items()):
        own = ("beside",) if name == "--with" else ()
        command = click.option(name, *own, multiple=True, metavar=metavar, help=about)(command)
    about = "With --counts: counts below this are small.  [default: by marks such as <5, else 5]"
    command = click.option("--threshold", type=click.IntRange(min=2), help=about)(command)
    about = "With --counts: the base that counts are rounded to, 1 for none.  [default: recognized]"
    command = click.option("--rounded", type=click.IntRange(min=1), help=about)(command)
    about = "With --counts: print what suppressed counts may be, too."
    command = click.option("--show-values", is_flag=True, help=about)(command)
    about = "Audit a table of counts made elsewhere: which of its suppressed cells can be computed, and how narrowly."
    return click.option("--counts", is_flag=True, help=about)(command)


@click.command(cls=GuardedCommand)
@click.argument("source", type=click.Path())
@table_argument
@click.option(
    "--by",
    multiple=True,
    metavar="COLUMN[:WIDTH],…",
    help="The dimensions: age:10 are groups of ten, zip:2 the first two characters, admitted:year a unit of dates.",
)
@click.option("--threshold", type=click.IntRange(min=2), help="A count below this is unsafe.  [default: 5]")
@click.option("--entity", help="The column with the entity of each record: count distinct entities instead of records.")
@click.option("--to", type=click.Path(), metavar="FILE", help="Publish to this file.")
@report_option
@audience_option
@certificate_option
@csv_option
@json_option
def counts() -> None:
    """Publish tables of counts that are safe to release: small cells, and what would give them away, are suppressed.

    SOURCE is a document of counts (.yaml, .json, .toml), or, with --by, a source. What was written is audited as a
    reader would compute it. For the operator: which cells were unsafe is not to be handed on.
    """


@click.group(cls=HelpedGroup)
def hierarchy() -> None:
    """Work with hierarchy files."""


@hierarchy.command(
    "check", cls=GuardedCommand, work="hierarchy", short_help="Check that a hierarchy file holds a tree."
)
@click.argument("file", type=click.Path())
@click.option("--delimiter", default=";", show_default=True, help="The character between two fields.")
@click.option("--null", "null_text", default=None, help="The text that stands for NULL.")
@json_option
def hierarchy_check() -> None:
    """Check an ARX-style hierarchy FILE: a tree, no missing levels, no contradictions."""


@click.group(cls=HelpedGroup)
def policy() -> None:
    """Work with policies."""


@policy.command(
    "check", cls=GuardedCommand, work="policy", short_help="Find the faults of policies and their hierarchy files."
)
@click.argument("files", type=click.Path(), nargs=-1, required=True, metavar="POLICY…")
@json_option
def policy_check() -> None:
    """Find the faults of each POLICY and of its hierarchy files: exit 0 there are none, 2 there are.

    No source is read, so it needs neither a database nor a right to it. `sqlanon run --dry-run`
    finds out whether a policy can be met.
    """


ledger_argument = click.argument("ledger", type=click.Path(), metavar="LEDGER|POLICY")


@click.group(cls=HelpedGroup)
def ledger() -> None:
    """Show and check a ledger of releases, forecast what it sustains, or forget a release."""


@ledger.command("show", cls=GuardedCommand, work="ledger:show", short_help="List what was released to whom.")
@ledger_argument
@json_option
def ledger_show() -> None:
    """List what was released of which source to whom. For the operator: it holds paths and exact counts."""


@ledger.command(
    "check", cls=GuardedCommand, work="ledger:check", short_help="Check that the releases are safe together."
)
@ledger_argument
@click.option(
    "--accept",
    metavar="RELEASE|state",
    help="Its persons are others than those of later releases; state: take the ledger as it is, or begin a new one.",
)
@json_option
def ledger_check() -> None:
    """Check that the releases are safe together, for all who may share them, and that no file of one was changed:
    exit 0 they are, 1 they are not, 2 cannot say."""


@ledger.command(
    "forecast",
    cls=GuardedCommand,
    work="ledger:execute_forecast",
    short_help="Forecast what releases every night would show.",
)
@click.argument("policy", type=click.Path())
@click.option("--arrivals", type=float, help="Newcomers a day, as a share of the records. [default: measured, or 0.01]")
@click.option("--departures", type=float, help="Records that leave a day, as a share. [default: measured, or 0.01]")
@click.option("--changes", type=float, default=0.0, show_default=True, help="Records a day of which a cell changes.")
@click.option("--days", type=click.IntRange(min=1), default=365, show_default=True, help="One release a day.")
@json_option
def ledger_forecast() -> None:
    """Forecast what releases of POLICY every night would show, in cohorts at levels that stay. Nothing is published.

    The classes of the source are counted at the levels of the ledger's last release, or where there is none at those
    that a search finds. All figures are expectations.
    """


@ledger.command("forget", cls=GuardedCommand, work="ledger:forget", short_help="Forget a release for good.")
@ledger_argument
@click.argument("release")
@click.option("--yes", is_flag=True, help="It was never handed on, or every copy of it is destroyed.")
@json_option
def ledger_forget() -> None:
    """Forget RELEASE, a number or an id of `ledger show`, for good: new releases are not judged with it any more."""


@ledger.command("erase", cls=GuardedCommand, work="ledger:erase", short_help="Erase records from releases in cohorts.")
@click.argument("policy", type=click.Path(), metavar="POLICY")
@click.option("--records", type=click.Path(), required=True, help="A file with the key of a record in each line.")
@json_option
def ledger_erase() -> None:
    """Erase records from the releases in cohorts of POLICY: they go with the next release, and with the fewest others.

    Records may be named that the source has no longer. Releases that are out are not changed.
    """


@click.command(cls=GuardedCommand)
@click.argument("folder", type=click.Path(), default=".")
@click.option("--k", type=click.IntRange(min=2), default=5, show_default=True, help="Withhold counts below this.")
@click.option("--log", type=click.Path(), help="Append what was asked to this file; by default to standard error.")
@click.option("--headers", is_flag=True, help="The first line of every CSV file names its columns: serve them too.")
@click.option("--entity", help="Count persons by this column; refuse what would count their records.")
@click.option("--counts", is_flag=True, help="Tell the cells of tables of counts that were released into FOLDER.")
@click.option("--allow-elsewhere", is_flag=True, help="A policy may read what lies outside FOLDER, such as a server.")
def mcp() -> None:
    """Answer agents about the policies and sources in FOLDER, by the Model Context Protocol, until input ends.

    Its tools read only: profile, risk, check, plan and explain. No value leaves, and no count below k; with --counts
    the categories and counts of released tables do. Give it a folder that the agent cannot write to.
    """


@click.command(cls=GuardedCommand)
@click.argument("source", type=click.Path())
@table_argument
@csv_option
@no_header_option
@click.option("--folder", type=click.Path(), default=".", help="Where releases go.  [default: .]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Of this machine; 0: a free one.  [default: 0]")
@click.option("--browser/--no-browser", default=True, help="Open the page.  [default: browser]")
@click.option("--show-records", is_flag=True, help="Show some records before and after.")
def studio() -> None:
    """Serve a page on this machine that goes from SOURCE to a policy and an audited release, and shows each cost.

    SOURCE is a table, as for profile, or a policy, which is opened. Needs the extra studio. Whoever has the address
    that is printed sees counts and frequent values of the source; nobody else is answered.
    """
