"""What engines have and lack, as a table for people: made from what they declare, so that no document can disagree."""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.engines.base import FEATURES, Capabilities


def capability_table(engines: Sequence[Capabilities]) -> str:
    """Markdown: a line a feature, a column an engine; below it, why an engine lacks one and what to do instead.

    >>> print(capability_table([Capabilities("DuckDB", "duckdb")]).splitlines()[3])
    | reads and writes files | yes |
    """
    lines = [f"| | {' | '.join(engine.name for engine in engines)} |", "|---|" + "---|" * len(engines)]
    notes: list[str] = []
    for feature, told in FEATURES.items():
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
        lines.append(f"| {told} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"{place}. {note}" for place, note in enumerate(notes, start=1))]).rstrip() + "\n"
