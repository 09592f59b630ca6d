"""``sqlanon explain`` of a document of counts: the statement that counts, in the source's SQL or in a dialect."""

from __future__ import annotations

from sqlanon.commands.guarded import concealing
from sqlanon.core.engines.standalone import standalone, standalone_query
from sqlanon.core.source.joining import open_policy_source
from sqlanon.counts.counting import counting_query
from sqlanon.counts.document import CountsPolicy
from sqlanon.errors import InputError
from sqlanon.interop.scripts.dialects import dialect_named
from sqlanon.interop.scripts.dialects.rendering import render
from sqlanon.interop.scripts.script_source import check_relations, parts_of, replace_source, warehouse_table

GROUPS_BY_SETS = ("duckdb", "postgres", "spark", "databricks")
"""The dialects in which GROUPING SETS run in the tests; in others it is a UNION ALL of groups."""
HEAD = """\
-- For the operator: these are the true counts, of every cell that someone is in, by the numbers of its categories.
-- Nothing is suppressed: what may be handed on is what sqlanon counts publishes.
"""


def execute(path: str, node: str | None, dialect: str | None, source_table: str | None, lookups: str | None) -> int:
    """Print the statement, with the options of ``explain``, and return the exit code.

    Raises:
        InputError: an option is one of policies alone.
        UnsupportedError: the dialect cannot express the statement.
    """
    given = {"--node": node, "--lookups": lookups, "--source-table": None if dialect else source_table}
    if said := [name for name, value in given.items() if value is not None]:
        raise InputError(f"{' and '.join(said)} would say nothing of this document of counts.", hint="leave it out.")
    asked = CountsPolicy.from_file(path)
    concealing(asked.policy.conceal)
    with open_policy_source(None, asked.policy) as opened:
        engine = opened.engine
        by_sets = engine.capabilities.groups_by_sets if dialect is None else dialect in GROUPS_BY_SETS
        query = counting_query(opened, asked, by_sets=by_sets)
        if dialect is None:
            text = standalone(engine, query)
        else:
            written = dialect_named(dialect)
            wanted = warehouse_table(asked.policy.table, written, source_table)
            tree = replace_source(standalone_query(engine, query), opened.relation, wanted, {})
            check_relations(tree, {parts_of(wanted)})
            text = render(tree, written)
    print(f"{HEAD}{text};")
    return 0
