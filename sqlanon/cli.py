"""The command line. Exit codes: 0 done; 1 the policy cannot be met, or a check failed; 2 bad input or usage.

Standard output holds the answer, and with ``--json`` exactly one JSON document; progress, warnings and errors go to
standard error.
"""

# ruff: noqa: E402 -- an interrupt while the rest is imported must find its handler

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def _leave(number: int, _: FrameType | None) -> NoReturn:
    """End the process at an interrupt outside commands, which have nothing open then."""
    os._exit(128 + number)


def _begin() -> None:
    """Let an interrupt end the process without a traceback, unless interrupts are ignored or somebody handles them."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


if __name__ == "__main__" or os.path.basename(sys.argv[0]).split(".")[0].removesuffix("-script") == "sqlanon":
    _begin()  # not where another program imports this module

import atexit
import gc
import threading
from contextlib import suppress

import click

from sqlanon.commands import exit_codes
from sqlanon.commands.guarded import HELP_OPTIONS, HelpedGroup
from sqlanon.commands.usage import TASKS
from sqlanon.commands.verbosity import options
from sqlanon.version import VERSION

GIVEN = "sqlanon.given"
"""The words of the command line, for ``--version -v``."""
YOUNG = 50_000
"""So many new objects are there before the interpreter looks for garbage among them."""


class CommandLine(HelpedGroup):
    """The group of all commands. Its help lists them by task, and the exit codes, too."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self.commands))
        for task, commands in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(f"{command.name:{width}}", about) for command, about in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        exit_codes.write(formatter)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[GIVEN] = [*args]
        return super().parse_args(ctx, args)


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the version; with ``-v``, before or after it, those of engines and drivers besides."""
    if not value or ctx.resilient_parsing:
        return
    print(f"sqlanon, version {VERSION}")
    if {"-v", "--verbose"} & {*ctx.meta[GIVEN]}:
        from sqlanon.commands.versions import lines

        print("\n".join(lines()[1:]))
    ctx.exit()


@click.group(
    cls=CommandLine,
    context_settings={"help_option_names": HELP_OPTIONS},
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Show the version and exit; with -v, those of engines and drivers too.",
        ),
        *options(),
    ],
)
def main() -> None:
    """Anonymize a table inside its database: k-anonymous, with the least loss, and with a proof of both."""


for commands in TASKS.values():
    for command, about in commands.items():
        command.short_help = about  # of `sqlanon --help`, and of shells that complete commands
        main.add_command(command)


def start() -> None:
    """Run the command line in a process of its own, which ends without taking apart what it loaded.

    The interpreter would free every object of every module that it drops, a tenth of the processor time of a small run.
    It would also look through them again and again for garbage while they are loaded, which costs a twentieth.
    What must be done at the end is done: databases and files are closed by then, exit functions run, output is flushed.
    """
    _begin()
    gc.set_threshold(YOUNG, 10, 10)
    try:
        main()
    except SystemExit as done:
        if isinstance(done.code, int) and threading.active_count() == 1:
            atexit._run_exitfuncs()
            with suppress(OSError):  # nobody may read the pipe; the interpreter reports that itself
                for stream in (sys.stdout, sys.stderr):
                    if stream is not None:  # it was closed before the process began
                        stream.flush()
                os._exit(done.code)
        raise


if __name__ == "__main__":
    start()
