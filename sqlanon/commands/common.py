"""The parts that commands share: warnings, and the facts of options."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.assess.relations.nulls import printable
from sqlanon.commands.csv_options import read_csv_options, read_format_options
from sqlanon.commands.guarded import concealed, concealing
from sqlanon.commands.standard_streams import STANDARD, read_standard_policy, spool_standard_input
from sqlanon.commands.verbosity import label
from sqlanon.core.facts import Facts
from sqlanon.core.policy import Policy
from sqlanon.core.policy.paths import same_file
from sqlanon.core.source.columns import match_columns
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import Source, closed_on_error, open_source
from sqlanon.core.source.rights import with_readable_columns, with_visible_rows
from sqlanon.errors import TargetError


def warn(text: str) -> None:
    """Print a warning to standard error."""
    print(label("Warning:", "yellow", sys.stderr), concealed(text), file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Judged(Facts):
    """What a command judged of a relation, by its exact names.

    Attributes:
        watched: the column of each model; None where a model watches none.
        others: columns that nothing was asked about; None where a name may be a value of a record.
        columns: how many columns the relation has.
    """

    KEYS = "source table quasi_identifiers entity columns columns_not_judged=others"
    source: str
    table: str | None
    quasi_identifiers: tuple[str, ...]
    watched: tuple[str | None, ...]
    entity: str | None
    others: tuple[str, ...] | None
    columns: int

    @classmethod
    def of(
        cls,
        opened: Source,
        given: tuple[str, str | None],
        quasi_identifiers: Sequence[str],
        watched: Sequence[str | None] = (),
        entity: str | None = None,
    ) -> Judged:
        """Look up what is asked for, in any case.

        Raises:
            SourceError: the relation has no such column.
        """
        named = [name for name in (*quasi_identifiers, *watched, entity) if name is not None]
        exact = dict(zip(named, match_columns(opened, named), strict=True))
        asked = tuple(dict.fromkeys(exact[name] for name in quasi_identifiers))
        others = tuple(name for name in opened.types if name not in exact.values())
        return cls(
            *given,
            asked,
            tuple(exact[name] if name is not None else None for name in watched),
            exact[entity] if entity is not None else None,
            others if not opened.header_line else None,
            len(opened.types),
        )

    def lines(self) -> list[str]:
        """Return the lines that say which records were judged, and which not, for a person."""
        sensitive = dict.fromkeys(name for name in self.watched if name is not None)
        listed = {"quasi-identifiers": self.quasi_identifiers, "sensitive": tuple(sensitive)}
        listed["entity"] = (self.entity,) if self.entity is not None else ()
        listed["not judged"] = self.others or ()
        lines = [f"{what}: {', '.join(map(printable, names))}" for what, names in listed.items() if names]
        left = self.columns - len({*self.quasi_identifiers, *sensitive, *listed["entity"]})
        if self.others is None and left:
            lines.append(f"not judged: {left} other column{'s' if left > 1 else ''}")
        return lines


def open_relation(source: str, table: str | None, reading: Reading) -> Source:
    """Open a relation to examine. Our release files hold one table, ``release``; other databases need a table.

    Warns if the session sees some of its rows only: then these are examined.
    """
    path = str(spool_standard_input()) if source == STANDARD else source
    opened = open_source(
        path, table or ("release" if Path(path).suffix.lower() == ".duckdb" else None), reading=reading
    )
    with closed_on_error(opened.engine):
        opened = with_readable_columns(with_visible_rows(opened, accepted=True))
    for warning in opened.warnings:
        warn(warning)
    return opened


def reading_with(csv: Sequence[str]) -> Reading:
    """Return how to read files, with the options of ``--csv`` and ``--read``.

    Raises:
        InputError: one cannot be used.
    """
    return Reading(read_csv_options(csv), read_format_options(csv), needs_records=True, finds_delimiter=True)


def read_policy(path: str, **search: Any) -> Policy:
    """Return the policy in a file, or (``-``) on standard input, relative to the working directory.

    Args:
        search: options of its search to override; None leaves the policy's own.
    """
    policy = Policy.from_dict(read_standard_policy()) if path == STANDARD else Policy.from_file(path)
    concealing(policy.conceal)
    return with_search(policy, **search)


def with_search(policy: Policy, **search: Any) -> Policy:
    """Return the policy with other options of its search; None leaves one as it is."""
    changes = {name: value for name, value in search.items() if value is not None}
    return replace(policy, search=replace(policy.search, **changes)) if changes else policy


def refuse_overwriting(used: Iterable[Path], beside: Mapping[str, Path]) -> None:
    """Check that no file which a command writes is a folder, a file of the command, or another that it writes.

    Args:
        used: what the command reads, and what it writes besides.
        beside: files to write, by what they are called to a person.

    Raises:
        TargetError: one is; nothing has been done yet.
    """
    taken = list(used)
    for what, path in beside.items():
        if path.is_dir():
            raise TargetError(f"The {what} {path.name!r} is a folder.", hint="name a file in it.")
        if any(same_file(path, other) for other in taken):
            raise TargetError(f"The {what} {path.name!r} is another file of this run.", hint="choose another name.")
        taken.append(path)
