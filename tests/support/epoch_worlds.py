"""Live views with an epoch in plain Python: who is shown after each epoch, and who is singled out by the states.

Nothing here imports the package. An observer is as strong as can be: he knows each row again in every state.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

Row = dict[str, Any]
Cells = tuple[Any, ...]
State = Mapping[int, tuple[Cells, Cells]]
"""Key of a record that is shown -> its class, and the whole row."""
VALUES = ("a", "b", "c", "", "NULL", "*", None)
SECRETS = ("flu", "cold", "gout", "", None)


@dataclass
class EpochWorld:
    """A source that changes, and what its live view is asked for.

    Attributes:
        lookup: the published text of each value of ``q0``; ``q1`` passes as it is.
        k, margin, distinct: of the policy; distinct 0 asks for no diversity.
        persons: records are counted by ``person``.
    """

    lookup: dict[Any, Any]
    k: int
    margin: int = 0
    distinct: int = 0
    basic: bool = False
    persons: bool = False
    rows: list[Row] = field(default_factory=list)
    made: int = 0

    def new_row(self, random: Random) -> Row:
        self.made += 1
        return {
            "id": self.made,
            "q0": random.choice(VALUES),
            "q1": random.choices((1, 2, None), (5, 3, 1))[0],
            "s": random.choices(SECRETS, (5, 4, 2, 1, 1))[0],
            "person": random.choices((*range(1, 13), None), (*[4] * 12, 1))[0],
        }

    def change(self, random: Random) -> None:
        """Let records come, go and change, or a few of these; at times many, at times one."""
        for _ in range(random.choice((1, 1, 2, 3))):
            kind = random.choices(("insert", "delete", "update", "burst"), (6, 4, 3, 1))[0]
            some = random.choice((1, 1, 2, 5, 9))
            if kind == "insert" or not self.rows:
                self.rows += [self.new_row(random) for _ in range(some)]
            elif kind == "burst":
                like = self.new_row(random)
                fresh = [self.new_row(random) for _ in range(some + 3)]
                self.rows += [row | {"q0": like["q0"], "q1": like["q1"]} for row in fresh]
            elif kind == "delete":
                gone = {id(row) for row in random.sample(self.rows, min(some, len(self.rows)))}
                self.rows = [row for row in self.rows if id(row) not in gone]
            else:
                for row in random.sample(self.rows, min(some, len(self.rows))):
                    name = random.choice(("q0", "q1", "s", "person"))
                    row[name] = self.new_row(random)[name]

    def present(self) -> dict[int, Row]:
        """The records that could be shown, with what would be shown of them."""
        found = {}
        for row in self.rows:
            if self.basic and None in (row["q0"], row["q1"]):
                continue
            if row["q0"] not in self.lookup or (self.persons and row["person"] is None):
                continue
            cells = (self.lookup[row["q0"]], row["q1"])
            person = row["person"] if self.persons else row["id"]
            found[row["id"]] = {"class": cells, "row": (*cells, row["s"]), "s": row["s"], "person": person}
        return found

    def enough(self, group: Iterable[Row], margin: int = 0) -> bool:
        """Whether records meet the models by themselves."""
        rows = list(group)
        people = len({row["person"] for row in rows})
        return people >= self.k + margin and len({row["s"] for row in rows}) >= self.distinct

    def large(self, group: Iterable[Row], margin: int = 0) -> bool:
        """Whether there are as many records as the models ask for, whatever their values are."""
        rows = list(group)
        least = self.k + margin if self.persons else max(self.k + margin, self.distinct)
        return len({row["person"] for row in rows}) >= least

    def stays(self, now: Row | None, shown: Row) -> bool:
        """Whether a record counts as shown as it is. Where values are judged, they are not compared."""
        compared = ["class", "person", *([] if self.distinct else ["row"])]
        return now is not None and all(now[name] == shown[name] for name in compared)

    def live(self) -> State:
        """The state of a live view without an epoch."""
        classes: defaultdict[Cells, list[int]] = defaultdict(list)
        present = self.present()
        for key, row in present.items():
            classes[row["class"]].append(key)
        kept = [keys for keys in classes.values() if self.enough(present[key] for key in keys)]
        return {key: (present[key]["class"], present[key]["row"]) for keys in kept for key in keys}


@dataclass
class EpochBrute:
    """What a view with an epoch shows: groups of rows, and who left."""

    world: EpochWorld
    groups: list[dict[int, Row]] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    rows: dict[int, Row] = field(default_factory=dict)
    """Every record that was ever shown, as it was shown."""

    def begin(self) -> None:
        present, classes = self.world.present(), defaultdict(dict)
        for key in self.world.live():
            classes[present[key]["class"]][key] = present[key]
        self.groups = list(classes.values())
        self._join(set(), 0, [])
        self._note()

    def _join(self, losing: set[Cells], margin: int, after: list[dict[int, Row]]) -> None:
        """Add the groups that come. Where values are judged, those who were enough and failed never come."""
        world, shown = self.world, {key for group in (*self.groups, *after) for key in group}
        classes: defaultdict[Cells, dict[int, Row]] = defaultdict(dict)
        for key, row in world.present().items():
            if key not in shown and key not in self.left and row["class"] not in losing:
                classes[row["class"]][key] = row
        for rows in classes.values():
            if world.enough(rows.values(), margin) and (world.large(rows.values(), margin) or not world.distinct):
                after.append(rows)
            elif world.distinct and world.large(rows.values(), margin):
                self.left |= rows.keys()

    def _note(self) -> None:
        for group in self.groups:
            self.rows |= group

    def advance(self) -> None:
        """The end of an epoch."""
        world, present = self.world, self.world.present()
        after, losing = [], set()
        for group in self.groups:
            stay = {key: row for key, row in group.items() if world.stays(present.get(key), row)}
            go = {key: row for key, row in group.items() if key not in stay}
            kept: dict[int, Row] = group
            if go and not (world.large(stay.values()) if world.distinct else world.enough(stay.values())):
                kept = {}
            elif go and not world.distinct and world.enough(go.values()):
                kept = stay
            for key in group.keys() - kept.keys():
                self.left.add(key)
                losing.add(group[key]["class"])
            after += [kept] if kept else []
        self._join(losing, world.margin, after)
        self.groups = after
        self._note()

    def state(self) -> State:
        return {key: (row["class"], row["row"]) for group in self.groups for key, row in group.items()}

    def held(self) -> int:
        """Rows that are shown, and that the source has no longer so."""
        present = self.world.present()
        return sum(not self.world.stays(present.get(key), row) for group in self.groups for key, row in group.items())


def histories(states: Sequence[State]) -> list[set[int]]:
    """The records, of those that were shown, that one cannot distinguish who follows each row through all states.

    A history is the class of a row in each state, and whether the row is another than before. The values of a row are
    no part of it: what they may be within one history is for the models to say.
    """
    paths: defaultdict[Cells, set[int]] = defaultdict(set)
    for key in {key for state in states for key in state}:
        path: list[Any] = []
        before = None
        for state in states:
            now = state.get(key)
            path.append((None if now is None else now[0], before is not None and now is not None and now != before))
            before = now
        paths[tuple(path)].add(key)
    return list(paths.values())


def singled_out(states: Sequence[State], k: int, number: Callable[[set[int]], int] = len) -> int:
    """Persons who share their history with fewer than k."""
    return sum(n for keys in histories(states) if (n := number(keys)) < k)


def differences(before: State, after: State, k: int) -> int:
    """Rows that a subtraction of two states shows, class by class, where they are fewer than k: no row is followed."""
    found = 0
    for one, other in ((before, after), (after, before)):
        rows = Counter(one.values())
        rows.subtract(Counter(other.values()))
        classes: Counter[Cells] = Counter()
        for (cells, _), n in rows.items():
            classes[cells] += max(n, 0)
        found += sum(n for n in classes.values() if 0 < n < k)
    return found
