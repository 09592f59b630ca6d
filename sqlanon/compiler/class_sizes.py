"""The statement that counts the classes of a node by their size, in buckets of powers of two."""

from __future__ import annotations

from sqlglot import exp

from sqlanon.compiler.judged import grouped_node, judged
from sqlanon.compiler.question import Question
from sqlanon.lattice.nodes import Node
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import bigint, column, count_rows, cte, equal, named, number, table, total, with_ctes


def class_sizes(question: Question, grain: str, node: Node, *, published: bool) -> exp.Query:
    """Return the published classes of a node (or the others) by size: one row per bucket that is not empty.

    Columns are ``least`` and ``most`` (a power of two, and one less than the next), ``classes`` and ``records``. A
    class without records of the subset (δ-presence) is none.

    Args:
        grain: the table of a grain at or below the node.
    """
    catalog = question.catalog
    masks = [number(mask) for mask in question.masks(node)]
    grouped = grouped_node(grain, number(0), masks, catalog.has_population, catalog.has_entity)
    wanted = equal(column("fails", "judged"), number(0 if published else 1))
    sizes = exp.select(column(names.COUNT, "judged")).from_(table("judged")).where(wanted)
    return count_in_buckets(sizes, judged(question, grouped), catalog.encoded)


def count_in_buckets(sizes: exp.Select, ctes: list[exp.CTE], largest: int) -> exp.Query:
    """Return classes by their size ``n``, in buckets of powers of two up to that of ``largest``."""
    size = column(names.COUNT, "sizes")
    within = exp.Between(this=size, low=column("least", "buckets"), high=column("most", "buckets"))
    bounds = [column("least", "buckets"), column("most", "buckets")]
    query = (
        exp.select(*bounds, named(bigint(count_rows()), "classes"), named(total(size.copy()), "records"))
        .from_(table("sizes"))
        .join(table("buckets"), on=within)
        .group_by(*[bound.copy() for bound in bounds])
        .order_by(column("least", "buckets"))
    )
    return with_ctes(query, [*ctes, cte("sizes", sizes), cte("buckets", _buckets(largest))])


def _buckets(largest: int) -> exp.Select:
    """Return the powers of two up to ``largest``, each with the last number before the next."""
    rows = [(1 << i, (2 << i) - 1) for i in range(max(largest, 1).bit_length())]
    tuples = [exp.Tuple(expressions=[bigint(number(least)), bigint(number(most))]) for least, most in rows]
    columns = [exp.to_identifier(name, quoted=True) for name in ("least", "most")]
    alias = exp.TableAlias(this=exp.to_identifier("powers", quoted=True), columns=columns)
    return exp.select(column("least"), column("most")).from_(exp.Values(expressions=tuples, alias=alias))
