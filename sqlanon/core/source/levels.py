"""Columns that are published at one level of their hierarchy, and that no search generalizes (``level``).

A wage in bands, a score in thirds: the source is read through a SELECT that holds the texts of the level in place of
the values. So the models, the audits and the release see nothing finer.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from sqlanon.core.hierarchies.builders import levels
from sqlanon.core.hierarchies.expressions import ROOT, literal
from sqlanon.core.hierarchies.specs import reads_texts
from sqlanon.core.policy import Column, Policy
from sqlanon.core.source.columns import is_scalar, without_enum
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import canonical, column, count_if, is_null, named, not_null, when
from sqlanon.core.words import counted
from sqlanon.errors import EngineError, HierarchyError, UnsupportedError, instead_of, listing


def at_levels(opened: Source, policy: Policy) -> Source:
    """Return a source whose columns that have a ``level`` hold its texts.

    Raises:
        HierarchyError: the hierarchy has no such level, or cannot read some values that the policy does not publish as
            ``*``.
        UnsupportedError: it cannot serve the type of the column.
    """
    wanted = {item.name: item for item in policy.columns if item.level is not None and item.name in opened.readable}
    if not wanted:
        return opened
    texts = {name: _text(item, opened.types[name]) for name, item in wanted.items()}
    unread = [count_if(exp.and_(not_null(column(name)), is_null(text.copy()))) for name, text in texts.items()]
    what = f"{opened.engine.capabilities.name} cannot compute the level of {listing(texts)}"
    hint = "make the column in a view of the source, and leave its level and hierarchy out."
    with instead_of(EngineError, lambda error: UnsupportedError(f"{what} ({error.kind}).", hint=hint)):
        counts = opened.engine.run("values without a level", exp.select(*unread).from_(opened.relation.copy()))[0]
    for name, count in zip(texts, counts, strict=True):
        if count and policy.uncovered_of(wanted[name]) != "top":
            raise HierarchyError(
                f"The hierarchy of column {name!r} cannot read the values of {counted(count, 'record')}.",
                hint="correct them in a view of the source, or say uncovered: top, which publishes them as *.",
            )
    covered = {name: when(is_null(column(name)), exp.null(), exp.func("COALESCE", text, literal(ROOT)))
               for name, text in texts.items()}  # fmt: skip
    values = [named(covered[name], name) if name in covered else column(name) for name in opened.readable]
    relation = exp.select(*values).from_(opened.relation.copy()).subquery("at_levels")
    return replace(opened, relation=relation, types={**opened.types, **dict.fromkeys(wanted, "VARCHAR")})


def _text(item: Column, type_name: str) -> exp.Expr:
    """Return the text of a value at the level of its column; NULL for one that the hierarchy cannot read."""
    if not is_scalar(type_name):
        raise UnsupportedError(
            f"Column {item.name!r} has a type that no hierarchy reads.", hint="cast it to text in a view of the source."
        )
    assert item.hierarchy is not None and item.level is not None  # by the check of the policy
    by_text = reads_texts(item.hierarchy)
    value = canonical(item.name, type_name) if by_text else column(item.name)
    found = levels(item.hierarchy, value, "VARCHAR" if by_text else without_enum(type_name), longest=1)
    if item.level >= len(found):  # at the root NULL alone would tell records apart
        raise HierarchyError(
            f"The hierarchy of column {item.name!r} has no level {item.level} between its values and its root.",
            hint=f"its highest one is {len(found) - 1}; or give the column the role drop.",
        )
    return found[item.level - 1]
