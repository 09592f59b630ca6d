"""A source that changes night after night, and its releases in cohorts (``test_cohorts``, ``test_histories``)."""

import json
import random
import shutil
from collections import defaultdict
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import ledger_worlds as worlds
import pyarrow as pa

import sqlanon
from sqlanon.errors import InputError
from sqlanon.ledger.review import accept_release
from sqlanon.ledger.seals import head_file

K = 3
Row = dict[str, Any]


@dataclass
class Nights:
    """A source that changes, and all releases of it: tag -> row, each with the state of the source at that time.

    Attributes:
        values: the policy asks for two values of ``ill`` in each class.
        levels: the only ones that the policy allows; {}: a search chooses.
        steady: no record changes, and changes draw the same whatever the values are.
    """

    folder: Path
    seed: int
    values: bool
    cohorts: dict[str, int]
    rows: list[Row] = field(default_factory=list)
    releases: list[dict[str, Row]] = field(default_factory=list)
    sources: list[dict[str, Row]] = field(default_factory=list)
    made: int = 0
    levels: dict[str, int] = field(default_factory=dict)
    steady: bool = False

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        worlds.prepare(self.folder)
        self.arrive(60)

    def document(self) -> dict[str, Any]:
        document = worlds.document(self.folder)
        for name, level in self.levels.items():
            document["columns"][name] |= {"min_level": level, "max_level": level}
        if not self.values:
            document["columns"]["ill"] = {"role": "keep"}
        return document | {
            "ledger": document["ledger"] | {"cohorts": self.cohorts},
            "privacy": [{"type": "k_anonymity", "k": K}],
        }

    def arrive(self, some: int) -> None:
        for row in worlds.records(self.seed * 1000 + self.made, some).to_pylist():
            self.made += 1
            self.rows.append(row | {"case_id": f"k{self.made}", "tag": f"k{self.made}"})

    def change(self) -> None:
        share = self.draw.choice((0.0, 0.05, 0.1, 0.3))
        self.rows = [row for row in self.rows if self.draw.random() > share]
        changing = (
            [] if self.steady else self.draw.sample(self.rows, min(len(self.rows), self.draw.choice((0, 0, 1, 4))))
        )
        for row in changing:
            row["ill"] = self.draw.choice(["flu", "cold", "", None, "NULL"])
        self.arrive(self.draw.choice((0, 1, 6, 15)))

    def true_at(self, tag: str, row: Row, night: int) -> bool:
        """Whether the source had a record as it is shown; of values that models judge, nobody asks."""
        now = self.sources[night].get(tag)
        return now is not None and (self.values or now["ill"] == row["ill"])

    def release(self, *, accept: bool = True) -> sqlanon.Release:
        """Publish the next release, and keep what it shows; accept that it loses most records, if it asks for that."""
        try:
            return self._release()
        except InputError as refused:
            if not accept or "--accept" not in str(refused):
                raise
        (policy := self.folder / "policy.json").write_text(json.dumps(self.document()))
        ledger = self.folder / "private" / "ledger.duckdb"
        accept_release(ledger, sqlanon.Policy.from_file(policy), str(len(self.releases)))
        return self._release()

    def goes_on(self) -> bool:
        """Publish the next release; return whether that was done, and not refused because it would show nobody."""
        try:
            self.release()
        except InputError as refused:
            assert "nobody would be left" in str(refused)
            return False
        return True

    def _release(self) -> sqlanon.Release:
        worlds.write_source(self.folder, pa.Table.from_pylist(self.rows, schema=worlds.records(1).schema))
        with sqlanon.anonymize(None, self.document()) as found:
            shown = duckdb.read_parquet(str(self.folder / "out" / "released.parquet")).to_arrow_table().to_pylist()
        assert len({row["tag"] for row in shown}) == len(shown) == found.ledger.published
        self.releases.append({row["tag"]: row for row in shown})
        self.sources.append({row["tag"]: dict(row) for row in self.rows})
        return found


class Kept:
    """Nights that several tests go on from, kept beside their folder: a ledger names it, so there they are put back."""

    def __init__(self, nights: Nights) -> None:
        self._nights = deepcopy(nights)
        self._folder = nights.folder.with_name(f"{nights.folder.name}_{len(nights.releases)}")
        shutil.copytree(nights.folder, self._folder)
        self._head = head_file(nights.folder / "private" / "ledger.duckdb")
        self._sealed = self._head.read_bytes() if self._head.exists() else None

    def again(self) -> Nights:
        nights = deepcopy(self._nights)
        shutil.rmtree(nights.folder)
        shutil.copytree(self._folder, nights.folder)
        self._head.unlink(missing_ok=True)
        if self._sealed is not None:
            self._head.write_bytes(self._sealed)
        return nights


def class_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("sex", "place", "age"))


def histories(releases: list[dict[str, Row]]) -> dict[tuple[Any, ...], list[str]]:
    """The tags by the releases in which their row was shown, with its class."""
    found: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for tag in {tag for release in releases for tag in release}:
        found[tuple(class_of(release[tag]) if tag in release else None for release in releases)].append(tag)
    return found


def remove(nights: Nights, tags: list[str]) -> None:
    nights.rows = [row for row in nights.rows if row["tag"] not in tags]
