"""The workplace of a release: a private folder beside its target, which is lock, draft and journal in one.

``.released.parquet.sqlanon/`` belongs to the run that publishes to ``released.parquet``: nobody else can open or lock
it, and a second run for the same target is refused. The release and its papers are written there (``new``). Then they
are put in place in this order, after a record of it is on the disk (``RECORD``):

1. The papers of the old release are moved to ``old``.
2. The new release takes the place of the old one, in one step.
3. The new papers are put beside it.

So papers never stand beside a release that they do not describe. Wherever a run is killed, who takes over the workplace
(the next run, ``sqlanon clean``, ``sqlanon check --manifest``) settles it by a look at ``new``: before step 2 the old
release stands, and its papers go back; after step 2 the new one does, and its papers follow.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlanon.core.disk.digests import digest_of
from sqlanon.core.disk.folders import LOCK, PrivateFolder, discard
from sqlanon.core.disk.locks import holder_of
from sqlanon.core.disk.modes import settle_mode
from sqlanon.core.disk.renames import exchange, rename_new, sync
from sqlanon.core.disk.writing import NEW, PATIENCE, directory_refusals, require_directory, workplace_of
from sqlanon.core.interrupts import held
from sqlanon.core.publish.papers import DIGESTS, PAPERS, Papers
from sqlanon.errors import TargetError, instead_of

OLD, RECORD = "old", "commit.json"
COMPLETED, UNDONE, REMOVED = "completed", "undone", "removed"
"""What became of a workplace that a dead process left behind."""


@dataclass(slots=True)
class Workplace:
    """The workplace of one run for one target. ``close`` leaves nothing of it.

    Attributes:
        texts: the papers of a prepared release, by their endings.
        digest: its SHA-256.
    """

    path: Path
    folder: PrivateFolder
    texts: dict[str, str] = field(default_factory=dict)
    digest: str | None = None

    @classmethod
    def claim(cls, path: Path) -> Workplace:
        """Take the place of a target, after what a dead process left there was settled.

        Raises:
            TargetError: another run publishes to it, or its directory cannot be written.
        """
        path = path.absolute()
        require_directory(path)
        folder = None
        with directory_refusals(path):
            try:
                with held():
                    folder = PrivateFolder.claim(workplace_of(path))
                if folder is not None:
                    settle(folder)
                    (folder.path / NEW).mkdir(mode=0o700)
                    (folder.path / OLD).mkdir(mode=0o700)
                    return cls(path, folder)
            except OSError:
                if folder is not None:
                    folder.abandon()
                raise
            except KeyboardInterrupt:
                if folder is not None:
                    cls(path, folder).close()
                raise
        holder = holder_of(workplace_of(path) / LOCK)
        raise TargetError(
            f"Another run is publishing to {path.name!r}{f' (process {holder})' if holder else ''}.",
            hint="wait until it has ended, or choose another target.",
        )

    @property
    def partial(self) -> Path:
        """Where the release is written."""
        return self.folder.path / NEW / self.path.name

    def prepare(self, papers: Papers | None, mode: str | None) -> dict[str, Any] | None:
        """Write the papers of the written release, and give all of it its permissions; return its manifest.

        Raises:
            TargetError: the disk refused.
        """
        document: dict[str, Any] | None = None
        with instead_of(OSError, lambda error: self._refused(error.strerror or str(error))):
            if papers is not None:
                document, self.texts = papers.of(self.partial)
            for ending, text in self.texts.items():
                _beside(self.partial, ending).write_text(text, encoding="utf-8", newline="\n")
            for ending in ("", *self.texts):
                settle_mode(_beside(self.partial, ending), _beside(self.path, ending), mode)
            for entry in sorted((self.folder.path / NEW).rglob("*")):
                if entry.is_dir() or entry.stat().st_nlink == 1:  # a link is a file that was published before
                    sync(entry)
            sync(self.folder.path / NEW)
            digest = document[DIGESTS]["release"] if document is not None else digest_of(self.partial)
            record = self.folder.path / f"{RECORD}.partial"
            self.digest = digest
            record.write_text(json.dumps({"name": self.path.name, "sha256": digest}), encoding="utf-8")
            sync(record)
            record.rename(self.folder.path / RECORD)
            sync(self.folder.path)
        return document

    def put_in_place(self, *, if_exists: str) -> None:
        """Put a prepared release and its papers in place; all of it is on the disk when this returns.

        An interrupt that comes now comes too late: it waits until all of it stands.

        Raises:
            TargetError: the target appeared meanwhile and must not be replaced, or the disk refused; all is as it was.
        """
        with (
            instead_of(OSError, lambda error: self._refused(error.strerror or str(error))),
            instead_of(FileExistsError, lambda _: self._refused("it appeared meanwhile")),
            held(),
        ):
            for ending in PAPERS:
                with suppress(FileNotFoundError):
                    _beside(self.path, ending).rename(self.folder.path / OLD / (self.path.name + ending))
            self._swap(if_exists)
            for ending in self.texts:
                os.replace(_beside(self.partial, ending), _beside(self.path, ending))
            sync(self.path.parent)

    def _swap(self, if_exists: str) -> None:
        """Let the new release take the place of the old one; where a system cannot exchange folders, in two steps."""
        if if_exists == "error" or not os.path.lexists(self.path):
            rename_new(self.partial, self.path)
        elif not self.partial.is_dir():
            os.replace(self.partial, self.path)
        elif not exchange(self.partial, self.path):
            self.path.rename(self.folder.path / OLD / self.path.name)
            rename_new(self.partial, self.path)

    def _refused(self, failure: str) -> TargetError:
        return TargetError(
            f"The target {self.path.name!r} could not be put in place ({failure}).",
            hint="check the permissions and the room on the disk, and run again.",
        )

    def close(self) -> None:
        """Settle what is open and remove the workplace. If the disk refuses that, it stays for ``sqlanon clean``."""
        with held():
            try:
                settle(self.folder)
            except OSError:
                self.folder.abandon()
            else:
                self.folder.remove()


def settle_left_behind(path: Path) -> str | None:
    """Settle the workplace of a target if its process is dead, and wait for one that is putting a release in place.

    Return what became of it, or None when there was nothing to do, or it is not ours to do.
    """
    place, until = workplace_of(path), time.monotonic() + PATIENCE
    while (place / RECORD).exists() and time.monotonic() < until:
        folder = PrivateFolder.left_behind(place)
        if folder is None:
            time.sleep(0.05)
            continue
        try:
            done = settle(folder)
        except OSError:
            folder.abandon()
            return None
        folder.remove()
        return done
    return None


@contextmanager
def working_at(path: Path) -> Iterator[Workplace]:
    """Yield the workplace of a target, which is closed in the end, come what may."""
    with closing(Workplace.claim(path)) as workplace:
        yield workplace


def settle(folder: PrivateFolder) -> str | None:
    """Complete or undo what was begun in a workplace, and empty it; return ``COMPLETED``, ``UNDONE`` or None.

    Raises:
        OSError: the disk refused; nothing is lost.
    """
    record = _record(folder.path)
    done = None
    if record is not None:
        name, digest = record
        data, path = folder.path / NEW / name, folder.path.parent / name
        if os.path.lexists(data) and not (data.is_dir() and digest_of(data) != digest):
            done = _put_back(folder.path, path)
        else:
            done = _follow(folder.path, path, digest)
        sync(path.parent)
        (folder.path / RECORD).unlink()
    for entry in folder.path.iterdir():
        if entry.name != LOCK:
            discard(entry)
    return done


def _put_back(workplace: Path, path: Path) -> str:
    """Put back what was moved away: the new release has not taken the place of the old one."""
    for entry in sorted((workplace / OLD).iterdir()):
        with suppress(FileExistsError):
            rename_new(entry, path.with_name(entry.name))
    return UNDONE


def _follow(workplace: Path, path: Path, digest: str) -> str | None:
    """Put the papers of the new release beside it, if they are not there and it still is."""
    waiting = [ending for ending in PAPERS if _beside(workplace / NEW / path.name, ending).is_file()]
    if not waiting or not path.exists() or digest_of(path) != digest:
        return None
    for ending in waiting:
        os.replace(_beside(workplace / NEW / path.name, ending), _beside(path, ending))
    return COMPLETED


def _record(workplace: Path) -> tuple[str, str] | None:
    """Return the name and the digest of the release that is being put in place, if one is."""
    try:
        record = json.loads((workplace / RECORD).read_text(encoding="utf-8"))
        name, digest = str(record["name"]), str(record["sha256"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return (name, digest) if Path(name).name == name else None


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)
