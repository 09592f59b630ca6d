"""The files that an agent may name: those of one folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from sqlanon.commands.agents.sieve import shown
from sqlanon.core.engines.confined import confined
from sqlanon.core.policy.documents import read_document
from sqlanon.core.policy.paths import is_url
from sqlanon.core.policy.variables import KeyPath, expand, map_places
from sqlanon.core.publish.papers import PAPERS
from sqlanon.core.source.opening import stamp
from sqlanon.errors import InputError, SourceChangedError

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
        """Return the path of a listed file, without links.

        Raises:
            InputError: it is not one of them.
        """
        if name not in self.listed(endings):
            raise InputError("There is no such file to ask about.", hint="list_files names those that there are.")
        return (self.folder / name).resolve()

    def holds(self, path: Path) -> bool:
        """Return whether a path leads into the folder, by whatever links."""
        return path.resolve().is_relative_to(self.folder.resolve())

    def holds_all_of(self, policy: Path) -> bool:
        """Return whether all files that a policy names lead into the folder; it is read as a document only.

        Whoever checks a policy looks for its files, and a fault would reveal which exist elsewhere.

        Raises:
            SqlanonError: the document cannot be read, or a variable of the environment is not set.
        """
        document, named = read_document(policy), []

        def noted(keys: KeyPath, text: str) -> str:
            if keys[0] != "output" and not {"file", "files", "source", "populations"}.isdisjoint(keys):
                named.append(text)
            return text

        if isinstance(document, Mapping):
            map_places(expand(document)[0], noted)
        return all(is_url(name) or self._holds_pattern(policy.parent / name) for name in named)

    def _holds_pattern(self, path: Path) -> bool:
        """Return whether a path leads into the folder, and as a pattern too, whatever it finds.

        So must the folders on the way: a link would tell what there is where it leads to.
        """
        way = [str(part) for part in (path, *path.parents) if part.is_relative_to(self.folder)]
        return all(map(self.holds, (path, *(Path(found) for part in way for found in glob(part, recursive=True)))))

    @contextmanager
    def opened(self, files: Sequence[Path]) -> Iterator[None]:
        """Let databases read these files alone, which must be the same at the end.

        Raises:
            SourceChangedError: one was replaced by another file, or written to.
        """
        before = [stamp(file.resolve()) for file in files]
        try:
            with confined(files):
                yield
        finally:  # an error may say what is in the other file
            if before != [stamp(file.resolve()) for file in files]:
                raise SourceChangedError("A file changed while it was asked about.", hint="ask again.") from None

    def _inside(self, path: Path) -> bool:
        """Return whether a file is served: neither hidden nor elsewhere, and by a name that can be shown."""
        parts = path.relative_to(self.folder).parts
        named = all(shown(part) == part and not part.startswith(".") for part in parts)
        return named and path.is_file() and self.holds(path)
