"""The complete SQL of a policy as one script in a dialect: encoding, a batch of nodes, the release and its audits.

The statements are those that ran, as trees. The source has its name in the warehouse, rows that were loaded become
INSERTs, and the lookups leave out values that the widths of the codes have no room for. A script is for the operator:
it contains hierarchies.
"""

from __future__ import annotations

import math

from sqlglot import exp

from sqlanon.errors import InputError
from sqlanon.interop.scripts.dialects.base import Dialect
from sqlanon.interop.scripts.listed_rows import ROWS
from sqlanon.interop.scripts.parts import RELEASE, STAGED, ScriptParts, of_run
from sqlanon.interop.scripts.script_source import is_source
from sqlanon.interop.scripts.statements import encoding_of, rows_listed, script_statements


def dialect_script(
    parts: ScriptParts, dialect: Dialect, *, source_table: str | None = None, lookups: str | None = None
) -> str:
    """Return the script of a plan in a dialect.

    Args:
        source_table: the name of the source in the warehouse; by default as the policy names it.
        lookups: the folder of the files of ``lookup_files``, from which the script loads long lists of rows.

    Raises:
        UnsupportedError: the dialect cannot write a statement, a type or a name.
        InputError: the policy names no table, and neither does ``source_table``; or rows are too many to be listed.
    """
    statements = list(script_statements(parts, dialect, source_table=source_table, lookups=lookups))
    files = list(lookup_files(parts)) if lookups is not None else []
    head = [
        f"sqlanon: the SQL of a policy for {dialect.title}.",
        "For the operator: it holds the texts of hierarchies; it does not travel with the release.",
        *(
            [f"{of_run(STAGED, parts.run)} holds the entity (a person, say) of each record; it is not released."]
            if parts.staged is not None
            else []
        ),
        *parts.facts,
        "Quasi-identifying values of the table that no hierarchy lists, or that these widths have no room for, have no "
        "row in a lookup, and the JOIN suppresses their records; a sensitive value without a row counts for no class, "
        "but for the audits it does.",
        f"The audits at the end say whether {of_run(RELEASE, parts.run)} meets the policy: the table may hold other "
        "records than those above. An audit that finds rows fails, which ends the script in most clients "
        f"({dialect.stops}).",
        "Run it in a scratch schema without default grants. When all audits have passed, rename the release and move "
        "it to its readers.",
        "The names of its tables belong to this script alone. To run it twice at the same time, write a second script.",
        _costs(parts),
        *dialect.notes,
        *([f"It loads {', '.join(files)} of {lookups}. {dialect.loads}"] if files else []),
    ]
    lines = "\n".join(f"-- {' '.join(line.split())}" for line in head)
    numbered = [f"-- {i}. {item.title}\n{item.ended}" for i, item in enumerate(statements, start=1)]
    script = "\n\n".join([lines, *numbered]) + "\n"
    if lookups is None and dialect.longest_script is not None and len(script.encode()) > dialect.longest_script:
        raise InputError(
            f"The script has {len(script.encode())} bytes, and {dialect.title} takes {dialect.longest_script}.",
            hint="add --lookups FOLDER: hierarchies become CSV files there, which the script loads.",
        )
    return script


def _costs(parts: ScriptParts) -> str:
    """Estimate the bytes that a script reads, as a sentence."""
    scans, record = _reading(parts), -(-parts.characters // max(parts.records, 1))
    megabytes = math.ceil(scans * parts.characters / 100_000) / 10
    return (
        f"Costs: {scans} statements read the table, the others its distinct combinations. A record has about {record} "
        f"bytes in the columns that are read (as text, uncompressed), so that a table of {parts.records} records costs "
        f"about {megabytes} MB at most; the cost grows with the records."
    )


def _reading(parts: ScriptParts) -> int:
    """Return how many statements read the source."""
    queries = [tree for _, tree in (*encoding_of(parts), *parts.staged_audits, *parts.audits)]
    trees = [*queries, parts.counts, parts.release, *([parts.staged] if parts.staged is not None else [])]
    return sum(any(is_source(item, parts.source) for item in tree.find_all(exp.Table)) for tree in trees)


def lookup_files(parts: ScriptParts) -> dict[str, str]:
    """Return the files that a script with a folder for lookups loads: their names, and their texts."""
    listed = [rows_listed(tree, parts.run) for _, tree in encoding_of(parts)]
    return {item.name: item.file() for item in listed if item is not None and len(item.rows) > ROWS}
