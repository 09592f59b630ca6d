"""The replayable script of a run. For the operator: it refers to the source and may quote texts."""

from __future__ import annotations

from collections.abc import Sequence

HEADER = """\
-- sqlanon: the statements of one run, in order.
-- For the operator; does not travel with the release.
"""


def replayable_script(statements: Sequence[tuple[str, str]]) -> str:
    """Render (name, SQL) pairs as one script.

    >>> print(replayable_script([("base", "SELECT 1")]))
    -- sqlanon: the statements of one run, in order.
    -- For the operator; does not travel with the release.
    <BLANKLINE>
    -- 1. base
    SELECT 1;
    <BLANKLINE>
    """
    parts = [HEADER]
    for number, (name, sql) in enumerate(statements, start=1):
        title = " ".join(name.split())
        parts.append(f"-- {number}. {title}\n{sql.rstrip().rstrip(';')};\n")
    return "\n".join(parts)
