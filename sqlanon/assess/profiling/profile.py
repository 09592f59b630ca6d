"""Profile a table: open it, count, judge what its columns look like, suggest roles, and rank the sets of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.assess.presets.following import as_schema
from sqlanon.assess.profiling.facts import TAIL, ColumnCounts, ColumnProfile, Lengths, Profile, RankedSet, Spread
from sqlanon.assess.profiling.looks import ISO, NEARLY_ALL, is_ambiguous, look_of, reading_of
from sqlanon.assess.profiling.measuring import Examined, Measures
from sqlanon.assess.profiling.panels import panel_warning
from sqlanon.assess.profiling.publishable import publishable
from sqlanon.assess.profiling.roles import how_known, settle_roles, with_own_roles
from sqlanon.assess.reading.recognition import recognise
from sqlanon.assess.risk.column_sets import (
    MOST_COLUMNS,
    ColumnSets,
    columns_to_combine,
    measure_column_sets,
    rank_sets,
    singling_out,
    work_of,
)
from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.code_specs import Codes, Zip3
from sqlanon.core.policy.paths import TEXT_ENDINGS, flat_ending
from sqlanon.core.policy.sources import format_options
from sqlanon.core.source.beside import kind_of
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import ONLY_TABLE, Source, closed_on_error, open_source
from sqlanon.core.source.rights import with_readable_columns, with_visible_rows
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import without_values

MOST_CANDIDATES = 20
"""Columns whose sets are looked at, at most."""
FILLED_UP_TO = 8
"""With fewer quasi-identifiers, other columns are looked at with them, up to so many."""
PART_OF_WORK = 10
"""What a profile spends on sets of columns is such a part of what a question about them may."""
NOT_COMBINED = ("identifier", "uuid", "email", "phone", "name", "address", "free_text", "empty", "constant")
"""Looks of columns whose sets are not looked at: they are dropped, or the same for all."""
CODED: dict[str, Codes | Zip3] = {
    "zip": Zip3(), "icd10": Codes("icd10"), "atc": Codes("atc"), "country": Codes("countries")
}  # fmt: skip
"""By what a column looks like, the system whose codes its draft would read."""


def profile(
    source: object,
    table: str | None = None,
    *,
    csv: Mapping[str, Any] | None = None,
    formats: Mapping[str, Mapping[str, Any]] | None = None,
    preset: str | None = None,
) -> Profile:
    """Return what a table holds, which of its columns single people out, and which roles they may have.

    Everything is counted in the database. The profile holds counts, shares and rounded bounds, and no value; it is for
    the operator, because the counts are exact.

    Args:
        source: a file (.duckdb, .db, .parquet, .csv, …), the URL of a server, an open connection of DuckDB, or a frame.
        table: the relation of a database; it may be left out where there is one only.
        csv: how a text file is read, as in a policy (``{"delimiter": ";"}``). What it does not state is recognised
            from the file, where the evidence is clear: ``Profile.csv``, and ``Profile.reading`` with counts.
        formats: how files of other formats are read, by the keys of a policy: ``{"excel": {"sheet": "Patients"}}``.
        preset: the schema that its columns are of (``omop_person``), or a family of them (``omop``); None: whichever
            fits; ``none``: each column is judged by itself.

    Raises:
        InputError: the preset is not known, or the columns do not fit it.
        PolicyError: an option of ``csv`` or ``formats`` is not known, or cannot be used.
        SourceError: there is no such source or table, or the database has several tables and none is named; several
            delimiters fit.
        UnsupportedError: the engine lacks something, or a column has our prefix.
    """
    recognised = recognise(source, csv or {})
    reading = Reading(recognised.csv, format_options(formats or {}), reports=False)
    with open_source(source, table or ONLY_TABLE, reading=reading) as opened:
        with closed_on_error(opened.engine):
            opened = with_readable_columns(with_visible_rows(opened, accepted=True))
        found = profile_source(opened, preset)
        named = table or _only_table(opened)
    framed = None if isinstance(source, str | Path) else opened.frame or f"{found.engine} connection"
    is_text = opened.path is not None and flat_ending(opened.path.name) in TEXT_ENDINGS
    return replace(
        found,
        source=framed or str(source),
        is_frame=framed is not None,
        table=named,
        csv=recognised.csv,
        reading=recognised.findings,
        formats=opened.formats,
        is_text=is_text,
    )


def _only_table(opened: Source) -> str | None:
    """Return the name of the one relation of a database, as a policy names it; None for files."""
    relation = opened.relation if opened.stored is None else opened.stored
    is_named = isinstance(relation, exp.Table) and isinstance(relation.this, exp.Identifier)
    if not is_named or relation.name.startswith(names.PREFIX):
        return None
    listed = opened.engine.catalog.relations()
    return listed[0] if len(listed) == 1 else None


def profile_source(opened: Source, preset: str | None = None) -> Profile:
    """Return the profile of an open source, of which what it was called is not known.

    Raises:
        InputError: the preset is not known, or the columns do not fit it.
    """
    types, engine, relation = opened.readable, opened.engine, opened.relation
    measures = Measures(engine, relation, types)
    try:
        columns = _with_codes(measures, _columns(measures, types))
        odd = measures.odd_records(columns)
    finally:
        measures.close()
    columns = with_own_roles(columns)
    columns, fit, attributes, not_compared = as_schema(engine, relation, types, columns, preset)
    columns = publishable(engine, relation, types, columns) if measures.records else columns
    alone, columns = columns, settle_roles(columns)
    work = work_of(engine) // PART_OF_WORK
    most = min(columns_to_combine(measures.records, work), MOST_CANDIDATES)
    candidates = _candidates(alone, most) if measures.records else []
    sets = measure_column_sets(engine, relation, candidates, most_work=work) if candidates else None
    ranking = _ranking(sets) if sets is not None else ()
    kept = _kept_together(engine, relation, columns) if measures.records else None
    panel = panel_warning(engine, relation, types, columns) if measures.records else None
    warnings = (*opened.warnings, *odd, *filter(None, [panel]), *_warnings(opened, columns, measures.records))
    return Profile(
        "", None, {}, engine.capabilities.name, False, measures.records, tuple(columns), tuple(candidates), sets,
        ranking, kept, warnings, attributes=attributes, not_compared=not_compared, preset=fit,
    )  # fmt: skip


def _columns(measures: Measures, types: Mapping[str, str]) -> list[ColumnProfile]:
    """Return the columns without roles."""
    counts = measures.count()
    examined = measures.examine(counts)
    readings = {name: reading_of(kind_of(types[name]), examined[name].of_records) for name in measures.names}
    shaped = {name: shape for name, (_, shape) in readings.items() if shape is not None}
    misfits = measures.misfits({name: shape for name, shape in shaped.items() if kind_of(types[name]) == "text"})
    quantiles = measures.quantiles({name: "number" if shape == "whole" else shape for name, shape in shaped.items()})
    columns = []
    for name, kind in types.items():
        if name not in counts:
            reason = f"The type {kind.split('(')[0]} cannot be compared."
            columns.append(ColumnProfile(name, without_values(kind), measures.records, 0, 0, 0, 0, because=reason,
                                         role="identifier", reason=reason))  # fmt: skip
            continue
        reads_as, shape = readings[name]
        item = _described(counts[name], examined[name])
        written = (shape or "").removeprefix("date ") if reads_as == "date" else ISO
        item = replace(
            item,
            reads_as=reads_as,
            misfits=misfits.get(name, 0),
            date_format=None if written == ISO else written,
            ambiguous=is_ambiguous(written, examined[name].of_records),
            spread=_spread(
                quantiles.get(name),
                item,
                examined[name].of_records,
                of_years=reads_as in ("date", "moment"),
            ),
        )
        columns.append(item)
    edges = measures.bands({c.name: c.spread for c in columns if c.spread and c.reads_as in ("whole", "number")})
    return [replace(c, spread=replace(c.spread, bands=edges.get(c.name, ()))) if c.spread else c for c in columns]


def _with_codes(measures: Measures, columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns with how many of their records hold no code of the system that they look like."""
    scalar = [item for item in columns if item.name in measures.names]
    systems = {item.name: CODED[kind] for item in scalar if (kind := look_of(item).kind) in CODED}
    found = measures.no_codes(systems)
    return [replace(item, no_codes=found.get(item.name, 0)) for item in columns]


