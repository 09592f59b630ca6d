"""What an attacker gains who takes NULL for a wildcard. An audit, never used to justify a release.

sqlanon forms classes by extended match (NULL is a value of its own) or leaves records with NULL out (basic match).
Ciglic, Eder and Koncilia (technical report, section 3.1) name two more: under *right maybe match* a NULL of the release
matches whatever the attacker knows, under *maybe match* a NULL on either side does. Let M(c) be the records that match
what the attacker knows, c.

- Whether a released record matches c depends on its quasi-identifiers alone. So M(c) is a union of extended classes,
  for every c, whether it stands in the release or not. If every extended class has at least k records, M(c) is empty
  or has at least k too: the attacker gains nothing in size by taking NULLs for wildcards.
- The converse is false. A record of a small extended class may have a large M(c), because records with NULLs are
  counted as its companions. An attacker who knows that these NULLs were NULL (the value does not apply, the question
  was refused) rules the companions out and is left with the extended class. A tool that justifies a release by (right)
  maybe match calls such records safe; ``only_wildcards`` counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlanon.assess.relations import maybe, null_patterns
from sqlanon.assess.relations.null_patterns import Layout
from sqlanon.core.audit.check import exact_columns, refuse_reserved
from sqlanon.core.audit.trees import compared_as_read
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.sqltrees.binding import bind
from sqlanon.errors import InputError, UnsupportedError

REMARK = "An audit of what an attacker gains; it judges nothing and is never used to justify a release."
STEP = 4_000_000
"""Classes, about, that one statement joins: bounds its memory."""
MOST_PATTERNS = 3_000
"""With more NULL patterns their pairs are not formed; each class is compared with each that has a NULL."""
LOOKED_UP, MET, JOINING = 12, 90, 10_000_000
"""What looking a class up costs, what joining it with sums, and what the statements of the joined form cost for
themselves, in comparisons of two classes by bits (measured)."""
MOST_COMPARISONS = 1_000_000_000_000
"""About an hour on two cores; beyond it the audit is refused."""


@dataclass(frozen=True, slots=True)
class Matches:
    """A number under each of the three matches."""

    extended: int
    right_maybe: int
    maybe: int


@dataclass(frozen=True, slots=True)
class OnlyWildcards:
    """Records in classes below k under extended match, but not under a match that takes NULL for a wildcard."""

    right_maybe: int
    maybe: int


@dataclass(frozen=True, slots=True)
class MatchBucket:
    """The records whose class has ``low`` to ``high`` records, under each match."""

    low: int
    high: int
    records: Matches


@dataclass(frozen=True, slots=True)
class NullAudit(Facts):
    """Counts only; for the operator, because they are exact.

    Attributes:
        records_with_null: records with a NULL in any quasi-identifier.
        nulls: per quasi-identifier, its records with NULL.
        patterns: how many sets of quasi-identifiers are NULL together in some record, the empty one left out.
        smallest: size of the smallest class.
        distribution: class sizes in buckets of powers of two; empty buckets are left out.
        k: None, and so the two that follow, when it was not asked for.
        below_k: records in classes of fewer than k records.
    """

    records: int
    classes: int
    records_with_null: int
    nulls: dict[str, int]
    patterns: int
    smallest: Matches
    distribution: tuple[MatchBucket, ...]
    k: int | None
    below_k: Matches | None
    only_wildcards: OnlyWildcards | None

    def lines(self) -> list[str]:
        """Return the audit as text, with a short table."""
        share = self.records_with_null / self.records
        lines = [
            f"{self.records:,} records in {self.classes:,} classes; {self.records_with_null:,} ({share:.1%}) hold a "
            f"NULL, in {self.patterns:,} patterns."
        ]
        lines += [f"  {printable(name)}: {count:,} NULL" for name, count in self.nulls.items() if count]
        rows = [("smallest class", self.smallest)]
        if self.below_k is not None:
            rows.append((f"records below k = {self.k}", self.below_k))
        rows += [
            (f"records in classes of {_range(bucket.low, bucket.high)}", bucket.records) for bucket in self.distribution
        ]
        lines.append(f"  {'':<36}{'extended':>14}{'right maybe':>14}{'maybe':>14}")
        lines += [f"  {label:<36}{m.extended:>14,}{m.right_maybe:>14,}{m.maybe:>14,}" for label, m in rows]
        if self.only_wildcards is not None:
            lines.append(
                f"  Safe at k = {self.k} only if NULLs are wildcards: {self.only_wildcards.right_maybe:,} records "
                f"(right maybe match), {self.only_wildcards.maybe:,} (maybe match)."
            )
        return [*lines, f"  {REMARK}"]


def audit_nulls(
    engine: Engine, relation: exp.Expr, quasi_identifiers: Sequence[str], *, k: int | None = None
) -> NullAudit:
    """Measure the classes of ``relation`` under extended, right maybe and maybe match; everything is dropped again.

    Raises:
        InputError: the relation is empty, or k is below 1.
        SourceError: the relation has no such column.
        UnsupportedError: a column has our prefix, or classes with NULLs are too many to compare.
    """
    if k is not None and k < 1:
        raise InputError(f"k is {k}, and a class cannot have fewer records than 1.", hint="give a k of 1 or more.")
    wanted = columns_of(engine, relation, quasi_identifiers)
    relation = compared_as_read(relation, dict(engine.catalog.columns(relation)), entity=None, quasi_identifiers=wanted)
    with working_tables(engine) as create:
        create("null classes", null_patterns.GROUPS, null_patterns.groups(relation, wanted))
        [row] = engine.run("null profile", null_patterns.profile(len(wanted)))
        classes, records, records_with_null = row[:3]
        if not records:
            raise nothing_to_audit()
        shape = null_patterns.layout(row[3 : 3 + len(wanted)])
        if create("null keys", null_patterns.CLASSES, null_patterns.classes(shape)) != classes:
            raise UnsupportedError(
                "The values of a quasi-identifier are not grouped as they are compared, so that classes are missing.",
                hint="cast the column to a plain type in a view of the relation.",
            )
        create("null patterns", null_patterns.PATTERNS, null_patterns.patterns(shape))
        patterns, with_null = engine.run("count null patterns", null_patterns.count_patterns())[0]
        sizes = maybe.sizes(_sums(engine, create, shape, classes, patterns, with_null))
        among = {"sizes": sizes}
        summary = bind("audit/maybe_sizes.sql", relations=among, values={"k": k if k is not None else 1})
        [found] = engine.run("null sizes", summary)
        spread = bind("audit/maybe_distribution.sql", relations={**among, "bucket": _buckets(records)})
        buckets = engine.run("null distribution", spread)
    return NullAudit(
        records=records,
        classes=classes,
        records_with_null=records_with_null,
        nulls=dict(zip(wanted, row[3 + len(wanted) :], strict=True)),
        patterns=patterns,
        smallest=Matches(*found[:3]),
        distribution=tuple(MatchBucket(low, high, Matches(*own)) for low, high, *own in buckets if any(own)),
        k=k,
        below_k=Matches(*found[3:6]) if k is not None else None,
        only_wildcards=OnlyWildcards(*found[6:]) if k is not None else None,
    )


def columns_of(engine: Engine, relation: exp.Expr, wanted: Sequence[str]) -> list[str]:
    """Return the exact names of the wanted columns, matched in any case, each once.

    Raises:
        SourceError: the relation has no such column.
        UnsupportedError: a column has our prefix.
    """
    found = exact_columns(dict(engine.catalog.columns(relation)), "The relation", wanted)
    refuse_reserved(wanted)
    return list(dict.fromkeys(found))


def nothing_to_audit() -> InputError:
    """Return the error about a relation without records."""
    return InputError("The relation holds no records, so there is nothing to audit.", hint="check the table name.")


def printable(name: str) -> str:
    """Return a column's name on one line."""
    return name if name.isprintable() else repr(name)


