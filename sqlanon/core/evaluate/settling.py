"""Release models by SQL: the judged classes of one node become a working table, which the models settle in turn.

A model is driven from here: it reads what it needs to know of the table (counts, never records), and puts the next
version in its place. The way is taken where arrays cannot (entities, large bases, ``search.where: engine``), and for
what is published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import known_rows
from sqlanon.core.compiler import settled as compiler
from sqlanon.core.compiler.classes_on_sets import part_of_set
from sqlanon.core.compiler.question import Question
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.settling_sets import JudgedTable, settle_known
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.loss import decides
from sqlanon.core.models.base import PrivacyModel, is_of_release
from sqlanon.core.models.bounded_knowledge import BoundedKnowledge
from sqlanon.core.models.joint_cells import JointCells
from sqlanon.core.models.profile_k import ProfileK
from sqlanon.core.models.release import SizeCut, SizeModel, cut_of
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, masked


@dataclass(slots=True)
class SettledNode:
    """The judged classes of a node while release models settle them.

    Attributes:
        question: without ``settled``.
        node: its levels.
        grain: the table of a grain at or below the node.
        table: the current version of the table of its classes.
        total: at least so many encoded records are suppressed at every more specific node (``ReleaseJudgement.total``).
        replayed: the replayable script is to contain the statements.
    """

    engine: Engine
    question: Question
    node: Node
    grain: str
    stem: str
    replayed: bool = False
    total: int = 0
    table: str = field(default="", init=False)
    _version: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.replace(compiler.judged_node(self.question, self.node, self.grain))

    def replace(self, query: exp.Query) -> None:
        """Put the rows of a query, which may read the table, in the place of the table."""
        before, self.table = self.table, f"{self.stem}_{self._version}"
        self._version += 1
        self.engine.create("settle classes", self.table, query, replayed=self.replayed)
        if before:
            self.engine.drop(before)

    def counted(self) -> list[tuple[int, ...]]:
        """Return the classes with records: (records, whether they fail, certainly suppressed, classes)."""
        query = compiler.counted_classes(self.question, self.table)
        return [tuple(map(int, row)) for row in self.engine.run("classes by size", query)]

    def bound(self, total: int) -> None:
        """Note that at least so many records are suppressed at every more specific node."""
        self.total = max(self.total, total)

    def drop(self) -> None:
        """Drop the table."""
        self.engine.drop(self.table)


Settler = Callable[[SettledNode, PrivacyModel], bool]
"""Lets a release model fail the classes that it fails besides, and returns whether there are any."""


def settle_sizes(found: SettledNode, model: PrivacyModel) -> bool:
    """Fail the smallest classes of a node until the figure of a model of sizes holds."""
    assert isinstance(model, SizeModel)
    counted = found.counted()
    found.bound(model.least([(n, certain, classes) for n, _, certain, classes in counted]))
    sizes: dict[int, int] = {}
    for n, fails, _, classes in counted:
        if not fails:
            sizes[n] = sizes.get(n, 0) + classes
    listed = sorted(sizes.items())
    removed = model.removed(listed)
    if not removed:
        return False
    cut = cut_of(listed, removed)
    greatest = model.ties == "greatest_loss"
    suppressed = sum(n * classes for n, fails, _, classes in counted if fails or n < cut.size) + cut.size * cut.classes
    chooses = cut.classes < sizes[cut.size] and not found.question.beyond(suppressed)
    turns = chooses and _choose(found, cut, greatest=greatest)
    query = compiler.without_smallest(
        found.question, found.node, found.table, cut, greatest=greatest, lasts=model.monotone, turns=turns
    )
    found.replace(query)
    if turns:
        found.engine.drop(names.GO_FIRST)
    return True


def _choose(found: SettledNode, cut: SizeCut, *, greatest: bool) -> bool:
    """Load which classes of the size of a cut go (``names.GO_FIRST``), where the measure decides it; return whether."""
    import numpy as np

    from sqlanon.core.evaluate.tied_classes import TiedClasses, first_to_go

    catalog, node, measure, run = found.question.catalog, found.node, found.question.measure, found.engine.run
    if measure is None or not decides(measure) or not node:
        return False
    ranks = compiler.ranked(catalog, node, found.table, cut.size, greatest=greatest, facts=True)
    by_place = sorted(run("tied classes", ranks), key=lambda row: row[-1])
    tied = np.array(by_place, np.int64).T  # cost, values, costs of the attributes, place
    equal = np.flatnonzero(tied[0] == tied[0, cut.classes - 1])
    start, end = int(equal[0]), int(equal[-1]) + 1
    if end == cut.classes:
        return False
    attributes = range(len(node))
    values, costs = tied[1 : 1 + len(node)], tied[1 + len(node) : -1]
    gone = [np.bincount(values[i, :start], minlength=int(values[i].max()) + 1) * cut.size for i in attributes]
    spent = [int(costs[i, :start].sum()) * cut.size for i in attributes]
    for row in run("suppressed values", compiler.gone_values(catalog, node, found.table, cut.size)):
        position, place, cost, n = map(int, row)
        gone[position] = np.pad(gone[position], (0, max(place + 1 - len(gone[position]), 0)))
        gone[position][place] += n
        spent[position] += cost * n
    equals = TiedClasses(
        cut.size, list(values[:, start:end]), list(costs[:, start:end]), int(gone[0].sum()), spent, gone
    )
    goes = [start + place for place in first_to_go(measure, catalog, node, equals, cut.classes - start)]
    turns = {compiler.BEFORE: [*range(1, start + 1), *[place + 1 for place in goes]]}
    turns[compiler.TURN] = [*range(1, cut.classes + 1)]
    data = pa.table({name: pa.array(numbers, pa.int64()) for name, numbers in turns.items()})
    found.engine.load("go first", names.GO_FIRST, data, replayed=found.replayed)
    return True


def settle_sets(found: SettledNode, model: PrivacyModel) -> bool:
    """Fail the classes that too few records agree with on a set of quasi-identifiers (``settling_sets``)."""
    assert isinstance(model, BoundedKnowledge)
    catalog, words = found.question.catalog, range(found.question.catalog.words)
    attributes = list(enumerate(zip(catalog.attributes, found.node, strict=True)))

    def masks(known: tuple[int, ...]) -> list[int]:
        own = [catalog.attributes[place] for place in known]
        levels = [found.node[place] for place in known]
        return [sum(a.mask(level, word) for a, level in zip(own, levels, strict=True)) for word in words]

    judged = JudgedTable(
        engine=found.engine,
        key_names=[names.key(word) for word in words],
        columns=compiler.settled_columns(found.question),
        attributes=[place for place, (attribute, level) in attributes if attribute.widths[level] > 1],
        parts=masks,
        on_set=[masked(column(names.key(word), "judged"), column(part_of_set(word), "known")) for word in words],
        current=lambda: found.table,
        replace=found.replace,
        monotone=found.question.monotone,
        replayed=found.replayed,
    )
    return settle_known(judged, model)


def settle_joint(found: SettledNode, model: PrivacyModel) -> bool:
    """Fail joint cells until those who are absent from the new release are nobody, or enough (``JointCells``)."""
    assert isinstance(model, JointCells)
    by_number = found.engine.run("records by earlier classes", compiler.records_by_earlier(found.question, found.table))
    found.bound(model.total([(int(number), int(n), int(certain)) for number, n, certain in by_number]))
    before = sum(count for _, fails, _, count in found.counted() if fails)
    found.replace(compiler.without_joint_cells(found.question, found.table, model))
    return sum(count for _, fails, _, count in found.counted() if fails) > before


SETTLERS: dict[type, Settler] = {
    SizeModel: settle_sizes,
    BoundedKnowledge: settle_sets,
    JointCells: settle_joint,
}
"""By the class of a model, or one that it inherits from, what settles it."""


def _settler(model: PrivacyModel) -> Settler:
    return next(SETTLERS[kind] for kind in type(model).__mro__ if kind in SETTLERS)


def settle(
    engine: Engine, question: Question, node: Node, grain: str, stem: str = names.SETTLED, *, replayed: bool = False
) -> SettledNode | SettledPersons:
    """Return what release models leave of a node: its settled classes or, where classes are of persons, its persons."""
    if question.of_persons:
        return settle_persons(engine, question, node, grain, stem, replayed=replayed)
    return _settle_classes(engine, question, node, grain, stem, replayed=replayed)


def _settle_classes(
    engine: Engine, question: Question, node: Node, grain: str, stem: str, *, replayed: bool = False
) -> SettledNode:
    """Return the settled classes of a node: the release models of the question, asked in turn until nothing changes."""
    models = [model for model in question.models if is_of_release(model)]
    found = SettledNode(engine, replace(question, settled=None), node, grain, stem, replayed)
    changed = True
    while changed:
        changed = sum(_settler(model)(found, model) for model in models) > 0 and len(models) > 1
    return found


def suppressed_alone(engine: Engine, question: Question, node: Node, grain: str, model: PrivacyModel) -> int:
    """Return how many records of a node a release model suppresses where there is no other model."""
    alone = replace(question, models=(model,), by_model=False, measure=None)
    found = _settle_classes(engine, alone, node, grain, f"{names.SETTLED}_alone")
    suppressed = sum(n * classes for n, fails, _, classes in found.counted() if fails)
    found.drop()
    return suppressed


@dataclass(frozen=True, slots=True)
class SettledPersons:
    """The persons of one node, in a table with who fails (``compiler.known_rows.settled_persons``).

    Attributes:
        total: nothing beyond the counts of the table: whoever fails does so at every more specific node.
    """

    engine: Engine
    table: str
    total: int = 0

    def drop(self) -> None:
        """Drop the table."""
        self.engine.drop(self.table)


def settle_persons(
    engine: Engine, question: Question, node: Node, grain: str, stem: str, *, replayed: bool
) -> SettledPersons:
    """Return the persons of a node, of whom those outside of the greatest valid set fail (``models.profile_k``)."""
    [model] = question.models  # a policy has no other beside it
    assert isinstance(model, ProfileK) and model.at_most is not None
    held, known, result = f"{stem}_units", f"{stem}_known", f"{stem}_persons"
    title = "settle persons"
    engine.create(title, held, known_rows.units(question, node, grain, model.at_most), replayed=replayed)
    version = 0
    before = engine.create(title, f"{known}_0", known_rows.chains(held, model.at_most), replayed=replayed)
    engine.drop(held)
    while True:
        query = known_rows.remaining(f"{known}_{version}", model.at_most, model.k)
        left = engine.create(title, f"{known}_{version + 1}", query, replayed=replayed)
        engine.drop(f"{known}_{version}")
        version += 1
        if left == before:
            break
        before = left
    query = known_rows.settled_persons(question, node, grain, f"{known}_{version}")
    engine.create(title, result, query, replayed=replayed)
    engine.drop(f"{known}_{version}")
    return SettledPersons(engine, result)
