"""Hostile policies, Python values and arguments of commands end in an error of ours, never in one from inside."""

import datetime
import json
import random
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from effort import enough, seeds
from policies import document_of, quasi

import sqlanon
from sqlanon.cli import main

HOSTILE: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    5,
    10**30,
    1.5,
    -0.0,
    float("nan"),
    float("inf"),
    "",
    " ",
    "x",
    "../x",
    "/",
    "a.b.c.d",
    "..",
    "\0",
    "é\u2028",
    "'; DROP TABLE t",
    "NULL",
    "1e999999",
    [],
    [[]],
    [{}],
    [None],
    {},
    {"x": {}},
    {"": None},
    [["a"]],
    {"type": "k_anonymity"},
    {"file": "t.csv"},
    {"levels": {"1": [[]]}},
    {"a": ["b", ["c"]]},
    "t.csv",
    ["a", "a"],
]
PYTHON: list[Any] = [
    Decimal("0.05"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Fraction(1, 3),
    np.float32(0.1),
    np.int64(3),
    np.array([1, 2]),
    np.array([[1]]),
    np.bool_(True),
    Path("t.csv"),
    b"bytes",
    datetime.date(2024, 1, 1),
    object(),
    {1, 2},
    range(3),
    "\ud800",
    sqlanon.KAnonymity(2),
    sqlanon.Column.keep("b"),
    sqlanon.Redact(),
    sqlanon.Output.file("o.csv"),
    int,
    (1, "a"),
    iter([1]),
]
SOUND: dict[str, Any] = document_of(
    {
        "a": quasi(
            {"file": "h.csv", "delimiter": ";", "null": "?", "encoding": "utf-8"},
            min_level=0,
            max_level=1,
            weight=1.0,
            uncovered="error",
        ),
        "b": quasi({"intervals": {"width": 5, "fanouts": [2], "lower": 0, "upper": 9}}),
        "c": quasi({"dates": ["month", "year"]}),
        "d": quasi({"levels": {"u": ["v", "*"]}}),
        "e": quasi({"groups": {"g": ["u"]}}),
        "f": quasi({"redact": {"direction": "right", "char": "*"}}),
        "s": {"role": "sensitive", "models": [{"type": "t_closeness", "t": 0.3}]},
    },
    version=1,
    source="t.csv",
    csv={"delimiter": ",", "header": True},
    undeclared="drop",
    privacy=[
        {"type": "k_anonymity", "k": 2},
        {"type": "delta_presence", "min": 0, "max": 1, "subset": {"file": "t.csv"}},
    ],
    suppression_limit=0.05,
    nulls="extended",
    quality={"measure": "loss", "aggregate": "arithmetic_mean"},
    search={"strategy": "auto", "time_limit": 1, "gap": 0.0},
    output={"file": "o.csv"},
    join=[{"source": "t.csv", "key": "a"}],
    engine={"threads": 1},
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1,x\n")
    (tmp_path / "h.csv").write_text("1;*\n")
    (tmp_path / "o.csv.manifest.json").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changed(random_of: random.Random, value: Any, hostile: list[Any]) -> Any:
    """A document with one value, at any depth, replaced; or with a further key."""
    inner = [*value] if isinstance(value, dict) else [*range(len(value))] if isinstance(value, list) else []
    if not inner or random_of.random() < 0.2:
        return random_of.choice(hostile)
    place = random_of.choice(inner)
    copy = dict(value) if isinstance(value, dict) else list(value)
    if isinstance(copy, dict) and random_of.random() < 0.1:
        copy[random_of.choice(["", "width", "x", "null"])] = random_of.choice(hostile)
        return copy
    copy[place] = changed(random_of, copy[place], hostile)
    return copy


def refused(call: Any) -> bool:
    """Whether a call ends in an error of ours; any other error is raised."""
    try:
        call()
    except sqlanon.SqlanonError as error:
        assert str(error)
        return True
    return False


@seeds(60, 10)
def test_documents(block: range, folder: Path) -> None:
    answers = []
    for seed in block:
        random_of = random.Random(seed)
        for _ in range(10):
            document = changed(random_of, SOUND, [*HOSTILE, *PYTHON])
            answers.append(refused(lambda document=document: sqlanon.Policy.from_dict(document)))
    assert any(answers) and enough(answers.count(False))


@seeds(60, 10)
def test_files_and_commands(block: range, folder: Path) -> None:
    codes = []
    for seed in block:
        random_of = random.Random(seed)
        document = changed(random_of, SOUND, HOSTILE)
        for _ in range(random_of.randint(0, 2)):
            document = changed(random_of, document, HOSTILE)
        name = random_of.choice(["p.json", "p.yaml"])
        text = json.dumps(document) if name == "p.json" else yaml.safe_dump(document, sort_keys=False)
        if random_of.random() < 0.2:
            cut = random_of.randrange(len(text) + 1)
            text = text[:cut] + random_of.choice(["", "\t", "]", "{", '"', ": :", "\n- "]) + text[cut:]
        Path(name).write_text(text)
        option = random_of.choice(["--k", "--qi", "--sensitive", "--entity", "--reference", "--delimiter"])
        argument = str(random_of.choice(HOSTILE))
        for command in (
            ["run", name],
            ["explain", name],
            ["convert", name, "q.xml"],
            ["convert", name, "q.yaml", "--replace"],
            ["check", str(random_of.choice(["t.csv", "/", "h.csv", argument])), "--qi", "a", option, argument],
            ["nulls", "t.csv", "--qi", argument],
            ["hierarchy", "check", random_of.choice(["h.csv", "/", argument])],
        ):
            done = CliRunner().invoke(main, command)
            assert isinstance(done.exception, SystemExit | None), (command, text, done.exc_info)
            codes.append(done.exit_code)
    assert set(codes) <= {0, 1, 2} and 2 in codes


@seeds(60, 10)
def test_constructors(block: range, folder: Path) -> None:
    makers = [
        sqlanon.Column,
        sqlanon.Column.quasi_identifier,
        sqlanon.Column.sensitive,
        sqlanon.Model,
        sqlanon.KAnonymity,
        sqlanon.TCloseness,
        sqlanon.EntropyLDiversity,
        sqlanon.Intervals,
        sqlanon.Redact,
        sqlanon.Dates,
        sqlanon.Levels,
        sqlanon.Groups,
        sqlanon.FileHierarchy,
        sqlanon.TableHierarchy,
        sqlanon.Output,
        sqlanon.Output.file,
        sqlanon.SearchOptions,
        sqlanon.Quality,
        sqlanon.EngineOptions,
        sqlanon.Patterns,
        sqlanon.LocalRecoding,
        sqlanon.Join,
    ]
    fields = [
        "columns",
        "privacy",
        "source",
        "csv",
        "join",
        "entity",
        "suppression_limit",
        "quality",
        "search",
        "output",
        "transformation",
        "engine",
        "report",
        "nulls",
        "suppression_count",
        "version",
        "table",
        "if_exists",
    ]
    values = [*HOSTILE, *PYTHON]
    answers = []
    for seed in block:
        random_of = random.Random(seed)
        for _ in range(20):
            maker = random_of.choice(makers)
            given = [random_of.choice(values) for _ in range(random_of.randint(1, 3))]
            try:
                part = maker(*given)
            except TypeError as error:
                if "positional argument" not in str(error):  # a constructor that is called wrongly
                    raise
                continue
            field = random_of.choice(fields)
            column = sqlanon.Column("a", "quasi_identifier", random_of.choice([part, sqlanon.Suppress()]))
            keys = {"columns": [column], "privacy": [sqlanon.KAnonymity(2)], field: random_of.choice([part, *values])}
            answers.append(refused(lambda keys=keys: sqlanon.Policy(**keys)))
    assert enough(answers.count(True))


@pytest.mark.slow
def test_verbs(folder: Path) -> None:
    policy = document_of({"a": "suppress"}, k=2, source="t.csv", undeclared="drop")
    for value in [*HOSTILE, *PYTHON]:
        for verb in (sqlanon.plan, sqlanon.anonymize, sqlanon.recode, sqlanon.refresh):
            refused(lambda verb=verb, value=value: verb(None, value))
        if value is not None:
            refused(lambda value=value: sqlanon.plan(value, policy).close())
        refused(lambda value=value: sqlanon.verify(value, policy))
    with sqlanon.plan(None, policy) as plan:
        for value in [*HOSTILE, *PYTHON]:
            for call in (
                plan.evaluate,
                plan.node_sql,
                plan.classes,
                plan.with_privacy,
                plan.with_policy,
                plan.verdict_sql,
            ):
                refused(lambda call=call, value=value: call(value))
                refused(lambda call=call, value=value: call({"a": value}) if call != plan.with_privacy else None)
            refused(lambda value=value: plan.publish(value))
