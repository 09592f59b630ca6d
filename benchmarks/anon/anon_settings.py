"""The anonymizations of the ANON report's experiments: from a setting (Table 4 of the report) to what ANON visits.

Source: Ciglic, Eder, Koncilia, "ANON - a flexible tool for achieving optimal k-anonymous and l-diverse tables",
section 5. The report's 45,222 records of ADULT are not available; these are the 30,162 of ``adult/adult.csv``, with the
hierarchies beside it. Those have the levels of the report's Table 3, so that the lattice of all seven quasi-identifiers
is the report's, of 2,160 nodes; which values their inner levels join is the folder's own.

With priorities ("rising"), an attribute's priority is its place, 1 to 7, in the report's order of priorities, and its
information loss rises evenly from 0 to 1: the report prints neither numbers. Without ("none"), every step of
generalization costs 1, and of nodes with equally many steps the one that generalizes earlier attributes of Table 3
comes first: the breadth-first search that the report compares with. "Age first" is "rising" with age moved to the
highest place, "doubling" has the priorities 1, 2, 4, …, 64 in the order of "rising".
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlanon
from sqlanon.core.search.base import TIE, Verdict

QUASI_IDENTIFIERS = ("age", "sex", "race", "marital-status", "education", "native-country", "workclass")
"""In the order of Table 3, which is that of the experiments and of the definition file of the second run."""
SENSITIVE = ("salary-class", "occupation")
"""What l1 and l2 are asked of: the attributes 8 and 9 of Table 3."""
PRIORITY_ORDER = ("age", "native-country", "education", "marital-status", "workclass", "race", "sex")
"""Lowest first, as the report orders them."""
WEIGHTS = {
    "rising": {name: float(place) for place, name in enumerate(PRIORITY_ORDER, start=1)},
    "doubling": {name: 3 * 2.0**place for place, name in enumerate(PRIORITY_ORDER)},
    "age first": {name: 3.0 * place for place, name in enumerate((*PRIORITY_ORDER[1:], "age"), start=1)},
    "none": dict.fromkeys(PRIORITY_ORDER, 1.0),
}
"""The weight of every quasi-identifier, by what a setting calls its priorities; three times as much where thirds of a
level would make sums of equal losses differ in their last digit."""
WITHOUT = "none"


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of parameters (Table 4).

    Attributes:
        qis: how many quasi-identifiers, the first of Table 3.
        l1, l2: distinct values asked of salary class and occupation; 1 asks nothing.
        suppression: the share of records that may be left out.
        priorities: a key of ``WEIGHTS``.
    """

    qis: int = 7
    k: int = 2
    l1: int = 1
    l2: int = 1
    suppression: float = 0.0
    priorities: str = "rising"

    @property
    def diversities(self) -> dict[str, int]:
        """Sensitive attribute -> distinct values asked, of those that are asked for any."""
        asked = zip(SENSITIVE, (self.l1, self.l2), strict=True)
        return {name: distinct for name, distinct in asked if distinct > 1}


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a setting.

    Attributes:
        visited: nodes that ANON's Algorithm 2 visits; all of the lattice when there is no solution.
        box_judged: nodes that the strategy ``box`` judges to prove the same optimum.
        seconds, box_seconds: of the two searches.
        loss: weighted information loss; without priorities, the number of generalization steps.
        weighted: weighted information loss of the chosen levels by the priorities "rising", as a share of the highest.
        levels: of the node that ANON stops at, in the order of Table 3; empty without a solution.
        fault: what is wrong with the answer.
    """

    setting: Setting
    lattice: int
    visited: int
    box_judged: int
    seconds: float
    box_seconds: float
    loss: float | None = None
    weighted: float | None = None
    levels: tuple[int, ...] = ()
    classes: int = 0
    published: int = 0
    suppressed: int = 0
    fault: str = ""

    @property
    def average_class_size(self) -> float | None:
        """Published records a class, the report's average partition size."""
        return self.published / self.classes if self.classes else None


@dataclass(frozen=True, slots=True)
class Searched:
    """One strategy's answer to a setting; ``plan`` is None when no node meets it."""

    plan: sqlanon.Plan | None
    evaluated: int
    seconds: float


