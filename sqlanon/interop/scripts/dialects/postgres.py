"""PostgreSQL 15 and newer, written by the rules of its engine."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from sqlanon.core.engines.postgres.dialect import HELPERS, LONGEST_NAME, PATTERNS, TYPES, render
from sqlanon.core.sqltrees.trees import TRIMMED
from sqlanon.interop.scripts.dialects.base import SAME, TEXTS, Dialect

POSTGRES = Dialect(
    name="postgres",
    title="PostgreSQL",
    writes="postgres",
    types=dict.fromkeys(
        (
            exp.DType.VARCHAR, exp.DType.TEXT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT, exp.DType.FLOAT,
            exp.DType.DOUBLE, exp.DType.DECIMAL, exp.DType.BOOLEAN, exp.DType.DATE, exp.DType.TIMESTAMP,
            exp.DType.TIMESTAMPTZ, exp.DType.UUID, exp.DType.TIME, *TYPES,
        ),
        SAME,
    ),
    texts=TEXTS | {"UUID"},
    functions={"ISFINITE": SAME, TRIMMED: SAME},
    patterns=dict.fromkeys(PATTERNS, SAME),
    longest_name=LONGEST_NAME,
    preamble=HELPERS,
    stops="psql needs -v ON_ERROR_STOP=1",
    loads="\\copy is a command of psql, and its paths begin where that was started.",
    notes=(
        "Run it in one session: two functions and the tables are temporary, and go with it. "
        "The role needs TEMPORARY on the database.",
    ),
    wide_literals=True,
    analyzes=True,
    write=partial(render, pretty=True),
)  # fmt: skip
