"""The utility of each quasi-identifier: its levels, its loss, its distances, its chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from sqlanon.assess.utility.charts import Chart, buckets, chart_of
from sqlanon.assess.utility.facts import ColumnUtility, LevelShare, ShapeBar
from sqlanon.assess.utility.released import QuasiValues, Real, ReleasedTypes
from sqlanon.core.compiler import released_types as compiler
from sqlanon.core.engines.columns import whole_column
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import union_all

NORMALIZED = "loss"
"""The measure whose part is given where the policy's has none."""


def quasi_columns(
    types: ReleasedTypes, losses: Mapping[str, float] | None, measure: str, least: int
) -> list[ColumnUtility]:
    """Return the facts of the quasi-identifiers.

    Args:
        losses: the parts of the policy's ``measure``; None where it has none.
        least: the fewest released records of a value with a bar of its own.
    """
    charts = [_chart(values, least) for values in types.values]
    texts = _texts(types, charts)
    several = _published_texts(types)
    records, uncovered = types.catalog.population, types.catalog.uncovered
    found = []
    for position, (values, chart) in enumerate(zip(types.values, charts, strict=True)):
        name = values.attribute.name
        per_level = values.records.sum(axis=1)
        published, suppressed = int(per_level[1:].sum()), int(per_level[0]) + uncovered
        varied, varied_published, moved, moved_published = distances(values, uncovered)
        found.append(
            ColumnUtility(
                name=name,
                role="quasi_identifier",
                ordered=values.ordered,
                loss=normalized_loss(values, uncovered) if losses is None else losses[name],
                loss_measure=NORMALIZED if losses is None else measure,
                levels=_levels(values, records),
                suppressed=suppressed,
                suppressed_share=suppressed / max(published + suppressed, 1),
                values_before=int(values.occurs.sum()),
                values_after=several[position] if position in several else _values_left(values),
                total_variation=varied,
                total_variation_published=varied_published,
                wasserstein=moved,
                wasserstein_published=moved_published,
                buckets=buckets(chart, texts[position], records=records, suppressed=suppressed),
                bucket_level=chart_level(values),
                fully_suppressed=types.catalog.fully_suppressed(values.attribute, values.levels),
                shape=_shape(types.catalog, values),
            )
        )
    return found


def _levels(values: QuasiValues, records: int) -> tuple[LevelShare, ...]:
    """Return the records by level; values that the hierarchy does not list are published at the last one."""
    published = values.records[1:]
    per_level = published[:, ~values.unlisted].sum(axis=1)
    per_level[-1] += published[:, values.unlisted].sum()
    return tuple(LevelShare(level, int(n), n / max(records, 1)) for level, n in enumerate(per_level.tolist()) if n)


def normalized_loss(values: QuasiValues, uncovered: int) -> float:
    """Return the mean over the records of (leaves - 1) / (D - 1), suppressed ones counting 1 (``measures.loss``)."""
    domain = values.attribute.domain
    records = int(values.records.sum()) + uncovered
    if domain <= 1 or not records:
        return 0.0
    published = int((values.records[1:] * (values.leaves - 1)).sum())
    return (published + (int(values.records[0].sum()) + uncovered) * (domain - 1)) / (records * (domain - 1))


def spread(values: QuasiValues) -> Real:
    """Return per value the released records that count as it: each generalized value in equal parts to what it
    covers."""
    found = np.zeros(len(values.places))
    for level in values.levels:
        covering = values.covering(level)
        of_cell = np.bincount(covering.cell, weights=values.records[level + 1], minlength=len(covering.sizes)).astype(
            np.float64
        )
        found += covering.spread(of_cell, values.occurs)
    return found


def distances(values: QuasiValues, uncovered: int) -> tuple[float, float | None, float | None, float | None]:
    """Return total variation and Wasserstein distance, each with the suppressed records and of the released alone."""
    before, after = values.before.astype(np.float64), spread(values)
    encoded, published = float(before.sum()), float(after.sum())
    records = encoded + uncovered
    if not records:
        return 0.0, None, None, None
    suppressed = (records - published) / records
    varied = total_variation(
        np.array([*before / records, uncovered / records, 0.0]), np.array([*after / records, 0.0, suppressed])
    )
    alone = total_variation(before / encoded, after / published) if published > 0 else None
    if not values.ordered:
        return varied, alone, None, None
    moved = wasserstein(values.places, before, after) if published > 0 else None
    return varied, alone, with_suppressed(moved, suppressed), moved


def chart_level(values: QuasiValues) -> int:
    """Return the highest level at which the column is published; the top where nothing is."""
    return max(values.levels, default=values.attribute.height - 1)


