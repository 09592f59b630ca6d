"""Trino."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.core.engines.rendering import same_texts
from sqlanon.interop.scripts.dialects.base import TYPES, Dialect, Rule
from sqlanon.interop.scripts.dialects.rules import (
    PATTERNS,
    WAREHOUSE,
    different_texts,
    exact_quotient,
    first_characters,
    function,
    last_characters,
    operator,
    periods,
)

_RULES: dict[type[exp.Expr], Rule] = {
    **WAREHOUSE,
    exp.BitwiseAnd: operator("bitwise_and"),
    exp.BitwiseLeftShift: operator("bitwise_left_shift"),
    exp.BitwiseOr: operator("bitwise_or"),
    exp.IntDiv: exact_quotient,
    exp.Left: first_characters,
    exp.NullSafeEQ: same_texts,
    exp.NullSafeNEQ: different_texts,
    exp.Right: last_characters,
    exp.Substring: function("SUBSTR", "this", "start", "length"),
}

TRINO = Dialect(
    name="trino",
    title="Trino",
    writes="trino",
    rules=_RULES,
    types={
        **TYPES,
        exp.DType.TIMESTAMP: "TIMESTAMP(6)",
    },
    patterns=periods("DATE_FORMAT", {**{pattern: pattern for pattern in PATTERNS}, "%G-W%V": "%x-W%v"}),
    temporary=False,
    shuffles_in_parts=True,
    notes=(
        "Trino has no temporary tables: those of the script are ordinary ones of the current schema, dropped at the "
        "end, and the connector must be able to write. They hold values of the source, and stay where an audit ends "
        "the script: run the statements that drop them.",
        "Trino folds names to small letters, quoted ones too.",
        "The rows of the release are shuffled in random parts: Trino leaves out the ORDER BY of a CREATE TABLE.",
    ),
)
