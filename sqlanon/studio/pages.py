"""The parts of the page, from facts: each a piece of HTML by name, drawn with the blocks of the report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader

from sqlanon.assess.frontier.points import Frontier, percent
from sqlanon.assess.profiling.drafting import PolicyDraft
from sqlanon.assess.profiling.proposed import Proposal
from sqlanon.core.engines.journal import Step
from sqlanon.core.policy.columns import UNCOVERED
from sqlanon.errors import NoSolutionError, SqlanonError
from sqlanon.report.blocks import Pictures
from sqlanon.report.frontier_chart import drawing
from sqlanon.report.html import environment
from sqlanon.report.risk_section import cited
from sqlanon.report.sections import key_figures, sections_of
from sqlanon.report.summary import RunSummary
from sqlanon.report.utility_section import pictures
from sqlanon.report.wording import figure
from sqlanon.studio import kinds
from sqlanon.studio.drafts import EditedPolicy
from sqlanon.studio.outcome import FINER_SECONDS, LevelInNumbers, Price

ROLES = {
    "quasi_identifier": "quasi-identifier: may be known",
    "sensitive": "sensitive: must stay secret",
    "keep": "keep: publish as it is",
    "drop": "drop: leave out",
}
NOW = ("records", "attributes", "classes", "rules")
MEASURED = ("risk", "utility", "models", "promised", "nulls", "bias", "beside")
"""Sections of the report that the page shows, by when they are known."""
OUTCOME = ("figures", "measured", "prices", "frontier", "rows", "cited", "comparison", "brief")
"""Parts that are of one policy alone."""


class Pages:
    """Draws the parts of one page."""

    def __init__(self) -> None:
        self._levels: dict[str, tuple[EditedPolicy, list[LevelInNumbers]]] = {}
        self._policy_args: tuple[Any, ...] = ()

    def shell(self) -> str:
        """Return the page before anything is known: it holds nothing of the table."""
        return _templates().get_template("page.html.j2").render()

    def of_policy(self, policy: EditedPolicy, draft: PolicyDraft | None, *, can_undo: bool) -> dict[str, str]:
        """Return the parts that the policy alone decides."""
        self._policy_args = (policy, draft, can_undo)
        quasi = policy.with_role("quasi_identifier")
        columns = [
            {
                "name": name,
                "keys": item.keys,
                "reason": item.reason,
                "questions": item.questions,
                "found": policy.found(name),
                "roles": ROLES if item.keys["role"] in ROLES else {item.keys["role"]: item.keys["role"], **ROLES},
            }
            for name, item in policy.columns.items()
        ]
        general = [
            {"name": item.name, "keys": item.keys, "hierarchy": kinds.hierarchy_of(item.keys),
             "levels": self._known_levels(policy, item.name)}
            for item in quasi
        ]  # fmt: skip
        sensitive = [
            {
                "name": item.name,
                "models": [(m["type"], kinds.parameters_of(m)) for m in kinds.listed(item.keys["models"])],
            }
            for item in policy.with_role("sensitive")
        ]
        models = [
            (place, model["type"], kinds.parameters_of(model))
            for place, model in enumerate(policy.models())
            if model["type"] != "k_anonymity"
        ]
        asked = [item for item in policy.asked.decisions if item.column is None or item.column in policy.columns]
        shared = {"policy": policy, "commands": self._commands(policy), "can_undo": can_undo}
        return {
            "head": _drawn("head.html.j2", **shared, records=policy.profile.records),
            "buttons": _drawn("buttons.html.j2", **shared),
            "columns": _drawn("columns.html.j2", **shared, columns=columns, draft=draft, asked=asked),
            "generalization": _drawn("generalization.html.j2", **shared, columns=general, kinds=kinds.HIERARCHIES),
            "protection": _drawn(
                "protection.html.j2",
                **shared,
                sensitive=sensitive,
                models=models,
                of_columns=kinds.models_for(column=True),
                of_release=kinds.models_for(column=False),
                uncovered=UNCOVERED.words,
            ),
            "out": _drawn("out.html.j2", **shared),
        }

    def _known_levels(self, policy: EditedPolicy, name: str) -> list[LevelInNumbers]:
        """Return a column's levels as they were found last: of an earlier policy, without what may differ by now."""
        of, found = self._levels.get(name, (None, []))
        if of is None or of.columns[name].keys.get("hierarchy") != policy.columns[name].keys.get("hierarchy"):
            return []
        return found if of is policy else [replace(level, chosen=False, shown=None) for level in found]

    def _commands(self, policy: EditedPolicy) -> dict[str, str]:
        """Return the command that does the same as each step, by step."""
        source = str(policy.origin.get("source", "TABLE"))  # as it is written: what variables hold may be secret
        table = [policy.origin["table"]] if "table" in policy.origin else []
        command = shlex.join(["sqlanon", "profile", source, *table, "--write", "policy.yaml"])
        return {
            "columns": command,
            "outcome": "sqlanon run policy.yaml --dry-run --report report.html",
            "frontier": "sqlanon frontier policy.yaml",
            "out": "sqlanon run policy.yaml --report report.html",
        }

    def of_run(self, run: RunSummary, policy: EditedPolicy) -> dict[str, str]:
        """Return what a plan tells at once: its figures, the account of records, levels and classes."""
        sections = [section for section in sections_of(run) if section.key in NOW]
        figures = key_figures(run)
        brief = " \N{MIDDLE DOT} ".join(f"{title.lower()} {value}" for title, value, _ in figures)
        return {
            "figures": _drawn("figures.html.j2", figures=figures, run=run, sections=sections, policy=policy),
            "failure": "",
            "brief": _drawn("brief.html.j2", brief=brief),
        }

    def of_measured(self, run: RunSummary, policy: EditedPolicy) -> dict[str, str]:
        """Return what takes longer: risk and distributions before and after, and thresholds that people cite."""
        sections = [
            replace(section, blocks=tuple(block for block in section.blocks if not isinstance(block, Pictures)))
            for section in sections_of(run)
            if section.key in MEASURED
        ]
        drawn = [] if run.utility is None else [pictures(run.utility)]
        cites = [] if run.risk is None else list(cited(run.risk.after.thresholds, run.risk.before.thresholds))
        return self.of_run(run, policy) | {
            "measured": _drawn("measured.html.j2", sections=sections, pictures=drawn),
            "cited": _drawn("cited.html.j2", cites=cites),
        }

    def values_of(self, policy: EditedPolicy, name: str) -> list[str]:
        """Return the values of a column that enough records have for this policy's page; none where none are known."""
        of, levels = self._levels.get(name, (policy, []))
        shown = levels[0].shown if levels and of.least >= policy.least else None
        return [text for text, _ in shown or () if text != "NULL"]

    def counted_levels(self, policy: EditedPolicy) -> dict[str, list[LevelInNumbers]]:
        """Return the levels that were counted for the hierarchies of a policy, and for its k."""
        return {
            name: levels
            for name, (of, levels) in self._levels.items()
            if of.least == policy.least
            and name in policy.columns
            and of.columns[name].keys.get("hierarchy") == policy.columns[name].keys.get("hierarchy")
        }

    def of_levels(self, levels: Mapping[str, list[LevelInNumbers]]) -> dict[str, str]:
        """Return the step of levels, with the values of each."""
        policy = self._policy_args[0]
        self._levels |= {name: (policy, found) for name, found in levels.items()}
        return self.of_policy(*self._policy_args[:2], can_undo=self._policy_args[2])

    def of_rows(self, rows: Sequence[tuple[str, list[tuple[str, str]]]]) -> dict[str, str]:
        """Return some records before and after."""
        return {"rows": _drawn("rows.html.j2", rows=rows)}

    def of_prices(self, prices: Sequence[Price], *, done: bool = False) -> dict[str, str]:
        """Return what the next finer level of each column costs."""
        return {"prices": _drawn("prices.html.j2", prices=prices, done=done)}

    def without_prices(self) -> dict[str, str]:
        """Return the parts that are of one rule alone, empty: several rules have no single level."""
        return {"prices": _drawn("prices.html.j2", prices=None, done=True), "frontier": "", "rows": ""}

    def without_outcome(self, error: SqlanonError | None, policy: EditedPolicy | None) -> dict[str, str]:
        """Return the outcome's parts, empty, and why the present policy has none."""
        limited = [] if policy is None or not isinstance(error, NoSolutionError) else policy.limited()
        told = "" if error is None else self.failure(error, limited)
        return {**dict.fromkeys(OUTCOME, ""), "failure": told}

    def failure(self, error: SqlanonError, limited: Sequence[str] = ()) -> str:
        """Return why there is no release; ``limited`` are columns whose limits may be in its way."""
        return _drawn("failure.html.j2", error=error, limited=limited)

    def of_frontier(self, found: Frontier | None, note: str, policy: EditedPolicy) -> dict[str, str]:
        """Return the frontier, with the present point on it, and its points as a table."""
        limit = policy.settings.get("suppression_limit")
        points = [] if found is None else found.points
        here = [point for point in points if point.k == policy.k() and limit is not None and
                abs(float(point.limit) - float(limit)) < 1e-12]  # fmt: skip
        return {
            "frontier": _drawn(
                "frontier.html.j2",
                drawing="" if found is None else drawing(found, here[0] if here else None),
                found=found,
                points=[point for point in points if point.found],
                here=here[0] if here else None,
                note=note,
                percent=percent,
                seconds=FINER_SECONDS,
                command="sqlanon frontier policy.yaml",
            )
        }

    def of_comparison(self, found: Sequence[tuple[str, str, Proposal | str]]) -> dict[str, str]:
        """Return one rule, several rules and patterns side by side, as far as they are known."""
        releases = [(kind, name, each) for kind, name, each in found if isinstance(each, Proposal)]
        failed = [(name, each) for _, name, each in found if isinstance(each, str)]
        names = list(dict.fromkeys(column.name for _, _, each in releases for column in each.columns))
        columns = [
            (name, [next((c for c in each.columns if c.name == name), None) for _, _, each in releases])
            for name in names
        ]
        return {"comparison": _drawn("comparison.html.j2", releases=releases, failed=failed, columns=columns)}

    def of_release(self, run: RunSummary, name: str, policy: str, report: str, folder: Path) -> dict[str, str]:
        """Return what was published, and where."""
        beside = [paper for paper in ("manifest", "certificate") if (folder / f"{name}.{paper}.json").exists()]
        files = {"name": name, "policy": policy, "report": report, "folder": folder, "beside": beside}
        return {"released": _drawn("released.html.j2", run=run, **files)}

    def earlier(self, released: str) -> str:
        """Return what was published, or why nothing was, as that of an earlier policy."""
        note = _drawn("earlier.html.j2")
        return released if released.startswith(note) else note + released

    def step(self, step: Step) -> str:
        """Return what a run does at a moment, in words: of a search, how near it is."""
        text = f"{step.phase.capitalize()}"
        if step.done:
            text += f", {step.done:,}{'' if step.total is None else f' of {step.total:,}'} {step.unit or 'nodes'}"
        if step.loss is not None:
            text += f"; loss {figure(step.loss)}"
            if step.lower_bound is not None and step.loss:
                text += f", gap {100 * max(0.0, step.loss - step.lower_bound) / step.loss:.1f} %"
        return f"{text}."


@cache
def _templates() -> Environment:
    """Return the templates of the studio, with those of the report."""
    loader = ChoiceLoader([PackageLoader("sqlanon.studio", "templates"), PackageLoader("sqlanon", "report")])
    made: Environment = environment().overlay(loader=loader)
    return made


def _drawn(template: str, **facts: Any) -> str:
    return _templates().get_template(template).render(**facts)
