"""Counts changed by noise: its distribution, its keys on every engine, and that equal cells have equal noise."""

from __future__ import annotations

import hmac
import json
import logging
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from counted_worlds import as_table, counted_by, records
from engine_kinds import KINDS, Kind, duckdb

import sqlanon
from sqlanon.core.engines.base import Engine
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.keys import Noise
from sqlanon.counts.perturbing import most_even, perturbed_counts
from sqlanon.counts.protecting import protect
from sqlanon.counts.released import released_rows
from sqlanon.counts.written import audit_written

SECRET = bytes(range(65, 97))
NOISES = (Noise(5, 3.0, 2), Noise(2, 1.0, 0), Noise(2, 1.08, 1), Noise(1, 0.5, 0), Noise(5, 2.0, 2), Noise(30, 30.0, 0))


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret of the documents."""
    monkeypatch.setenv("COUNTS_KEY", SECRET.decode())


def document(**changes: Any) -> dict[str, Any]:
    """A document of perturbed counts."""
    tables = {"by": {"dimensions": {"sex": 0, "region": 0}}}
    asked = {"table": "t", "entity": "person", "key": {"env": "COUNTS_KEY"}, "method": "keys", "counts": tables}
    return asked | changes


def shown(rows: list[dict[str, Any]], **changes: Any) -> dict[tuple[Any, ...], int]:
    """The released counts by their categories."""
    asked = document(**changes)
    asked.pop("table")
    found = sqlanon.counts(pa.Table.from_pylist(rows), asked).to_arrow().to_pylist()
    names = CountsPolicy.from_dict(asked).dimensions
    return {tuple(row[name] for name in names): row["count"] for row in found}


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_noise_has_its_mean_variance_and_bound_over_a_million_cells(noise: Noise) -> None:
    size, draw = 1_000_000, np.random.default_rng(7)
    with duckdb() as engine:
        one = counted_by(engine, records(random.Random(1), 5), document())
    values = draw.integers(0, noise.last + 6, size)
    cells = replace(one, contributors=values, keys=draw.integers(0, 2**64, size, np.uint64))
    found = perturbed_counts(cells, noise)
    assert not found[values == 0].any()
    assert not ((found > 0) & (found <= noise.blocked)).any()
    assert found.min() == 0
    added = (found - values)[values > 0]
    assert np.abs(added).max() == noise.most
    for own in (added, *(added[values[values > 0] == x] for x in range(1, noise.last + 6))):
        assert abs(own.mean()) < 5 * np.sqrt(noise.variance / len(own))
        assert abs(own.var() - noise.variance) < 5 * np.std(own**2) / np.sqrt(len(own)) + 1e-9


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_no_noise_of_this_mean_and_variance_has_more_entropy(noise: Noise) -> None:
    draw = np.random.default_rng(3)
    for count in range(1, noise.last + 1):
        shifts = np.array(noise.shifts(count), float)
        own = most_even(noise.shifts(count), noise.variance)
        features = np.stack([np.ones(len(shifts)), shifts, shifts**2])
        assert np.allclose(features @ own, [1, 0, noise.variance], atol=1e-8)
        for _ in range(20):
            way = draw.normal(size=len(shifts)) * (own > 0)
            held = features * (own > 0)
            way -= held.T @ np.linalg.lstsq(held.T, way, rcond=None)[0]
            other = own + 0.3 * way / max(np.abs(way / np.maximum(own, 1e-300)).max(), 1e-12) * (
                np.abs(way).max() > 1e-9
            )
            entropies = [-(p[p > 0] * np.log(p[p > 0])).sum() for p in (own, other)]
            assert entropies[0] >= entropies[1] - 1e-12


def test_noise_is_that_of_published_tables() -> None:
    """``ptable`` 1.0 (vignette, D=2 V=1: tMatrix[2, ]), and ``Pmatrix(D=2, js=0)`` of Langsrud's package, V=2."""
    assert most_even([-2, -1, 0, 1, 2], 1.0).round(3).tolist() == [0.064, 0.245, 0.383, 0.245, 0.064]
    assert round(float(most_even([-2, -1, 0, 1, 2], 1.0)[0]), 4) == 0.0638
    assert np.allclose(most_even([-2, -1, 0, 1, 2], 2.0), 0.2)