def _described(counts: ColumnCounts, seen: Examined) -> ColumnProfile:
    """Return a column with its counts."""
    return ColumnProfile(
        **{each.name: getattr(counts, each.name) for each in fields(counts)},
        number_share=round(seen.of_records.get("number", 0.0), 6),
        lengths=_lengths(seen),
        shapes={shape: round(share, 6) for shape, share in seen.of_values.items() if share},
        examined=seen.values,
    )


def _spread(
    quantiles: tuple[float, ...] | None, item: ColumnProfile, of_records: Mapping[str, float], *, of_years: bool
) -> Spread | None:
    """Return rounded quantiles: the outer ones outward, to two digits of what lies between them; the others to the
    next step."""
    if quantiles is None or not math.isfinite(quantiles[-1] - quantiles[0]):
        return None
    low, q05, *middle, q95, high = quantiles
    shares = item.shapes
    whole = shares.get("whole", 0.0) + shares.get("point_zero", 0.0)
    counted = of_records.get("whole", 0.0) + of_records.get("point_zero", 0.0)
    is_whole = counted >= NEARLY_ALL * of_records.get("number", 0.0)  # of the records: a dirty value cuts no child
    places = 0 if is_whole or of_years else _places(whole, shares)
    width = middle[2] - middle[0] or q95 - q05 or abs(q95) or 1.0  # most numbers lie between the quartiles
    step = 1.0 if of_years else 10.0 ** (math.floor(math.log10(width)) - 1)
    step = max(step, 10.0**-places)
    a, b, c, d, e = (round(_stepped(value, step, round), 9) for value in (q05, *middle, q95))
    outer = max(step, 10.0 ** (math.floor(math.log10(high - low or 1.0)) - 1)) if not of_years else step
    lowest, highest = (round(_stepped(*edge), 9) for edge in ((low, outer, math.floor), (high, outer, math.ceil)))
    return Spread(lowest, a, b, c, d, e, highest, step, places)


