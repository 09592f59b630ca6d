"""The model of examples/extension has every rendition that a built-in model has, each compared with plain Python."""

import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from policies import document_of, quasi, sensitive

import sqlanon
from sqlanon.core.evaluate.in_process import can_judge
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import InputError, SourceChangedError, UnsupportedError
from sqlanon.extending import Extensions
from sqlanon.testing import check_model

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "extension"
SHARE = 0.5
DIAGNOSES = ("flu", "cold", "angina", None)
Row = tuple[str | None, ...]


@pytest.fixture(scope="module")
def model() -> Iterator[type]:
    sys.path.insert(0, str(EXAMPLE))
    from hospital_rules.max_share import MaxShare

    yield MaxShare
    sys.path.remove(str(EXAMPLE))
    for name in [name for name in sys.modules if name.split(".")[0] == "hospital_rules"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def extensions(model: type) -> Extensions:
    return Extensions(models={"max_share": model})


def drawn(seed: int, count: int) -> list[tuple[int, str, str | None]]:
    chance = random.Random(seed)
    return [
        (chance.randint(20, 49), chance.choice("ab"), chance.choices(DIAGNOSES, [4, 3, 2, 1])[0]) for _ in range(count)
    ]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE visits (age INTEGER, ward VARCHAR, diagnosis VARCHAR)")
        connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", drawn(3, 400))
    return path


def bands(age: int) -> list[str]:
    """What each level of the hierarchy publishes of an age."""
    return [*(f"{age // width * width}-{age // width * width + width - 1}" for width in (5, 10)), "*"]


AGES = {str(age): bands(age) for age in range(20, 50)}


def document(**changes: Any) -> dict[str, Any]:
    columns = {"age": quasi({"levels": AGES}), "ward": "suppress", "diagnosis": sensitive("max_share", share=SHARE)}
    return document_of(columns, changes, k=3, table="visits", suppression_limit=0.3)


def failing(rows: Counter[Row]) -> set[Row]:
    """The classes of rows, each with its diagnosis last, in which a diagnosis has more than the share."""
    classes: dict[Row, Counter[Any]] = defaultdict(Counter)
    for row, count in rows.items():
        classes[row[:-1]][row[-1]] += count
    return {key for key, counts in classes.items() if max(counts.values()) > SHARE * sum(counts.values())}


def small(rows: Counter[Row]) -> set[Row]:
    sizes: Counter[Row] = Counter()
    for row, count in rows.items():
        sizes[row[:-1]] += count
    return {key for key, size in sizes.items() if size < 3}


def test_the_page_shows_the_files_of_the_example() -> None:
    page = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    for path in (EXAMPLE / "hospital_rules").glob("max_share*"):
        assert path.read_text(encoding="utf-8") in page, path.name


def test_meaning_arrays_and_audit_agree_with_the_definition(extensions: Extensions) -> None:
    for share in (0.34, 0.5, 1):
        check_model(
            "max_share", {"share": share}, extensions=extensions, tables=6, seed=int(100 * share),
            passes=lambda counts, share=share: max(counts.values()) <= share * sum(counts.values()),
        )  # fmt: skip


def test_it_is_judged_in_the_process_and_a_subclass_is_not(model: type, extensions: Extensions, database: Path) -> None:
    policy = sqlanon.Policy.from_dict(document(), extensions=extensions)
    with sqlanon.plan(database, policy) as plan:
        assert can_judge(plan.catalog, plan.question.models)
        stricter = type("Stricter", (model,), {})("diagnosis", SHARE)
        assert not can_judge(plan.catalog, (stricter,))


@pytest.mark.parametrize(
    "answer", [np.zeros(3, bool), (np.zeros(2, bool), None), (np.zeros(10_000), None), None, "error", "change"], ids=str
)
@pytest.mark.few(3)
def test_a_judge_that_answers_wrongly_is_refused(model: type, database: Path, answer: Any) -> None:
    def judge(self: Any, classes: Any, values: Any) -> Any:
        if isinstance(answer, str) and answer == "change":
            classes.n[:] = 0  # what other models read
            return classes.n < 0, None
        return answer if isinstance(answer, np.ndarray | tuple) or answer is None else 1 / 0

    broken = Extensions(models={"max_share": type("Broken", (model,), {"judge": judge})})
    with pytest.raises(InputError, match=r"The (privacy )?model 'max_share'"):
        sqlanon.plan(database, sqlanon.Policy.from_dict(document(), extensions=broken))


def test_a_release_is_audited_verified_and_worded(extensions: Extensions, database: Path, tmp_path: Path) -> None:
    target = tmp_path / "released.parquet"
    policy = sqlanon.Policy.from_dict(document(output={"file": str(target)}), extensions=extensions)
    with sqlanon.anonymize(database, policy) as release:
        assert release.certificate.optimal
        sqlanon.write_report(sqlanon.summarize(release), tmp_path / "report.html")
    rows = Counter(duckdb.sql(f"FROM '{target}'").fetchall())
    assert rows and not failing(rows) and not small(rows)
    verified = sqlanon.verify(f"{target}.certificate.json", policy, source=database)
    assert verified.holds and verified.optimal
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "No value of diagnosis makes up more than 0.5 of the records of a class." in text


def test_a_release_that_breaks_the_model_is_found_by_its_audit(extensions: Extensions, database: Path) -> None:
    policy = sqlanon.Policy.from_dict(document(), extensions=extensions)
    bad = pa.table(
        {"age": ["*"] * 8, "ward": ["a"] * 4 + ["b"] * 4, "diagnosis": ["flu"] * 3 + ["cold"] * 3 + [None] * 2}
    )
    with sqlanon.plan(database, policy) as plan:
        [audit] = [audit for audit in plan._audits() if audit.column == "diagnosis"]
        plan.source.engine.load("bad", "bad", bad)
        assert plan.source.engine.run("audit", audit.offending(table("bad"), ["age", "ward"])) == [(4,)]


def test_a_live_view_follows_its_source(extensions: Extensions, database: Path) -> None:
    policy = sqlanon.Policy.from_dict(document(output={"live_view": "shown"}), extensions=extensions)
    with sqlanon.anonymize(database, policy) as release:
        levels = dict(release.levels)
    for seed in range(4):
        with duckdb.connect(database) as connection:
            if seed:
                connection.execute("DELETE FROM visits WHERE random() < 0.3")
                connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", drawn(seed, 40))
                connection.execute(f"INSERT INTO visits SELECT {20 + 5 * seed}, 'a', 'flu' FROM range(150)")
            shown = Counter(connection.execute("FROM shown").fetchall())
            records = connection.execute("FROM visits").fetchall()
        everybody: Counter[Row] = Counter()
        for age, ward, diagnosis in records:
            everybody[([str(age), *bands(age)][levels["age"]], [ward, "*"][levels["ward"]], diagnosis)] += 1
        gone = failing(everybody) | small(everybody)
        assert shown == Counter({row: n for row, n in everybody.items() if row[:-1] not in gone}), seed
        assert shown and (gone or seed == 0)


@pytest.mark.parametrize("own", [{"live_file": None}, {}], ids=["none", "inherited"])
def test_a_live_view_without_a_file_of_its_own_is_refused(model: type, database: Path, own: dict[str, Any]) -> None:
    mute = Extensions(models={"max_share": type("Mute", (model,), own)})
    policy = sqlanon.Policy.from_dict(document(output={"live_view": "shown"}), extensions=mute)
    with pytest.raises(UnsupportedError, match="cannot judge diagnosis: max_share"):
        sqlanon.anonymize(database, policy)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT MAX(n) < 3 AS fine FROM histogram",
        "SELECT n < 3 AS passes FROM histogram",
        "SELECT MAX(n) < 3 AS passes FROM histogram GROUP BY value",
        "SELECT MAX(value) < 'x' AS passes FROM histogram",
        "SELECT MAX(n) < (SELECT 3) AS passes FROM histogram",
        "SELECT AVG(n) < 3 AS passes FROM histogram",
        "SELECT MAX(n) < 3 AS passes FROM classes",
        "SELECT COUNT() < 3 AS passes FROM histogram",
        "SELECT MAX(n, 2)[2] < 3 AS passes FROM histogram",
        "SELECT MAX(n) < :nothing AS passes FROM histogram",
    ],
)
def test_a_live_file_that_is_no_condition_over_a_class_is_refused(model: type, tmp_path: Path, text: str) -> None:
    (tmp_path / "live.sql").write_text(text)
    other = Extensions(models={"max_share": type("Other", (model,), {"live_file": str(tmp_path / "live.sql")})})
    with pytest.raises(sqlanon.PolicyError, match="live file"):
        sqlanon.Policy.from_dict(document(), extensions=other)


def test_a_live_file_that_lets_too_much_pass_is_found(model: type, database: Path, tmp_path: Path) -> None:
    (tmp_path / "live.sql").write_text("SELECT MAX(n) <= SUM(n) AS passes FROM histogram")
    weak = Extensions(models={"max_share": type("Weak", (model,), {"live_file": str(tmp_path / "live.sql")})})
    with pytest.raises(AssertionError, match="in a live view"):
        check_model("max_share", {"share": SHARE}, extensions=weak, tables=5)
    with duckdb.connect(database) as connection:
        connection.execute("UPDATE visits SET diagnosis = 'flu' WHERE age < 25")
    policy = sqlanon.Policy.from_dict(document(output={"live_view": "shown"}), extensions=weak)
    with pytest.raises(SourceChangedError):
        sqlanon.anonymize(database, policy)
