"""Erase records from releases in cohorts: their rows go with the next release, and with the fewest others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.facts import Facts
from sqlanon.core.policy import Policy
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, table
from sqlanon.errors import InputError
from sqlanon.ledger.cohorts.state import erased_of, persons_of, shown_digests
from sqlanon.ledger.identity import TEXT_KEYS, kind_of_key
from sqlanon.ledger.releases import ReleaseLedger
from sqlanon.ledger.run import policy_ledger

WHOLE = re.compile(r"[+-]?[0-9]+")
NAMED = names.PREFIX + "named"
"""The keys of the records that are to be erased."""


@dataclass(frozen=True, slots=True)
class Erasure(Facts):
    """The account of an erasure. For the operator: its counts of records are exact.

    Attributes:
        file: the ledger.
        named: different keys that were given.
        shown: of them, records that the last release shows.
        unknown: of them, neither in the source nor in any release.
    """

    file: str
    named: int
    shown: int
    unknown: int


def erase_records(policy: Policy, keys: Sequence[str]) -> Erasure:
    """Write down that records are to be erased, and return how many of them the last release shows.

    Args:
        keys: of the records, as the record column has them; they need not be in the source any more.

    Raises:
        InputError: the ledger holds no releases in cohorts, or no key is given.
    """
    opened = open_policy_source(None, policy, writable=False)
    try:
        with closing(policy_ledger(policy, opened, None)) as ledger:
            releases = ledger.of_source()
            if not releases or not releases[-1].entry.cohorts:
                raise InputError(
                    "The ledger holds no releases in cohorts, so that no next release could leave records out.",
                    hint="withdraw the releases that show them, and publish anew without these records.",
                )
            digests = _digests(ledger, opened.types[ledger.person_column], keys)
            shown = shown_digests(ledger.database, releases[-1].number) & {*digests}
            known = shown | _known(ledger, opened, digests)
            ledger.erase(sorted(digests))
            return Erasure(str(ledger.database.path), len(digests), len(shown), len({*digests} - known))
    finally:
        opened.engine.close()


def _known(ledger: ReleaseLedger, opened: Source, digests: Sequence[str]) -> set[str]:
    """Return those of digests that the source has, or a release has or had."""
    persons = ledger.load_persons(opened.engine, opened.relation, opened.types[ledger.person_column])
    known = exp.select(column("person")).from_(persons).where(column("person").isin(*digests))
    held = persons_of(ledger.database, "members") | persons_of(ledger.database, "erased", erased_of(ledger.source))
    return {str(row[0]) for row in opened.engine.run("records to be erased", known)} | held


def _digests(ledger: ReleaseLedger, type_name: str, keys: Sequence[str]) -> list[str]:
    """Return the digests of keys, as the ledger knows their records."""
    given = keys if kind_of_key(type_name) == TEXT_KEYS else [key.strip() for key in keys]
    given = list(dict.fromkeys(key for key in given if key))
    if kind_of_key(type_name) == "integer":
        if not all(WHOLE.fullmatch(key) for key in given):
            raise InputError("Some keys are no whole numbers, and the record column is.", hint="correct the file.")
        given = list(dict.fromkeys(str(int(key)) for key in given))
    if not given:
        raise InputError("No record is named.", hint="give a file with a key of a record in each line.")
    with closing(DuckDBEngine()) as engine:
        engine.load(
            "named records", NAMED, pa.table({ledger.person_column: pa.array(given, pa.string())}), replayed=False
        )
        persons = ledger.load_persons(engine, table(NAMED), "VARCHAR")
        rows = engine.run("digests", exp.select(column("person")).distinct().from_(persons))
        return [str(row[0]) for row in rows]
