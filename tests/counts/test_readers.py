"""What a reader computes who knows more than that totals are sums: of persons, records and linked tables."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from counted_worlds import counted_by, holds, range_of
from effort import Block, seeds
from engine_kinds import duckdb

import sqlanon
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.protecting import protect
from sqlanon.counts.released import released_rows
from sqlanon.counts.written import audit_written

pytest.importorskip("highspy", reason="needs HiGHS: the extra exact")
Shown = dict[tuple[str | None, ...], Any]
"""By the category of each dimension, None for the total: what is published, None for a suppressed cell."""


def shown_of(release: sqlanon.CountsRelease, names: Sequence[str], measure: str) -> Shown:
    """What a release shows of a measure."""
    rows = release.to_arrow().to_pylist()
    return {tuple(None if row[n] == "Total" else row[n] for n in names): row[measure] for row in rows}


def test_what_is_suppressed_is_not_left_in_memory() -> None:
    """Arrow keeps a value below a NULL, and writes it where a frame is handed on."""
    rows = [{"sex": s, "cost": 7654321} for s, number in (("f", 3), ("m", 9), ("x", 8)) for _ in range(number)]
    asked = {"counts": {"by": {"dimensions": ["sex"], "measures": ["share", {"sum": "cost"}]}}}
    found = sqlanon.counts(pa.Table.from_pylist(rows), asked).to_arrow()
    for name in ("count", "share", "sum_cost"):
        column = found.column(name).combine_chunks()
        values = np.frombuffer(column.buffers()[1], column.type.to_pandas_dtype())[: len(column)]
        assert column.null_count >= 2
        assert not values[column.is_null().to_numpy(zero_copy_only=False)].any(), name


def in_several(draw: random.Random, persons: int) -> list[dict[str, Any]]:
    """Records of persons by two columns, of each of which some persons have both categories."""
    cells = list(itertools.product(("f", "m"), ("a", "b")))
    sizes = [1, 1, draw.choice([1, 2, 3, 4])]
    found = [draw.sample(cells, draw.choice(sizes)) for _ in range(persons)]
    return [{"person": p, "sex": sex, "region": region} for p, own in enumerate(found) for sex, region in own]


@seeds(24, size=6)
@pytest.mark.slow
def test_no_reader_who_counts_persons_excludes_a_value(block: Block) -> None:
    """Every set of persons, each in any of the categories, of which the tables show what was published."""
    cells = list(itertools.product(("f", "m"), ("a", "b")))
    keys = list(itertools.product(("f", "m", None), ("a", "b", None)))
    kinds = {
        tuple(int(any(holds(key, place) for place in own)) for key in keys)
        for number in range(1, 5)
        for own in itertools.combinations(cells, number)
    }
    one = np.array(sorted(kinds))
    for seed in block:
        draw = random.Random(seed)
        rows, threshold = in_several(draw, 6), draw.choice([2, 3])
        asked = {"entity": "person", "counts": {"by": {"dimensions": ["sex", "region"]}}, "threshold": threshold}
        shown = shown_of(sqlanon.counts(pa.Table.from_pylist(rows), asked), ("sex", "region"), "count")
        if len(shown) < len(keys):
            continue
        truth = np.array([len({r["person"] for r in rows if holds(k, (r["sex"], r["region"]))}) for k in keys])
        most = np.array([99 if shown[key] is None else shown[key] for key in keys])
        persons, possible = np.zeros((1, len(keys)), int), []
        for _ in range(int(truth[-1]) + 4 * (shown[None, None] is None)):
            persons = (persons[:, None] + one).reshape(-1, len(keys))
            persons = np.unique(persons[(persons <= most).all(axis=1)], axis=0)
            possible.append(persons)
        tables = np.concatenate(possible)
        tables = tables[((most == 99) | (tables == most)).all(axis=1)]
        for cell in np.flatnonzero((truth > 0) & (truth < threshold)):
            assert tables[:, cell].min() == 0, (seed, keys[cell])
            assert tables[:, cell].max() >= threshold, (seed, keys[cell])


@seeds(60, size=10)
@pytest.mark.slow
def test_sums_are_those_of_records_where_persons_are_in_several_categories(block: Block) -> None:
    names = ("sex", "region", "ward")
    places = list(itertools.product(("f", "m"), ("a", "b", "c"), ("v", "w")))
    for seed in block:
        draw = random.Random(seed)
        rows = []
        for person in range(draw.choice([20, 30, 50])):
            place = draw.choice(places)
            for _ in range(draw.choice([1, 1, 2])):
                cost = draw.choice([0, 1, 10, 12, draw.randrange(200), 2000])
                rows.append({"person": person, "cost": cost, **dict(zip(names, place, strict=True))})
                if draw.random() < 0.2:
                    place = (place[0], draw.choice("abc"), place[2])
        asked = {"entity": "person", "counts": {"by": {"dimensions": list(names), "measures": [{"sum": "cost"}]}}}
        release = sqlanon.counts(pa.Table.from_pylist(rows), asked | {"threshold": 2, "insiders": False})
        shown = shown_of(release, names, "sum_cost")
        for key in [key for key, value in shown.items() if value is None]:
            own: dict[int, float] = {}
            for row in rows:
                if holds(key, [row[n] for n in names]):
                    own[row["person"]] = own.get(row["person"], 0.0) + row["cost"]
            amount, (first, second) = sum(own.values()), [*sorted(own.values(), reverse=True), 0.0, 0.0][:2]
            width = max((first + second) / 0.9 - amount, 0.1 * first - (amount - first - second))
            if first and width > 0:
                least, most = range_of(key, shown, places, whole=False)
                assert least <= max(amount - width, 0.0) + 1e-3 * width, (seed, key)
                assert most >= amount + width - 1e-3 * width, (seed, key)


def all_tables(shown: Shown, places: Sequence[tuple[str, ...]], most: int) -> np.ndarray[Any, Any]:
    """All tables of whole numbers up to ``most`` over some places that agree with what is shown."""
    cells = [(np.array([holds(key, p) for p in places]), value) for key, value in shown.items() if value is not None]
    tables = np.zeros((1, 0), int)
    for number in range(1, len(places) + 1):
        top = int(min([most, *(value for own, value in cells if own[number - 1])]))
        tables = np.hstack([np.repeat(tables, top + 1, axis=0), np.tile(np.arange(top + 1), len(tables))[:, None]])
        for own, value in cells:
            if own[number - 1]:
                sums = tables[:, own[:number]].sum(axis=1)
                tables = tables[sums <= value if own[number:].any() else sums == value]
    return tables


@seeds(100, size=10)
@pytest.mark.slow
def test_no_reader_excludes_a_value_whatever_the_document_asks_for(block: Block) -> None:
    """Every table of whole numbers that agrees with what is shown, and, to an insider, with his own cell."""
    looked: Counter[str] = Counter()
    for seed in block:
        draw = random.Random(seed)
        names = ("sex", "region", "age")[: 2 + (linked := seed % 2)]
        places = list(itertools.product("fm", "abc", "uv") if linked else itertools.product("fmx", "abc"))
        places = places if not linked else [p for p in places if p[1] != "c"]
        rows = [dict(zip(names, p, strict=True)) for p in places for _ in range(draw.choice([0, 1, 2, 3, 4, 5]))]
        asked: dict[str, Any] = {"threshold": draw.choice([2, 3]), "insiders": draw.random() < 0.6}
        asked |= draw.choice([{}, {"never": "totals"}, {"zeros": "omit"}])
        asked["weights"] = draw.choice(["cells", "records", {"sex": 3, "region": 0.5}])
        by = [names] if not linked else [names[:2], names[1:]]
        asked["counts"] = {f"by {n}": {"dimensions": list(own)} for n, own in enumerate(by)}
        try:
            release = sqlanon.counts(pa.Table.from_pylist(rows), asked)
        except sqlanon.NoSolutionError:
            continue
        shown = shown_of(release, names, "count")
        used = [sorted({key[n] for key in shown} - {None}) for n in range(len(names))]
        places = list(itertools.product(*used))
        every = {(*key,) for own in by for key in itertools.product(*(
            [*used[n], None] if name in own else [None] for n, name in enumerate(names)))}  # fmt: skip
        shown |= dict.fromkeys(every - set(shown), 0)
        people = [[row[name] for name in names] for row in rows]
        truth = {key: sum(holds(key, own) for own in people) for key in every}
        assert all(value is None or value == truth[key] for key, value in shown.items())
        possible = all_tables(shown, places, 7)
        seen = {key: possible[:, [holds(key, place) for place in places]].sum(axis=1) for key in every}
        unsafe = [key for key in every if 0 < truth[key] < asked["threshold"]]
        for key in unsafe:
            assert shown[key] is None
            assert seen[key].min() == 0, (seed, key)
            assert seen[key].max() >= asked["threshold"], (seed, key)
        for known, other in itertools.permutations(unsafe, 2) if asked["insiders"] else ():
            if truth[known] == 1 and truth[other]:
                left = seen[other][seen[known] == 1]
                same = all(holds(known, own) == holds(other, own) for own in people)
                assert same or left.min() < left.max(), (seed, known, other)
                looked["insiders"] += 1
        looked[str(asked.get("never", asked.get("zeros")))] += len(unsafe)
    assert looked or len(block) < 10


@seeds(60, size=10)
@pytest.mark.slow
def test_no_reader_of_counts_beside_sums_excludes_that_an_unsafe_cell_is_empty(block: Block) -> None:
    """Every table of counts with every table of sums: where nobody is, nothing is summed."""
    names, looked = ("sex", "region"), 0
    for seed in block:
        draw = random.Random(seed)
        places = list(itertools.product("fm", "abc"[: draw.choice([2, 3])]))
        sizes = {place: draw.choice([0, 1, 2, 3, 6, 7]) for place in places}
        rows = [{"sex": s, "region": r, "cost": draw.choice([0, 1, 2])} for s, r in places for _ in range(sizes[s, r])]
        asked: dict[str, Any] = {"threshold": 3, "insiders": draw.random() < 0.5}
        asked |= {"never": "totals"} if draw.random() < 0.7 else {}
        asked["counts"] = {"by": {"dimensions": list(names), "measures": [{"sum": "cost"}]}}
        try:
            release = sqlanon.counts(pa.Table.from_pylist(rows), asked)
        except (sqlanon.NoSolutionError, sqlanon.InputError):
            continue
        counts, sums = (shown_of(release, names, measure) for measure in ("count", "sum_cost"))
        truth = np.array([sum(row["cost"] for row in rows if holds(p, (row["sex"], row["region"]))) for p in places])
        free = sum(counts.get(place, 0) is None for place in places)
        if set(places) - set(counts) or (truth.max() + 7) ** free > 1e6:
            continue
        bits = 1 << np.arange(len(places))
        persons, summed = all_tables(counts, places, 10), all_tables(sums, places, int(truth.max()) + 6)
        paid = np.unique((summed > 0) @ bits)
        for cell in [cell for cell, place in enumerate(places) if 0 < sizes[place] < 3]:
            empty = np.unique((persons[persons[:, cell] == 0] == 0) @ bits)
            assert ((empty[:, None] & paid) == 0).any(), (seed, places[cell])
            looked += 1
    assert looked or len(block) < 10


@pytest.mark.parametrize("unit", [0.01, 1e6 / 7, 1e13 / 7])
def test_sums_of_any_size_are_protected_alike(unit: float) -> None:
    draw = random.Random(3)
    rows = [
        {"sex": draw.choice("fmx"), "region": draw.choice("abcd"), "cost": draw.lognormvariate(0, 1.5)}
        for _ in range(90)
    ]
    asked = {"counts": {"by": {"dimensions": ["sex", "region"], "measures": [{"sum": "cost"}]}}, "insiders": False}
    found = [
        sqlanon.counts(pa.Table.from_pylist([row | {"cost": row["cost"] * of} for row in rows]), asked).protection
        for of in (1.0, unit)
    ]
    assert found[0].complementary
    assert found[0].suppressed_cells == found[1].suppressed_cells


@pytest.mark.slow
def test_an_audit_knows_that_cells_of_linked_tables_are_sums_of_the_same() -> None:
    """What is protected by the published relations alone may be computed from the table of all dimensions."""
    pairs = (["sex", "region"], ["region", "age"], ["sex", "age"])
    asked = {
        "table": "t",
        "counts": {"_".join(pair): {"dimensions": pair} for pair in pairs},
        "threshold": 3,
        "insiders": False,
    }
    draw, found = random.Random(5), 0
    for _ in range(12):
        places = itertools.product("fm", "ab", (30, 40))
        rows = [
            {"person": 0, "sex": sex, "region": region, "age": age, "cost": 0}
            for sex, region, age in places
            for _ in range(draw.choice([0, 0, 1, 3, 9]))
        ]
        with duckdb() as engine:
            counted = counted_by(engine, rows, asked)
        policy, apart = CountsPolicy.from_dict(asked), CountsPolicy.from_dict(asked | {"joint": 0})
        weak, strong = protect(counted, apart), protect(counted, policy)
        audit_written(released_rows(counted, policy, strong.suppressed), counted, policy)
        written = released_rows(counted, apart, weak.suppressed)
        audit_written(written, counted, apart)
        try:
            audit_written(written, counted, policy)
        except sqlanon.AuditError:
            found += 1
        else:
            assert weak.weight >= strong.lower_bound
    assert found


@seeds(200, size=20)
@pytest.mark.slow
def test_small_categories_are_not_told_by_each_having_somebody(block: Block) -> None:
    """Every table with one record in each category, at least, that agrees with what is shown of two levels."""
    looked = 0
    for seed in block:
        draw, threshold = random.Random(seed), random.Random(-seed - 1).choice([2, 3])
        places = [(f"{group}{n}",) for group in "ab"[: draw.choice([1, 2])] for n in range(draw.choice([2, 3]))]
        rows = [{"kind": kind} for (kind,) in places for _ in range(draw.choice([1, 1, 2, 3, 5]))]
        levels = draw.choice([[0], [0, 1], [0, 1]])
        asked = {
            "counts": {"by": {"dimensions": {"kind": levels}}}, "threshold": threshold, "insiders": False,
            "columns": {"kind": {"hierarchy": {"prefix": {"lengths": [1]}}}},
        }  # fmt: skip
        found = sqlanon.counts(pa.Table.from_pylist(rows), asked).to_arrow().to_pylist()
        shown = {row["kind"].rstrip("*"): row["count"] for row in found}
        most = len(rows) + 8
        tables = np.zeros((1, 0), int)
        for _ in places:
            tables = np.hstack([np.repeat(tables, 9, axis=0), np.tile(np.arange(1, 10), len(tables))[:, None]])
            tables = tables[tables.sum(axis=1) <= most]

        def seen(name: str) -> Any:
            own = [name == "Total" or kind.startswith(name) for (kind,) in places]  # noqa: B023
            return tables[:, own].sum(axis=1)  # noqa: B023

        agree = np.all([seen(name) == value for name, value in shown.items() if value is not None] or [True], axis=0)
        for name, value in shown.items():
            truth = sum(name == "Total" or row["kind"].startswith(name) for row in rows)
            if 0 < truth < threshold:
                assert value is None and seen(name)[agree].max() >= threshold, (seed, name)
                looked += 1
    assert looked


def test_many_small_categories_are_protected_by_their_total() -> None:
    """The proof is not asked of each of them: it would take as many steps as there are categories, each as often."""
    rows = pa.table({"kind": [f"{n:04}" for n in range(800)]})
    asked: dict[str, Any] = {"counts": {"by": {"dimensions": ["kind"]}}}
    assert sqlanon.counts(rows, asked).protection.suppressed_cells == 801
    beside = pa.table({"kind": [*rows["kind"].to_pylist(), *["large"] * 60, *["larger"] * 90]})
    shown = shown_of(sqlanon.counts(beside, asked), ("kind",), "count")
    assert shown["large",] is None and shown["larger",] == 90 and shown[None,] == 950


@seeds(40, size=10)
@pytest.mark.slow
def test_a_row_that_is_left_out_is_a_zero_that_is_shown(block: Block) -> None:
    """Leaving zeros out tells no more than to publish them: that a suppressed cell has a row says nothing."""
    empty = 0
    for seed in block:
        draw = random.Random(seed)
        names, places = ("sex", "region"), [*itertools.product("fmx", "abcd")]
        rows = [dict(zip(names, p, strict=True)) for p in places for _ in range(draw.choice([0, 0, 1, 2, 7, 30]))]
        asked: dict[str, Any] = {"counts": {"by": {"dimensions": [*names]}}, "threshold": draw.choice([3, 6])}
        asked |= draw.choice([{}, {}, {"round": 10}, {"groups": ["region"]}])
        table = pa.Table.from_pylist(rows)
        every = shown_of(sqlanon.counts(table, asked), names, "count")
        left = shown_of(sqlanon.counts(table, asked | {"zeros": "omit"}), names, "count")
        assert left == {key: value for key, value in every.items() if value != 0}, seed
        empty += sum(v is None and not any(holds(k, [r[n] for n in names]) for r in rows) for k, v in left.items())
    assert empty or len(block) < 10, "zeros are suppressed, too"


def test_groups_are_hidden_where_persons_have_several_categories() -> None:
    """All of the row have one diagnosis, and some another one beside it."""
    own = {n: ["X", *(["Y"] if n < 8 else [])] for n in range(20)}
    own |= dict(zip(range(20, 46), [["X"], ["Y"]] * 13, strict=True))
    rows = [{"person": n, "region": "N" if n < 20 else "S", "diag": d} for n, each in own.items() for d in each]
    asked = {"entity": "person", "counts": {"by": {"dimensions": ["region", "diag"]}}, "groups": ["diag"]}
    release = sqlanon.counts(pa.Table.from_pylist(rows), asked)
    shown = shown_of(release, ("region", "diag"), "count")
    assert shown["N", "X"] is None and None in (shown["N", None], shown["N", "Y"])
    planted = release.protection.suppressed.copy()
    planted[release.counted.grid.all_keys.tolist().index([1, 1])] = False
    with pytest.raises(sqlanon.AuditError, match="unsafe cells"):
        audit_written(released_rows(release.counted, release.policy, planted), release.counted, release.policy)


def test_an_audit_judges_groups() -> None:
    asked = {
        "table": "t",
        "counts": {"by": {"dimensions": ["sex", "region"]}},
        "groups": ["region"],
        "insiders": False,
    }
    sizes = {("f", "a"): 9, ("m", "a"): 8, ("m", "b"): 7, ("x", "a"): 9, ("x", "b"): 6}
    rows = [
        {"person": 0, "sex": sex, "region": region, "age": 1, "cost": 0}
        for (sex, region), size in sizes.items()
        for _ in range(size)
    ]
    with duckdb() as engine:
        counted = counted_by(engine, rows, asked)
    policy = CountsPolicy.from_dict(asked)
    protection = protect(counted, policy)
    assert protection.unsafe == 1
    audit_written(released_rows(counted, policy, protection.suppressed), counted, policy)
    for cell in np.flatnonzero(protection.suppressed):
        planted = protection.suppressed.copy()
        planted[cell] = False
        with pytest.raises(sqlanon.AuditError, match="unsafe cells"):
            audit_written(released_rows(counted, policy, planted), counted, policy)


def test_a_wide_form_has_a_category_that_reads_as_a_null() -> None:
    rows = [{"sex": s, "region": r} for s in "fm" for r in ("NULL", "a") for _ in range(8)]
    asked = {"counts": {"by": {"dimensions": ["sex", "region"]}}, "form": "wide"}
    assert sqlanon.counts(pa.Table.from_pylist(rows), asked).rows.column("NULL").to_pylist() == [16, 8, 8]
