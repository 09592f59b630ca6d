"""BigQuery (GoogleSQL)."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.engines.rendering import same_texts
from sqlanon.scripts.dialects.base import Dialect, Rule
from sqlanon.scripts.dialects.rules import (
    PATTERNS,
    WAREHOUSE,
    different_texts,
    extracted,
    function,
    nulls_by_key,
    number_cast,
    periods,
)

_RULES: dict[type[exp.Expr], Rule] = {
    **WAREHOUSE,
    exp.IntDiv: function("DIV", "this", "expression"),
    exp.Ln: number_cast,
    exp.NullSafeEQ: same_texts,
    exp.NullSafeNEQ: different_texts,
    exp.Order: nulls_by_key,
    exp.Quarter: extracted,
    exp.Year: extracted,
}

BIGQUERY = Dialect(
    name="bigquery",
    title="BigQuery",
    writes="bigquery",
    rules=_RULES,
    types={
        exp.DType.VARCHAR: "STRING",
        exp.DType.TEXT: "STRING",
        exp.DType.TINYINT: "INT64",
        exp.DType.SMALLINT: "INT64",
        exp.DType.INT: "INT64",
        exp.DType.BIGINT: "INT64",
        exp.DType.INT128: "BIGNUMERIC",
        exp.DType.UTINYINT: "INT64",
        exp.DType.USMALLINT: "INT64",
        exp.DType.UINT: "INT64",
        exp.DType.UBIGINT: "NUMERIC",
        exp.DType.DOUBLE: "FLOAT64",
        exp.DType.BOOLEAN: "BOOL",
        exp.DType.DATE: "DATE",
        exp.DType.TIMESTAMP: "DATETIME",
    },
    patterns=periods("FORMAT_DATE", {pattern: pattern for pattern in PATTERNS}, format_first=True),
    longest_name=300,
    refused_characters='!"$()*,./;?@[\\]^`{}~',
    notes=(
        "Run it as one script (a multi-statement query): its tables are temporary. The release is not, and goes into "
        "the default dataset of the query, which must be set.",
        "BigQuery keeps no order of stored rows: the ORDER BY of the release is no promise, and its rows may stand in "
        "the order of the source, which can tell whose they are. Give readers a copy that is clustered by published "
        "columns (CLUSTER BY), or what SELECT * FROM it ORDER BY RAND() returns.",
    ),
)
