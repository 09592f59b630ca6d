"""The files that an agent may name: those of one folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlanon.errors import InputError
from sqlanon.publish.papers import PAPERS

POLICIES = (".yaml", ".yml", ".json", ".toml")
SOURCES = (".duckdb", ".db", ".sqlite", ".parquet")
"""Files that name their columns."""
TEXTS = (".csv", ".tsv", ".csv.gz", ".csv.zst")
"""Files whose first line names the columns, or is a record: only their author knows which."""


@dataclass(frozen=True, slots=True)
class Places:
    """A folder, and the files below it. No link leads out of it, and nothing else on the machine can be named."""

    folder: Path

    def listed(self, endings: tuple[str, ...]) -> list[str]:
        """Return the files with one of these endings, relative to the folder, in order."""
        found = (path for path in self.folder.rglob("*") if path.name.lower().endswith(endings))
        listed = (path for path in found if not path.name.endswith(PAPERS) and self._inside(path))
        return sorted(path.relative_to(self.folder).as_posix() for path in listed)

    def path(self, name: str, endings: tuple[str, ...]) -> Path:
        """Return the path of a listed file.

        Raises:
            InputError: it is not one of them.
        """
        if name not in self.listed(endings):
            raise InputError("There is no such file to ask about.", hint="list_files names those that there are.")
        return self.folder / name

    def _inside(self, path: Path) -> bool:
        hidden = any(part.startswith(".") for part in path.relative_to(self.folder).parts)
        return not hidden and path.is_file() and path.resolve().is_relative_to(self.folder.resolve())
