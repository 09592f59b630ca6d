"""Reading a file by a library in C or Rust in a process of its own: what makes that crash, or takes its memory, ends
the process and not its user's. Texts come back as frames of bytes: Arrow batches, and JSON at both ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from sqlanon.core.formats.base import with_findings
from sqlanon.errors import SourceError, UnsupportedError, listing
from sqlanon.parameters import Parameter, number, option, shaped

GIB = 1 << 30
MEMORY = 4
"""GiB that the process may take, where the system keeps such limits."""
ROWS, CELLS = 50_000, 1_000_000
"""A batch ends at the first of these."""
CHILD = """import json, sys
given = json.loads(sys.stdin.readline())
sys.path[:] = given.pop("path")
from sqlanon.interop.formats.apart import serve
serve(**given)"""
CURE = "open it with the program that made it and save it anew, or export it to CSV."


@dataclass(frozen=True, slots=True)
class Found:
    """What a library finds in a file, in the process apart: batches are lists of columns.

    Attributes:
        columns: the names as they stand in the file.
        options: how the file is read, as a policy would say it.
    """

    columns: Sequence[str]
    batches: Iterable[Sequence[Sequence[str | None]]]
    options: Mapping[str, Any]
    notes: Sequence[str] = ()


def _words(value: Any) -> str | None:
    given = [value] if isinstance(value, str) else value
    good = isinstance(given, list | tuple) and all(isinstance(item, str) for item in given)
    return None if good else "give a text in quotes, or a list of such texts."


SHARED: tuple[Parameter, ...] = (
    option(
        "null",
        shaped({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, "text or list", _words),
        about="The texts that are NULL, beside the empty one.",
        example='[NA, "-"]',
        default="the empty text alone",
    ),
    option(
        "memory",
        number(1, 1024),
        about="The memory that reading may take, and the size that parts of a file may unpack to.",
        unit="GiB",
        example="16",
        default="4",
    ),
)
"""Options of all formats that are read so."""


def read_apart(
    name: str, reader: str, path: Path, options: Mapping[str, Any], *, package: str, extra: str
) -> pa.RecordBatchReader:
    """Return the records that ``look`` of a module of this room finds in a file; see ``FileFormat``.

    Args:
        name: the key of the options in a policy.

    Raises:
        UnsupportedError: the package that reads such files is not installed.
        SourceError: it cannot read the file, or crashes; never with its own message, which may quote the file.
    """
    if find_spec(package) is None:
        raise UnsupportedError(
            f"{path.name!r} is read by the package {package}, which is not installed.",
            hint=f'run: python -m pip install "sqlanon[{extra}]"',
        )
    frames = _frames(name, reader, path, options)
    head = json.loads(next(frames)[1])
    from sqlanon.core.source.csv_records import column_names

    columns = column_names(head["columns"])
    if renamed := [name for name, given in zip(columns, head["columns"], strict=True) if name != given]:
        head["notes"].append(
            f"{len(renamed)} columns of {path.name!r} have no name, or one that another has; here they are called "
            f"{listing(renamed)}."
        )
    schema = with_findings(pa.schema([(name, pa.string()) for name in columns]), head["notes"], head["options"])
    batches = (pa.ipc.read_record_batch(data, schema) for kind, data in frames if kind == b"B")
    return pa.RecordBatchReader.from_batches(schema, batches)


def _frames(name: str, reader: str, path: Path, options: Mapping[str, Any]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kinds and contents of what the process sends; J: JSON, B: a batch.

    Raises:
        SourceError: it reports one, or does not come to its end.
    """
    given = {"path": sys.path, "reader": reader, "file": str(path), "options": dict(options)}
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        with suppress(BrokenPipeError), process.stdin:
            process.stdin.write(json.dumps(given).encode() + b"\n")
        while kind := process.stdout.read(1):
            size = process.stdout.read(8)
            data = process.stdout.read(int.from_bytes(size))
            if kind == b"E":
                message, hint = json.loads(data)
                raise SourceError(message, hint=hint)
            if kind == b".":
                return
            yield kind, data
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    memory = options.get("memory", MEMORY)
    raise SourceError(
        f"What reads the file {path.name!r} crashed, or took more than {memory:g} GiB of memory.",
        hint=f"allow more, {name}: {{memory: {2 * memory:g}}}; or {CURE}",
    )


def serve(reader: str, file: str, options: Mapping[str, Any]) -> None:
    """Read a file in the process apart, and send what is found."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # of libraries that print
    path = Path(file)
    with suppress(ImportError, ValueError, OSError):  # Windows knows no such limit, macOS keeps none
        import resource

        most = int(options.get("memory", MEMORY) * GIB)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core holds values
    try:
        _send_all(out, import_module(f"sqlanon.interop.formats.{reader}").look(path, options))
    except SourceError as error:
        _send(out, b"E", json.dumps([error.message, error.hint]).encode())
    except MemoryError:
        os._exit(1)
    except BaseException as error:  # a panic of Rust is no Exception
        message = f"The file {path.name!r} cannot be read ({type(error).__name__})."
        _send(out, b"E", json.dumps([message, f"it may be damaged, or of another kind: {CURE}"]).encode())
    os._exit(0)


def _send_all(out: IO[bytes], found: Found) -> None:
    names = [name or "" for name in found.columns]  # of a damaged file one may be None
    head = {"columns": names, "options": dict(found.options), "notes": list(found.notes)}
    _send(out, b"J", json.dumps(head).encode())
    nulls = found.options.get("null", ())
    words = {nulls} if isinstance(nulls, str) else {*nulls}
    for columns in found.batches:
        texts = [[None if text in words else text for text in column] if words else column for column in columns]
        arrays = [pa.array(column, pa.string()) for column in texts]
        batch = pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(arrays))])
        _send(out, b"B", batch.serialize())
    _send(out, b".", b"")


def _send(out: IO[bytes], kind: bytes, data: Any) -> None:
    out.write(kind + len(data).to_bytes(8) + bytes(data))
    out.flush()


def text_of(value: Any) -> str | None:
    """Return a value of a cell as a text: ISO dates and times, numbers without spurious decimals; None if empty."""
    if isinstance(value, str):
        return value or None
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    if isinstance(value, float):
        return _number(value)
    if hasattr(value, "total_seconds"):
        minutes, seconds = divmod(value.total_seconds(), 60)
        hours, minutes = divmod(int(minutes), 60)
        return f"{hours:02}:{minutes:02}:{seconds:02g}"
    if hasattr(value, "isoformat"):
        return str(value.isoformat(" ") if hasattr(value, "date") else value.isoformat())
    return str(value)


def _number(value: float) -> str:
    text = repr(value).removesuffix(".0")
    if "e" not in text or not 1e-9 < abs(value) < 1e21:
        return text
    from decimal import Decimal

    return f"{Decimal(text):f}"
