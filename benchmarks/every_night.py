"""What can be sustained where a table is released every night: strategies against each other, simulated with numpy.

    python benchmarks/every_night.py --data DIR [--days 365] [--tables adult,visits,invented] [--k 5] [--seed 1]
    python benchmarks/every_night.py --package [--data DIR] [--tables adult,persons,invented] [--most 3000]

With ``--package`` the package itself releases each table on all nights (``package_nights.py``), 3,000 records of it at
first; without DIR an invented table. All else is of the simulation.

DIR as ``benchmarks/cases.py`` says, with ``omop/omop-synthea-1130.duckdb``. No decision is the package's: the rules of
each strategy are written here anew. Each night 1 % of the records (of the first night) come and 1 % of those present
leave, and in 0.2 % a kept cell changes. All at random, so who leaves is as likely a newcomer as anyone. Records count,
each a person of its own. Levels are frozen; nodes of a table stand on a path of its lattice that raises, step by step,
the column that costs least.

- ``replace``: each night the classes that hold k, and no memory;
- ``ledger``: nothing that is not true, judged with all earlier states; at frozen levels a group has one class, so it is
  hidden while 1 to k - 1 of it have left, and comes back when k have;
- ``hide``: nothing that is not true; k - 1 others of the group are hidden for good where one leaves;
- ``cohorts``: k + margin newcomers of a class come together; who left or changed is shown as before until k of the
  cohort go together; a cohort of which fewer than k are left as they were is withdrawn. With ``coarser`` N each N-th
  night newcomers that are not enough come together at coarser nodes (``steps`` of them, the last is the top); with
  ``join`` N newcomers come each N-th night only; with ``hold`` N no row is shown more than N nights after it ceased
  to be true, which costs others of its cohort; with ``exchange`` k or more of a cohort whose cells changed are shown as
  they are now, together, and stay; with ``floor`` 1 a cohort stays until nobody of it is left; with ``turns`` nobody
  leaves in a night in which newcomers come (without: nobody comes to a class which loses somebody that night; with
  ``mixed`` a class may do both, and a plain subtraction of two states then shows fewer than k);
- ``places``: who leaves is replaced at once by a newcomer of the class, so that the counts of classes do not change.

Printed, a line of JSON each: ``smallest``, the fewest records that share the history of a record that was shown (the
class and version of its row on each night, over all nights); ``within_7`` and ``within_30``, of the records that came,
those that were shown on one of the first 7 or 30 nights; ``true_days``, of the nights of all records, those on which
they were shown as they are; ``untrue``, of the rows shown, those that are not true any more; ``loss``, the mean
of the records of the source, with 1 for who is not shown; ``suppressed``, the share of the source that is not shown,
after 30 days, 100 days and so on. At last the frontier: what no other line beats in loss, nights and ``true_days``.

Exits 1 where a strategy that promises k shows fewer than k.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
NEVER = np.int32(1 << 30)


@dataclass(frozen=True)
class Table:
    """Records by the codes of their quasi-identifiers.

    Attributes:
        rows: a row a record, a column a quasi-identifier.
        groups: a table a column: for each value, its group at each level; the last level has one group.
    """

    name: str
    rows: Numbers
    groups: tuple[Numbers, ...]

    @property
    def heights(self) -> tuple[int, ...]:
        """How many levels each column has."""
        return tuple(groups.shape[1] for groups in self.groups)

    def losses(self, column: int, level: int) -> Reals:
        """What each value loses at a level: the share of the other values that it is shown as one with."""
        group = self.groups[column][:, level]
        return (np.bincount(group)[group] - 1) / max(1, len(group) - 1)

    def node(self, rows: Numbers, levels: Sequence[int]) -> tuple[Numbers, Reals]:
        """The number of each row's class at a node, and each row's loss."""
        key, loss = np.zeros(len(rows), np.int64), np.zeros(len(rows))
        for column, level in enumerate(levels):
            group = self.groups[column][:, level]
            key = key * (group.max() + 1) + group[rows[:, column]]
            loss += self.losses(column, level)[rows[:, column]] / len(levels)
        return np.unique(key, return_inverse=True)[1].astype(np.int64), loss


def cheapest_path(table: Table) -> list[tuple[int, ...]]:
    """The nodes from the bottom of a lattice to its top, raising the column that costs least."""
    levels = [0] * len(table.groups)
    path = [tuple(levels)]
    while any(level < height - 1 for level, height in zip(levels, table.heights, strict=True)):
        costs = [
            (table.losses(column, level + 1)[table.rows[:, column]].mean(), column)
            for column, level in enumerate(levels)
            if level < table.heights[column] - 1
        ]
        levels[min(costs)[1]] += 1
        path.append(tuple(levels))
    return path


def chain_of(path: Sequence[tuple[int, ...]], start: int, steps: int) -> list[tuple[int, ...]]:
    """A node of a path and so many coarser ones, evenly, the last of them the top."""
    rest = len(path) - 1 - start
    places = [start + round(rest * step / steps) for step in range(1, steps + 1)] if steps else []
    return [path[place] for place in dict.fromkeys([start, *places])]


@dataclass(frozen=True)
class World:
    """All records that ever come: their cells, when each comes, leaves, and changes (afterwards by ``rate``)."""

    table: Table
    rows: Numbers
    born: Numbers
    dies: Numbers
    changes: Numbers
    days: int
    rate: float

    @classmethod
    def draw(cls, table: Table, days: int, seed: int, rates: tuple[float, float, float] = (0.01, 0.01, 0.002)) -> World:
        """Draw a world whose newcomers are drawn from the table's records, with replacement."""
        random = np.random.default_rng(seed)
        n = len(table.rows)
        come = random.poisson(rates[0] * n, days)
        drawn = random.integers(0, n, come.sum())
        born = np.r_[np.zeros(n, np.int64), np.repeat(np.arange(1, days + 1), come)]
        lives, same = (random.geometric(rate, len(born)) if rate else np.full(len(born), NEVER) for rate in rates[1:])
        return cls(table, np.r_[table.rows, table.rows[drawn]], born, born + lives, born + same, days, rates[2])


