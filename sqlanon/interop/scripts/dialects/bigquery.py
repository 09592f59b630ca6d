"""BigQuery (GoogleSQL)."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.engines.rendering import same_texts
from sqlanon.interop.scripts.dialects.base import Dialect, Rule
from sqlanon.interop.scripts.dialects.rules import (
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
    shuffles_in_parts=True,
    longest_name=300,
    longest_script=1 << 20,
    refused_characters='!"$()*,./;?@[\\]^`{}~',
    loads="Copy the files into a bucket first (gcloud storage cp) and put its name in place of YOUR-BUCKET.",
    notes=(
        "Run it as one script (a multi-statement query): its tables are temporary. The release is not, and goes into "
        "the default dataset of the query, which must be set.",
        "The rows of the release are shuffled in random parts, which many workers sort side by side; BigQuery keeps no "
        "order of stored rows.",
    ),
)
