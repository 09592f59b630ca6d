"""The tables that conclusions are drawn from, of records whose rules are known."""

from collections.abc import Sequence

import pyarrow as pa

import sqlanon
from sqlanon.assess.attack import first_fit, left_behind
from sqlanon.core.sqltrees import names

Text = str | None
Row = tuple[tuple[Text, ...], Text]
ROWS = "rows_of_world"


def load_classes(
    plan: sqlanon.Plan, rows: Sequence[Row], rules: Sequence[tuple[int, ...]], of_row: Sequence[int | None]
) -> None:
    """Create ``CLASSES`` and ``VALUES``, and load the rules.

    Args:
        plan: of a source with these rows.
        of_row: the place of the rule that publishes each row; None: it is suppressed.
    """
    engine, catalog = plan.engine, plan.catalog
    columns = {"rule": pa.array(of_row, pa.int64()), "s": pa.array([s for _, s in rows], pa.string())}
    columns |= {f"q{i}": pa.array([q[i] for q, _ in rows], pa.string()) for i in range(len(catalog.attributes))}
    for relation in (ROWS, first_fit.CLASSES, left_behind.VALUES):
        engine.drop(relation)
    engine.load("rows", ROWS, pa.table(columns), replayed=False)
    width, words = len(catalog.attributes), range(catalog.words)
    joins = [
        f'JOIN "{names.LOOKUP}" l{i} ON l{i}.attribute = {i} AND l{i}.value IS NOT DISTINCT FROM r.{name}'
        for i, name in enumerate([*(f"q{i}" for i in range(width)), *["s"] * bool(catalog.sensitive)])
    ]
    keys = [" | ".join(f"l{i}.key_{w}" for i in range(width)) for w in words]
    masks = [[catalog.masks(rule)[w] for rule in rules] for w in words]
    cases = [[f"WHEN {place} THEN ({keys[w]}) & {mask}" for place, mask in enumerate(masks[w])] for w in words]
    at_rule = [f"CASE r.rule {' '.join(cases[w])} WHEN -1 THEN 0 END AS key_{w}" for w in words]
    code = f"l{width}.key_{catalog.sensitive[0].word} & {catalog.sensitive[0].code}" if catalog.sensitive else "0"
    read = (
        f"SELECT r.rule, {', '.join(at_rule)}, {code} AS value FROM {ROWS} r {' '.join(joins)} WHERE r.rule IS NOT NULL"
    )
    named = ", ".join(f"key_{w}" for w in words)
    numbered = f"SELECT *, DENSE_RANK() OVER (ORDER BY rule, {named}) AS class FROM ({read})"
    whole = f"SELECT class, rule, {named}, COUNT(*) AS n FROM ({numbered}) GROUP BY ALL"
    engine.create("classes", first_fit.CLASSES, whole, replayed=False)
    held = f"SELECT class, value, COUNT(*) AS n FROM ({numbered}) GROUP BY ALL"
    engine.create("values", left_behind.VALUES, held, replayed=False)
    first_fit.load_rules(engine, catalog, rules)
