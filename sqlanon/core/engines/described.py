"""The table of what engines have and lack, built from what they declare, so that no document can disagree."""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.core.engines.capabilities import FEATURES, Capabilities


def capability_table(engines: Sequence[Capabilities]) -> str:
    """Return a Markdown table with a line a feature and a column an engine, and below it why an engine lacks a feature.

    >>> print(capability_table([Capabilities("DuckDB", "duckdb")]).splitlines()[3])
    | reads and writes files | yes |
    """
    lines = [f"| | {' | '.join(engine.name for engine in engines)} |", "|---|" + "---|" * len(engines)]
    notes: list[str] = []
    for feature, description in FEATURES.items():
        cells = []
        for engine in engines:
            lack = engine.lacks.get(feature)
            if lack is None:
                cells.append("yes")
                continue
            note = f"{engine.name}: {lack.reason} Instead: {lack.instead}"
            if note not in notes:
                notes.append(note)
            cells.append(f"no ({notes.index(note) + 1})")
        lines.append(f"| {description} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"{place}. {note}" for place, note in enumerate(notes, start=1))]).rstrip() + "\n"
