"""The errors of sqlanon, one tree.

    SqlanonError
    ├── InputError                 exit code 2: something the user gave is unusable
    │   ├── PolicyError            faults of the policy, all reported at once (``faults``)
    │   ├── HierarchyError         a hierarchy is not a tree, is incomplete, or contradicts itself
    │   ├── UncoveredValuesError   the source holds values that a hierarchy does not list
    │   ├── IdentifyingColumnError the policy publishes columns that identify persons, and does not accept them
    │   ├── SourceError            the source cannot be read, has no such table or column
    │   ├── SourceChangedError     the source changed between planning and publication
    │   ├── TargetError            the target exists, or cannot be written
    │   ├── RepeatError            the release would repeat the one that it replaces (``differing``)
    │   └── UnsupportedError       a type or an option that an engine cannot serve
    ├── NoSolutionError            exit code 1: no node of the lattice meets the policy (``nearest``)
    ├── SearchStoppedError         exit code 1: stopped before any solution was found
    ├── NothingNewError            exit code 3 where that was asked for: nothing was written
    ├── AuditError                 exit code 1: what was written does not satisfy the policy; nothing was published
    └── EngineError                exit code 2: the database refused a statement (``statement``, ``kind``)

``Interrupted`` stands apart: it is a KeyboardInterrupt, which ``except Exception`` lets pass.

A message is a sentence of fact with names and numbers, then ``Hint:`` with the next action. It never
holds a cell value.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, cast

Answer = TypeVar("Answer")
Caught = TypeVar("Caught", bound=Exception)


class SqlanonError(Exception):
    """Base of every error that sqlanon raises on purpose.

    Args:
        message: one sentence of fact.
        hint: the next action, without the word ``Hint``.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(f"{message} Hint: {hint}" if hint else message)


class InputError(SqlanonError):
    """Something that the user gave cannot be used."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a policy: the key it sits at, what is wrong, and the cure."""

    key: str
    message: str
    hint: str

    def __str__(self) -> str:
        key = self.key if self.key.isprintable() else repr(self.key)  # a name in it must not begin a line
        return f"{key}: {self.message} Hint: {self.hint}"


class PolicyError(InputError):
    """The policy has faults; all of them are in ``faults``.

    Args:
        subject: what has the faults, if it is no policy.
    """

    def __init__(self, faults: Sequence[Fault], *, subject: str = "The policy") -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        head = f"{subject} has {count} fault{'s' if count != 1 else ''}."
        super().__init__("\n  - ".join([head, *map(str, self.faults)]))


class HierarchyError(InputError):
    """A hierarchy is not a tree, lacks levels, or contradicts itself."""


class UncoveredValuesError(InputError):
    """The source holds values for which a hierarchy has no row.

    Attributes:
        counts: per column, (number of distinct values, number of records).
        queries: per column, a query for the operator that lists the values.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        counts: Mapping[str, tuple[int, int]],
        queries: Mapping[str, str],
    ) -> None:
        self.counts = dict(counts)
        self.queries = dict(queries)
        super().__init__(message, hint=hint)


class IdentifyingColumnError(InputError):
    """The policy publishes columns that identify persons, and does not accept them.

    Attributes:
        columns: per column, what was counted of it.
    """

    def __init__(self, message: str, *, hint: str, columns: Mapping[str, Mapping[str, object]]) -> None:
        self.columns = dict(columns)
        super().__init__(message, hint=hint)


class SourceError(InputError):
    """The source cannot be read, or has no such table or column."""


class SourceChangedError(InputError):
    """The source changed between planning and publication; nothing was published."""


class TargetError(InputError):
    """The target exists already, or cannot be written."""


class RepeatError(InputError):
    """The release would replace one of the same policy over nearly the same records; nothing was replaced.

    Attributes:
        differing: how many ``classes`` differ by fewer than k records, and the ``records`` by which they differ.
    """

    def __init__(self, message: str, *, hint: str, differing: Mapping[str, int]) -> None:
        self.differing = dict(differing)
        super().__init__(message, hint=hint)


class UnsupportedError(InputError):
    """A type or an option that the engine cannot serve; the message names the alternative."""


class NoSolutionError(SqlanonError):
    """No node of the lattice meets the policy.

    Attributes:
        nearest: of the node that suppresses fewest records, ``{"levels": {column: level}, "suppressed": int,
            "allowed": int, "models": [{"model": label, "suppressed": int}]}``: what it lacks, model by model.
    """

    exit_code = 1

    def __init__(self, message: str, *, hint: str, nearest: Mapping[str, object] | None = None) -> None:
        self.nearest = dict(nearest) if nearest is not None else None
        super().__init__(message, hint=hint)


class NothingNewError(SqlanonError):
    """There is nothing to release that was not released before. Nothing was written."""

    exit_code = 3


class SearchStoppedError(SqlanonError):
    """The search was stopped before any solution was found."""

    exit_code = 1


class Interrupted(KeyboardInterrupt):
    """The user stopped a run. Nothing was published and nothing replaced, unless ``published``.

    Other interrupts are raised as KeyboardInterrupt alone: nothing is known of them but that nothing was published.

    Attributes:
        message, hint: as in ``SqlanonError``.
        incumbent: the best solution when a search was stopped, ``{"levels": {column: level}, "loss": float,
            "lower_bound": float | None, "gap": float | None}``; None when there was none.
        published: the interrupt came when the release was being put in place: it stands, with all its papers.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        incumbent: Mapping[str, object] | None = None,
        published: bool = False,
    ) -> None:
        self.message = message
        self.hint = hint
        self.incumbent = dict(incumbent) if incumbent is not None else None
        self.published = published
        super().__init__(f"{message} Hint: {hint}" if hint else message)


