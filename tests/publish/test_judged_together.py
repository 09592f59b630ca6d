"""A run with a ledger is judged together with the releases that the ledger holds: optimum, audits, refusals."""

from pathlib import Path
from typing import Any

import brute_joint
import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

import sqlanon
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.evaluate import problem
from sqlanon.core.sqltrees.trees import table
from sqlanon.ledger import recording, run, together
from sqlanon.ledger.joint import JointCounts, LabelledSource, count_joint

pytestmark = pytest.mark.slow

ADULT = ("age", "sex", "race", "marital-status", "education")


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A source of 60 records: ages 20 to 49, two wards, three diagnoses."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT 'v' || i AS id, CAST(20 + i % 30 AS VARCHAR) AS age,"
            " CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS ward, 'd' || (i % 3) AS diagnosis FROM range(60) AS t(i)"
        )
    (tmp_path / "secret.key").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "secret.key").chmod(0o600)
    return tmp_path


def document(folder: Path, out: str, **more: Any) -> dict[str, Any]:
    ages = {str(age): [f"{age // 5 * 5}+", f"{age // 15 * 15}+", "*"] for age in range(15, 60)}
    return {
        "source": str(folder / "clinic.duckdb"),
        "table": "visits",
        "columns": {
            "id": {"role": "drop"},
            "age": {"role": "quasi_identifier", "hierarchy": {"levels": ages}},
            "ward": {"role": "quasi_identifier", "hierarchy": {"levels": {"a": ["*"], "b": ["*"]}}},
            "diagnosis": {"role": "drop"},
        },
        "privacy": [{"type": "k_anonymity", "k": 3}],
        "suppression_limit": 1,
        "ledger": {
            "file": str(folder / "private" / "ledger.duckdb"),
            "record": "id",
            "key": {"file": str(folder / "secret.key")},
        },
        "output": {"file": str(folder / out)},
        **more,
    }


def publish(folder: Path, out: str, **more: Any) -> sqlanon.Release:
    (folder / "private").mkdir(mode=0o700, exist_ok=True)
    policy = sqlanon.Policy.from_dict(document(folder, out, **more))
    return sqlanon.anonymize(None, policy)


def change(folder: Path, statement: str) -> None:
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(statement)


