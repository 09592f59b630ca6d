"""``sqlanon explain``: the SQL of a node, as a person reads it, as the search judges it, as it is published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.explain_counts import execute as of_counts
from sqlanon.core.anonymizer import plan, recode
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy import Policy
from sqlanon.core.policy.documents import has_key
from sqlanon.core.sqltrees import names
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.interop.scripts.warehouse import refuse_script, script_in
from sqlanon.live.output import live_view_sql
from sqlanon.live.view import KIND


def execute(policy: str, node: str | None, dialect: str | None, source_table: str | None, lookups: str | None) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    if has_key(Path(policy), "counts"):
        return of_counts(policy, node, dialect, source_table, lookups)
    loaded = read_policy(policy)
    if dialect is None and source_table is not None:
        raise InputError("--source-table names a table of a warehouse.", hint="add --dialect.")
    if dialect is None and lookups is not None:
        raise InputError("--lookups names a folder for the files of a script.", hint="add --dialect.")
    if dialect is None:
        print(explanation(loaded, node))
    else:
        print(translation(loaded, node, dialect, source_table, lookups))
    return 0


def translation(
    policy: Policy, node: str | None, dialect: str, source_table: str | None, lookups: str | None = None
) -> str:
    """Return the complete SQL of a policy in a dialect, at its optimum or at a node; ``lookups`` as ``script_in``.

    Raises:
        UnsupportedError: the policy asks for a transformation, or the dialect cannot express a statement.
    """
    if policy.transformation is not None:
        raise UnsupportedError(
            "A release by several rules is explained in DuckDB's SQL only.",
            hint="leave --dialect out, or explain a policy without transformation.",
        )
    refuse_script(policy)
    with planned_at(replace(policy, output=None), node) as planned:
        _warn_of(planned)
        return script_in(planned, dialect, source_table=source_table, lookups=lookups).rstrip()


def explanation(policy: Policy, node: str | None) -> str:
    """Return the SQL of a node: as a person reads it, as the search judges it, and as it is published, and a live view.

    Of patterns and local recoding: the rules, the classes of the release, and the release.
    """
    output = policy.output
    policy = replace(policy, output=None)
    if policy.transformation is not None:
        return _recoded(policy, node)
    with planned_at(policy, node) as planned:
        _warn_of(planned)
        levels = planned.catalog.levels(planned.node)
        named = ", ".join(f"{name}={level}" for name, level in levels.items())
        [_, (_, release)] = planned.standalone_sql()
        parts = [
            _head(planned),
            f"-- the classes of the node {named}\n{planned.node_sql(levels)};",
            f"-- its verdict\n{planned.verdict_sql(levels)};",
            f"-- its release\n{release};",
        ]
        if output and output.kind == KIND:
            title = "-- its live view, which reads the tables that a run creates beside it"
            if output.epoch is not None:
                title = "-- what its live view shows until the first epoch ends: the rows with their records and groups"
            parts.append(f"{title}\n{live_view_sql(planned, output)};")
        return "\n\n".join(parts)


def _recoded(policy: Policy, node: str | None) -> str:
    if node is not None:
        raise InputError(
            "--node asks for one node, and the policy for a transformation.",
            hint="leave --node out, or explain a policy without transformation.",
        )
    with recode(None, policy) as planned:
        _warn_of(planned)
        rules = [f"-- {number}. {planned.describe(rule)}" for number, rule in enumerate(planned.rules, start=1)]
        parts = [f"-- {name}\n{text};" for name, text in planned.standalone_sql()]
        listed = [f"-- the rules, in the order in which they were tried, as {names.RULES} holds them", *rules]
        return "\n\n".join([_head(planned), "\n".join(listed), *parts])


def _head(planned: Planned) -> str:
    """Return the remarks to a person who pastes the statements."""
    name = planned.engine.capabilities.name
    place = f" that has {planned.source_name} open" if planned.source.target_catalog is not None else ""
    lines = [
        f"Each statement runs by itself in {name}{place}: it holds the rows of hierarchies that it reads, a line each.",
        "For the operator: it holds the texts of hierarchies.",
    ]
    return "\n".join(f"-- {line}" for line in lines)


def _warn_of(planned: Planned) -> None:
    for warning in planned.all_warnings:
        warn(warning)


@contextmanager
def planned_at(policy: Policy, node: str | None) -> Iterator[Plan]:
    """Open a plan of the optimum, or one that stands at ``node`` without a search."""
    with plan(None, policy if node is None else _fixed_at(policy, node)) as planned:
        yield planned


def _fixed_at(policy: Policy, node: str) -> Policy:
    """Return the policy with its quasi-identifiers fixed at the levels in ``node``, and no limit on suppression."""
    columns = [c.name for c in policy.quasi_identifiers]
    try:
        levels = [int(part) for part in node.split(",")] if node else []
    except ValueError:
        levels = None
    if levels is None or len(levels) != len(columns):
        raise InputError(
            f"--node takes {len(columns)} whole numbers.", hint=f"one level each for {', '.join(columns)}, with commas."
        )
    fixed = dict(zip(columns, levels, strict=True))
    return replace(
        policy,
        columns=tuple(
            replace(c, min_level=fixed[c.name], max_level=fixed[c.name]) if c.name in fixed else c
            for c in policy.columns
        ),
        suppression_count=None,
        suppression_limit=Decimal(1),
    )
