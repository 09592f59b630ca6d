"""One contract of all privacy models: a new one has every rendition, or says why not, and they say the same.

A model is judged in the process and by SQL, on DuckDB and on SQLite; its release is audited, verified, and shown by a
live view where it can be; it has words. ``model_table.FORMS`` must have a form of each: what is forgotten there fails.
"""

import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from model_table import FORMS

import sqlanon
from sqlanon.core.models import MODELS
from sqlanon.core.models.base import PrivacyModel, is_of_release
from sqlanon.core.sqltrees import files
from sqlanon.errors import PolicyError, UnsupportedError

KINDS: dict[str, Any] = {kind.type: kind for kind in MODELS}  # type: ignore[attr-defined]
NUMBERED = [(number, name, given) for number, (name, given) in enumerate(FORMS)]
IDS = [f"{name}{''.join(f'-{value}' for value in given.values() if isinstance(value, str))}" for name, given in FORMS]
ZIPS = {"a": ["ab", "*"], "b": ["ab", "*"], "c": ["cd", "*"], "d": ["cd", "*"]}
ILLNESSES = {"flu": "lungs", "cold": "lungs", "angina": "heart", "stroke": "heart"}


def records() -> list[tuple[Any, ...]]:
    chance = random.Random(11)
    drawn = ((chance.choice("abcd"), str(chance.randint(1, 4))) for _ in range(160))
    return [
        (*quasi, chance.choices([*ILLNESSES], [5, 3, 3, 2])[0], n // 2, n % 3 == 0) for n, quasi in enumerate(drawn)
    ]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same records in a file of each embedded engine; ``people`` are the population of k-map."""
    folder = tmp_path_factory.mktemp("contract")
    paths = {kind: folder / f"clinic.{kind}" for kind in ("duckdb", "sqlite")}
    for kind, path in paths.items():
        connection: Any = duckdb.connect(path) if kind == "duckdb" else sqlite3.connect(path)
        flag = "BOOLEAN" if kind == "duckdb" else "INTEGER"
        for name, times in (("t", 1), ("people", 2)):
            cells = f"zip VARCHAR, age VARCHAR, illness VARCHAR, person INTEGER, member {flag}"
            connection.execute(f"CREATE TABLE {name} ({cells})")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?, ?)", records() * times)
        connection.commit()
        connection.close()
    return paths


def policy(source: Path, name: str, parameters: dict[str, Any], **more: Any) -> sqlanon.Policy:
    model = {"type": name, **parameters}
    columns: dict[str, Any] = {
        "zip": {"role": "quasi_identifier", "hierarchy": {"levels": ZIPS}},
        "age": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
        "illness": {"role": "keep"},
        "person": {"role": "drop"},
        "member": {"role": "drop"},
    }
    privacy = [model]
    if KINDS[name].watches:
        tree = {value: [group, "*"] for value, group in ILLNESSES.items()}
        columns["illness"] = {"role": "sensitive", "models": [model], "hierarchy": {"levels": tree}}
        privacy = [{"type": "k_anonymity", "k": 2}]
    keys = {"entity": "person"} if name == "profile_k" else {}
    return sqlanon.Policy.from_dict(
        {
            "source": str(source),
            "table": "t",
            "columns": columns,
            "privacy": privacy,
            "suppression_limit": 0.6,
            **keys,
            **more,
        }
    )


def model_of(name: str, parameters: dict[str, Any]) -> PrivacyModel:
    [model] = [m for m in policy(Path("t.duckdb"), name, parameters).models if m.type == name]
    return model


def judged(chosen: sqlanon.Policy) -> tuple[bool, list[Any]]:
    """Whether nodes are judged in the process; the verdict of each node, and the optimum."""
    with sqlanon.plan(None, chosen) as plan:
        verdicts = plan.evaluate_many([{"zip": x, "age": y} for x in range(3) for y in range(2)])
        facts = [(v.suppressed, v.classes, v.by_model, v.lower_bounds.suppressed, round(v.loss, 9)) for v in verdicts]
        return plan.session.judged_in_process, [*facts, plan.levels, round(plan.certificate.loss, 9)]


def test_every_model_has_a_form_here_and_its_files() -> None:
    assert {name for name, _ in FORMS} == {*KINDS}
    for name, parameters in FORMS:
        model = model_of(name, parameters)
        assert files.parse(model.file) and files.parse(model.audit_file)
        judges = "judge_release" if is_of_release(model) else "judge"
        assert callable(getattr(model, judges, None)) or name == "profile_k", name


@pytest.mark.parametrize("name, parameters", FORMS, ids=IDS)
def test_a_model_has_words_of_its_own(name: str, parameters: dict[str, Any]) -> None:
    model = model_of(name, parameters)
    sentence = model.sentence("records")
    assert type(model).sentence is not PrivacyModel.sentence and sentence.endswith(".") and name not in sentence
    assert model.words != model.label and name not in model.words


@pytest.mark.slow
@pytest.mark.parametrize("name, parameters", FORMS, ids=IDS)
def test_the_process_and_every_engine_judge_alike(
    sources: dict[str, Path], name: str, parameters: dict[str, Any]
) -> None:
    answers = {
        (kind, where): judged(policy(path, name, parameters, search={"where": where}))
        for kind, path in sources.items()
        for where in ("auto", "engine")
    }
    assert all(in_process == (where == "auto") for (_, where), (in_process, _) in answers.items())
    wanted = answers["duckdb", "engine"][1]
    assert [answer for answer in answers.values() if answer[1] != wanted] == []


@pytest.mark.slow
@pytest.mark.parametrize("number, name, parameters", NUMBERED, ids=IDS)
def test_a_release_is_audited_verified_and_shown_by_a_live_view(
    sources: dict[str, Path], number: int, name: str, parameters: dict[str, Any], tmp_path: Path
) -> None:
    target = tmp_path / "released.parquet"
    chosen = policy(sources["duckdb"], name, parameters, output={"file": str(target)})
    with sqlanon.anonymize(None, chosen) as release:  # its audits raise
        assert release.certificate.optimal
    rows = Counter(duckdb.sql(f"FROM '{target}'").fetchall())
    assert rows
    verified = sqlanon.verify(f"{target}.certificate.json", chosen)
    assert verified.holds and verified.optimal
    try:
        live = policy(sources["duckdb"], name, parameters, output={"live_view": f"shown_{number}"})
        sqlanon.anonymize(None, live).close()
    except (PolicyError, UnsupportedError) as error:
        assert "live view" in str(error) and "Hint" in str(error)
        return
    with duckdb.connect(sources["duckdb"]) as connection:
        assert Counter(connection.execute(f"FROM shown_{number}").fetchall()) == rows
