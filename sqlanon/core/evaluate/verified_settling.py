"""Release models in a verification: they settle the classes of several nodes, counted from original values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.compiler import readable_profiles
from sqlanon.core.compiler import readable_release as compiler
from sqlanon.core.compiler.classes_on_sets import part_of_set
from sqlanon.core.compiler.readable_nodes import NODE, text_of
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.settling_sets import JudgedTable, settle_known
from sqlanon.core.evaluate.verified_order import Gone, Texts, falling
from sqlanon.core.evaluate.verified_sizes import least_removed, least_total
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.measures.base import Measure
from sqlanon.core.models.base import PrivacyModel, is_of_release
from sqlanon.core.models.bounded_knowledge import BoundedKnowledge
from sqlanon.core.models.profile_k import ProfileK
from sqlanon.core.models.release import SizeCut, SizeModel, cut_of
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, equal, number, table, when

REPLACED = names.JUDGED + "_before"
"""The version of ``names.JUDGED`` that the next one is made from."""


@dataclass(slots=True)
class VerifiedClasses:
    """The classes of some nodes, in ``names.JUDGED``, while release models settle them.

    Attributes:
        nodes: by their numbers.
        costs: what suppressing a record costs by position, level and text (``compiler.costs_of_texts``).
        totals: by the number of a node, at least so many encoded records are suppressed at every more specific node.
    """

    engine: Engine
    catalog: Catalog
    nodes: Mapping[int, Node]
    measure: Measure
    totals: dict[int, int] = field(default_factory=dict)
    costs: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def replace(self, query: exp.Query) -> None:
        """Put the rows of a query, which reads ``names.JUDGED``, in its place."""
        self.engine.create("settled", REPLACED, query, replayed=False)
        self.engine.drop(names.JUDGED)
        self.engine.create("judged", names.JUDGED, exp.select("*").from_(exp.to_table(REPLACED)), replayed=False)
        self.engine.drop(REPLACED)

    def bound(self, node: int, total: int) -> None:
        """Note that at least so many records are suppressed at or below a node."""
        self.totals[node] = max(total, self.totals.get(node, 0))


VerifiedSettler = Callable[[VerifiedClasses, PrivacyModel], bool]
"""Lets a release model fail the classes that it fails besides, and returns whether there are any."""


def settle_sizes(found: VerifiedClasses, model: PrivacyModel) -> bool:
    """Fail the smallest classes of each node until the figure of a model of sizes holds."""
    assert isinstance(model, SizeModel)
    counted: dict[int, list[tuple[int, ...]]] = {}
    for node, *row in found.engine.run("classes by size", compiler.counted_classes()):
        counted.setdefault(int(node), []).append(tuple(map(int, row)))
    smaller: dict[int, int] = {}
    chosen: list[Texts] = []
    for node, rows in counted.items():
        found.bound(node, least_total(model, [(n, certain, classes) for n, _, certain, classes in rows]))
        sizes: dict[int, int] = {}
        for n, fails, _, classes in rows:
            if not fails:
                sizes[n] = sizes.get(n, 0) + classes
        listed = sorted(sizes.items())
        removed = least_removed(model, listed)
        if removed:
            cut = cut_of(listed, removed)
            suppressed = sum(n * classes for n, fails, _, classes in rows if fails or n < cut.size)
            smaller[node] = cut.size + (cut.classes == sizes[cut.size])
            if cut.classes < sizes[cut.size]:
                texts = _fall(found, node, cut, suppressed, greatest=model.ties == "greatest_loss")
                chosen.append(np.insert(texts, 0, node, axis=0))
    if not smaller:
        return False
    key_names = [NODE, *map(text_of, range(len(found.catalog.attributes)))]
    fallen = np.concatenate([np.zeros((len(key_names), 0), np.int64), *chosen], axis=1)
    for name, table_name, columns in (
        ("cuts", compiler.CUTS, {NODE: [*smaller], "size": [*smaller.values()]}),
        ("chosen", compiler.CHOSEN, dict(zip(key_names, fallen, strict=True))),
    ):
        data = pa.table({key: pa.array(values, pa.int64()) for key, values in columns.items()})
        found.engine.load(name, table_name, data, replayed=False)
    found.replace(compiler.without_smallest(found.catalog, lasts=model.monotone))
    found.engine.drop(compiler.CUTS)
    found.engine.drop(compiler.CHOSEN)
    return True


def _fall(found: VerifiedClasses, number: int, cut: SizeCut, suppressed: int, *, greatest: bool) -> Texts:
    """Return which classes of the size of a cut fall at a node, by the numbers of their texts.

    Args:
        suppressed: the encoded records that are suppressed before. Beyond the limit, it does not matter which follow.
    """
    catalog, run, node = found.catalog, found.engine.run, found.nodes[number]
    classes = np.array(run("classes of a size", compiler.passing(catalog, number, cut.size)), np.int64).T
    if not found.costs:
        found.costs |= {(p, level, text): c for p, level, text, c in run("costs", compiler.costs_of_texts(catalog))}
    beyond = suppressed + cut.size * cut.classes > catalog.allowed - catalog.uncovered

    def gone() -> Gone:
        by_text: list[dict[int, int]] = [{} for _ in node]
        for position, text, n in run("suppressed texts", compiler.suppressed_texts(catalog, number, cut.size)):
            by_text[position][int(text)] = int(n)
        return Gone(by_text)

    def cost(position: int, text: int) -> int:
        return int(found.costs[position, node[position], text])

    measure = None if beyond else found.measure
    return falling(catalog, measure, node, classes, cut, cost, gone, greatest=greatest)


def settle_sets(found: VerifiedClasses, model: PrivacyModel) -> bool:
    """Fail the classes of each node that too few records agree with on a set of quasi-identifiers."""
    assert isinstance(model, BoundedKnowledge)
    attributes = range(len(found.catalog.attributes))
    texts = [text_of(position) for position in attributes]

    def on_set(position: int) -> exp.Expr:
        is_known = equal(column(part_of_set(position), "known"), number(1))
        return when(is_known, column(texts[position], "judged"), number(-1))

    judged = JudgedTable(
        engine=found.engine,
        key_names=[NODE, *texts],
        columns=[NODE, *texts, names.COUNT, "fails", "min_suppressed"],
        attributes=attributes,
        parts=lambda known: [int(position in known) for position in attributes],
        on_set=[column(NODE, "judged"), *map(on_set, attributes)],
        current=lambda: names.JUDGED,
        replace=found.replace,
        monotone=False,
    )
    return settle_known(judged, model)


def settle_persons(found: VerifiedClasses, model: PrivacyModel) -> bool:
    """Fail the persons of each node with few rows that too few of the others have, in rounds."""
    assert isinstance(model, ProfileK) and model.at_most is not None
    engine, texts = found.engine, [text_of(position) for position in range(len(found.catalog.attributes))]
    left: dict[int, str] = {}
    nodes = exp.select(column(NODE)).distinct().from_(table(names.JUDGED))
    for node in sorted(int(row[0]) for row in engine.run("nodes", nodes)):
        current = f"{REPLACED}_{node}_0"
        many = engine.create("rows", current, readable_profiles.rows_of_persons(NODE, node, texts), replayed=False)
        for turn in count(1):
            before, rows, current = current, many, f"{REPLACED}_{node}_{turn}"
            query = readable_profiles.rows_of_others(before, model.at_most, model.k)
            many = engine.create("rows", current, query, replayed=False)
            engine.drop(before)
            if many == rows:
                break
        left[node] = current
    if not left:
        return False
    found.replace(readable_profiles.without_others(NODE, texts, left))
    for rows_left in left.values():
        engine.drop(rows_left)
    return True


VERIFIED: dict[type, VerifiedSettler] = {
    SizeModel: settle_sizes,
    BoundedKnowledge: settle_sets,
    ProfileK: settle_persons,
}
"""By the class of a model, or one that it inherits from, what settles it."""


def settle_verified(
    engine: Engine, catalog: Catalog, models: Sequence[PrivacyModel], nodes: Mapping[int, Node], measure: Measure
) -> dict[int, int]:
    """Let the release models settle the classes in ``names.JUDGED``, and return the bounds of the nodes by number."""
    found = VerifiedClasses(engine, catalog, nodes, measure)
    of_release = [model for model in models if is_of_release(model)]
    settlers = [next(VERIFIED[kind] for kind in type(model).__mro__ if kind in VERIFIED) for model in of_release]
    changed = bool(of_release)
    while changed:
        changes = sum(settler(found, model) for settler, model in zip(settlers, of_release, strict=True))
        changed = changes > 0 and len(of_release) > 1
    return found.totals
