"""Periods beside those that were released before: in one folder with one manifest, or in one table.

A folder is written anew as links to the files of earlier periods, none of which is written again, beside the new ones.
So it takes the place of the earlier one in one step, as every release does (``core.publish.workplace``).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.engines.duckdb.files import partitions_relation
from sqlanon.core.evaluate.session import Session
from sqlanon.core.plan.full_domain import Plan, search_plan
from sqlanon.core.plan.like import judge_earlier
from sqlanon.core.publish.draft import Draft
from sqlanon.core.publish.lakes import LakeTable, changed_meanwhile
from sqlanon.core.publish.ledger import SUPPRESSION_REASONS, add_coarse
from sqlanon.core.publish.openlineage import manifest_facets
from sqlanon.core.publish.papers import Papers
from sqlanon.core.sqltrees.trees import column, named, number
from sqlanon.errors import EngineError, NoSolutionError, TargetError, system_refusals
from sqlanon.periods.earlier import (
    DOCUMENT,
    INDEX,
    RUN,
    begin_anew,
    count_periods,
    manifest_at,
    manifest_in,
    manifests_of,
    released_of,
    seal,
)

STRATEGY = "periods"
"""What a certificate names as the strategy where the levels are those of earlier periods."""
CONFLICTS = ("Constraint", "Transaction", "Catalog", "23505", "40001", "42P07")
"""How the kinds of errors begin by which DuckDB and PostgreSQL refuse the second of two runs."""


@dataclass(frozen=True, slots=True)
class RunPeriods:
    """The periods of a run, as the core asks for them (``core.source.periods``).

    Attributes:
        released: the names of the periods of this run, ascending.
        through: the last day that is closed. Recipients see it and which periods have rows, so an empty period and
            one whose records were all suppressed are alike.
        common: what all periods have in common: ``column``, ``every`` and ``question``, a digest.
        fingerprint: of the policy.
        earlier: the manifest of the periods before; None in the first run, and where nothing is published.
    """

    released: tuple[str, ...]
    through: str
    common: Mapping[str, str]
    fingerprint: str
    earlier: Mapping[str, Any] | None

    def plan(self, session: Session) -> Plan:
        if self.earlier is None:
            return search_plan(session)
        anew = f"{begin_anew(self.earlier)}, at other levels"
        try:
            return judge_earlier(session, self.earlier, STRATEGY, instead=anew)
        except NoSolutionError as error:
            failure = error
        raise NoSolutionError(
            failure.message,
            hint=f"wait for further periods, which are judged with these; raise suppression_limit; or {anew}.",
            nearest=failure.nearest,
        )

    def extend_folder(self, engine: Engine, folder: Path, draft: Draft) -> Papers:
        papers, path = draft.papers, Path(draft.target.output.target)
        assert papers is not None
        if manifest_at(engine, draft.target) != self.earlier:
            raise changed_meanwhile(path.name)
        manifest = self._describe(engine, partitions_relation(folder), papers)
        with system_refusals(
            TargetError,
            f"The earlier periods could not be put beside the new ones in {path.name!r}",
            hint="check the permissions and the room on the disk, and run again; nothing was published.",
        ):
            if self.earlier is not None:
                _link_files(path, folder)
        return replace(papers, manifest=manifest)

    def extend_table(self, engine: Engine, where: Place, written: Place, draft: Draft) -> None:
        papers, manifests = draft.papers, manifests_of(where)
        assert papers is not None
        if manifest_at(engine, draft.target) != self.earlier:
            raise changed_meanwhile(where.name)
        manifest = self._describe(engine, written.table, papers)
        row = exp.select(
            named(number(manifest["periods"]["runs"]), RUN),
            named(exp.cast(exp.Literal.string(json.dumps(manifest)), "VARCHAR"), DOCUMENT),
        )
        try:
            if self.earlier is None:
                _create(engine, where, written, row)
            else:  # the manifest first: from then on no other run adds periods
                engine.run("record periods", exp.Insert(this=manifests.table, expression=row))
                _insert(engine, where, written)
            engine.targets.hand_over(where, [manifests], draft.target.output.owner, draft.target.output.readers)
            return
        except EngineError as error:
            if not error.kind.startswith(CONFLICTS):
                raise
        raise changed_meanwhile(where.name)

    def extend_lake(self, engine: Engine, lake: LakeTable, written: exp.Expr, draft: Draft) -> dict[str, Any]:
        name = Path(draft.target.output.target).name
        assert draft.papers is not None
        if manifest_in(lake, name) != self.earlier:
            raise changed_meanwhile(name)
        return self._describe(engine, written, draft.papers)

    def _describe(self, engine: Engine, written: exp.Expr, papers: Papers) -> dict[str, Any]:
        """Return the manifest of all periods: a line each, and the account of records added up."""
        counts = count_periods(engine, written, self.common["column"])
        manifest, earlier = papers.manifest, self.earlier
        released = [] if earlier is None else released_of(earlier)
        released = [*released, *({"period": name, "published": counts[name]} for name in sorted(counts))]
        runs = 1 if earlier is None else earlier["periods"]["runs"] + 1
        document = {
            **manifest,
            "policy_fingerprint": self.fingerprint,
            "periods": {**self.common, "runs": runs, "through": self.through, "released": released},
        }
        if earlier is not None:
            document["ledger"] = add_accounts(earlier["ledger"], manifest["ledger"])
        return seal(document | {"openlineage": manifest_facets(document)})


def _link_files(earlier: Path, folder: Path) -> None:
    """Put the files of a folder into another, as links where the disk has them.

    Raises:
        FileExistsError: a period stands in both.
    """
    for entry in sorted(earlier.rglob("*")):  # folders before what is in them
        there = folder / entry.relative_to(earlier)
        if entry.is_dir():
            there.mkdir()
            continue
        with suppress(OSError):
            os.link(entry, there)
            continue
        shutil.copy2(entry, there)


def add_accounts(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the account of the records of two sets of periods, of which no class is in both.

    It follows from the two accounts as they were published, and so reveals nothing that they do not.
    """
    texts = ("records", "published", "suppressed", "excluded")
    counts = {name: add_coarse(first[name], second[name]) for name in texts}
    reasons = {
        name: add_coarse(*(_from_zero(name, each["reasons"][name]) for each in (first, second)))
        for name in first["reasons"]
    }
    sizes = {
        name: chosen((each[name] for each in (first, second) if each[name] is not None), default=None)
        for name, chosen in (("smallest_class", min), ("largest_class", max))
    }
    return {**counts, "reasons": reasons, "classes": first["classes"] + second["classes"], **sizes}


