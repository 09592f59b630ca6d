"""Random cases: a table, a policy for it, and the command that carries it out; a seed gives the same everywhere."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import brute
import random_worlds

from fuzzing.columns import FIXED as TYPES
from fuzzing.columns import NAMES, NESTED, NOT_IN_PARQUET, Column, Text, random_column
from fuzzing.trees import random_hierarchy, tree_of

SOURCES = {"duckdb": 45, "parquet": 19, "csv": 20, "sqlite": 13, "postgres": 3}
"""Kinds of sources, and how often each is drawn of a hundred cases."""
ORDINARY = ["VARCHAR"] * 30 + [name for name in TYPES if name not in NESTED] * 2 + ["ENUM('ok', 'q', '', 'é')"] * 2
OF = {
    "duckdb": ORDINARY + list(NESTED),
    "parquet": [name for name in ORDINARY if name not in NOT_IN_PARQUET] + list(NESTED),
    "csv": ["VARCHAR"],
    "sqlite": ["VARCHAR"] * 3 + ["BIGINT"],
    "postgres": ["VARCHAR"] * 3 + ["INTEGER", "BIGINT", "BOOLEAN", "UUID", "DECIMAL(10,2)", "TIME"],
}
STRATEGIES = ("auto", "box", "exhaustive", "flash", "flash_two_phase", "ola", "incognito", "best_first", "anon",
              "datafly", "igreedy")  # fmt: skip
ENTITY_OF = {"sqlite": "BIGINT", "postgres": "BIGINT", "csv": "VARCHAR"}
KEY = "0123456789abcdef0123456789abcdef"


@dataclass
class Case:
    """What a seed stands for. ``trees`` of quasi-identifiers are None where their meaning is not known here."""

    seed: int
    source: str
    columns: list[Column]
    document: dict[str, Any]
    folder: Path
    place: str = ""
    """The file of the source, or the URI of its server."""
    delimiter: str = ","
    trees: dict[str, brute.Tree | None] = field(default_factory=dict)
    sensitive: dict[str, brute.Tree | None] = field(default_factory=dict)
    """The trees of sensitive columns."""
    entity: Column | None = None
    options: list[str] = field(default_factory=list)
    after: str | None = None
    """Another command, which follows the run."""
    mistake: str | None = None
    """What was broken in the policy or its files."""
    broken_files: bool = False

    @property
    def size(self) -> int:
        return len(self.columns[0].values)

    def named(self, role: str) -> list[str]:
        """Return the names of the columns with a role, in the policy's order."""
        return [name for name, column in self.document["columns"].items() if column["role"] == role]


def random_case(seed: int, folder: Path, *, postgres: bool = False) -> Case:
    """Return the case of a seed; its hierarchy files are written to ``folder``."""
    rng = random.Random(seed)
    source = rng.choices(list(SOURCES), list(SOURCES.values()))[0]
    if source == "postgres" and not postgres:
        source = "duckdb"
    case = Case(seed, source, [], {}, folder)
    size = rng.choice([0, 1, 2, 5, 12, 30, 30, 60, 60, 90])
    wide = rng.random() < 0.02
    names = _names(rng, 30 if wide else rng.randint(2, 9))
    case.place = f"s{'.db' if source == 'sqlite' else '.' + source}"
    case.document = {"source": case.place, "columns": {}}
    if source in ("duckdb", "sqlite", "postgres"):
        case.document["table"] = f"fuzz.t{seed}" if source == "postgres" else "t"
    if source == "csv" and rng.random() < 0.4:
        case.delimiter = rng.choice([";", "\t", "|"])
        case.document["csv"] = {"delimiter": case.delimiter}
    _add_entity(rng, case, names, size)
    _add_quasi_identifiers(rng, case, names, size, len(names) - 1 if wide else rng.choice([0, 1, 1, 2, 2, 3, 4]))
    if not case.columns:
        _column(rng, case, names or ["only"], size)
    _add_others(rng, case, names, size)
    _add_models(rng, case, size)
    _add_settings(rng, case)
    _add_output(rng, case)
    return case


def _names(rng: random.Random, count: int) -> list[str]:
    chosen = [rng.choice(NAMES) if rng.random() < 0.4 else f"c{i}" for i in range(count)]
    return list({name.casefold().lower(): name for name in chosen}.values())


def _column(rng: random.Random, case: Case, names: list[str], size: int) -> Column | None:
    """Take a name that is left for a new column."""
    if not names:
        return None
    column = random_column(rng, names.pop(), size, OF[case.source])
    if case.source == "csv":
        column.pool = [value if value is None else value.replace("\r\n", "\n") for value in column.pool]
        column.values = [value if value is None else value.replace("\r\n", "\n") for value in column.values]
    case.columns.append(column)
    return column