Create = Callable[[str, str, exp.Query], int]


@contextmanager
def working_tables(engine: Engine) -> Iterator[Create]:
    """Yield a function that creates tables of ours; they are dropped at the end, also on error."""
    created: list[str] = []

    def create(name: str, table: str, query: exp.Query) -> int:
        created.append(table)
        return engine.create(name, table, query)

    try:
        yield create
    finally:
        for table in dict.fromkeys(created):
            engine.drop(table)


def _sums(engine: Engine, create: Create, shape: Layout, classes: int, patterns: int, with_null: int) -> str:
    """Create the sums of what the classes give each other, by the cheaper form, and return the name of their table."""
    sums, following = maybe.SIZES
    if not patterns:
        create("no null sums", sums, maybe.none_given())
        return sums
    comparisons = with_null * (2 * classes - with_null)
    cost = JOINING + LOOKED_UP * classes * patterns
    steps: list[tuple[Any, ...]] = []
    if patterns <= MOST_PATTERNS and cost < comparisons:
        create("null meets", maybe.MEETS, maybe.meets(shape, STEP))
        steps = engine.run("null steps", maybe.steps())
        cost += MET * sum(met for _, met in steps)
    if patterns > MOST_PATTERNS or cost >= comparisons:
        if comparisons > MOST_COMPARISONS:
            raise _too_many(classes, patterns, with_null)
        create("compare null classes", sums, maybe.direct(shape))
        return sums
    if cost > MOST_COMPARISONS:
        raise _too_many(classes, patterns, with_null)
    create("no null sums", sums, maybe.none_given())
    at_once = max(STEP // classes, 1)
    given = [
        ("null pattern covers", maybe.covering(shape, first, first + at_once - 1))
        for first in range(1, patterns + 1, at_once)
    ]
    given += [("null patterns meet", maybe.meeting(shape, step)) for step, _ in steps]
    for name, query in given:
        create(name, following, maybe.with_sums(sums, query))
        engine.drop(sums)
        sums, following = following, sums
    return sums


def _too_many(classes: int, patterns: int, with_null: int) -> UnsupportedError:
    return UnsupportedError(
        f"{with_null} of {classes} classes hold a NULL, in {patterns} patterns: comparing them would take hours.",
        hint="name fewer quasi-identifiers, or audit the generalized release instead of its source.",
    )


def _buckets(records: int) -> exp.Expr:
    """Return the relation (low, high) of the powers of two up to ``records``."""
    rows = [
        exp.Tuple(expressions=[exp.convert(1 << b), exp.convert((2 << b) - 1)]) for b in range(records.bit_length())
    ]
    columns = [exp.to_identifier(name, quoted=True) for name in ("low", "high")]
    alias = exp.TableAlias(this=exp.to_identifier("listed", quoted=True), columns=columns)
    return exp.select("*").from_(exp.Values(expressions=rows, alias=alias))


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"
