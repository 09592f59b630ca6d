"""Where each privacy model is judged after its release: a table of the documentation, made from the code's refusals."""

from typing import Any

import sqlanon
from sqlanon.core.models import MODELS
from sqlanon.errors import UnsupportedError
from sqlanon.interop.scripts.dbt.release import refuse_release
from sqlanon.live.view import refuse_policy

FORMS: list[tuple[str, dict[str, Any]]] = [
    ("k_anonymity", {"k": 5}),
    ("distinct_l_diversity", {"l": 2}),
    ("entropy_l_diversity", {"l": 2}),
    ("recursive_l_diversity", {"l": 2, "c": 2}),
    ("t_closeness", {"t": 0.2}),
    ("t_closeness", {"t": 0.2, "distance": "hierarchical"}),
    ("t_closeness", {"t": 0.2, "distance": "ordered"}),
    ("delta_disclosure", {"delta": 1}),
    ("beta_likeness", {"beta": 1}),
    ("delta_presence", {"min": 0, "max": 0.5, "subset": {"column": "member"}}),
    ("k_map", {"k": 5, "population": {"table": "people"}}),
    ("k_map", {"k": 5, "population": 1000000}),
    ("bounded_knowledge", {"k": 5, "at_most": 2}),
    ("profile_k", {"k": 5}),
    ("average_risk", {"threshold": 0.1}),
    ("sample_uniqueness", {"threshold": 0.1}),
    ("population_uniqueness", {"threshold": 0.1, "population": 1000000, "estimator": "pitman"}),
]
SHOWN = {"distance", "population", "subset"}
GENERIC_TESTS = {
    "k_anonymity": "k_anonymous",
    "distinct_l_diversity": "l_diverse",
    "entropy_l_diversity": "l_diverse",
    "recursive_l_diversity": "l_diverse",
    "t_closeness": "t_close",
    "delta_disclosure": "delta_disclosure_private",
    "beta_likeness": "beta_like",
    "k_map": "k_mapped",
    "average_risk": "average_risk",
    "sample_uniqueness": "sample_uniqueness",
}
UNTESTED = ({"distance": "hierarchical"}, {"distance": "ordered"}, {"population": 1000000})
"""Forms of these models that no generic test judges."""


def policy_of(type_name: str, parameters: dict[str, Any]) -> sqlanon.Policy:
    """A policy that asks for one form of a model, on its column if it watches one."""
    watching = {kind.type: kind.watches for kind in MODELS}  # type: ignore[attr-defined]
    model = {"type": type_name, **parameters}
    levels = {"levels": {"a": ["x", "*"], "b": ["x", "*"]}}
    columns: dict[str, Any] = {"zip": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    if watching[type_name]:
        columns["illness"] = {"role": "sensitive", "models": [model], "hierarchy": levels}
    privacy = [{"type": "k_anonymity", "k": 2}] if watching[type_name] else [model]
    document = {"source": "a.duckdb", "table": "t", "columns": columns, "privacy": privacy}
    if type_name == "profile_k":
        document |= {"entity": "person"}
    return sqlanon.Policy.from_dict(document)


def model_table() -> str:
    """The table: a line a form of a model; below it why something is refused, and what to do instead."""
    lines = ["| | view, table, file | live view | dbt model | generic dbt test |", "|---|---|---|---|---|"]
    notes: list[str] = []
    for type_name, parameters in FORMS:
        policy = policy_of(type_name, parameters)
        cells = ["yes"]
        for refuse in (refuse_policy, refuse_release):
            try:
                refuse(policy)
                cells.append("yes")
            except UnsupportedError as error:
                note = f"{error.message} Instead: {error.hint}".replace("A dbt model is built as a live view. ", "")
                if note not in notes:
                    notes.append(note)
                cells.append(f"no ({notes.index(note) + 1})")
        test = None if any(form.items() <= parameters.items() for form in UNTESTED) else GENERIC_TESTS.get(type_name)
        cells.append(f"`{test}`" if test else "none")
        form = ", ".join(f"{name}: {_told(value)}" for name, value in parameters.items() if name in SHOWN)
        lines.append(f"| `{type_name}`{f' ({form})' if form else ''} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *(f"{place}. {note}" for place, note in enumerate(notes, start=1))]) + "\n"


def _told(value: Any) -> str:
    return f"{next(iter(value))}" if isinstance(value, dict) else f"{value}"
