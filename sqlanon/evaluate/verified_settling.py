"""Release models in a verification: they settle the classes of several nodes, counted from original values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import pyarrow as pa
from sqlglot import exp

from sqlanon.compiler import readable_profiles
from sqlanon.compiler import readable_release as compiler
from sqlanon.compiler.classes_on_sets import part_of_set
from sqlanon.compiler.readable_nodes import NODE, text_of
from sqlanon.engines.base import Engine
from sqlanon.evaluate.settling_sets import JudgedTable, settle_known
from sqlanon.lattice.catalog import Catalog
from sqlanon.models.base import PrivacyModel, is_of_release
from sqlanon.models.bounded_knowledge import BoundedKnowledge
from sqlanon.models.profile_k import ProfileK
from sqlanon.models.release import SizeModel, cut_of
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import column, equal, number, table, when

REPLACED = names.JUDGED + "_before"
"""The version of ``names.JUDGED`` that the next one is made from."""


@dataclass(slots=True)
class VerifiedClasses:
    """The classes of some nodes, in ``names.JUDGED``, while release models settle them.

    Attributes:
        totals: by the number of a node, at least so many encoded records are suppressed at every more special node.
    """

    engine: Engine
    catalog: Catalog
    totals: dict[int, int] = field(default_factory=dict)

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
    cuts: dict[str, list[int]] = {NODE: [], "size": [], "classes": []}
    for node, rows in counted.items():
        found.bound(node, model.least([(n, certain, classes) for n, _, certain, classes in rows]))
        sizes: dict[int, int] = {}
        for n, fails, _, classes in rows:
            if not fails:
                sizes[n] = sizes.get(n, 0) + classes
        listed = sorted(sizes.items())
        removed = model.removed(listed)
        if removed:
            cut = cut_of(listed, removed)
            for name, value in ((NODE, node), ("size", cut.size), ("classes", cut.classes)):
                cuts[name].append(value)
    if not cuts[NODE]:
        return False
    data = pa.table({name: pa.array(values, pa.int64()) for name, values in cuts.items()})
    found.engine.load("cuts", compiler.CUTS, data, replayed=False)
    greatest = model.ties == "greatest_loss"
    found.replace(compiler.without_smallest(found.catalog, greatest=greatest, lasts=model.monotone))
    found.engine.drop(compiler.CUTS)
    return True


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


def prepare(engine: Engine, catalog: Catalog, models: Sequence[PrivacyModel]) -> None:
    """Write what the order of classes of one size is read from, if there are release models."""
    if any(map(is_of_release, models)) and catalog.attributes:
        engine.create("ranked texts", names.RANKED_TEXTS, compiler.ranked_texts(catalog), replayed=False)


def settle_verified(engine: Engine, catalog: Catalog, models: Sequence[PrivacyModel]) -> dict[int, int]:
    """Let the release models settle the classes in ``names.JUDGED``, and return the bounds of the nodes by number."""
    found = VerifiedClasses(engine, catalog)
    of_release = [model for model in models if is_of_release(model)]
    settlers = [next(VERIFIED[kind] for kind in type(model).__mro__ if kind in VERIFIED) for model in of_release]
    changed = bool(of_release)
    while changed:
        changes = sum(settler(found, model) for settler, model in zip(settlers, of_release, strict=True))
        changed = changes > 0 and len(of_release) > 1
    return found.totals
