"""Problems on real datasets: from a line of the oracles, or a row of a paper's table, to a policy; plans share
encodings.

The folder of data holds one folder a dataset: ``adult/adult.csv``, ``adult/adult_hierarchy_<column>.csv``,
``adult/adult_subset.csv``. A column without a hierarchy file has one level above its values. ``adult_2015`` is ADULT
with the hierarchy files of that folder in place of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlanon

WITHOUT_COLUMN = (
    "k_anonymity", "k_map", "average_risk", "sample_uniqueness", "population_uniqueness", "bounded_knowledge",
    "profile_k",
)  # fmt: skip
"""Models that watch no sensitive column."""
FILES = ("adult", "adult_2015", "cup", "creditcard")
STEMS = {"adult_2015": "adult", "creditcard": "creditcard_int"}
"""What the files of a dataset are called, where that is not its own name."""


def lines(oracles: Path, name: str) -> list[dict[str, Any]]:
    """The cases of one file. Of lines that state the same problem the one with the least loss stands.

    A limit of 1e-9 allows no suppression either, so it states the problem of limit 0 again; for δ-presence the
    reference prunes at limit 0 as if it were monotone, and misses optima that it finds at 1e-9.
    """
    cases = [json.loads(line) for line in (oracles / f"{name}.jsonl").read_text().splitlines()]
    best: dict[str, dict[str, Any]] = {}
    for case in cases:
        key = problem(case)
        if key not in best or case["loss"] < best[key]["loss"] * (1 - 1e-9):
            best[key] = case
    return [{**case, "superseded_by": _better(best[problem(case)], case)} for case in cases]


def _better(best: dict[str, Any], case: dict[str, Any]) -> dict[str, Any] | None:
    return best if best["loss"] < case["loss"] * (1 - 1e-9) else None


def problem(case: dict[str, Any]) -> str:
    """What a case asks, with its limit as what it allows."""
    asked = {name: case[name] for name in ("dataset", "quasi_identifiers", "models", "measure", "aggregate")}
    limit = case["suppression_limit"]
    return json.dumps({**asked, "limit": 0.0 if limit < 1e-6 else limit}, sort_keys=True)


def policy_of(data: Path, case: dict[str, Any], **changes: Any) -> sqlanon.Policy:
    """The policy of a case (the fields of a line of the oracles); ``changes`` replace keys of the policy."""
    dataset = case["dataset"]
    stem = STEMS.get(dataset, dataset)
    folder = data / ("adult" if dataset == "adult_2015" else dataset)

    def hierarchy(name: str) -> dict[str, Any]:
        for place in (data / dataset, folder):
            path = place / f"{stem}_hierarchy_{name}.csv"
            if path.exists():
                return {"file": str(path)}
        return {"suppress": {}}

    columns: dict[str, dict[str, Any]] = {
        name: {"role": "quasi_identifier", "hierarchy": hierarchy(name)} for name in case["quasi_identifiers"]
    }
    privacy: list[dict[str, Any]] = []
    for model in case["models"]:
        if model["type"] == "delta_presence":
            privacy.append({**model, "subset": {"file": str(folder / f"{stem}_subset.csv")}})
        elif model["type"] in WITHOUT_COLUMN:
            privacy.append(model)
        else:
            watched = columns.setdefault(case["sensitive"], {"role": "sensitive", "models": []})
            watched["models"].append(model)
            if model.get("distance") == "hierarchical":
                watched["hierarchy"] = hierarchy(case["sensitive"])
    return sqlanon.Policy.from_dict(
        {
            "source": str(folder / f"{stem}.csv"),
            "csv": {"delimiter": ";"},
            "undeclared": "drop",
            "columns": columns,
            "privacy": privacy,
            "suppression_limit": case["suppression_limit"],
            "quality": {"measure": case["measure"], "aggregate": case["aggregate"]},
            **changes,
        }
    )


QUASI_IDENTIFIERS = {
    "adult": (
        "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class",
        "occupation",
    ),
    "cup": ("ZIP", "AGE", "GENDER", "INCOME", "STATE", "NGIFTALL", "MINRAMNT", "RAMNTALL"),
}  # fmt: skip
"""As in the papers, the sensitive attribute of the 2015 paper last; CREDITCARD has them in the order of its file."""
MODELS: dict[str, dict[str, Any]] = {
    "k_anonymity": {"type": "k_anonymity", "k": 5},
    "recursive": {"type": "recursive_l_diversity", "l": 3, "c": 4},
    "entropy": {"type": "entropy_l_diversity", "l": 3},
    "t_closeness": {"type": "t_closeness", "t": 0.2, "distance": "hierarchical"},
}


SEARCHES: dict[str, tuple[dict[str, Any], float]] = {
    "adult": ({"dataset": "adult", "columns": 9}, 0.269634662789405),
    "adult, limit 0": ({"dataset": "adult", "columns": 9, "limit": 0.0}, 0.6355438467035841),
    "adult, limit 1": ({"dataset": "adult", "columns": 9, "limit": 1.0}, 0.2277003232568182),
    "adult, recursive": ({"dataset": "adult", "columns": 8, "model": "recursive"}, 0.1802946697625),
    "adult, entropy": ({"dataset": "adult", "columns": 8, "model": "entropy"}, 0.22227039777050966),
    "adult, t-closeness": ({"dataset": "adult", "columns": 8, "model": "t_closeness"}, 0.674945813425),
    "cup": ({"dataset": "cup", "columns": 8}, 0.1428686758889928),
    "cup, limit 0": ({"dataset": "cup", "columns": 8, "limit": 0.0}, 0.8149327662000001),
    "cup, limit 1": ({"dataset": "cup", "columns": 8, "limit": 1.0}, 0.1428686758889928),
    "cup, recursive": ({"dataset": "cup", "columns": 7, "model": "recursive"}, 0.11919337592854162),
    "cup, t-closeness": ({"dataset": "cup", "columns": 7, "model": "t_closeness"}, 0.2723173289027379),
    "creditcard, 10": ({"dataset": "creditcard", "columns": 10}, 0.2495838935185185),
    "creditcard, 12": ({"dataset": "creditcard", "columns": 12}, 0.359584413580247),
    "creditcard, 15": ({"dataset": "creditcard", "columns": 15}, 0.4876675308641976),
}
"""The policy of a case, and the loss of its optimum: that of the oracles, or, where they have none (CUP with sensitive
values, 12 and 15 columns), the one that this package has proven."""


def problem_of(
    data: Path, dataset: str, columns: int, model: str = "k_anonymity", limit: float = 0.05
) -> dict[str, Any]:
    """The problem of a benchmark as the oracles state it: the first ``columns`` of a dataset, one model, the loss."""
    if dataset == "creditcard":
        header = (data / dataset / "creditcard_int.csv").open().readline().strip()
        listed = tuple(header.split(";"))
    else:
        listed = QUASI_IDENTIFIERS[dataset]
    return {
        "dataset": dataset,
        "quasi_identifiers": list(listed[:columns]),
        "sensitive": listed[-1] if model != "k_anonymity" else None,
        "models": [MODELS[model]],
        "suppression_limit": limit,
        "measure": "loss",
        "aggregate": "arithmetic_mean",
    }


def search_case(
    data: Path, dataset: str, columns: int, model: str = "k_anonymity", limit: float = 0.05, **changes: Any
) -> sqlanon.Policy:
    """The policy of a benchmark's problem (``problem_of``); ``changes`` replace keys of the policy."""
    return policy_of(data, problem_of(data, dataset, columns, model, limit), **changes)