def _shape(catalog: Catalog, values: QuasiValues) -> tuple[ShapeBar, ...]:
    """Return the shares by value of level 0, before and after, of a column that is generalized; otherwise nothing."""
    fully = catalog.fully_suppressed(values.attribute, values.levels)
    if not fully and not any(values.levels):
        return ()
    before, records = values.before, max(catalog.population, 1)
    after = np.zeros(len(before)) if fully else spread(values)
    places = values.places if values.ordered else np.argsort(np.argsort(-before, kind="stable")).astype(np.float64)
    bars = chart_of(before, before, places, 1).bars
    found = [
        ShapeBar(
            "value" if len(bar) == 1 else "range", *(float(side[list(bar)].sum()) / records for side in (before, after))
        )
        for bar in bars
    ]
    rest = np.ones(len(before), bool)
    rest[[value for bar in bars for value in bar]] = False
    if before[rest].any():
        found.append(ShapeBar("other", *(float(side[rest].sum()) / records for side in (before, after))))
    if not fully and (gone := catalog.population - int(values.records[1:].sum())):
        found.append(ShapeBar("suppressed", 0.0, gone / records))
    return tuple(found)


def _chart(values: QuasiValues, least: int) -> Chart:
    covering = values.covering(chart_level(values))
    size = len(covering.sizes)
    before, after = (
        np.bincount(covering.cell, weights=records, minlength=size).astype(np.int64)
        for records in (values.before, values.records[1:].sum(axis=0))
    )
    places = np.full(size, np.inf)
    np.fmin.at(places, covering.cell, values.places)  # that of the first value covered
    return chart_of(before, after, places, least)


def _texts(types: ReleasedTypes, charts: Sequence[Chart]) -> list[dict[int, str | None]]:
    """Return per quasi-identifier the texts of the published values that its chart names."""
    catalog = types.catalog
    shown = [(position, cell) for position, chart in enumerate(charts) for cell in chart.named]
    texts: list[dict[int, str | None]] = [{} for _ in charts]
    if not shown:
        return texts
    words: list[list[int]] = [[0] * len(shown) for _ in range(catalog.words)]
    levels = []
    for row, (position, cell) in enumerate(shown):
        values = types.values[position]
        levels.append(chart_level(values))
        value = int((values.covering(levels[-1]).cell == cell).argmax())
        for (word, _), code in zip(values.words, values.codes, strict=True):
            words[word][row] = int(code[value])
    data = {"id": range(len(shown)), "attribute": [position for position, _ in shown], "level": levels}
    data |= {names.key(word): of_word for word, of_word in enumerate(words)}
    types.engine.drop(names.SHOWN_VALUES)
    types.engine.load(
        "shown values",
        names.SHOWN_VALUES,
        pa.table({name: whole_column(list(of)) for name, of in data.items()}),
        replayed=False,
    )
    try:
        for row, text in types.engine.run(
            "texts of shown values", compiler.shown_texts(catalog, set(zip(data["attribute"], levels, strict=True)))
        ):
            position, cell = shown[row]
            texts[position][cell] = text
    finally:
        types.engine.drop(names.SHOWN_VALUES)
    return texts


def _values_left(values: QuasiValues) -> int:
    """Return how many values are published of a column whose records are all published at one level."""
    return sum(len(np.unique(values.covering(level).cell[values.records[level + 1] > 0])) for level in values.levels)


def _published_texts(types: ReleasedTypes) -> dict[int, int]:
    """Return the number of distinct published texts of the columns that are published at several levels."""
    queries = []
    for position, values in enumerate(types.values):
        if len(values.levels) > 1:
            rules = [types.rules_at(position, level) for level in values.levels]
            queries.append(compiler.published_texts(types.catalog, position, values.levels, rules))
    if not queries:
        return {}
    return {int(position): int(count) for position, count in types.engine.run("published texts", union_all(queries))}


def total_variation(first: Real, second: Real) -> float:
    """Return half the sum of the absolute differences of two distributions over the same values."""
    return float(np.abs(first - second).sum() / 2)


def with_suppressed(moved: float | None, suppressed: float) -> float | None:
    """Return the distance of the released records with the suppressed ones, which move across the whole range.

    Args:
        moved: of the released records; None where they have no places.
        suppressed: their share; where it is 1, nothing is released.
    """
    if moved is None:
        return 1.0 if suppressed >= 1 else None
    return suppressed + (1 - suppressed) * moved


def wasserstein(places: Real, first: Real, second: Real) -> float | None:
    """Return the Wasserstein distance of order 1 of two distributions on a line, as a share of its range.

    Both are taken as they are among the values that have a place. With one place it is 0; None where either has none.

    Args:
        places: per value, its place, NaN without one.
    """
    placed = np.isfinite(places)
    places, first, second = places[placed], first[placed], second[placed]
    if not first.sum() > 0 or not second.sum() > 0:
        return None
    order = np.argsort(places, kind="stable")
    places = places[order]
    ahead = np.cumsum(first[order] / first.sum() - second[order] / second.sum())
    length = places[-1] - places[0]
    return float((np.abs(ahead[:-1]) * np.diff(places)).sum() / length) if length > 0 else 0.0
