"""Where DuckDB puts what does not fit into memory: raw values, which nobody else may read.

The folder is private (mode 0700) and removed at the end, what a killed process left is removed by the next, and the
files are encrypted under a key that exists in memory only. With DuckDB's extension ``httpfs`` installed, OpenSSL
encrypts. Without it, DuckDB's own cipher does, whose key comes from a random generator that is not made for
cryptography: a file that is found shows no value, but it is the folder that keeps others from finding one.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import duckdb

from sqlanon.core.disk.folders import spill_folder
from sqlanon.errors import InputError, system_refusals


class Spill:
    """The folder of one embedded database.

    Args:
        parent: where the folder is created; None is the system's place for temporary files (``TMPDIR``).

    Raises:
        InputError: it cannot be created there.
    """

    def __init__(self, parent: str | None) -> None:
        with system_refusals(
            InputError,
            "The place for temporary files cannot be used",
            hint="name a folder that you can write to in engine.temp_directory, or in the variable TMPDIR.",
        ):
            self._folder = spill_folder(Path(parent or tempfile.gettempdir()).absolute())
        self.remove = weakref.finalize(self, self._folder.remove)

    def connect(self, settings: Mapping[str, Any], files: Collection[Path] | None) -> duckdb.DuckDBPyConnection:
        """Return a new database in memory that spills to the folder, encrypted.

        Args:
            files: all that it may open; None is everything.
        """
        config = {"preserve_insertion_order": "false", "python_enable_replacements": "false", **settings}
        config |= {"temp_directory": str(self._folder.path), "temp_file_encryption": "true"}
        connection = duckdb.connect(":memory:", config=config)
        try:
            connection.execute("LOAD httpfs")
        except duckdb.Error:  # not installed, and nothing is installed behind the user's back
            connection.execute("SET force_mbedtls_unsafe = true")
        if files is not None:
            close_door(connection, files)
        return connection


def close_door(connection: duckdb.DuckDBPyConnection, files: Collection[Path]) -> None:
    """Let a database open these files alone, beside its own folder: no other file, extension, secret or address.

    A view may read files, by a function, a macro or a quoted name. Nothing opens the door again.
    """
    logs = [log for file in files if not (log := Path(f"{file}.wal")).is_symlink()]  # a link may lead anywhere
    connection.execute("SET allowed_paths = ?", [[*map(str, files), *map(str, logs)]])
    connection.execute("SET allow_persistent_secrets = false")
    connection.execute("SET enable_external_access = false")
