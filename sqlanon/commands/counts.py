"""``sqlanon counts``: tables of counts that are safe to release, of a document or of a source and ``--by``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlanon.commands.common import reading_with, warn
from sqlanon.commands.progress import progress
from sqlanon.commands.run_beside import check_beside, taken_by, warn_beside, write_report
from sqlanon.commands.verbosity import say
from sqlanon.core.policy.paths import TEXT_ENDINGS
from sqlanon.core.source.csv_records import csv_form, find_delimiter
from sqlanon.core.source.opening import ONLY_TABLE, open_source
from sqlanon.core.words import counted
from sqlanon.counts.document import CountsPolicy, columns_by
from sqlanon.counts.release import UNITS, CountsRelease
from sqlanon.counts.released import columns_of
from sqlanon.counts.verb import counts
from sqlanon.errors import InputError, Interrupted

MOST_ROWS = 60
"""Rows that are printed; of a longer table the first ones."""
SUPPRESSED = "x"
"""What stands for a suppressed cell on a terminal."""


def execute(
    source: str,
    by: tuple[str, ...],
    report: str | None,
    audience: str,
    certificate: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    if by:
        dimensions = [name.strip() for text in by for name in text.split(",")]
        asked = _asked(source, dimensions, **given)
    else:
        beside = {"TABLE" if name == "table" else f"--{name}": value or None for name, value in given.items()}
        said = [name for name, value in beside.items() if value is not None]
        if said:
            raise InputError(
                f"The document says what {' and '.join(said)} would say.",
                hint="leave it out; or name dimensions of a source: --by sex,age:10.",
            )
        asked = CountsPolicy.from_file(source)
    named = {"report": report or asked.policy.report, "certificate": certificate or asked.policy.certificate}
    files = {what: Path(name) for what, name in named.items() if name is not None}
    if "certificate" in files:
        asked.check_certified()
        if by:
            raise InputError("A certificate is verified by a document.", hint="write one, in the place of --by.")
    check_beside(taken_by(asked.policy), files)
    with progress() as watch:
        release = counts(None, asked, watch=watch)
    try:
        _report(release, files, audience, as_json=as_json)
    except KeyboardInterrupt:
        if not release.output:
            raise
        raise Interrupted("The release itself was published before.", published=True) from None
    return 0


def _report(release: CountsRelease, files: dict[str, Path], audience: str, *, as_json: bool) -> None:
    """Write the files beside a release, and say what was published."""
    if "report" in files:
        write_report(release, files["report"], audience=audience)
    if "certificate" in files:
        release.write_proof(files["certificate"])
        warn_beside(files["certificate"], release.output.get("file"))
    for warning in release.warnings:
        warn(warning)
    if as_json:
        rows = {} if release.output else {"rows": release.rows.to_pylist()}
        print(json.dumps(release.to_dict() | rows))
        return
    if not release.output:
        print("\n".join(_drawn(release)))
    for line in [*_account(release), *(f"  {what}: {path}" for what, path in files.items())]:
        say(line)


def _asked(
    source: str,
    by: Sequence[str],
    table: str | None,
    threshold: int | None,
    entity: str | None,
    to: str | None,
    csv: Sequence[str],
) -> CountsPolicy:
    """Return the document that the options stand for."""
    reading, path = reading_with(csv), Path(source)
    options = dict(reading.csv)
    if path.suffix.lower() in TEXT_ENDINGS and "delimiter" not in options and path.is_file():
        delimiter = find_delimiter(path, csv_form(path, options))
        options |= {} if delimiter is None else {"delimiter": delimiter}
    is_database = Path(source).suffix.lower() in (".duckdb", ".sqlite", ".db") or "://" in source
    name = table or (ONLY_TABLE if is_database else None)
    with open_source(source, name, reading=reading) as opened:
        dimensions, columns = columns_by(by, opened.types)
    document: dict[str, Any] = {"source": source, "columns": columns, "counts": {"counts": {"dimensions": dimensions}}}
    given = {"table": name, "threshold": threshold, "entity": entity, "csv": options or None}
    document |= reading.formats
    document |= {key: value for key, value in given.items() if value is not None}
    document |= {} if to is None else {"output": {"file": to}}
    return CountsPolicy.from_dict(document)


def _drawn(release: CountsRelease) -> list[str]:
    """Return the released table in columns, for a terminal."""
    first = release.rows.slice(0, MOST_ROWS).to_pylist()
    rows = [["NULL" if value is None else str(value) for value in row.values()] for row in first]
    titles = release.rows.column_names
    if release.policy.rules.form == "long":
        of_count = titles.index(columns_of(release.policy).count)
        hidden = release.rows.column(titles[-1]).to_pylist()
        for row, is_hidden in zip(rows, hidden, strict=False):
            row[of_count:] = [SUPPRESSED if is_hidden else value for value in row[of_count:]]
        titles, rows = titles[:-1], [row[:-1] for row in rows]
    widths = [max(len(title), *(len(row[i]) for row in rows), 0) for i, title in enumerate(titles)]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in [titles, *rows]]
    lines = ["  ".join(row).rstrip() for row in padded]
    left = release.rows.num_rows - len(rows)
    return lines + ([f"and {counted(left, 'row')} more; --to FILE writes all of them."] if left else [])


def _account(release: CountsRelease) -> list[str]:
    """Return the sentence on the suppressed cells, and how far they are the fewest."""
    protection, rules, cells = release.protection, release.policy.rules, counted(release.cells, "cell")
    unit = UNITS[release.unit]
    least = "the fewest" if rules.weights == "cells" else "of least weight"
    suppressed = (
        f"{cells}, of which {protection.suppressed_cells:,} are suppressed ({SUPPRESSED}): "
        f"{protection.unsafe:,} unsafe and {protection.complementary:,} that protect them "
        f"({'' if protection.optimal else 'not '}proven {least})"
    )
    lines = [suppressed, f"  counts are of {unit}; below {release.threshold} one is unsafe"]
    if rules.method == "keys":
        noise = f"noise of mean 0 and variance {rules.keys.variance:g}, of {rules.keys.most} at most"
        lines = [f"{cells}, each with {noise}", f"  counts are of {unit}; totals are not the sums of their parts"]
    elif not rules.suppress:
        lines[0] = f"{cells}, of which {protection.unsafe:,} are unsafe and shown as 0"
    for name, own in release.by_dimension.items() if rules.suppress and rules.method == "suppress" else ():
        lines.append(f"  {name}: {own['suppressed']:,} of {own['cells']:,} cells that show it are suppressed")
    if rules.round is not None:
        adds = f"totals add up, and counts are within {counted(protection.steps, 'multiple')}"
        how = adds if rules.additive else f"rounding: {rules.rounding}; totals are not the sums of their parts"
        lines.append(f"  counts are multiples of {rules.round} ({how})")
    if release.left_out:
        lines.append(f"  {counted(release.left_out, 'record')} with a NULL were left out")
    return lines + [f"  {kind}: {target}" for kind, target in release.output.items()]
