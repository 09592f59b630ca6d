"""Property checks for the authors of extensions: random tables, compared with brute force.

Each check takes the name of an extension (or of what is built in) and the ``Extensions`` that it comes with, looks at
random tables, and raises AssertionError when a claim does not hold; the message has the seed of the table. Claims that
hold on some hundred tables of this kind have been wrong before: look at thousands (``tables``) before you rely on one.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from sqlanon.core.anonymizer import plan
from sqlanon.core.formats.checked import CheckedFormat
from sqlanon.core.lattice.nodes import Node, leq
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.checked import EVERYTHING, TOTAL, own_live_file
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Policy
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.search.base import TIE, Verdict
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, lookup_rows, table
from sqlanon.errors import AuditError, NoSolutionError, SearchStoppedError, TargetError

Text = str | None
Passes = Callable[[Counter[Text]], bool]
"""A model once more, in Python: may a class with these sensitive values be published?"""

TABLES = int(os.environ.get("SQLANON_TABLES", "30"))
"""How many tables a check looks at, unless its argument sets another number."""
VALUES = (None, "", "flu", "cold", "NULL", "é", "*", "angina")
TEXTS = (None, "", " ", "a", "NULL", "null", '"', "'", ",", ";", "\t", "\n", "a\r\nb", "<&>", "\\", "é€😀", "x" * 300)
COLUMNS = ("a", "B", "two words", "é", 'quo"te', "1st", "record")
AMONG = ("loss", "precision", "discernibility", "average_class_size")
"""Measures that strategies and models are tried with."""


@dataclass(frozen=True, slots=True)
class _World:
    """A random table: records of quasi-identifiers and a sensitive value, and a hierarchy for each of the former."""

    records: list[tuple[tuple[Text, ...], Text]]
    trees: list[dict[Text, list[str]]]
    context: str

    def columns(self, models: Sequence[Mapping[str, Any]], weights: Sequence[float]) -> dict[str, Any]:
        """Return the columns of a policy; without ``models`` the sensitive one is kept."""
        columns: dict[str, Any] = {
            f"q{i}": {"role": "quasi_identifier", "hierarchy": {"levels": tree}, "weight": weights[i]}
            for i, tree in enumerate(self.trees)
        }
        return columns | {"s": {"role": "sensitive", "models": list(models)} if models else {"role": "keep"}}

    def generalized(self, node: Node) -> list[tuple[Text, ...]]:
        """Return the records at a node, with their sensitive values."""
        return [
            (*(self._text(i, value, level) for i, (value, level) in enumerate(zip(q, node, strict=True))), s)
            for q, s in self.records
        ]

    def _text(self, position: int, value: Text, level: int) -> Text:
        """Return a value at a level; NULL stays NULL up to the last level, where it joins the root, if there is one."""
        tree = self.trees[position]
        if value is not None or level == 0:
            return value if level == 0 else tree[value][level - 1]
        tops = {levels[-1] for levels in tree.values()}
        height = len(next(iter(tree.values()))) + 1
        return next(iter(tops)) if level == height - 1 and len(tops) == 1 else None


def _world(seed: int) -> _World:
    chance = Random(seed)
    count = chance.randint(1, 3)
    pools = [[None, *"abcdefg"][chance.choice([0, 1, 1]) :][: chance.randint(2, 8)] for _ in range(count)]
    values = chance.sample(VALUES, chance.randint(1, 5))
    weights = [chance.random() ** 2 + 0.01 for _ in values]
    records = [
        (tuple(map(chance.choice, pools)), chance.choices(values, weights)[0])
        for _ in range(chance.choice([1, 5, 12, 30, 60]))
    ]
    return _World(records, [_tree(chance, pool) for pool in pools], f"seed {seed}")


def _tree(chance: Random, pool: Sequence[Text]) -> dict[Text, list[str]]:
    """Return a hierarchy of the texts; most have one root."""
    height = chance.randint(1, 3)
    tree: dict[Text, list[str]] = {value: [] for value in pool if value is not None}
    rooted = chance.random() < 0.9
    for level in range(1, height + 1):
        groups = dict.fromkeys(levels[-1] if levels else str(value) for value, levels in tree.items())
        wide = max(1, len(groups) // 2)
        label = {group: f"{level}-{chance.randint(1, wide)}" for group in groups}
        for value, levels in tree.items():
            levels.append("*" if rooted and level == height else label[levels[-1] if levels else str(value)])
    return tree


@contextmanager
def _planned(
    world: _World, folder: Path, extensions: Extensions, columns: Mapping[str, Any], **keys: Any
) -> Iterator[Plan | None]:
    """Yield the plan of a policy for a world; None if nothing meets it."""
    path = folder / "table.parquet"
    count = len(world.trees)
    data = {f"q{i}": pa.array([q[i] for q, _ in world.records], pa.string()) for i in range(count)}
    pq.write_table(pa.table(data | {"s": pa.array([s for _, s in world.records], pa.string())}), path)
    try:
        planned = plan(path, Policy.from_dict({"columns": dict(columns), **keys}, extensions=extensions))
    except NoSolutionError:
        yield None
        return
    with planned:
        yield planned


def check_model(
    name: str,
    parameters: Mapping[str, Any],
    *,
    extensions: Extensions = NOTHING,
    passes: Passes | None = None,
    tables: int = TABLES,
    seed: int = 0,
) -> None:
    """Check a privacy model against brute-force counts, at every node of random tables.

    Its meaning, its ``judge`` and its audit fail the same classes, those that ``passes`` rejects; no class smaller
    than ``size`` is published; below a failing class at least ``min_suppressed`` records are suppressed; ``box`` finds
    the optimum. A class of a live view (``live_file``) passes where it passes by the meaning.

    Args:
        parameters: as in a policy. Models that need a subset cannot be checked here.
        passes: the definition once more; without it nothing notices when meaning and audit are wrong alike.

    Raises:
        AssertionError: a claim does not hold.
    """
    model = {"type": name, **parameters}
    watched = [model] if extensions.model(name).watches else []  # type: ignore[attr-defined]
    compared = 0
    with TemporaryDirectory() as folder:
        for world in map(_world, range(seed, seed + tables)):
            chance = Random(world.context)
            k = chance.choice([1, 1, 2, 3])
            size = {"type": "k_anonymity", "k": k}
            privacy = [size] if watched else [model, size]
            columns = world.columns(watched, [1.0] * len(world.trees))
            keys = {"privacy": privacy, "suppression_limit": 1, "quality": {"measure": chance.choice(AMONG)}}
            with _planned(world, Path(folder), extensions, columns, **keys) as planned:
                if planned is None:
                    _check_nothing_passes(world, k, passes)
                    continue
                compared += _check_judgement(world, planned, name, passes)
                _check_optimum(world, planned, Decimal(chance.choice(["0", "0.1", "0.4", "1"])))
                judged = _verdicts(planned)
            with _planned(world, Path(folder), extensions, columns, **keys, search={"where": "engine"}) as by_sql:
                assert by_sql is not None, f"{world.context}: by SQL nothing passes, by judge something does."
                _check_arrays(world, judged, _verdicts(by_sql))
    assert compared, f"No table of {tables} can meet {name} with these parameters: try others."


def _check_arrays(world: _World, judged: Sequence[Verdict], by_sql: Sequence[Verdict]) -> None:
    """Check that the method ``judge`` of a model, where it has one, says what its file says."""
    for here, there in zip(judged, by_sql, strict=True):
        facts = [(v.by_model, v.suppressed, v.lower_bounds.suppressed) for v in (here, there)]
        assert facts[0] == facts[1], (
            f"{world.context}, node {here.node}: judge and file disagree (failing records, suppressed, at least)."
        )


def _check_nothing_passes(world: _World, size: int, passes: Passes | None) -> None:
    """Check that no class can pass, where no node is said to publish anything."""
    heights = [len(next(iter(tree.values()))) + 1 for tree in world.trees]
    top = tuple(height - 1 for height in heights)
    for node in _nodes(top) if passes else ():
        for counts in _classes(world, node).values():
            fine = sum(counts.values()) >= size and passes is not None and passes(counts)
            assert not fine, f"{world.context}: a class can pass at {node}, but is said not to (obstacle, size)."


def _nodes(top: Node) -> Iterator[Node]:
    if not top:
        yield ()
        return
    for level in range(top[0] + 1):
        yield from ((level, *rest) for rest in _nodes(top[1:]))


def _classes(world: _World, node: Node) -> dict[tuple[Text, ...], Counter[Text]]:
    found: dict[tuple[Text, ...], Counter[Text]] = defaultdict(Counter)
    for *quasi, value in world.generalized(node):
        found[tuple(quasi)][value] += 1
    return found


def _check_judgement(world: _World, planned: Plan, name: str, passes: Passes | None) -> int:
    """Check the model at each node, and its bounds at the nodes below; return how many pairs were compared."""
    verdicts = _verdicts(planned)
    position, model = next((i, m) for i, m in enumerate(planned.question.models) if m.type == name)
    for verdict in verdicts:
        where = f"{world.context}, node {verdict.node}"
        failing = verdict.by_model[position][1]
        audited = _audited(world, planned, position, verdict.node)
        assert failing == audited, f"{where}: {failing} records are in failing classes, by the audit {audited}."
        if own_live_file(model) is not None:
            live = _failing_live(world, planned, model, verdict.node)
            assert failing == live, f"{where}: {failing} records are in failing classes, in a live view {live}."
        if passes is not None:
            classes = _classes(world, verdict.node).values()
            due = sum(sum(counts.values()) for counts in classes if not passes(counts))
            assert failing == due, f"{where}: {failing} records are in failing classes, by the definition {due}."
        small = verdict.smallest is not None and verdict.smallest < model.size
        assert not small, f"{where}: a class of {verdict.smallest} records passes, though size is {model.size}."
    compared = 0
    for top in verdicts:
        for below in verdicts:
            if leq(below.node, top.node):
                compared += 1
                least = top.lower_bounds.suppressed
                assert below.suppressed >= least, (
                    f"{world.context}: at least {least} records are said to be suppressed below {top.node} "
                    f"(min_suppressed, monotone), but {below.node} suppresses {below.suppressed}."
                )
    return compared


def _verdicts(planned: Plan) -> list[Verdict]:
    lattice = planned._problem.lattice
    return planned.evaluate_many([planned.catalog.levels(node) for node in lattice.nodes()])


def _audited(world: _World, planned: Plan, position: int, node: Node) -> int:
    """Return the records in classes that the audit refuses, of the table at a node without suppression."""
    engine, quasi = planned._session.source.engine, [f"q{i}" for i in range(len(node))]
    rows = world.generalized(node)
    data = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate([*quasi, "s"])}
    engine.load("audited rows", "sqlanon_audited", pa.table(data))
    try:
        offending = planned._audits()[position].offending(table("sqlanon_audited"), quasi)
        return sum(int(row[0]) for row in engine.run("audit", offending))
    finally:
        engine.drop("sqlanon_audited")


def _failing_live(world: _World, planned: Plan, model: PrivacyModel, node: Node) -> int:
    """Return the records in classes that a live view would suppress by a model, of the table at a node."""
    engine, among_all = planned._session.source.engine, Counter(value for _, value in world.records)
    rows = [
        (number, count, among_all[value], len(world.records), sum(counts.values()))
        for number, counts in enumerate(_classes(world, node).values())
        for value, count in counts.items()
    ]
    if model.column is None:
        rows = [(number, size, 0, 0, size) for number, size in {row[0]: row[4] for row in rows}.items()]
    cells = ("class", "n", TOTAL, EVERYTHING, "size")
    data = {name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(cells)}
    engine.load("histograms", "sqlanon_histograms", pa.table(data))
    source = {True: "histogram", False: "classes"}[model.column is not None]
    query = bind(str(model.live_file), relations={source: table("sqlanon_histograms")}, values=model.audit_values(0))
    query = query.select(column("class"), column("size"))
    if model.column is not None:
        query = query.group_by(*map(column, ("class", "size", EVERYTHING)))
    try:
        return sum(int(size) for passing, _, size in engine.run("live condition", query) if not passing)
    finally:
        engine.drop("sqlanon_histograms")


def _check_optimum(world: _World, planned: Plan, limit: Decimal) -> None:
    """Check that ``box`` under another limit finds what trying every node finds."""
    policy = replace(planned.policy, suppression_limit=limit)
    allowed = policy.allowed_suppressions(planned.catalog.population)
    losses = [v.loss for v in _verdicts(planned) if v.classes and v.suppressed <= allowed and not v.ruled_out]
    best = min(losses, default=math.inf)
    try:
        found = planned.with_policy(policy).certificate.loss
    except NoSolutionError:
        found = math.inf
    assert math.isclose(found, best, rel_tol=1e-9, abs_tol=1e-9) or found == best, (
        f"{world.context}: the optimum is {best}, but the search finds {found} and calls it optimal."
    )


def check_measure(
    name: str, *, aggregate: str | None = None, extensions: Extensions = NOTHING, tables: int = TABLES, seed: int = 0
) -> None:
    """Check a quality measure's bounds against the losses of all nodes, on random tables with random models.

    No loss is negative, no candidate loses less than a bound says, and ``box`` finds the optimum.

    Raises:
        AssertionError: a claim does not hold.
    """
    compared = 0
    with TemporaryDirectory() as folder:
        for world in map(_world, range(seed, seed + tables)):
            chance = Random(world.context)
            entropy = [{"type": "entropy_l_diversity", "l": chance.choice([1.5, 2])}]
            columns = world.columns(chance.choice([[], entropy]), [chance.choice([1, 0.5, 2]) for _ in world.trees])
            privacy = [{"type": "k_anonymity", "k": chance.choice([1, 2, 3])}]
            quality = {"measure": name} | ({"aggregate": aggregate} if aggregate else {})
            keys = {"privacy": privacy, "suppression_limit": 1, "quality": quality}
            with _planned(world, Path(folder), extensions, columns, **keys) as planned:
                if planned is None:
                    continue
                compared += _check_bounds(world, planned)
                _check_optimum(world, planned, Decimal(chance.choice(["0", "0.1", "0.4", "1"])))
    assert compared, f"No table of {tables} has a solution."


def _check_bounds(world: _World, planned: Plan) -> int:
    problem = planned._problem
    verdicts = _verdicts(planned)
    facts = {verdict.node: verdict.bottom_facts for verdict in verdicts}
    bottom, compared = problem.lattice.bottom, 0
    for candidate in verdicts:
        if not candidate.classes:
            continue
        node, loss = candidate.node, candidate.loss
        enough = loss + 1e-9 * max(1.0, abs(loss))
        assert 0 <= loss < math.inf, f"{world.context}: the loss of {node} is {loss}."
        assert problem.least() <= enough, f"{world.context}: every node is said to lose more than {node} does, {loss}."
        for top in verdicts:
            if not leq(node, top.node):
                continue
            compared += 1
            bounds_along_axes = problem.measure.bounds_along_axes(bottom, top.node, facts[bottom], top.lower_bounds)
            bounds = [
                problem.bound(node, top, facts[node]),
                problem.bound(bottom, top, facts[bottom]),
                *(steps[level] for steps, level in zip(bounds_along_axes, node, strict=True)),
            ]
            assert max(bounds) <= enough, (
                f"{world.context}: every candidate below {top.node} is said to lose at least {max(bounds)}, but {node} "
                f"loses {loss}."
            )
    return compared


def check_strategy(
    name: str, *, exact: bool = False, extensions: Extensions = NOTHING, tables: int = TABLES, seed: int = 0
) -> None:
    """Check what a strategy finds, and what is claimed for it, by trying every node.

    Args:
        exact: it must find the optimum, whenever there is one, and prove it.

    Raises:
        AssertionError: a claim does not hold, or two runs differ.
    """
    solved = 0
    with TemporaryDirectory() as folder:
        for world in map(_world, range(seed, seed + tables)):
            chance = Random(world.context)
            columns = world.columns([], [chance.choice([1, 0.5, 2]) for _ in world.trees])
            keys = {
                "privacy": [{"type": "k_anonymity", "k": chance.choice([1, 2, 3])}],
                "suppression_limit": chance.choice([0, 0.1, 0.4, 1]),
                "quality": {"measure": chance.choice(AMONG)},
                "search": {"strategy": "exhaustive"},
            }
            with _planned(world, Path(folder), extensions, columns, **keys) as planned:
                if planned is not None:
                    solved += _check_found(world, planned, name, exact)
    assert solved, f"{name} found a solution for no table of {tables}."


def _check_found(world: _World, planned: Plan, name: str, exact: bool) -> bool:
    best, where = planned.certificate.loss, f"{world.context}: {name}"
    policy = replace(planned.policy, search=replace(planned.policy.search, strategy=name))
    found = None
    try:
        found = planned.with_policy(policy)
        again = planned.with_policy(policy)
    except NoSolutionError:
        raise AssertionError(f"{where} says that there is no solution, but there is one.") from None
    except SearchStoppedError:
        assert not exact, f"{where} finds no solution, but there is one."
        return False
    certificate, noise = found.certificate, TIE + 1e-9 * abs(best)
    assert certificate.loss >= best - noise, f"{where} finds a loss of {certificate.loss}, below the optimum {best}."
    claimed = certificate.lower_bound
    assert claimed is None or claimed <= best + noise, f"{where} claims a bound of {claimed} above the optimum {best}."
    assert not (certificate.optimal or exact) or certificate.loss <= best + noise, f"{where} misses the optimum {best}."
    assert certificate.optimal or not exact, f"{where} does not prove the optimum."
    assert again.node == found.node, f"{where} finds {found.node}, then {again.node}."
    return True


def check_builder(
    name: str, options: Mapping[str, Any], values: Sequence[Text], *, extensions: Extensions = NOTHING
) -> list[tuple[Text, ...]]:
    """Build a hierarchy over a column of texts; its rows (value, level 1, …), sorted, for assertions of your own.

    Raises:
        InputError: it is no tree, lacks levels or values, or the builder failed.
        AssertionError: two runs differ.
    """
    records: list[tuple[tuple[Text, ...], Text]] = [((value,), None) for value in values]
    columns = {"q0": {"role": "quasi_identifier", "hierarchy": {name: dict(options)}}, "s": {"role": "drop"}}
    runs: list[list[tuple[Text, ...]]] = []
    with TemporaryDirectory() as folder:
        for _ in range(2):
            world = _World(records, [{}], "")
            privacy = [{"type": "k_anonymity", "k": 1}]
            with _planned(world, Path(folder), extensions, columns, privacy=privacy) as planned:
                assert planned is not None
                levels = [column(names.level(level)) for level in range(planned.catalog.attributes[0].height)]
                rows = planned._session.source.engine.run("lookup", exp.select(*levels).from_(lookup_rows(0)))
                runs.append(sorted(map(tuple, rows), key=repr))
    assert runs[0] == runs[1], f"{name} builds another hierarchy when it is asked again."
    return runs[0]


def check_format(
    name: str, folder: Path, *, extensions: Extensions = NOTHING, tables: int = TABLES, seed: int = 0
) -> None:
    """Write random tables of texts and read them back; what a format refuses with a TargetError is passed over.

    Args:
        folder: where the files go.

    Raises:
        AssertionError: what was written reads back otherwise, or equal rows make different files.
    """
    found = extensions.format(name)
    checked = found if isinstance(found, CheckedFormat) else CheckedFormat.of(found)
    written = 0
    for number in range(seed, seed + tables):
        chance = Random(number)
        columns = chance.sample(COLUMNS, chance.randint(1, 4))
        texts = chance.sample(TEXTS, chance.randint(1, 4))
        rows = chance.choice([1, 2, 20])
        data = pa.table({c: pa.array([chance.choice(texts) for _ in range(rows)], pa.string()) for c in columns})
        paths = [folder / f"{number}-{turn}{checked.endings[0]}" for turn in range(2)]
        try:
            for path in paths:
                checked.write(path, data.to_reader(max_chunksize=7), {})
        except TargetError:
            continue
        except AuditError as error:
            raise AssertionError(f"seed {number}: {error.message} It had the columns {columns}.") from None
        assert paths[0].read_bytes() == paths[1].read_bytes(), f"seed {number}: equal rows make different files."
        written += 1
    assert written, f"{name} refused every table of {tables}."