@dataclass(frozen=True)
class Strategy:
    """See the docstring of the module. ``chain`` is the node, and the coarser ones after it."""

    kind: str
    k: int = 5
    margin: int = 0
    coarser: int = 0
    hold: int = 0
    join: int = 1
    exchange: bool = False
    floor: int = 0
    turns: bool = False
    mixed: bool = False
    steps: int = 4

    @property
    def promises(self) -> bool:
        """Whether every history is to hold k."""
        return self.kind not in ("replace", "places")

    def named(self) -> dict[str, Any]:
        """What differs from a strategy without memory."""
        plain = Strategy(self.kind)
        return {"strategy": self.kind, "k": self.k} | {
            name: own for name, own in self.__dict__.items() if name != "k" and own != getattr(plain, name)
        }


@dataclass
class Run:
    """A strategy over all nights of a world: what is shown now, and what was measured."""

    world: World
    strategy: Strategy
    chain: Sequence[tuple[int, ...]]
    seed: int = 1
    measured: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        world = self.world
        n = len(world.born)
        nodes = [world.table.node(world.rows, levels) for levels in self.chain]
        self.classes, self.losses = [c for c, _ in nodes], [loss for _, loss in nodes]
        self.random = np.random.default_rng(self.seed)
        self.changes = world.changes.copy()
        self.shown = np.zeros(n, bool)
        self.left = np.zeros(n, bool)  # was shown, and never comes back
        self.cohort = np.full(n, -1)
        self.position = np.zeros(n, np.int8)
        self.version = np.zeros(n, np.int32)
        self.since = np.full(n, NEVER)  # when its row ceased to be true
        self.first = np.full(n, NEVER)
        self.history = np.zeros(n, np.uint64)
        self.cohorts = 0
        self.hidden = np.zeros(0, bool)
        self.pending = np.zeros(0, np.int64)

    def go(self) -> dict[str, Any]:
        """Let all nights pass, and return the figures."""
        for day in range(self.world.days + 1):
            alive = (self.world.born <= day) & (self.world.dies > day)
            if self.strategy.kind in ("replace", "places"):
                self._forgetful(alive, day)
            else:
                self._cohorts(alive, day)
            self._note(alive, day)
        return self._figures()

    def _forgetful(self, alive: npt.NDArray[np.bool_], day: int) -> None:
        own = self.classes[0]
        if self.strategy.kind == "replace" or day == 0:
            counts = np.bincount(own[alive], minlength=own.max() + 1)
            self.shown = alive & (counts[own] >= self.strategy.k)
        else:
            free = np.bincount(own[self.shown & ~alive], minlength=own.max() + 1)
            waiting = np.flatnonzero(alive & ~self.shown)
            waiting = waiting[np.argsort(own[waiting], kind="stable")]
            rank = np.arange(len(waiting)) - np.searchsorted(own[waiting], own[waiting])
            come = waiting[rank < free[own[waiting]]]
            leave = np.flatnonzero(self.shown & ~alive)
            leave = leave[np.argsort(own[leave], kind="stable")]
            rank = np.arange(len(leave)) - np.searchsorted(own[leave], own[leave])
            filled = np.bincount(own[come], minlength=own.max() + 1)
            self.shown[leave[rank < filled[own[leave]]]] = False
            self.shown[come] = True
        changed = self.shown & (self.changes <= day)
        self.version[changed] += 1
        self.changes[changed] = NEVER
        self.since[self.shown & ~alive & (self.since == NEVER)] = day

    def _cohorts(self, alive: npt.NDArray[np.bool_], day: int) -> None:
        rules = self.strategy
        members = np.flatnonzero(self.cohort >= 0)
        ended = members[((~alive | (self.changes <= day)) & (self.since == NEVER))[members]]
        self.since[ended] = day
        of = self.cohort[members]
        stale = self.since[members] < NEVER
        present = np.bincount(of[~stale], minlength=self.cohorts)
        waiting = np.bincount(of[stale], minlength=self.cohorts)
        size = present + waiting
        if rules.kind == "ledger":
            gone = waiting >= rules.k
            self._leave(members[stale & gone[of]])
            self._leave(members[(size > 0)[of] & (present < rules.k)[of]])
            self.shown[members] = (self.cohort[members] >= 0) & ((waiting == 0) | gone)[of]
            losing: Numbers = np.zeros(0, np.int64)
        elif rules.kind == "hide":
            losing = self._hide(members, of, stale, present, waiting)
        elif rules.turns and day % rules.join == 0:
            losing = np.zeros(0, np.int64)
        else:
            losing = self._lose(members, of, stale, present, waiting, day)
        if day % rules.join == 0:
            self._join(alive, losing, day)

    def _hide(self, members: Numbers, of: Numbers, stale: Any, present: Numbers, waiting: Numbers) -> Numbers:
        """Hide as many others for good as a departure needs, or the whole cohort."""
        needed = np.where(waiting > 0, np.maximum(0, self.strategy.k - waiting), 0)
        whole = present - needed < self.strategy.k
        others = members[~stale]
        others = others[self.random.permutation(len(others))]
        others = others[np.argsort(self.cohort[others], kind="stable")]
        own = self.cohort[others]
        rank = np.arange(len(own)) - np.searchsorted(own, own)
        leaving = np.r_[members[stale], others[(rank < needed[own]) | (whole & (waiting > 0))[own]]]
        self._leave(leaving)
        return leaving

    def _lose(self, members: Numbers, of: Numbers, stale: Any, present: Numbers, waiting: Numbers, day: int) -> Numbers:
        """Let parts of cohorts go, refresh parts that changed, withdraw cohorts, and return who left."""
        rules, k = self.strategy, self.strategy.k
        floor = rules.floor or k
        leaving = [members[((present < floor) & (waiting > 0))[of]]]
        alive = self.world.dies > day
        if rules.exchange:
            altered = stale & alive[members]
            count = np.bincount(of[altered], minlength=self.cohorts)
            fresh = members[altered & (count >= k)[of] & (present >= k)[of]]
            dead = stale & ~alive[members]
            go = (np.bincount(of[dead], minlength=self.cohorts) >= k) & (present >= k)
            self._renew(fresh, day)
            leaving.append(members[dead & go[of]])
        else:
            go = (waiting >= k) & (present >= k)
            leaving.append(members[stale & go[of]])
        if rules.hold:
            late = members[(self.since[members] <= day - rules.hold) & ~np.isin(members, np.concatenate(leaving))]
            self._hurry(late, members, of, stale, present, waiting, leaving)
        found = np.unique(np.concatenate(leaving))
        self._leave(found)
        return found

    def _hurry(
        self, late: Numbers, members: Numbers, of: Numbers, stale: Any, present: Numbers, waiting: Numbers, out: Any
    ) -> None:
        """Let rows that were held long enough go with the fewest others of their cohort."""
        k = self.strategy.k
        due = np.bincount(self.cohort[late], minlength=self.cohorts) > 0
        needed = np.maximum(0, k - waiting)
        whole = due & (present - needed < k)
        others = members[~stale & due[of]]
        others = others[self.random.permutation(len(others))]
        others = others[np.argsort(self.cohort[others], kind="stable")]
        own = self.cohort[others]
        rank = np.arange(len(own)) - np.searchsorted(own, own)
        out.append(members[stale & due[of]])
        out.append(others[(rank < needed[own]) | whole[own]])

    def _renew(self, fresh: Numbers, day: int) -> None:
        """Show records whose cells changed as they are now: each part is a cohort from now on."""
        if not len(fresh):
            return
        _, own = np.unique(self.cohort[fresh], return_inverse=True)
        self.cohort[fresh] = self.cohorts + own
        self.cohorts += int(own.max()) + 1
        self.version[fresh] = day
        self.since[fresh] = NEVER
        same = self.random.geometric(self.world.rate, len(fresh))
        self.changes[fresh] = day + same

    def _leave(self, records: Numbers) -> None:
        self.shown[records] = False
        self.left[records] = True
        self.cohort[records] = -1

    def _join(self, alive: Any, losing: Numbers, day: int) -> None:
        rules = self.strategy
        rest = np.flatnonzero(alive & ~self.left & (self.cohort < 0))
        coarser = day and rules.coarser and day % rules.coarser == 0
        for position in range(len(self.chain) if coarser else 1):
            own = self.classes[position]
            counts = np.bincount(own[rest], minlength=own.max() + 1)
            enough = counts >= rules.k + (rules.margin if day else 0)
            if not rules.mixed:
                enough[own[losing[self.position[losing] == position]]] = False
            come = rest[enough[own[rest]]]
            rest = rest[~enough[own[rest]]]
            if not len(come):
                continue
            _, number = np.unique(own[come], return_inverse=True)
            self.cohort[come] = self.cohorts + number
            self.cohorts += int(number.max()) + 1
            self.position[come] = position
            self.shown[come] = True
            self.changes[come] = np.where(self.changes[come] <= day, NEVER, self.changes[come])

    def _note(self, alive: Any, day: int) -> None:
        """Measure a night; histories are hashed here and nowhere else."""
        shown = np.flatnonzero(self.shown)
        self.first[shown] = np.minimum(self.first[shown], day)
        own, loss = np.zeros(len(shown), np.uint64), np.zeros(len(shown))
        for position, (classes, losses) in enumerate(zip(self.classes, self.losses, strict=True)):
            there = self.position[shown] == position
            own[there] = (classes[shown[there]] * 16 + position + 1).astype(np.uint64)
            loss[there] = losses[shown[there]]
        own += self.version[shown].astype(np.uint64) << np.uint64(32)
        salt = np.random.default_rng([7, day]).integers(1, 1 << 62, dtype=np.uint64) | np.uint64(1)
        mixed = (own * np.uint64(0x9E3779B97F4A7C15)) ^ (own >> np.uint64(7))
        self.history[shown] += (mixed ^ (mixed >> np.uint64(29))) * salt
        present = alive[shown]
        true = present & (self.since[shown] == NEVER)
        for name, value in (
            ("alive", alive.sum()), ("shown", len(shown)), ("present", present.sum()), ("true", true.sum()),
            ("loss", loss[present].sum() + alive.sum() - present.sum()),
        ):  # fmt: skip
            self.measured.setdefault(name, []).append(float(value))

    def smallest(self) -> int:
        """The fewest records of one history, of those that were shown."""
        ever = self.history[self.first < NEVER]
        return int(np.unique(ever, return_counts=True)[1].min()) if len(ever) else 0

    def within(self, nights: int, since: int = 1) -> float:
        """The share of the records that came, from a night on, which were shown in their first nights."""
        born = self.world.born
        came = (born >= since) & (born <= self.world.days + 1 - nights)
        return float((self.first - born < nights)[came].sum() / max(1, came.sum()))

    def _figures(self) -> dict[str, Any]:
        sums = {name: np.array(own[1:]) for name, own in self.measured.items()}
        nights = [day for day in (30, 100, 200, 300, 365) if day <= self.world.days]
        late = slice(-30, None)
        return {
            "smallest": self.smallest(),
            "within_7": round(self.within(7), 4),
            "within_30": round(self.within(30), 4),
            "true_days": round(sums["true"].sum() / sums["alive"].sum(), 4),
            "true_last_month": round(sums["true"][late].sum() / sums["alive"][late].sum(), 4),
            "untrue": round(1 - sums["true"].sum() / sums["shown"].sum(), 4),
            "loss": round(sums["loss"].sum() / sums["alive"].sum(), 4),
            "suppressed": {day: round(1 - sums["present"][day - 1] / sums["alive"][day - 1], 4) for day in nights},
        }


