"""The utility of the columns that are no quasi-identifiers: published as they are, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlanon.assess.utility.charts import buckets, chart_of
from sqlanon.assess.utility.columns import total_variation, wasserstein
from sqlanon.assess.utility.facts import ColumnUtility, LevelShare
from sqlanon.assess.utility.released import Flags, Real, ReleasedTypes, Whole, scale_of
from sqlanon.core.compiler import compared_records as compiler
from sqlanon.core.compiler.released_types import MISFIT, POSITION
from sqlanon.core.engines.columns import numpy_column, whole_column
from sqlanon.core.sqltrees import names

Columns = dict[str, NDArray[np.generic]]

SUPPRESSED_SHARE = "suppressed_share"
"""The measure of a column that is published as it is."""


@dataclass(frozen=True, slots=True)
class OtherColumn:
    """A published column that is no quasi-identifier.

    Attributes:
        ids: of its values.
        before, after: per value, records and released records.
        places: per value, its place on the scale of the column; NaN without one.
    """

    name: str
    role: str
    type: str
    ids: Whole
    before: Whole
    after: Whole
    places: Real

    @property
    def ordered(self) -> bool:
        """Whether its values are numbers or dates."""
        return bool(np.isfinite(self.places).any())

    @property
    def occurs(self) -> Flags:
        """Per value, whether any record holds it."""
        return self.before > 0


class OtherColumns:
    """The columns of a release that are no quasi-identifiers; their records are staged until the end of the block."""

    def __init__(self, types: ReleasedTypes, wanted: Sequence[tuple[str, str, str]]) -> None:
        """``wanted``: names, roles and types."""
        self._types, self._wanted = types, tuple(wanted)
        self.columns: tuple[OtherColumn, ...] = ()

    def __enter__(self) -> OtherColumns:
        if not self._wanted:
            return self
        types, engine = self._types, self._types.engine
        self._drop()
        try:
            listed = [(name, kind) for name, _, kind in self._wanted]
            source = types.encoding.source
            query = compiler.released_records(source, types.catalog, listed, split=types.split)
            engine.create("released records", names.RELEASED_RECORDS, query, replayed=False)
            kinds = [scale_of(kind) for _, _, kind in self._wanted]
            engine.create("other values", names.OTHER_VALUES, compiler.other_values(kinds), replayed=False)
            data = engine.arrow("other values", compiler.counts_of_values())
            found = {item.name: numpy_column(data.column(item.name)) for item in data.schema}
            self.columns = tuple(
                self._read(i, kinds[i], found["attribute"] == i, found) for i in range(len(self._wanted))
            )
        except BaseException:
            self._drop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._drop()

    def _drop(self) -> None:
        if self._wanted:
            for name in (names.RELEASED_RECORDS, names.OTHER_VALUES):
                self._types.engine.drop(name)

    def _read(
        self,
        number: int,
        kind: str | None,
        own: Flags,
        found: Columns,
    ) -> OtherColumn:
        name, role, type_name = self._wanted[number]
        places = found[POSITION][own].astype(np.float64)
        if kind is None or (kind == "text" and found[MISFIT][own].astype(bool).any()):
            places = np.full(len(places), np.nan)
        ids, before, after = (found[column][own].astype(np.int64) for column in ("id", names.COUNT, "kept"))
        return OtherColumn(name, role, type_name, ids, before, after, places)

    def facts(self, least: int) -> list[ColumnUtility]:
        """Return the facts of the columns.

        Args:
            least: the fewest released records of a value with a bar of its own.
        """
        catalog = self._types.catalog
        records = catalog.population
        charts = [chart_of(column.before, column.after, column.places, least) for column in self.columns]
        texts = self._texts(
            [int(column.ids[i]) for column, chart in zip(self.columns, charts, strict=True) for i in chart.named]
        )
        found = []
        for column, chart in zip(self.columns, charts, strict=True):
            encoded, published = int(column.before.sum()), int(column.after.sum())
            suppressed = records - published
            share = suppressed / max(records, 1)
            before, after = column.before.astype(np.float64), column.after.astype(np.float64)
            moved = wasserstein(column.places, before, after) if column.ordered and published else None
            levels = (LevelShare(0, published, published / records),) if published else ()
            labels = {i: texts.get(int(column.ids[i])) for i in chart.named}
            found.append(
                ColumnUtility(
                    name=column.name,
                    role=column.role,
                    ordered=column.ordered,
                    loss=share,
                    loss_measure=SUPPRESSED_SHARE,
                    levels=levels,
                    suppressed=suppressed,
                    suppressed_share=share,
                    values_before=len(column.ids),
                    values_after=int((column.after > 0).sum()),
                    total_variation=share,
                    total_variation_published=(
                        total_variation(before / encoded, after / published) if published else None
                    ),
                    wasserstein=(
                        1.0
                        if column.ordered and not published
                        else None
                        if moved is None
                        else share + (1 - share) * moved
                    ),
                    wasserstein_published=moved,
                    buckets=buckets(chart, labels, records=records, suppressed=suppressed),
                    bucket_level=0,
                )
            )
        return found

    def _texts(self, ids: list[int]) -> dict[int, str | None]:
        """Return the texts of some values."""
        if not ids:
            return {}
        engine = self._types.engine
        engine.drop(names.SHOWN_VALUES)
        engine.load("shown values", names.SHOWN_VALUES, pa.table({"id": whole_column(ids)}), replayed=False)
        try:
            return {int(row): text for row, text in engine.run("texts of shown values", compiler.texts_of_values())}
        finally:
            engine.drop(names.SHOWN_VALUES)