class AuditError(SqlanonError):
    """What was written does not satisfy the policy; nothing was published."""

    exit_code = 1


class EngineError(SqlanonError):
    """The database refused a statement.

    Attributes:
        statement: name of the statement.
        kind: class of the database's error, never its text when that can hold a value.
    """

    def __init__(self, message: str, *, hint: str = "", statement: str, kind: str) -> None:
        self.statement = statement
        self.kind = kind
        super().__init__(message, hint=hint)


def listing(names: Iterable[str], most: int = 30) -> str:
    """Return names in quotes, of many the first.

    >>> listing(["a", "b"]), listing("abc", most=2)
    ("'a', 'b'", "'a', 'b', … (3 in all)")
    """
    known = [*names]
    more = f", … ({len(known)} in all)" if len(known) > most else ""
    return ", ".join(map(repr, known[:most])) + more


def check_time(deadline: float | None, what: str) -> None:
    """Raise SearchStoppedError when a deadline (of ``time.monotonic``) has passed before all of ``what`` were tried."""
    if deadline is not None and time.monotonic() > deadline:
        raise SearchStoppedError(
            f"The time limit was reached before all {what} were tried.",
            hint=f"raise search.time_limit, or allow fewer {what}.",
        )


@dataclass(frozen=True, slots=True)
class instead_of(Generic[Caught]):  # called like contextlib.suppress
    """Raise what is ``told`` of an exception in its place; nothing leads back to it, whose text may quote a value."""

    caught: type[Caught] | tuple[type[Caught], ...]
    told: Callable[[Caught], SqlanonError]

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        if not isinstance(raised, self.caught):
            return
        failure = self.told(cast("Caught", raised))
        del raised, trace  # or the variables of a traceback would show them
        try:
            raise failure
        finally:
            failure.__context__ = None


def system_refusals(error: type[SqlanonError], what: str, *, hint: str) -> instead_of[OSError]:
    """Raise an error in the place of an OSError, of which it keeps the reason alone, and no path.

    One without a reason is of the package, and says what it is: no driver or writer runs in the block.

    Raises:
        SqlanonError: of the class ``error``; ``what`` begins its message.
    """
    return instead_of(OSError, lambda refusal: error(f"{what} ({refusal.strerror or refusal}).", hint=hint))


def attempt(what: str, call: Callable[[], Answer], error: type[SqlanonError] = InputError) -> Answer:
    """Call code from outside the package. Errors of sqlanon pass through; the text of any other may quote a value.

    Raises:
        SqlanonError: of the class ``error``, when anything else is raised; ``what`` begins its message.
    """
    try:
        return call()
    except (SqlanonError, StopIteration):
        raise
    except Exception as raised:  # of foreign code
        failure = type(raised).__name__
    raise error(
        f"{what} failed ({failure}).",
        hint="it comes from outside of sqlanon: see its documentation, or ask its author.",
    )