def adult(data: Path) -> Table:
    """ADULT by five quasi-identifiers and its hierarchy files."""
    import csv

    names = ["age", "sex", "race", "marital-status", "education"]
    with (data / "adult" / "adult.csv").open() as file:
        records = list(csv.DictReader(file, delimiter=";"))
    columns, groups = [], []
    for name in names:
        with (data / "adult" / f"adult_hierarchy_{name}.csv").open() as file:
            texts = {line[0]: line for line in csv.reader(file, delimiter=";")}
        seen = sorted({record[name] for record in records})
        numbers = {value: number for number, value in enumerate(seen)}
        columns.append([numbers[record[name]] for record in records])
        groups.append(_levels([[texts[value][level] for value in seen] for level in range(len(texts[seen[0]]))]))
    return Table("adult", np.array(columns).T, tuple(groups))


def persons(data: Path) -> Table:
    """Persons of an OMOP database: year of birth, gender, race and ethnicity."""
    import duckdb

    with duckdb.connect(str(data / "omop" / "omop-synthea-1130.duckdb"), read_only=True) as connection:
        found = connection.execute(
            "SELECT year_of_birth, gender_concept_id, race_concept_id, ethnicity_concept_id FROM person"
        ).fetchnumpy()
    year, *others = (np.asarray(column).astype(np.int64) for column in found.values())
    made = [_banded(year, (5, 10, 20, 40)), *[_banded(one, ()) for one in others]]
    return Table("persons", np.array([codes for codes, _ in made]).T, tuple(groups for _, groups in made))