def oracle_loss(oracles: Path, asked: dict[str, Any]) -> float | None:
    """The optimum that the oracles know of a problem; None when they do not have it."""
    path = oracles / f"{asked['dataset']}.jsonl"

    def unordered(case: dict[str, Any]) -> str:
        models = [{name: float(v) if isinstance(v, int) else v for name, v in m.items()} for m in case["models"]]
        return problem({**case, "quasi_identifiers": sorted(case["quasi_identifiers"]), "models": models})

    wanted = unordered(asked)
    known = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return min((case["loss"] for case in known if unordered(case) == wanted), default=None)


class Plans:
    """Plans of many policies: those that need the same encoding of the same file share it. A context manager."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._plans: list[sqlanon.Plan] = []

    def __enter__(self) -> Plans:
        return self

    def __exit__(self, *_: object) -> None:
        for plan in self._plans:
            plan.close()

    def plan(self, case: dict[str, Any], **changes: Any) -> sqlanon.Plan:
        """The searched plan of a case."""
        policy = policy_of(self._data, case, **changes)
        for known in self._plans:
            if known.policy.source == policy.source:
                with suppress(sqlanon.InputError):
                    return known.with_policy(policy)
        made = sqlanon.plan(None, policy)
        self._plans.append(made)
        return made


def faults(plan: sqlanon.Plan, case: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a plan by its oracle: loss to 1e-6 (relative), suppressed count, levels, proof.

    Other levels are right only if their loss is the same: another node of the lattice ties.
    """
    case = case.get("superseded_by") or case
    found = plan.certificate
    if not found.optimal:
        yield "no proof"
    if abs(found.loss - case["loss"]) > 1e-6 * abs(case["loss"]) + 1e-12:
        yield f"loss {found.loss} where {case['loss']} is the optimum"
    elif plan.solution.levels != case["levels"]:
        other = plan.evaluate(case["levels"])
        if abs(other.loss - found.loss) > 1e-9 * abs(found.loss) + 1e-12:
            yield f"levels differ, and theirs have the loss {other.loss}"
    elif case["suppressed"] not in (None, plan.solution.suppressed):
        yield f"{plan.solution.suppressed} suppressed where {case['suppressed']} is right"
