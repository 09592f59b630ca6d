"""Records that arrive night by night, and what a release of closed periods must hold of them, counted in Python."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from policies import diverse, document_of, quasi

FIRST = datetime(2024, 2, 26, tzinfo=UTC)
"""A Monday; the days that follow are of two months, of which one ends with a leap day."""
PLACES = {f"place {number}": (f"area {number // 3}", "all") for number in range(9)}
"""Each place with what its two levels publish."""
K = 3
Record = tuple[datetime | None, str, str, str]
"""When, where, the sex, and what is sensitive."""
Row = tuple[str, str, str, str]


def period_of(every: str, moment: datetime) -> str:
    """The name of the period of a moment, computed day by day."""
    day = moment.astimezone(UTC).date()
    if every == "week":
        while day.strftime("%a") != "Mon":
            day -= timedelta(days=1)
    return str(day) if every != "month" else str(day)[:7]


def is_closed(every: str, name: str, now: datetime, delay: timedelta) -> bool:
    """Whether a period had ended so long before."""
    day = date.fromisoformat(name if every != "month" else f"{name}-01")
    while period_of(every, datetime.combine(day, time(12), UTC)) == name:
        day += timedelta(days=1)
    return datetime.combine(day, time(), UTC) + delay <= now


@dataclass
class World:
    """A source that grows, and what was released of it.

    Attributes:
        records: those that have arrived.
        expected: the released rows, as often as they must stand.
        released: the names of the released periods, in order.
        held: how many records these had when they were released.
    """

    seed: int
    every: str
    delay: timedelta
    records: list[Record] = field(default_factory=list)
    expected: Counter[Row] = field(default_factory=Counter)
    released: list[str] = field(default_factory=list)
    held: int = 0

    def arrive(self, night: int, count: int = 90) -> None:
        """Let the records of a day arrive, some of days before, and change some that are there."""
        draw = random.Random(f"{self.seed} {night}")
        for _ in range(count):
            late = draw.choice([0, 0, 0, 0, 0, 0, 0, 1, 2, 5])
            moment = FIRST + timedelta(days=night - late, seconds=draw.randrange(86_400))
            sex, illness = draw.choice("mf"), draw.choice(["flu", "gout", "asthma", "flu"])
            self.records.append((moment, draw.choice([*PLACES]), sex, illness))
        self.records.append((None, "place 1", "m", "flu"))
        for _ in range(3):
            place = draw.randrange(len(self.records))
            moment, _, sex, _ = self.records[place]
            self.records[place] = (moment, draw.choice([*PLACES]), sex, "gout")

    def coming(self, now: datetime) -> list[str]:
        """The periods that a run must release: closed, with records, and after those that were released."""
        names = {period_of(self.every, moment) for moment, *_ in self.records if moment is not None}
        last = self.released[-1] if self.released else ""
        return sorted(name for name in names if name > last and is_closed(self.every, name, now, self.delay))

    def of_period(self, name: str) -> list[Record]:
        """The records of a period."""
        return [each for each in self.records if each[0] is not None and period_of(self.every, each[0]) == name]

    def late(self) -> int:
        """How many more records the released periods have now, whichever name they would have had."""
        end = self.released[-1] if self.released else ""
        now = [each for each in self.records if each[0] is not None and period_of(self.every, each[0]) <= end]
        return len(now) - self.held

    def release(self, names: Iterable[str], levels: dict[str, int]) -> None:
        """Note the rows that a run must publish of periods: those of classes that meet the models, each by itself."""
        for name in names:
            classes: dict[tuple[str, str, str], list[str]] = defaultdict(list)
            for _, place, sex, illness in self.of_period(name):
                shown = (place, *PLACES[place])[levels["place"]]
                classes[name, shown, (sex, "*")[levels["sex"]]].append(illness)
            self.held += len(self.of_period(name))
            for key, illnesses in classes.items():
                if len(illnesses) >= K and len(set(illnesses)) >= 2:
                    self.expected.update((*key, illness) for illness in illnesses)
            self.released.append(name)


def policy_document(world: World, **changes: Any) -> dict[str, Any]:
    """The policy of such a release, but for its source and target."""
    delay = f"{int(world.delay.total_seconds()) // 3600} hours"
    listed = {"levels": {place: list(levels) for place, levels in PLACES.items()}}
    return document_of(
        {"moment": {"role": "quasi_identifier"}, "place": quasi(listed), "sex": "suppress", "illness": diverse(2)},
        changes,
        k=K,
        suppression_limit=0.3,
        periods={"column": "moment", "every": world.every, "closes_after": delay},
    )