@pytest.fixture(params=KINDS, ids=str)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every engine in turn."""
    kind: Kind = request.param
    opened = kind.open(request)
    yield opened
    opened.close()


def test_keys_are_sums_over_persons_on_every_engine(engine: Engine) -> None:
    """A person counts once in a cell, whatever rows he has: against HMAC in Python."""
    rows = records(random.Random(4), 80)
    if not engine.capabilities.has("keyed"):
        with pytest.raises(sqlanon.UnsupportedError, match="key"):
            counted_by(engine, rows, document())
        return
    counted = counted_by(engine, rows, document())
    own = hmac.digest(hmac.digest(SECRET, b"counts\0", "sha256"), b"counts", "sha256")
    persons: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for row in rows:
        for sex in {("sex", row["sex"]), None}:
            for region in {("region", row["region"]), None}:
                persons[sex, region].add(row["person"])
    assert counted.keys is not None
    for cell, places in enumerate(counted.grid.all_keys.tolist()):
        key = tuple((d.name, d.texts[c]) if c else None for d, c in zip(counted.grid.dimensions, places, strict=True))
        hashes = [hmac.digest(own, str(p).encode(), "sha256")[:8] for p in persons[key]]
        assert counted.contributors[cell] == len(hashes)
        assert int(counted.keys[cell]) == sum(map(int.from_bytes, hashes)) % 2**64


@pytest.mark.slow
def test_equal_cells_have_equal_noise_however_they_are_asked_for() -> None:
    rows = records(random.Random(8), 900)
    first = shown(rows)
    draw = random.Random(1)
    assert shown(draw.sample(rows, len(rows))) == first
    assert shown([*rows, *rows]) == first, "a row twice is no person twice"
    alone = shown(rows, counts={"by": {"dimensions": ["sex"]}})
    assert all(first[sex, "Total"] == count for (sex,), count in alone.items())
    with_empty = [*rows, {"person": 10**6, "sex": "f", "age": 1, "region": "new", "cost": 1}]
    other = shown(with_empty)
    assert all(other[sex, region] == n for (sex, region), n in first.items() if sex != "Total" != region and sex != "f")
    renamed = shown([row | {"region": f"<{row['region']}>"} for row in rows])
    assert all(renamed[sex, r if r == "Total" else f"<{r}>"] == n for (sex, r), n in first.items())
    changed = [row | {"person": row["person"] + 10**7} for row in rows]
    assert shown(changed) != first


@pytest.mark.slow
def test_another_secret_or_context_is_other_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = records(random.Random(8), 900)
    first = shown(rows)
    assert shown(rows, key={"env": "COUNTS_KEY", "context": "b"}) != first
    monkeypatch.setenv("COUNTS_KEY", SECRET[::-1].decode())
    assert shown(rows) != first


def test_a_key_that_cannot_be_read_is_refused_before_records_are_read(tmp_path: Path) -> None:
    with duckdb() as engine:
        with pytest.raises(sqlanon.InputError, match="key file"):
            counted_by(engine, records(random.Random(2), 30), document(key={"file": str(tmp_path / "none")}))
        assert not {"distinct values", "count cells"} & {entry.name for entry in engine.journal.entries}


def test_a_cell_that_is_shown_as_nobody_is_omitted_as_one_of_nobody() -> None:
    rows = [{"person": n, "sex": "f", "region": str(n // 2)} for n in range(80)]
    every, omitted = shown(rows), shown(rows, zeros="omit")
    assert 0 in every.values()
    assert omitted == {key: count for key, count in every.items() if count}


@pytest.mark.parametrize(("to", "fault"), [(1, "small counts"), (10**6, "other cells"), (0, "other cells")])
def test_the_audit_refuses_counts_that_have_no_such_noise(to: int, fault: str) -> None:
    asked = document()
    policy = CountsPolicy.from_dict(asked)
    with duckdb() as engine:
        counted = counted_by(engine, records(random.Random(2), 300), asked)
    protection = protect(counted, policy)
    rows = released_rows(protection.shown(counted), policy, protection.suppressed)
    audit_written(rows, counted, policy)
    place = int(np.argmax(rows.column("count").to_numpy()))
    values = [to if n == place else value for n, value in enumerate(rows.column("count").to_pylist())]
    with pytest.raises(sqlanon.AuditError, match=fault):
        audit_written(rows.set_column(2, "count", pa.array(values, pa.int64())), counted, policy)


def test_the_secret_stands_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked = document(output={"file": str(tmp_path / "counts.csv")})
    asked.pop("table")
    with caplog.at_level(logging.DEBUG):
        release = sqlanon.counts(as_table(records(random.Random(2), 60)), asked)
    manifest = json.loads((tmp_path / "counts.csv.manifest.json").read_text())
    assert manifest["rules"]["keys"] == {"D": 5, "V": 3.0, "j": 2}
    assert manifest["rules"]["totals_add_up"] is False
    assert not release.protection.optimal, "noise proves nothing"
    blocks = [bytes(byte ^ pad for byte in SECRET).hex() for pad in (0, 0x36, 0x5C)]
    told = "\n".join([caplog.text, release.query, json.dumps(manifest), repr(release), json.dumps(release.to_dict())])
    assert not any(block.lower() in told.lower() for block in [*blocks, SECRET.decode()])