class Experiments:
    """Runs settings, each once; those over the same columns share an encoding. A context manager."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "adult"
        self._plans: dict[Setting, sqlanon.Plan] = {}
        self._runs: dict[Setting, Run] = {}

    def __enter__(self) -> Experiments:
        return self

    def __exit__(self, *_: object) -> None:
        for plan in self._plans.values():
            plan.close()

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs so far."""
        return tuple(self._runs.values())

    def heights(self, qis: int) -> tuple[int, ...]:
        """Levels of the hierarchies of the first quasi-identifiers, level 0 included."""
        return tuple(attribute.height for attribute in self._base(Setting(qis)).catalog.attributes)

    def lattice(self, qis: int) -> int:
        """Nodes of the lattice of the first quasi-identifiers."""
        return math.prod(self.heights(qis))

    def run(self, setting: Setting) -> Run:
        """The run of a setting."""
        if setting not in self._runs:
            self._runs[setting] = self._fresh(setting)
        return self._runs[setting]

    def occupations(self) -> Mapping[str, int]:
        """Records of each occupation."""
        with (self._folder / "adult.csv").open(encoding="utf-8", newline="") as file:
            return Counter(row["occupation"] for row in csv.DictReader(file, delimiter=";"))

    def _fresh(self, setting: Setting) -> Run:
        base = self._base(setting)
        lattice = base.certificate.lattice_size
        anon, box = self._search(base, setting, "anon"), self._search(base, setting, "box")
        visited = lattice if anon.plan is None else int(anon.plan.search.statistics["visited"])
        if anon.plan is None or box.plan is None:
            fault = "" if anon.plan is box.plan else "one strategy finds a solution and the other does not"
            return Run(setting, lattice, visited, box.evaluated, anon.seconds, box.seconds, fault=fault)
        answer = first(anon.plan)
        levels = dict(zip(QUASI_IDENTIFIERS, answer.node, strict=False))
        return Run(
            setting=setting,
            lattice=lattice,
            visited=visited,
            box_judged=box.evaluated,
            seconds=anon.seconds,
            box_seconds=box.seconds,
            loss=answer.loss,
            weighted=weighted_share(levels, self.heights(setting.qis)),
            levels=answer.node,
            classes=answer.classes,
            published=anon.plan.ledger.records - answer.suppressed,
            suppressed=answer.suppressed,
            fault="; ".join(faults(anon.plan, box.plan)),
        )

    def _search(self, base: sqlanon.Plan, setting: Setting, strategy: str) -> Searched:
        try:
            plan = base.with_policy(self.policy(setting, strategy))
        except sqlanon.NoSolutionError:
            return Searched(None, 0, 0.0)
        return Searched(plan, plan.certificate.evaluated, plan.seconds["search"])

    def _base(self, setting: Setting) -> sqlanon.Plan:
        """A plan with the columns of the setting, for others to share its encoding; it asks next to nothing."""
        key = Setting(setting.qis, k=1, l1=min(setting.l1, 2), l2=min(setting.l2, 2), suppression=1.0)
        if key not in self._plans:
            self._plans[key] = sqlanon.plan(None, self.policy(key, "box"))
        return self._plans[key]

    def policy(self, setting: Setting, strategy: str) -> sqlanon.Policy:
        """The policy of a setting."""
        weight = WEIGHTS[setting.priorities]
        columns: dict[str, dict[str, Any]] = {
            name: {
                "role": "quasi_identifier",
                "hierarchy": {"file": str(self._folder / f"adult_hierarchy_{name}.csv")},
                "weight": weight[name],
            }
            for name in QUASI_IDENTIFIERS[: setting.qis]
        }
        if setting.priorities == WITHOUT:
            for name, height in zip(columns, self.heights(setting.qis), strict=True):
                columns[name]["hierarchy"]["information_loss"] = list(range(height))
        for name, asked in setting.diversities.items():
            columns[name] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": asked}]}
        return sqlanon.Policy.from_dict(
            {
                "source": str(self._folder / "adult.csv"),
                "csv": {"delimiter": ";"},
                "undeclared": "drop",
                "columns": columns,
                "privacy": [{"type": "k_anonymity", "k": setting.k}],
                "suppression_limit": setting.suppression,
                "quality": {"measure": "weighted_information_loss"},
                "search": {"strategy": strategy},
            }
        )


def first(plan: sqlanon.Plan) -> Verdict:
    """The node that ANON stops at: of the best that were judged the first in its order (``sqlanon.core.search.anon``).

    The plan's own solution is one that loses as little, and of those the one that suppresses fewest records.
    """
    best = plan.certificate.loss * (1 + TIE)
    equal = (verdict for verdict in plan.search.solutions if verdict.loss <= best)
    return min(equal, key=lambda verdict: (sum(verdict.node), tuple(-level for level in verdict.node)))


def weighted_share(levels: Mapping[str, int], heights: tuple[int, ...]) -> float:
    """Weighted information loss of levels by the priorities "rising", as a share of that of the top.

    >>> weighted_share({"age": 4, "sex": 0}, (5, 2))
    0.125
    """
    weight = WEIGHTS["rising"]
    lost = sum(weight[n] * level / (height - 1) for (n, level), height in zip(levels.items(), heights, strict=True))
    return lost / sum(weight[name] for name in levels)


def faults(anon: sqlanon.Plan, box: sqlanon.Plan) -> list[str]:
    """What is wrong with two answers to the same setting: each is proven, and they lose the same."""
    told = [f"{plan.certificate.strategy} has no proof" for plan in (anon, box) if not plan.certificate.optimal]
    theirs, ours = anon.certificate.loss, box.certificate.loss
    if abs(theirs - ours) > 1e-9 * max(abs(theirs), abs(ours)):
        told.append(f"anon loses {theirs}, box {ours}")
    return told