def _levels(texts: Sequence[Sequence[Any]]) -> Numbers:
    """The groups of the values at each level, with one group at last."""
    levels = [np.unique(np.array(level, str), return_inverse=True)[1] for level in texts]
    if levels[-1].max():
        levels.append(np.zeros_like(levels[-1]))
    return np.array(levels).T


def _banded(values: Numbers, widths: Sequence[int]) -> tuple[Numbers, Numbers]:
    """The codes of whole numbers, and their groups in bands of each width."""
    seen, codes = np.unique(values, return_inverse=True)
    return codes, _levels([seen, *[seen // width for width in widths]])


def visits(data: Path) -> Table:
    """Visits of an OMOP database: age at the visit, sex, race, kind of visit, and its month."""
    import duckdb

    file = str(data / "omop" / "omop-synthea-1130.duckdb")
    with duckdb.connect(file, read_only=True) as connection:
        found = connection.execute(
            "SELECT year(visit_start_date) - year_of_birth, gender_concept_id, race_concept_id, visit_concept_id, "
            "year(visit_start_date) FROM visit_occurrence JOIN person USING (person_id)"
        ).fetchnumpy()
    age, sex, race, kind, year = (np.asarray(column).astype(np.int64) for column in found.values())
    made = [_banded(age, (5, 10, 20, 40)), *[_banded(one, ()) for one in (sex, race, kind)], _banded(year, (5, 20))]
    return Table("visits", np.array([codes for codes, _ in made]).T, tuple(groups for _, groups in made))


def invented(records: int, seed: int = 5) -> Table:
    """Invented persons: age, sex, one of 900 places of unequal size in three tiers, and one of 20 trades."""
    random = np.random.default_rng(seed)
    ages = np.clip(random.normal(42, 22, records), 0, 99).astype(np.int64)
    weights = 1 / np.arange(1, 901) ** 0.8
    places = random.permutation(900)[random.choice(900, records, p=weights / weights.sum())]
    shares = 1 / np.arange(1, 21)
    trades = random.choice(20, records, p=shares / shares.sum())
    made = [
        _banded(ages, (5, 10, 20, 40)), _banded(random.integers(0, 2, records), ()), _banded(places, (10, 100)),
        _banded(trades, (5,)),
    ]  # fmt: skip
    return Table("invented", np.array([codes for codes, _ in made]).T, tuple(groups for _, groups in made))


def strategies(k: int) -> Iterator[Strategy]:
    """The strategies that are put against each other."""
    plain = Strategy("cohorts", k)
    yield from (Strategy(kind, k) for kind in ("replace", "ledger", "hide", "places"))
    yield from (replace(plain, margin=margin) for margin in (0, 5, 20))
    yield from (replace(plain, margin=5, coarser=nights) for nights in (1, 3, 7))
    yield replace(plain, margin=20, coarser=7)
    yield replace(plain, margin=5, join=2, coarser=2, turns=True)
    yield from (replace(plain, margin=margin, join=7, coarser=7, turns=True) for margin in (0, 5, 20))
    yield from (replace(plain, margin=margin, join=7, coarser=7) for margin in (0, 5, 20))
    yield replace(plain, margin=5, join=7)
    yield replace(plain, margin=5, join=7, coarser=7, steps=1)
    turned = replace(plain, margin=5, join=7, coarser=7, turns=True)
    yield replace(turned, steps=1)
    yield from (replace(turned, hold=nights) for nights in (30, 90))
    yield from (replace(turned, exchange=True), replace(turned, floor=1), replace(turned, exchange=True, floor=1))


def starts(table: Table, k: int, shares: Sequence[float] = (0.02, 0.1, 0.25)) -> list[int]:
    """Places on the cheapest path: the first where at most these shares of the records are in smaller classes."""
    path = cheapest_path(table)
    small = []
    for levels in path:
        own = table.node(table.rows, levels)[0]
        small.append((np.bincount(own)[own] < k).mean())
    return sorted({next(place for place, share in enumerate(small) if share <= limit) for limit in shares})


def frontier(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines that keep k and that no other beats in loss, nights and true days."""
    better = ("within_7", "within_30", "true_days")
    safe = [line for line in lines if line["smallest"] >= line["k"]]
    return [
        line
        for line in safe
        if not any(
            other is not line and other["loss"] <= line["loss"] and all(other[name] >= line[name] for name in better)
            for other in safe
        )
    ]


def run_package(tables: Sequence[Table], *, days: int, k: int, seed: int, most: int) -> int:
    """Release tables by the package, print a line each, and return how many did not hold their promises.

    Args:
        most: so many records of a table are taken at most.
    """
    from package_nights import run_nights

    broken = 0
    for table in tables:
        rows = np.random.default_rng(seed).permutation(table.rows)[:most]
        with tempfile.TemporaryDirectory() as folder:
            found = run_nights(
                Path(folder), replace(table, rows=rows), days=days, seed=seed, k=k,
                cohorts={"margin": 5, "coarser_after": 7}, limit=0.1,
            )  # fmt: skip
        print(json.dumps({"table": table.name, "k": k, **found}), flush=True)
        broken += not found["holds"]
    return broken


def main() -> int:
    """Simulate, print a line each and the frontier, and return 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--tables")
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--package", action="store_true")
    parser.add_argument("--most", type=int, default=3_000)
    parser.add_argument("--k", default="5")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    made = {"adult": partial(adult, given.data), "visits": partial(visits, given.data)}
    made |= {"persons": partial(persons, given.data), "invented": partial(invented, given.records)}
    usual = ("invented",) if given.data is None else ("adult", "persons" if given.package else "visits", "invented")
    tables = given.tables.split(",") if given.tables else usual
    if given.package:
        every = [made[name]() for name in tables]
        options = {"days": given.days, "seed": given.seed, "most": given.most}
        found = [run_package(every, k=int(k), **options) for k in given.k.split(",")]
        return 1 if sum(found) else 0
    broken = 0
    for name in tables:
        table = made[name]()
        world = World.draw(table, given.days, given.seed)
        path = cheapest_path(table)
        lines = []
        for k in map(int, given.k.split(",")):
            for start in starts(table, k):
                for strategy in strategies(k):
                    begun = time.perf_counter()
                    steps = strategy.steps if strategy.coarser else 0
                    found = Run(world, strategy, chain_of(path, start, steps), given.seed).go()
                    broken += strategy.promises and found["smallest"] < k
                    seconds = {"seconds": round(time.perf_counter() - begun, 1)}
                    levels = "/".join(map(str, path[start]))
                    lines.append({"table": name, "levels": levels, **strategy.named(), **found, **seconds})
                    print(json.dumps(lines[-1]), flush=True)
        for line in frontier(lines):
            print(json.dumps({"frontier": line}), flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
