"""The seals of a ledger: a chain of keyed hashes over all that was written to it, whose head is kept outside its file.

Each write adds a seal: HMAC-SHA-256 of the seal before it and of all that the ledger holds then, under a key that is
derived from the ledger's own for this alone. So what was edited or deleted without the key is found. A copy of an
earlier day has valid seals. So the last of them, the head, stands in a folder of the user too, by the path of the
ledger. It is written after the ledger: a process that is killed between leaves a head that is one write behind, which
is no fault, because the ledger holds the seal that it names.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from sqlglot import exp

from sqlanon.core.disk.writing import write_text
from sqlanon.core.policy.key import Key
from sqlanon.core.source.release_key import ReleaseKey
from sqlanon.core.sqltrees.trees import column, count_distinct, named, number, union_all
from sqlanon.errors import InputError, SqlanonError
from sqlanon.ledger.database import FORMAT, OF_COHORTS, TABLES, LedgerDatabase

CONTEXT = "sqlanon ledger of releases"
"""The keys of a ledger are derived with it, so that they are the same for every release, and those of no pseudonym."""
CHECK = "ledger check"
"""The purpose of the key whose digits a ledger holds, to know its key again."""
PURPOSE = "ledger seals"
"""The purpose of the key of seals."""
ID = "id"
"""The fact of a ledger by which it is known again."""
SEALED: tuple[tuple[str, str, list[str]], ...] = (
    ("members", "m", ["class"]),
    ("sensitive", "s", ["attribute", "value"]),
    ("shown", "h", ["cohort", "place", "since", "cells"]),
    ("departed", "d", []),
    ("histories", "y", ["class"]),
    ("erased", "e", ["source", "known"]),
)
"""The tables whose rows are sealed by the number of their release: with a letter, and what is sealed of a person."""
LIKE_A_ROW, ESCAPED = "(^|,)(!*([a-z][0-9a-f]{8}-|-$))", r"\1!\2"
"""What in a text might be taken for the beginning of another row, or for NULL, and what is sealed in its place."""
ACCEPT = "`sqlanon ledger check POLICY --accept state` takes it as it is"


def head_file(path: Path) -> Path:
    """Return where the head of a ledger stands: in the folder of the user's programs for what lasts.

    Raises:
        RuntimeError: the user has no folder.
    """
    name = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_STATE_HOME"
    folder = Path(os.environ[name]) if os.environ.get(name) else Path.home() / ".local" / "state"
    digits = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return folder / "sqlanon" / "ledgers" / f"{digits}.json"


def read_head(path: Path) -> dict[str, Any] | None:
    """Return the head of the ledger at a path; None if there is none, and an empty one where it cannot be read."""
    try:
        head = json.loads(head_file(path).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, RuntimeError):
        return None
    except (OSError, ValueError):
        return {}
    return head if isinstance(head, dict) else {}


def refuse_missing(path: Path) -> None:
    """Raise InputError if the ledger at a path, where no file is, was written to before."""
    if read_head(path) is not None:
        raise InputError(
            f"The ledger {path.name!r} is missing: earlier runs wrote to it, and without it nothing is known of their "
            "releases.",
            hint="restore it from a copy. If none of its releases matters any more, "
            f"{ACCEPT.replace('takes it as it is', 'begins a new one')}.",
        )


class Seals:
    """The seals of an open ledger.

    Args:
        key: of the seals.
        digits: by which the ledger knows its key again.

    Attributes:
        notes: what the user should know of them.
    """

    def __init__(self, database: LedgerDatabase, key: bytes, digits: str) -> None:
        self._database = database
        self._key = key
        self._digits = digits
        self.notes: list[str] = []
        self._checked: set[int] | None = set()  # releases whose persons were looked at; None: all

    @property
    def sealed(self) -> bool:
        """Whether the ledger has seals: those of builds before seals have none until they are written to."""
        return self._database.facts().get("format") == FORMAT

    def fault(self, numbers: Iterable[int] | None = None) -> str:
        """Return how the ledger differs from what was written to it, as a sentence; empty if it does not.

        Args:
            numbers: of the releases whose persons are looked at; by default of all.
        """
        head = read_head(self._database.path)
        if not self.sealed:
            return "" if head is None else "was replaced by a copy that is older than its seals"
        last = ""
        writes: list[tuple[str, str]] = []
        for write, what, state, seal in self._rows("seals"):
            if write != len(writes) + 1 or not hmac.compare_digest(seal, self._seal(last, write, what, state)):
                return f"has another seal {write} than was written"
            last = seal
            writes.append((seal, state))
        if not writes and head is None and not self._rows("releases"):
            return ""  # the run that created it ended before it wrote anything
        if not writes or writes[-1][1] != self._state():
            return "holds entries that were changed or deleted, or that sqlanon did not write"
        if wrong := self._other_persons(numbers):
            return wrong
        if head is None:
            return ""
        write, of_ledger = head.get("write"), head.get(ID)
        if of_ledger != self._database.facts().get(ID) or not isinstance(write, int):
            return "is not the one that was there before"
        if not 1 <= write <= len(writes):
            return f"is a copy of an earlier day: it was written to {write} times, and this copy {len(writes)} times"
        return "" if writes[write - 1][0] == head.get("seal") else "is a copy of an earlier day that was continued"

    def _other_persons(self, numbers: Iterable[int] | None) -> str:
        """Return that a release has other persons than were written, as a sentence; empty if none has.

        Numbers under which nothing was written are looked at in any case.
        """
        stated = dict(self._rows("contents"))
        if numbers is not None:
            numbers = {*numbers} | (self._numbers() - stated.keys())
        held = self._contents(numbers)
        looked_at = held.keys() | (stated.keys() if numbers is None else stated.keys() & numbers)
        wrong = sorted(key for key in looked_at if held.get(key) != stated.get(key))
        return f"holds other persons of release {wrong[0]} than were written" if wrong else ""

    def _refuse(self, fault: str) -> None:
        if fault:
            raise InputError(
                f"The ledger {self._database.path.name!r} {fault}: what was released before is not known for certain.",
                hint=f"restore the newest copy of it. If there is none, look at it (sqlanon ledger show); {ACCEPT}.",
            )

    def check(self, numbers: Iterable[int] | None = None) -> None:
        """Keep the head of a ledger that has one, if it is that of this ledger.

        Args:
            numbers: as for ``fault``.

        Raises:
            InputError: the ledger is not what was written.
        """
        self._refuse(self.fault(numbers))
        self._checked = None if numbers is None else {*numbers}
        if self.sealed:
            unknown = read_head(self._database.path) is None
            self.keep_head()
            if unknown and not self.notes:
                self.notes.append(
                    "No head of the ledger was kept on this machine before, so that a copy of an earlier day in its "
                    "place would not have been found. If this is not its first run here, look for a newer copy."
                )

    def facts(self) -> dict[str, str]:
        """Return the facts of a new ledger."""
        return {"format": FORMAT, "key": self._digits, ID: token_hex(16)}

    @contextmanager
    def writing(self, what: str, numbers: Iterable[int] = ()) -> Iterator[None]:
        """Write the changes of the block as a whole, with a seal; then keep the head.

        Args:
            numbers: of the releases whose persons are written.

        Raises:
            InputError: they are not what was written before: nothing is sealed that was not looked at.
        """
        database = self._database
        older, numbers = not self.sealed, [*numbers]
        if not older and self._checked is not None and (others := {*numbers} - self._checked):
            self._refuse(self._other_persons(others))
        with database.writing():
            if older:
                database.make_tables(("seals", "contents"))
                for name, value in self.facts().items():
                    database.set_fact(name, value)
            yield
            held = self._contents(None if older else numbers)
            for key in {*numbers, *held}:  # a number that became empty has no digest
                database.delete(key, ("contents",))
            for row in held.items():
                database.insert("contents", row)
            database.insert("seals", self._next(what, self._state()))
        self.keep_head()

    def restart(self, facts: Mapping[str, str]) -> None:
        """Begin the chain again with what the ledger holds now, and these facts: a person accepted it."""
        database = self._database
        with database.writing():
            if not self.sealed:
                database.make_tables(("seals", "contents"))
            for name in ("seals", "contents"):
                database.engine.run("write ledger", exp.Delete(this=database.table(name)))
            for name, value in {**self.facts(), **database.facts(), **facts, "format": FORMAT}.items():
                database.set_fact(name, value)
            for row in self._contents().items():
                database.insert("contents", row)
            database.insert("seals", self._next("accept state", self._state()))
        self.keep_head()

    def rewrite(self, what: str, without: int, facts: Mapping[str, str]) -> None:
        """Write the file anew without a release and with other facts, and seal it; then keep the head."""
        if not self.sealed:
            with self.writing("seal"):
                pass
        self._database.rewrite(without, facts, self._next(what, self._state(without, facts)))
        self.keep_head()

    def keep_head(self) -> None:
        """Write the head where it is kept outside the file; where it cannot be, note it."""
        if not (rows := self._rows("seals")):
            return  # its first write did not come
        write, *_, seal = rows[-1]
        own = {"ledger": str(self._database.path), ID: self._database.facts()[ID], "write": write, "seal": seal}
        failure = ""
        try:
            path = head_file(self._database.path)
            if read_head(self._database.path) != own:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_text(path, json.dumps(own) + "\n")
        except OSError as error:
            failure = error.strerror or "the system refused"
        except (RuntimeError, SqlanonError):
            failure = "it cannot be written"
        if failure and not self.notes:
            self.notes.append(
                f"The head of the ledger cannot be kept outside its file ({failure}), so that a copy of an earlier day "
                "in its place would not be found. Name a folder that lasts: XDG_STATE_HOME."
            )

    # -- what is sealed ------------------------------------------------------------------------------------------------

    def _rows(self, name: str) -> list[tuple[Any, ...]]:
        key = column("write" if name == "seals" else "number")
        query = exp.select("*").from_(self._database.table(name)).order_by(key)
        return [tuple(row) for row in self._database.engine.run("read ledger", query)]

    def _seal(self, before: str, write: int, what: str, state: str) -> str:
        return hmac.new(self._key, json.dumps([before, write, what, state]).encode(), hashlib.sha256).hexdigest()

    def _next(self, what: str, state: str) -> tuple[Any, ...]:
        rows = self._rows("seals")
        before, write = (rows[-1][-1] if rows else ""), len(rows) + 1
        return (write, what, state, self._seal(before, write, what, state))

    def _state(self, without: int | None = None, facts: Mapping[str, str] | None = None) -> str:
        """Return the SHA-256 of all that a ledger holds, of its persons by their digests.

        Args:
            without: a release that is left out.
            facts: in the place of those that it holds.
        """
        held = [[row for row in self._rows(name) if row[0] != without] for name in ("releases", "contents")]
        every = [sorted((self._database.facts() if facts is None else facts).items()), *held]
        return hashlib.sha256(json.dumps(every).encode()).hexdigest()

    def _contents(self, numbers: Iterable[int] | None = None) -> dict[int, str]:
        """Return the SHA-256 of the persons, classes and values of releases, by their numbers; by default of all.

        The rows are hashed in groups, so that no text is longer than a part of them.
        """
        lines = [
            self._sealed(name, named(_line(name, kind, columns), "line")) for name, kind, columns in self._tables()
        ]
        if numbers is not None:
            lines = [part.where(_number().isin(*numbers)) for part in lines] if (numbers := [*numbers]) else []
        if not lines:
            return {}
        start = exp.Substring(this=column("line"), start=number(2), length=number(4))
        grouped = exp.select(column("number"), named(_hash_of("line"), "hash")).from_(
            union_all(lines).subquery("lines")
        )
        grouped = grouped.group_by(column("number"), start)
        query = exp.select(column("number"), named(_hash_of("hash"), "hash")).from_(grouped.subquery("groups"))
        rows = self._database.engine.run("digests of members", query.group_by(column("number")))
        return {int(key): str(digest) for key, digest in rows}

    def _numbers(self) -> set[int]:
        """Return the numbers under which any row of a person stands."""
        every = exp.union(*(self._sealed(name) for name, *_ in self._tables()))
        return {int(row[0]) for row in self._database.engine.run("numbers of releases", every)}

    def _tables(self) -> list[tuple[str, str, list[str]]]:
        """Return those of ``SEALED`` that the ledger has."""
        return [item for item in SEALED if item[0] not in OF_COHORTS or self._database.has(item[0])]

    def _sealed(self, name: str, *columns: exp.Expr) -> exp.Select:
        return exp.select(named(_number(), "number"), *columns).from_(self._database.table(name))


def open_sealed(path: Path, key: Key) -> tuple[LedgerDatabase, Seals, ReleaseKey]:
    """Lock a ledger, attach it if its file is there, and return it with its seals, which were not checked, and its key.

    Raises:
        InputError: it cannot be read, or was written with another key.
    """
    own = ReleaseKey(key.secret(), CONTEXT)
    database = LedgerDatabase.claim(path)
    try:
        if database.exists:
            database.attach()
        digits = own.key_for(CHECK).hex()
        if database.attached and database.facts().get("key") != digits:
            raise InputError(
                f"The ledger {database.path.name!r} was written with another key, so that no person would be known "
                "again.",
                hint="give the key of its first release; a ledger whose key is lost cannot be continued.",
            )
        return database, Seals(database, own.key_for(PURPOSE), digits), own
    except BaseException:
        database.close()
        raise


def _number() -> exp.Expr:
    """Return the number under which a row stands; -1, which no release has, if that is NULL."""
    return exp.Coalesce(this=column("number"), expressions=[number(-1)])


def _line(table: str, kind: str, columns: Sequence[str]) -> exp.Expr:
    """Return a row of a person as a text, the digits of the person second to none but the kind.

    The texts of two sets of rows, joined by commas, are equal only if the sets are.
    """
    line: exp.Expr = exp.Literal.string(kind)
    for name in ("person", *columns):
        text: exp.Expr = exp.cast(column(name), "VARCHAR")
        if TABLES[table][name] == "VARCHAR":
            like, escaped, everywhere = map(exp.Literal.string, (LIKE_A_ROW, ESCAPED, "g"))
            text = exp.RegexpReplace(this=text, expression=like, replacement=escaped, modifiers=everywhere)
        shown = exp.Coalesce(this=text, expressions=[exp.Literal.string("-")])
        gap = line if name == "person" else exp.DPipe(this=line, expression=exp.Literal.string(" "))
        line = exp.DPipe(this=gap, expression=shown)
    return line


def _hash_of(name: str) -> exp.Expr:
    """Return the SHA-256 of the texts of a group, in their order."""
    every: exp.Expr = column(name)
    for function in ("LIST", "LIST_SORT"):
        every = exp.Anonymous(this=function, expressions=[every])
    listed = exp.Anonymous(this="ARRAY_TO_STRING", expressions=[every, exp.Literal.string(",")])
    return exp.Anonymous(this="SHA256", expressions=[listed])


def miscounted(database: LedgerDatabase, stated: Mapping[int, int], numbers: Iterable[int] | None = None) -> list[int]:
    """Return the numbers of releases of which the ledger holds more or fewer persons than their entries state.

    Args:
        numbers: those that are looked at; by default all.
    """
    counts = exp.select(_number(), named(count_distinct(column("person")), "persons"))
    counts = counts.from_(database.table("members")).group_by(_number())
    if numbers is not None:
        stated = {key: stated[key] for key in {*numbers} & stated.keys()}
        counts = counts.where(column("number").isin(*stated))
    held = {int(key): int(persons) for key, persons in database.engine.run("persons of releases", counts)}
    return sorted(key for key in held.keys() | stated.keys() if held.get(key, 0) != stated.get(key, 0))
