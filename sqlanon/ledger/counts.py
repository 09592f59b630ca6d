"""Tables of counts in a ledger: what was shown of which source to whom, sealed with the rest.

Each release of counts is a fact of the ledger, ``counts 1`` and so on, as JSON: whose it is, and its cells as the wing
of counts describes them. A fact that is empty was withdrawn. Releases of microdata tell what they generalized to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlanon.core.interrupts import held
from sqlanon.core.policy import Policy
from sqlanon.core.source.opening import Source
from sqlanon.ledger.facts import OF_COUNTS, ReleaseEntry, in_one_hand, same_name
from sqlanon.ledger.releases import ReleaseLedger
from sqlanon.ledger.run import policy_ledger


class CountsLedger:
    """The ledger of a document of counts, locked by this run. ``close`` frees it."""

    def __init__(self, ledger: ReleaseLedger, policy: Policy) -> None:
        self._ledger, self._policy = ledger, policy

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the ledger."""
        return self._ledger.warnings

    def close(self) -> None:
        """Free the ledger."""
        self._ledger.close()

    def _documents(self) -> dict[str, dict[str, Any]]:
        facts = self._ledger.database.facts() if self._ledger.database.attached else {}
        with self._ledger.database.reading(ValueError):
            own = {name: json.loads(value) for name, value in facts.items() if name.startswith(OF_COUNTS) and value}
        return {name: each for name, each in own.items() if same_name(each["source"], self._ledger.source)}

    def earlier(self) -> tuple[list[Mapping[str, Any]], list[ReleaseEntry]]:
        """Return the releases of this source that somebody may have beside the new one: of counts, and of microdata."""
        documents = list(self._documents().values())
        entries = [_as_entry(each) for each in documents]
        others = [each.entry for each in self._ledger.of_source()]
        own = _as_entry(self._whose())
        among = [*entries, *others]
        return (
            [each for each, entry in zip(documents, entries, strict=True) if in_one_hand(own, entry, among)],
            [entry for entry in others if in_one_hand(own, entry, among)],
        )

    def _whose(self) -> dict[str, Any]:
        ledger = self._ledger
        return {"source": ledger.source, "recipient": ledger.recipient, "colludes": ledger.colludes}

    @contextmanager
    def recording(self, document: Mapping[str, Any]) -> Iterator[None]:
        """Write a release down before it takes its place within, and take it back if that fails.

        A run that is killed within leaves it: it counts as published.

        Raises:
            InputError: the ledger cannot be written; then nothing is published.
        """
        database, seals = self._ledger.database, self._ledger._seals
        if not database.attached:
            database.create(seals.facts())
        numbers = [int(name.removeprefix(OF_COUNTS)) for name in database.facts() if name.startswith(OF_COUNTS)]
        name = f"{OF_COUNTS}{1 + max(numbers, default=0)}"
        whole = {**self._whose(), "time": datetime.now(UTC).isoformat(timespec="seconds"), **document}
        with held(), seals.writing(f"begin {name}"):
            database.set_fact(name, json.dumps(whole))
        try:
            yield
        except BaseException:
            with held(), seals.writing(f"withdraw {name}"):
                database.set_fact(name, "")
            raise


def _as_entry(whose: Mapping[str, Any]) -> ReleaseEntry:
    """Return the facts that say whether somebody has two releases, in the form of a release of microdata."""
    colludes = whose["colludes"]
    return ReleaseEntry(
        release="", time="", source=whose["source"], person_column="", recipient=whose["recipient"],
        colludes=colludes if isinstance(colludes, str) else tuple(colludes), policy_fingerprint="", hierarchies={},
        levels={}, models=(), columns=(), output={}, digest=None, k=0, classes=0, persons=0,
    )  # fmt: skip


def counts_ledger(policy: Policy, opened: Source, given: object) -> CountsLedger:
    """Open and lock the ledger of a document of counts; raises as ``policy_ledger``."""
    return CountsLedger(policy_ledger(policy, opened, given), policy)