def _add_entity(rng: random.Random, case: Case, names: list[str], size: int) -> None:
    if rng.random() > 0.25:
        return
    people: list[Text] = [str(i) for i in range(max(1, size // rng.randint(1, 4)))]
    values = [rng.choice(people) for _ in range(size)]
    column = Column(names.pop(), ENTITY_OF.get(case.source, rng.choice(["BIGINT", "VARCHAR"])), people, values, "whole")
    case.columns.append(column)
    case.entity = column
    case.document["entity"] = column.name
    if rng.random() < 0.35:
        case.document["columns"][column.name] = {"role": "pseudonym"}
        (case.folder / "secret.key").write_text(KEY)
        (case.folder / "secret.key").chmod(0o600)
        case.document["key"] = {"file": "secret.key"} | rng.choice([{}, {"context": "study"}])
    else:
        case.document["columns"][column.name] = {"role": "drop"}


def _add_quasi_identifiers(rng: random.Random, case: Case, names: list[str], size: int, count: int) -> None:
    for number in range(count):
        column = _column(rng, case, names, size)
        if column is None:
            return
        hierarchy, rows = random_hierarchy(rng, column, case.folder, number)
        uncovered = rng.choice(["error", "error", "top", "suppress"])
        declared: dict[str, Any] = {"role": "quasi_identifier", "hierarchy": hierarchy}
        if uncovered != "error":
            declared["uncovered"] = uncovered
        if rng.random() < 0.15:
            declared[rng.choice(["min_level", "max_level"])] = rng.choice([0, 1, 2])
        if rng.random() < 0.15:
            declared["weight"] = rng.choice([0.5, 2, 3, 1e-3, 1e6])
        case.document["columns"][column.name] = declared
        case.trees[column.name] = tree_of(rows, uncovered)
        if rng.random() < 0.08:
            wanted = rng.choice(["low", ["low", "high"], ["low", "high", "midpoint"], "class_mean"])
            case.document.setdefault("publish", {})[column.name] = {"as": wanted}


def _add_others(rng: random.Random, case: Case, names: list[str], size: int) -> None:
    """Add columns that are watched, kept, shifted, dropped or not declared, and the flag of a subset."""
    for role in rng.choices(["sensitive", "keep", "drop", "undeclared", "shift"], [8, 5, 2, 2, 1], k=rng.randint(0, 3)):
        column = _column(rng, case, names, size)
        if column is None:
            return
        if role == "shift":
            column.type, column.pool = ("VARCHAR" if case.source in ("csv", "sqlite") else "DATE"), ["2024-01-31"]
            column.values = ["2024-01-31"] * size
            case.document["columns"][column.name] = {"role": role, "days": rng.choice([7, 180])}
        elif role == "keep" and case.trees and rng.random() < 0.2:
            case.document["columns"][column.name] = {"role": role, "with": rng.choice([*case.trees])}
        elif role != "undeclared":
            case.document["columns"][column.name] = {"role": role}
        if role in ("undeclared", "drop") and rng.random() < 0.9:
            case.document["undeclared"] = "drop"


def _add_models(rng: random.Random, case: Case, size: int) -> None:
    document, sensitive = case.document, case.named("sensitive")
    trees = []
    for number, name in enumerate(sensitive):
        column = next(column for column in case.columns if column.name == name)
        rows = None
        if rng.random() < 0.5:
            hierarchy, rows = random_hierarchy(rng, column, case.folder, 90 + number)
            document["columns"][name]["hierarchy"] = hierarchy
        trees.append(tree_of(rows, "error"))
        case.sensitive[name] = trees[-1]
    subset = rng.random() < 0.1
    models = random_worlds.random_models(rng, trees, subset)
    if subset:
        flags = rng.choices(["true", "false"], k=size)
        member = Column("member of", "BIGINT" if case.source == "sqlite" else "BOOLEAN", ["true", "false"], [*flags])
        if case.source == "sqlite":
            member.values = ["1" if flag == "true" else "0" for flag in flags]
        case.columns.append(member)
        document["columns"][member.name] = {"role": "drop"}
    privacy: list[dict[str, Any]] = []
    for place, model in models:
        if place is not None:
            document["columns"][sensitive[place]].setdefault("models", []).append(model)
        else:
            privacy.append(model | ({"subset": {"column": "member of"}} if model["type"] == "delta_presence" else {}))
    privacy += _other_models(rng, case)
    document["privacy"] = privacy or [{"type": "k_anonymity", "k": 2}]


def _other_models(rng: random.Random, case: Case) -> list[dict[str, Any]]:
    """Return models beside those of classes: of the release, of bounded knowledge, of profiles, of a population."""
    found: list[dict[str, Any]] = []
    if "pseudonym" in {column["role"] for column in case.document["columns"].values()} or (
        case.entity is not None and rng.random() < 0.15
    ):
        found.append({"type": "profile_k", "k": rng.choice([1, 2, 3])} | rng.choice([{}, {}, {"at_most": 2}]))
    if rng.random() < 0.06:
        found.append({"type": "bounded_knowledge", "k": rng.choice([2, 3]), "at_most": rng.choice([1, 2, 3])})
    if rng.random() < 0.06:
        kind = rng.choice([*random_worlds.THRESHOLDS])
        model = {"type": kind, "threshold": rng.choice(random_worlds.THRESHOLDS[kind])}
        if kind == "population_uniqueness":
            model |= {"population": rng.choice([300, 10_000]), "estimator": rng.choice(["zayatz", "pitman"])}
        found.append(model)
    if rng.random() < 0.05:
        estimators = [{}, {"estimator": "zero_truncated_poisson"}]
        found.append({"type": "k_map", "k": 3, "population": rng.choice([200, 10**6])} | rng.choice(estimators))
    return found


def _add_settings(rng: random.Random, case: Case) -> None:
    document, quasi = case.document, case.named("quasi_identifier")
    if rng.random() < 0.9:
        document["suppression_limit"] = rng.choice([0, 0.05, 0.1, 0.3, 0.5, 1, "0.2"])
    elif rng.random() < 0.5:
        document["suppression_count"] = rng.choice([0, 3, 10**9])
    for key, values, share in (
        ("nulls", ["basic", "extended"], 0.4),
        ("suppressed", ["redact"], 0.12),
        ("undeclared", ["drop"], 0.3),
        ("report", ["report.html", "report.md", "report.txt"], 0.12),
        ("uncovered", ["top", "suppress"], 0.1),
    ):
        if rng.random() < share:
            document[key] = rng.choice(values)
    if rng.random() < 0.5:
        measure = rng.choice(random_worlds.MEASURES)
        document["quality"] = {"measure": measure}
        if measure in random_worlds.FOLDED and rng.random() < 0.6:
            document["quality"]["aggregate"] = rng.choice(random_worlds.AGGREGATES[1:])
    if rng.random() < 0.5:
        document["search"] = {"strategy": rng.choice(STRATEGIES)}
        if rng.random() < 0.3:
            document["search"] |= rng.choice([{"max_evaluations": 3}, {"gap": 0.2}, {"time_limit": 0.001}])
    if len(quasi) > 5:
        document["search"] = {"max_evaluations": 60}
    if rng.random() < 0.2 and quasi:
        document["transformation"] = rng.choice(
            [
                {"type": "local_recoding", "nodes": rng.choice([1, 2, 4])},
                {"type": "patterns"},
                {"type": "patterns", "at_most": 1, "outliers": True},
                {"type": "patterns", "never": [quasi[0]]},
                {"type": "full_domain"},
            ]
        )
    shown = [name for name, column in document["columns"].items() if column["role"] in ("keep", "sensitive")]
    if shown and rng.random() < 0.9:
        document["accept"] = shown


def _add_output(rng: random.Random, case: Case) -> None:
    files = [{"file": f"out put{ending}"} for ending in (".parquet", ".csv", ".duckdb", ".xml")]
    of_database = [{"table": "released"}, {"view": "released"}, {"live_view": "released"}, {"view": 'a "b.c'}]
    if case.source == "postgres":
        name = f"fuzz.r{case.seed}"
        of_database = [{"table": name}, {"view": name}, {"live_view": name}]
    choices = [files[0], *files, None]
    if "table" in case.document:
        choices += [*of_database, *of_database[:3]]
    output = rng.choice(choices)
    if output is not None:
        case.document["output"] = output
        if "file" in output and rng.random() < 0.1:
            output["mode"] = "0640"
    if rng.random() < 0.15:
        case.options += ["--script", "script.sql"]
    if rng.random() < 0.2:
        case.options += ["--certificate", "proof.json"]
    case.after = rng.choice([None] * 24 + ["explain", "verify", "check", "risk", "utility", "profile", "again",
                                          "frontier", "convert", "nulls", "refresh", "dialect"])  # fmt: skip


def scratch() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the files of one case."""
    return tempfile.TemporaryDirectory(prefix="fuzz é ")