def _from_zero(reason: str, count: int | str) -> int | str:
    """Return a count whose least reading is 0 where both parts of the suppressed records are hidden alike."""
    hidden = reason in SUPPRESSION_REASONS and isinstance(count, str) and count.startswith("<") and count[1] != "="
    return f"<={int(str(count)[1:]) - 1}" if hidden else count


def _create(engine: Engine, where: Place, written: Place, row: exp.Query) -> None:
    """Make the written table the released one, with a table of manifests that has each number of a run once."""
    manifests = manifests_of(where)
    engine.run("record periods", exp.Create(this=manifests.table, kind="TABLE", expression=row))
    index = exp.Index(
        this=exp.to_identifier(manifests.name + INDEX, quoted=True),
        table=manifests.table,
        params=exp.IndexParameters(columns=[exp.Ordered(this=column(RUN))]),
    )
    engine.run("record periods", exp.Create(this=index, kind="INDEX", unique=True))
    rename = exp.AlterRename(this=exp.Table(this=exp.to_identifier(where.name, quoted=True)))
    engine.run("rename", exp.Alter(this=written.table, kind="TABLE", actions=[rename]))


def _insert(engine: Engine, where: Place, written: Place) -> None:
    """Add the rows of the written table to the released one."""
    columns = engine.catalog.columns(written.table)
    if engine.catalog.columns(where.table) != columns:
        raise TargetError(
            f"The table {where.name!r} has other columns than the periods to come.",
            hint="restore its columns; nothing was published.",
        )
    rows = exp.select(*(column(name) for name, _ in columns)).from_(written.table)
    engine.run("write", exp.Insert(this=where.table, expression=rows))
    engine.run("drop written rows", exp.Drop(tables=[written.table], kind="TABLE"))
