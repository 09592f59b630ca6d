"""``sqlanon studio``: a page on this machine that goes from a table to a policy and an audited release."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from sqlanon.commands.csv_options import read_csv_options, read_format_options
from sqlanon.core.policy.paths import is_connection_text, is_url
from sqlanon.errors import InputError, Interrupted

INTERRUPTED = 130


def execute(
    source: str, table: str | None, csv: tuple[str, ...], folder: str, port: int, browser: bool, show_records: bool
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"There is no folder {place.name!r}.", hint="name one where policies and releases may go.")
    if not is_url(source) and not is_connection_text(source) and not Path(source).exists():
        raise InputError(f"There is no file {Path(source).name!r}.", hint="name a table or a policy.")
    from sqlanon.studio.server import served
    from sqlanon.studio.workbench import Workbench

    bench = Workbench(
        source,
        table,
        csv=read_csv_options(csv),
        formats=read_format_options(csv),
        folder=place.absolute(),
        show_records=show_records,
    )
    server = served(bench, port=port)
    print(f"The studio is at {server.url}", flush=True)
    print("Whoever has this address sees what you see. Ctrl-C ends it.", file=sys.stderr)
    try:
        try:
            with _opened(server.url) if browser else nullcontext():
                server.run()
        finally:
            if (
                not bench.close()
            ):  # a statement of a library that cannot be interrupted: nothing is written in its midst
                os._exit(INTERRUPTED)
    except KeyboardInterrupt:
        told = f" Published: {', '.join(bench.published)}." if bench.published else ""
        raise Interrupted(f"The studio has ended.{told}", published=True) from None
    return 0


@contextmanager
def _opened(url: str) -> Iterator[None]:
    """Open the page by a file that leads to it, which nobody else can read: other users see the words of commands."""
    with tempfile.TemporaryDirectory(prefix="sqlanon-studio-") as folder:
        leading = Path(folder) / "studio.html"
        leading.write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={url}">', encoding="utf-8")
        webbrowser.open(leading.as_uri())
        yield
