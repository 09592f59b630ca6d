"""``-`` on the command line: a policy or a relation from standard input, a release to standard output.

Both pass through a private folder: a relation is read more than once, and no byte of a release leaves before the whole
of it was audited.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import click

from sqlanon.core.disk.folders import PrivateFolder, spill_folder
from sqlanon.core.policy import Output, Policy
from sqlanon.core.policy.documents import parse_document
from sqlanon.errors import InputError, TargetError

STANDARD = "-"
"""Standard input or output, in the place of a file; a file of this name is ``./-``."""
FORMATS = {"csv": ".csv", "parquet": ".parquet", "arrow": ".parquet"}
"""Formats of a release on standard output, and of the file that it is sent from."""
READ = "sqlanon.standard_input"
PARQUET, ARROW_FILE, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
"""What files of these formats begin with."""


def _input(what: str) -> BinaryIO:
    """Return standard input, which can be read once.

    Raises:
        InputError: it was read already, or is closed.
    """
    context = click.get_current_context()
    if context.meta.get(READ):
        raise InputError(f"Standard input was read already, and the {what} is asked of it too.", hint="name a file.")
    if sys.stdin is None:
        raise InputError(f"Standard input is closed, and the {what} is asked of it.", hint="name a file.")
    context.meta[READ] = True
    return sys.stdin.buffer


def read_standard_policy() -> Any:
    """Return the document of the policy on standard input, which is YAML or JSON.

    Raises:
        InputError: it cannot be read.
    """
    return parse_document(_input("policy").read(), "The policy on standard input")


def spool_standard_input() -> Path:
    """Return a private file of what stands on standard input: CSV, Parquet or Arrow. It stays while the command runs.

    Raises:
        InputError: it cannot be read.
    """
    source = _input("relation")
    start = source.read(8)
    path = _folder(None) / "standard-input"
    if start.startswith((ARROW_FILE, ARROW_STREAM)):
        path = path.with_suffix(".parquet")
        _write_parquet(start + source.read(), path)
        return path
    path = path.with_suffix(".parquet" if start.startswith(PARQUET) else ".csv")
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(source, file)
    return path


def _write_parquet(content: bytes, path: Path) -> None:
    """Write Arrow data as a Parquet file, which databases read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = pa.ipc.open_file if content.startswith(ARROW_FILE) else pa.ipc.open_stream
        found = opened(pa.BufferReader(content)).read_all()
        pq.write_table(found, path)
        return
    except pa.ArrowException as error:
        kind = type(error).__name__
    raise InputError(f"The Arrow data on standard input cannot be read ({kind}).", hint="write it anew.")


def _folder(parent: str | None) -> Path:
    """Return a private folder that is removed when the command ends."""
    folder: PrivateFolder = spill_folder(Path(parent or tempfile.gettempdir()).absolute())
    click.get_current_context().call_on_close(folder.remove)
    return folder.path


def to_standard_output(policy: Policy, form: str, *, as_json: bool, dry_run: bool) -> Policy:
    """Return a policy that publishes to a private file, which is sent when it stands (``send``).

    Raises:
        InputError: standard output is asked for something else too, or cannot show it.
    """
    if as_json:
        raise InputError(
            "Standard output holds either the release or the JSON document.",
            hint="leave out --json, and say --report report.json; or name a file: --to release.csv.",
        )
    if dry_run:
        raise InputError("With --dry-run there is no release to print.", hint="leave out --to -, or --dry-run.")
    if policy.ledger is not None:
        raise InputError(
            "A ledger records where a release is, and standard output is no place.",
            hint="name a file, --to release.csv, or leave out ledger.",
        )
    if form != "csv" and sys.stdout.isatty():
        raise InputError(f"A terminal shows no {form}.", hint="say --format csv, or send it to a file or a program.")
    target = _folder(policy.engine.temp_directory) / f"release{FORMATS[form]}"
    return _with_output(policy, Output.file(target))


def to_file(policy: Policy, path: str) -> Policy:
    """Return a policy that publishes to a file; relative paths are relative to the working directory."""
    mode = policy.output.mode if policy.output is not None else None
    return _with_output(policy, Output.file(Path(path).absolute(), mode=mode))


def _with_output(policy: Policy, output: Output) -> Policy:
    from dataclasses import replace

    if policy.output is not None and policy.output.partition_by:
        raise InputError(
            "The policy publishes a folder of partitions, and --to names one file.",
            hint="leave out --to, or take partition_by out of the policy's output.",
        )
    return replace(policy, output=output)


def send(path: Path, form: str) -> None:
    """Write a release that stands, and was audited, to standard output.

    Raises:
        BrokenPipeError: its reader reads no more.
        TargetError: it cannot be written otherwise, as on a full disk; a part of it was.
    """
    try:
        _copy(path, form)
    except BrokenPipeError:
        raise
    except OSError as error:
        with suppress(OSError):  # what is left would be written again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise TargetError(
            f"Standard output cannot be written to: {error.strerror}.",
            hint="what was written is a part of the release; throw it away, make room, and run again.",
        ) from None


def _copy(path: Path, form: str) -> None:
    out = sys.stdout.buffer
    if form == "arrow":
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as found, pa.ipc.new_stream(out, found.schema_arrow) as stream:
            for batch in found.iter_batches():
                stream.write_batch(batch)
    else:
        with path.open("rb") as file:
            shutil.copyfileobj(file, out)
    out.flush()