def _stepped(value: float, step: float, rounding: Any) -> float:
    return float(rounding(value / step)) * step


def _places(whole: float, shares: Mapping[str, float]) -> int:
    """Return after how many digits behind the point nearly all numbers end."""
    one = max(shares.get("one_place", 0.0), shares.get("point_zero", 0.0))
    if whole + one - shares.get("point_zero", 0.0) >= 0.95:
        return 1
    return 2 if whole + one + shares.get("two_places", 0.0) >= 0.95 else 3


def _lengths(seen: Examined) -> Lengths | None:
    """Return the lengths of texts; those of few records at either end are left out."""
    held = sorted(seen.lengths.items())
    records = sum(count for _, count in held)
    if records < 2 * TAIL:
        return None
    usual, most = max(held, key=lambda pair: pair[1])
    return Lengths(
        _reached(held, TAIL), _reached(held, records / 2), _reached(held[::-1], TAIL), usual, round(most / records, 4)
    )


def _reached(held: list[tuple[int, float]], wanted: float) -> int:
    """Return the length at which so many records are reached, in the order in which they are given."""
    reached = 0.0
    for length, count in held:
        reached += count
        if reached >= wanted:
            return length
    return held[-1][0]


def _candidates(columns: list[ColumnProfile], most: int) -> list[str]:
    """Return the columns whose sets are looked at: quasi-identifiers, those that others know best first, then others.

    Args:
        most: of them.
    """
    led = [item for item in columns if item.leader is None and item.looks_like not in NOT_COMBINED]
    open_to = [item for item in led if is_scalar(item.type)]
    quasi = [item for item in open_to if item.role == "quasi_identifier"]
    quasi = sorted(quasi, key=how_known)[:most]
    others = sorted((item for item in open_to if item.role in ("sensitive", "keep")), key=lambda item: -item.distinct)
    chosen = {item.name for item in [*quasi, *others[: max(min(FILLED_UP_TO, most) - len(quasi), 0)]]}
    return [item.name for item in columns if item.name in chosen]


def _ranking(sets: ColumnSets) -> tuple[RankedSet, ...]:
    return tuple(RankedSet(item.columns, item.uniques, item.records, singling_out(item)) for item in rank_sets(sets))


def _kept_together(engine: Engine, relation: exp.Expr, columns: list[ColumnProfile]) -> RankedSet | None:
    """Return how many records the columns single out that would be published as they are, all together."""
    kept = [c.name for c in columns if c.role in ("keep", "sensitive") and c.distinct > 1 and c.leader is None]
    if not 2 <= len(kept) <= MOST_COLUMNS:
        return None
    found = measure_column_sets(engine, relation, kept, largest_minimal=0, most_work=0).whole
    return RankedSet(found.columns, found.uniques, found.records, singling_out(found))


def _warnings(opened: Source, columns: list[ColumnProfile], records: int) -> list[str]:
    warnings = []
    if not records:
        warnings.append("The table has no records: nothing can be said of its columns but their names and types.")
    elif not any(item.role == "quasi_identifier" for item in columns):
        warnings.append(
            "No column looks like something that others know of a person. Decide which ones are quasi-identifiers: "
            "without any, no record is protected."
        )
    if opened.unreadable:
        warnings.append(f"{len(opened.unreadable)} columns cannot be read by this session and were not looked at.")
    return warnings