def joint(folder: Path, k: int) -> JointCounts:
    """What all releases of the ledger show together, by the brute force and by what ``sqlanon ledger check`` asks."""
    with duckdb.connect(str(folder / "private" / "ledger.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT number, CAST(person AS VARCHAR), class FROM members").fetchall()
    releases: dict[int, dict[str, int]] = {number: {} for number, *_ in rows}
    for number, person, own in rows:
        releases[number][person] = own
    sizes = [len(persons) for persons in brute_joint.joint_cells(list(releases.values())).values()]
    engine = DuckDBEngine()
    for number, members in releases.items():
        data = {"person": pa.array(members.keys(), pa.string()), "class": pa.array(members.values(), pa.int64())}
        engine.load("members", f"m_{number}", pa.table(data))
    found = count_joint(engine, [table(f"m_{number}") for number in releases], k)
    engine.close()
    small = [size for size in sizes if size < k]
    assert found == JointCounts(len(sizes), sum(sizes), len(small), sum(small), min(sizes))
    return found


def test_an_update_of_the_source_is_released_without_small_joint_cells(clinic: Path) -> None:
    with publish(clinic, "a.csv") as first:
        assert first.plan.catalog.earlier is None
    change(clinic, "DELETE FROM visits WHERE id IN ('v3', 'v17', 'v40')")
    change(clinic, "UPDATE visits SET age = '21' WHERE id IN ('v30', 'v31')")
    change(clinic, "INSERT INTO visits VALUES ('v90', '22', 'a', 'd1'), ('v91', '44', 'b', 'd2')")
    with publish(clinic, "b.csv") as second:
        assert second.plan.certificate.optimal
        assert second.plan.catalog.earlier is not None
        assert second.plan.proof_document is None
        assert "joint_cells(k=3)" in dict(second.plan.suppressed_by_model)
    found = joint(clinic, 3)
    assert found.cells > 1
    assert found.small == 0
    assert found.smallest is not None and found.smallest >= 3


def test_without_the_ledger_the_same_releases_single_persons_out(clinic: Path) -> None:
    with publish(clinic, "a.csv"):
        pass
    change(clinic, "DELETE FROM visits WHERE id = 'v3'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "judge_together", lambda *_: None)
        patch.setattr(recording, "audit_joint", lambda *_, **__: None)
        patch.setattr(recording, "refuse_other_plans", lambda *_: None)
        with publish(clinic, "b.csv"):
            pass
    assert joint(clinic, 3).small_persons == 1


def test_the_audit_finds_what_a_search_overlooks(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with publish(clinic, "a.csv"):
        pass
    change(clinic, "DELETE FROM visits WHERE id = 'v3'")
    monkeypatch.setattr(problem, "joint_models", lambda *_: ())  # nobody looks at those who are absent
    with pytest.raises(sqlanon.AuditError, match="together with the earlier releases"):
        publish(clinic, "b.csv")
    assert not (clinic / "b.csv").exists()


def test_the_audit_finds_small_joint_cells(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with publish(clinic, "a.csv"):
        pass
    change(clinic, "UPDATE visits SET age = '49' WHERE id IN ('v0', 'v1')")
    told = together.label_source

    def one_number(*given: Any) -> LabelledSource:
        labelled = told(*given)
        members = exp.select(*given[2]).select(exp.convert(0).as_("sqlanon_earlier"))
        return LabelledSource(members.from_(given[1].copy()).subquery("labelled"), (0, *labelled.members[1:]))

    monkeypatch.setattr(together, "label_source", one_number)
    monkeypatch.setattr(problem, "joint_models", lambda *_: ())
    with pytest.raises(sqlanon.AuditError, match="together with the earlier releases"):
        publish(clinic, "b.csv")


@pytest.mark.slow
def test_recipients_who_do_not_collude_are_judged_apart(clinic: Path) -> None:
    own = document(clinic, "a.csv")["ledger"]
    with publish(clinic, "a.csv", ledger={**own, "recipient": "x", "colludes": "none"}):
        pass
    with publish(clinic, "b.csv", ledger={**own, "recipient": "y", "colludes": "none"}) as other:
        assert other.plan.catalog.earlier is None
    for name in ("x", "X"):
        with publish(clinic, f"{name}.csv", ledger={**own, "recipient": name, "colludes": "none"}) as again:
            assert again.plan.catalog.earlier is not None


LOCAL = {"transformation": {"type": "local_recoding"}}
CLASSES = {"quality": {"measure": "discernibility"}}
AVERAGE = {"privacy": [{"type": "k_anonymity", "k": 3}, {"type": "average_risk", "threshold": 0.3}]}


@pytest.mark.parametrize(
    ("more", "words"),
    [(LOCAL, "local recoding"), (CLASSES, "counts classes"), (AVERAGE, "average_risk")],
    ids=["local recoding", "a measure of classes", "a model of the release"],
)
def test_what_is_not_judged_together_is_refused(clinic: Path, more: dict[str, Any], words: str) -> None:
    with publish(clinic, "a.csv"):
        pass
    with pytest.raises(sqlanon.UnsupportedError, match=words):
        publish(clinic, "b.csv", **more)


def test_holding_back_beyond_the_limit_is_refused(clinic: Path) -> None:
    with publish(clinic, "a.csv"):
        pass
    with pytest.raises(sqlanon.UnsupportedError, match="hold: true"):
        publish(clinic, "b.csv", ledger={**document(clinic, "b.csv")["ledger"], "hold": True})


def test_statements_for_other_sessions_and_other_policies_are_refused(clinic: Path) -> None:
    with publish(clinic, "a.csv"):
        pass
    with publish(clinic, "b.csv") as release:
        plan = release.plan
        for statement in (plan.script, plan.standalone_sql, lambda: plan.node_sql({}), lambda: plan.verdict_sql({})):
            with pytest.raises(sqlanon.UnsupportedError, match="no other session knows"):
                statement()
        with pytest.raises(sqlanon.UnsupportedError, match="one policy at a time"):
            plan.with_privacy(sqlanon.KAnonymity(4))


def test_plans_of_two_policies_that_were_made_before_either_was_published_are_refused(clinic: Path) -> None:
    (clinic / "private").mkdir(mode=0o700)
    policy = sqlanon.Policy.from_dict(document(clinic, "a.csv"))
    with sqlanon.plan(None, policy) as one, one.with_privacy(sqlanon.KAnonymity(4)) as other:
        one.publish()
        with pytest.raises(sqlanon.UnsupportedError, match="was not judged"):
            other.publish(sqlanon.Output.file(str(clinic / "b.csv")))
        again = one.publish(sqlanon.Output.file(str(clinic / "c.csv")))
        assert again.ledger.published == one.ledger.published
    assert not (clinic / "b.csv").exists()
    assert joint(clinic, 3).small == 0


@pytest.mark.slow
def test_a_plan_keeps_its_ledger_and_its_recipient(clinic: Path) -> None:
    """Under another policy of the plan a release would be recorded as the first recipient's, or not at all."""
    (clinic / "private").mkdir(mode=0o700)
    own = document(clinic, "a.csv")
    policies = [
        sqlanon.Policy.from_dict({**own, "ledger": ledger})
        for ledger in (own["ledger"], {**own["ledger"], "recipient": "x", "colludes": "none"}, None)
    ]
    for first, other in ((0, 1), (1, 0), (2, 0), (0, 2)):
        with sqlanon.plan(None, policies[first]) as plan, pytest.raises(sqlanon.InputError, match="the ledger"):
            plan.with_policy(policies[other])


def adult(folder: Path, shared: Path) -> None:
    folder.mkdir()
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT 'r' || row_number() OVER () AS id, *"
            f" FROM read_csv('{shared / 'data' / 'adult' / 'adult.csv'}', all_varchar = true)"
        )
    (folder / "secret.key").write_text("0123456789abcdef0123456789abcdef")
    (folder / "secret.key").chmod(0o600)


def test_two_proven_nodes_of_adult_single_nobody_out_with_a_ledger(tmp_path: Path, shared: Path) -> None:
    """Apart, two optima of ADULT put 4.3 % of the records of both into intersections of fewer than five."""
    found = {}
    for judged in (False, True):
        folder = tmp_path / str(judged)
        adult(folder, shared)
        with pytest.MonkeyPatch.context() as patch:
            if not judged:
                patch.setattr(run, "judge_together", lambda *_: None)
                patch.setattr(recording, "audit_joint", lambda *_, **__: None)
                patch.setattr(recording, "refuse_other_plans", lambda *_: None)
            for out, weight in (("a.csv", 1), ("b.csv", 5)):
                columns = {"id": {"role": "drop"}}
                for name in ADULT:
                    file = shared / "data" / "adult" / f"adult_hierarchy_{name}.csv"
                    hierarchy = {"file": str(file), "delimiter": ";"}
                    own = weight if name == "age" else 1
                    columns[name] = {"role": "quasi_identifier", "weight": own, "hierarchy": hierarchy}
                privacy = [{"type": "k_anonymity", "k": 5}]
                more = {"columns": columns, "privacy": privacy, "suppression_limit": 0.05, "undeclared": "drop"}
                with publish(folder, out, **more) as release:
                    assert release.plan.certificate.optimal
        found[judged] = joint(folder, 5)
    assert found[False].small_persons > 0.04 * 30162
    assert (found[True].small, found[True].small_persons) == (0, 0)
