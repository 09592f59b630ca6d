"""``sqlanon dbt``: a release as models, seeds and tests of a dbt project."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.explain import planned_at
from sqlanon.commands.verbosity import say
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Policy
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.interop.scripts.dbt.project import PROJECT, Written, write
from sqlanon.interop.scripts.dbt.release import LOOKUP, ROWS, DbtRelease, dbt_release, refuse_release
from sqlanon.interop.scripts.dbt.sources import FILE
from sqlanon.interop.scripts.dbt.template import DIALECTS, Call

SUFFIX = "_released"
LONGEST = 40
"""The most characters of a model's name. Names derived from it stay within what warehouses keep of a name."""


@dataclass(frozen=True, slots=True)
class DbtOptions:
    """The options of ``sqlanon dbt``, as they are given."""

    policy: str
    folder: str
    name: str | None
    source: str | None
    node: str | None
    dialect: str | None
    materialized: str
    with_values: bool
    force: bool


def execute(**given: Any) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    options = DbtOptions(**given)
    policy = replace(read_policy(options.policy), output=None)
    refuse_release(policy)
    relation = Call.parsed(options.source) if options.source is not None else _named_source(policy)
    name = _model_name(options.name, relation)
    with planned_at(policy, options.node) as plan:
        release = dbt_release(
            plan,
            policy=policy,
            name=name,
            source=relation,
            declares=options.source is None,
            dialect=options.dialect or _dialect(plan),
            materialized=options.materialized,
            with_values=options.with_values,
        )
        for warning in (*plan.all_warnings, *_warnings(plan, release)):
            warn(warning)
        levels = dict(plan.levels)
    _print_release(release, write(release, Path(options.folder), force=options.force), levels)
    return 0


def _named_source(policy: Policy) -> Call:
    """Return the table of the policy as a source of dbt."""
    parts = (policy.table or "").split(".")
    if len(parts) == 2 and all(parts):
        return Call.parsed(f"source({parts[0]!r}, {parts[1]!r})")
    raise InputError(
        "The policy does not name its records by schema and table.",
        hint="say where dbt finds them: --source \"source('clinic', 'patients')\" or --source \"ref('patients')\".",
    )


def _model_name(name: str | None, relation: Call) -> str:
    """Return the name of the model: the one given, or that of the table with a suffix.

    Raises:
        InputError: it is not plain, or that of the file of sources.
    """
    chosen = name if name is not None else relation.names[-1] + SUFFIX
    if f"{chosen}.yml" == FILE:
        raise InputError(f"The file {FILE} of a project declares its sources.", hint="choose another --name.")
    if chosen.isascii() and chosen.isidentifier() and len(chosen) <= LONGEST:
        return chosen
    raise InputError(
        f"The name {chosen!r} of the model is not plain.",
        hint=f"give one of letters, digits and underscores, at most {LONGEST} characters (--name).",
    )


def _dialect(plan: Plan) -> str:
    """Return the adapter for the engine of the source.

    Raises:
        UnsupportedError: there is none.
    """
    dialect = plan.source.engine.capabilities.dialect
    if dialect not in DIALECTS:
        raise UnsupportedError(
            f"No dbt model is written in the SQL of {plan.source.engine.capabilities.name}.",
            hint=f"say --dialect {' or '.join(DIALECTS)}.",
        )
    return dialect


def _warnings(plan: Plan, release: DbtRelease) -> list[str]:
    warnings = []
    if release.dialect != plan.source.engine.capabilities.dialect:
        warnings.append(
            f"Planned on {plan.source.engine.capabilities.name}, written for {release.dialect}: a value that reads "
            "differently as text there (a float, a time stamp) has no row in its lookup and is suppressed."
        )
    for key, rows in release.lookups.items():
        if len(rows) > ROWS:
            warnings.append(f"The seed {key} has {len(rows)} rows; dbt loads seeds of that size slowly.")
    return warnings


def _print_release(release: DbtRelease, written: Written, levels: dict[str, int]) -> None:
    for path in written.files:
        say(path)
    for path in written.removed:
        say(f"removed: {path}")
    say(f"\nThe release {release.name}, of {release.source}, for {release.dialect}:")
    for column, level in levels.items():
        say(f"  {column}: level {level}")
    quasi = release.policy.quasi_identifiers
    for key, rows in release.lookups.items():
        column = quasi[int(key.rpartition(LOOKUP)[2])].name
        say(f"  seed {key}: {len(rows)} values of {column}, as they stand in the source")
    for path, text in written.to_add.items():
        say(f"\nAdd to {path}:\n  {text}")
    if PROJECT in written.files:
        say(f"\nThe project reads where to build from the profile {release.name!r}: profiles.yml there, or in ~/.dbt")
    say("\nNext: dbt deps, dbt build")
