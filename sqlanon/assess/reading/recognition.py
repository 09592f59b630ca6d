"""How a text file is written, told from the file: the options ``csv`` of a policy, and findings that say so."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.assess.reading.columns import recognise_columns
from sqlanon.assess.reading.files import recognise_file
from sqlanon.assess.reading.findings import ReadingFinding, Recognised
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.policy.paths import TEXT_ENDINGS, flat_ending, is_file
from sqlanon.core.policy.sources import csv_options
from sqlanon.core.source.csv_readings import blank_columns, trimmed
from sqlanon.core.source.csv_records import count_records, csv_form
from sqlanon.core.source.files import Reading
from sqlanon.core.sqltrees.names import STAGED
from sqlanon.core.sqltrees.trees import both, column, count_if, equal

OF_COLUMNS = ("columns", "decimal", "thousands", "types", "date_format", "timestamp_format", "blank_columns")
"""Options that say how texts are read, and not how the file is."""
ASK_HEADERS = "The header stands among the records again. Remove it where the file is made: it is read as a record."


def recognise(source: object, given: Mapping[str, Any]) -> Recognised:
    """Return how a source is read, if it is a text file: by what is stated, and what the file shows.

    Raises:
        PolicyError: a stated option is not known, or cannot be used.
        SourceError: the file cannot be read, its encoding cannot be told, or several delimiters fit.
    """
    stated = csv_options(given)
    path = Path(source) if isinstance(source, str | Path) else None
    if path is None or flat_ending(path.name) not in TEXT_ENDINGS or not is_file(path):
        return Recognised(stated)
    of_file = recognise_file(path, stated)
    csv, findings = dict(of_file.csv), list(of_file.findings)
    plain = {name: value for name, value in csv.items() if name not in OF_COLUMNS}
    if not isinstance(plain.get("null", ""), str):
        del plain["null"]
    with closing(DuckDBEngine()) as engine:
        relation = Reading(plain).records(engine, path, into=STAGED).relation
        held = count_records(path, csv_form(path, csv))
        again = both(equal(trimmed(column(name)), exp.Literal.string(name)) for name in held.columns)
        headers = engine.run("headers", exp.select(count_if(again)).from_(relation.copy()))[0][0]
        if headers and csv.get("header", True) and len(held.columns) > 1:
            findings.append(ReadingFinding(None, "title", "the header again, among the records", int(headers), 0,
                                           ASK_HEADERS, False))  # fmt: skip
        blank = blank_columns(engine, relation, held.unnamed) if csv.get("blank_columns") != "keep" else []
        if blank and "blank_columns" not in csv:
            csv["blank_columns"] = "drop"
            what = f"{len(blank)} column{'s' * (len(blank) > 1)} without a name and without a text: left out"
            findings.append(ReadingFinding(None, "blank_columns", what))
        csv, of_columns = recognise_columns(engine, relation, [c for c in held.columns if c not in blank], csv)
    return Recognised(csv, (*findings, *of_columns))
