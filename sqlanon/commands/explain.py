"""``sqlanon explain``: the SQL of a node, as a person reads it, as the search judges it, as it is published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from sqlanon.anonymizer import plan, recode
from sqlanon.commands.common import guarded, policy_of
from sqlanon.compiler import batch as compiler
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.plan.full_domain import Plan
from sqlanon.policy import Policy
from sqlanon.publish.live.view import KIND
from sqlanon.scripts.dialects import DIALECTS
from sqlanon.scripts.warehouse import script_in
from sqlanon.sqltrees import names


@click.command()
@click.argument("policy", type=click.Path())
@click.option("--node", help="Levels in the order of the policy, e.g. 0,3,0; the optimum when left out.")
@click.option(
    "--dialect",
    type=click.Choice([dialect.name for dialect in DIALECTS]),
    help="Print the complete SQL of the policy in this dialect.",
)
@click.option("--source-table", help="The name of the source in the warehouse; by default as the policy names it.")
def explain(policy: str, node: str | None, dialect: str | None, source_table: str | None) -> None:
    """Print the SQL of a node of POLICY, its evaluation and its release (or of the rules of its transformation); writes
    nothing.

    With --dialect: the complete SQL of the policy as one script for a warehouse, planned on the policy's own source.
    """

    def action() -> int:
        made = policy_of(policy)
        if dialect is None and source_table is not None:
            raise InputError("--source-table names a table of a warehouse.", hint="add --dialect.")
        print(explanation(made, node) if dialect is None else translation(made, node, dialect, source_table))
        return 0

    guarded(action)


def translation(policy: Policy, node: str | None, dialect: str, source_table: str | None) -> str:
    """The complete SQL of a policy in a dialect, at its optimum or at a node.

    Raises:
        UnsupportedError: the policy asks for a transformation, or the dialect cannot say a statement.
    """
    if policy.transformation is not None:
        raise UnsupportedError(
            "A release by several rules is explained in DuckDB's SQL only.",
            hint="leave --dialect out, or explain a policy without transformation.",
        )
    with planned_at(replace(policy, output=None), node) as made:
        return script_in(made, dialect, source_table=source_table).rstrip()


def explanation(policy: Policy, node: str | None) -> str:
    """The SQL of a node: as a person reads it, as the search judges it, and as it is published, and a live view.

    Of patterns and local recoding: the rules, the classes of the release, and the release.
    """
    output = policy.output
    policy = replace(policy, output=None)
    if policy.transformation is not None:
        return _recoded(policy, node)
    with planned_at(policy, node) as made:
        statement = compiler.batch(made.question, [0], form="cross")
        levels = ", ".join(f"{name}={level}" for name, level in made.catalog.levels(made.node).items())
        return "\n\n".join(
            [
                f"-- the classes of the node {levels}\n{made.node_sql(made.catalog.levels(made.node))};",
                f"-- its verdict\n{made.engine.render(statement, pretty=True)};",
                f"-- its release\n{made.release_sql};",
                *([f"-- its live view\n{made.live_view_sql(output)};"] if output and output.kind == KIND else []),
            ]
        )


def _recoded(policy: Policy, node: str | None) -> str:
    if node is not None:
        raise InputError(
            "--node asks for one node, and the policy for a transformation.",
            hint="leave --node out, or explain a policy without transformation.",
        )
    with recode(None, policy) as made:
        rules = [f"-- {number}. {made.describe(rule)}" for number, rule in enumerate(made.rules, start=1)]
        parts = [f"-- {name}\n{text};" for name, text in made.readable()]
        listed = [f"-- the rules, in the order in which they were tried, as {names.RULES} holds them", *rules]
        return "\n\n".join(["\n".join(listed), *parts, f"-- the release\n{made.release_sql};"])


@contextmanager
def planned_at(policy: Policy, node: str | None) -> Iterator[Plan]:
    """A plan of the optimum, or one that stands at ``node`` without a search."""
    if node is not None:
        try:
            levels = [int(part) for part in node.split(",")] if node else []
        except ValueError:
            levels = None
        names = [c.name for c in policy.quasi_identifiers]
        if levels is None or len(levels) != len(names):
            raise InputError(
                f"--node takes {len(names)} whole numbers.", hint=f"one level each for {', '.join(names)}, with commas."
            )
        fixed = dict(zip(names, levels, strict=True))
        columns = tuple(
            replace(c, min_level=fixed[c.name], max_level=fixed[c.name]) if c.name in fixed else c
            for c in policy.columns
        )
        loose = replace(
            policy, columns=columns, suppression_count=None, suppression_limit=type(policy.suppression_limit)(1)
        )
        with plan(None, loose, watch=None) as made:
            yield made
        return
    with plan(None, policy) as made:
        yield made
