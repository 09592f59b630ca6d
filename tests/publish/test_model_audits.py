"""The audit of every model returns the classes that break it and nothing else; ``check`` says the same."""

import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import brute
import brute_models
import duckdb
import pytest
from click.testing import CliRunner
from effort import Block, enough, seeds
from policies import quasi
from random_worlds import document, mapped_world, random_world
from solved_plans import plans_of

import sqlanon
from sqlanon.cli import main
from sqlanon.core.audit.check import check_relation
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.sqltrees.trees import table

Make = Callable[[int], brute_models.World]


@pytest.mark.slow
@pytest.mark.parametrize("make", [random_world, mapped_world])
@seeds(30, 30)
def test_audits_agree_with_brute_force_about_every_model_alone(block: Block, make: Make) -> None:
    """Run over generalized, unsuppressed records, the audits of a plan find exactly the classes that fail."""
    failed = held = 0
    for seed in block:
        world, rng = make(seed), random.Random(seed)
        policy = document(world, rng)
        policy["suppression_limit"] = 1
        for plan in plans_of(world, policy):
            answer = brute_models.judge(world, plan.node)
            rows = [
                (*(t.generalize(v, level) for t, v, level in zip(world.trees, r[0], plan.node)), *r[1])
                for r in filter(world.covered, world.members)  # the others are in no class
            ]
            names = [c for c in policy["columns"] if c != "member"]
            engine = plan._session.source.engine
            brute_table(engine, names, rows)
            audits = plan._audits()
            order = sorted(range(len(world.models)), key=lambda i: (world.models[i][0] is not None, i))
            order.sort(key=lambda i: -1 if world.models[i][0] is None else world.models[i][0])
            for audit, i in zip(audits, order, strict=True):
                query = audit.offending(table("unsuppressed"), [a.name for a in plan.catalog.attributes])
                records = sum(row[0] for row in engine.run("audit", query))
                assert records == answer.by_model[i], (seed, world.models[i])
                failed, held = failed + (records > 0), held + (records == 0)
    assert enough(failed > 3 and held > 10)


def brute_table(engine: DuckDBEngine, names: list[str], rows: list[tuple[brute.Text, ...]]) -> None:
    import pyarrow as pa

    data = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(names)}
    engine.load("rows", "unsuppressed", pa.table(data))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A release of two classes, and the source it came from."""
    (tmp_path / "release.csv").write_text("age,illness\n2*,flu\n2*,cold\n2*,cold\n3*,flu\n3*,flu\n")
    (tmp_path / "source.csv").write_text("age,illness\n" + "2*,flu\n3*,flu\n2*,cold\n2*,none\n" * 2)
    (tmp_path / "tree.csv").write_text("flu;airways;*\ncold;airways;*\nnone;none;*\n")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, code, failing",
    [
        (["--k", "2"], 0, [0]),
        (["--k", "3"], 1, [1]),
        (["--sensitive", "illness:distinct_l_diversity:l=2"], 1, [1]),
        (["--sensitive", "illness:distinct_l_diversity:l=1"], 0, [0]),
        (["--sensitive", "illness:entropy_l_diversity:l=1.9"], 1, [2]),
        (["--sensitive", "illness:entropy_l_diversity:l=1.88", "--k", "2"], 1, [0, 1]),
        (["--sensitive", "illness:recursive_l_diversity:l=2,c=2.1"], 1, [1]),
        (["--sensitive", "illness:recursive_l_diversity:l=2:c=2"], 1, [2]),
        (["--sensitive", "illness:t_closeness:t=0.5"], 0, [0]),
        (["--sensitive", "illness:t_closeness:t=0.45"], 1, [1]),
        (["--sensitive", "illness:t_closeness:t=0.375,distance=hierarchical,hierarchy=tree.csv"], 0, [0]),
        (["--sensitive", "illness:t_closeness:t=0.37,distance=hierarchical,hierarchy=tree.csv"], 1, [1]),
        (["--sensitive", "illness:t_closeness:t=0.334,distance=ordered"], 0, [0]),
        (["--sensitive", "illness:t_closeness:t=0.33,distance=ordered"], 1, [1]),
        (["--sensitive", "illness:delta_disclosure:delta=1.42"], 0, [0]),
        (["--sensitive", "illness:delta_disclosure:delta=1.415"], 1, [1]),
        (["--sensitive", "illness:delta_disclosure:delta=1"], 1, [2]),
        (["--sensitive", "illness:beta_likeness:beta=1.67"], 0, [0]),
        (["--sensitive", "illness:beta_likeness:beta=1.6666"], 1, [1]),
        (["--sensitive", "illness:beta_likeness:beta=5,enhanced=true"], 1, [2]),
        (["--delta-presence", "min=0.5,max=1"], 0, [0]),
        (["--delta-presence", "min=0.5,max=0.99"], 1, [1]),
        (["--delta-presence", "min=0.51,max=1"], 1, [1]),
    ],
)
def test_check_says_which_model_fails(
    files: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, failing: list[int]
) -> None:
    monkeypatch.chdir(files)
    output = CliRunner().invoke(
        main, ["check", "release.csv", "--qi", "age", "--reference", "source.csv", "--json", *options]
    )
    found: dict[str, Any] = json.loads(output.stdout)
    assert [item["failing_classes"] for item in found["models"]] == failing
    assert (output.exit_code, found["holds"]) == (code, code == 0)


@pytest.mark.parametrize(
    "options, message",
    [
        ([], "nothing to check"),
        (["--sensitive", "illness:t_closeness:t=0.5"], "a reference, and there is none"),
        (["--sensitive", "illness:t_closeness:t=0.5,distance=hierarchical", "--reference", "source.csv"], "hierarchy"),
        (["--sensitive", "illness:t_closeness"], "t_closeness needs t"),
        (["--sensitive", "illness:beta_likeness:beta=1"], "a reference, and there is none"),
        (["--sensitive", "illness:delta_disclosure:delta=0"], "give a number above 0"),
        (["--sensitive", "illness:beta_likeness:beta=1,enhanced=maybe"], "say true or false"),
        (["--sensitive", "illness:closeness:t=1"], "names no privacy model"),
        (["--sensitive", "illness:k_anonymity:k=2"], "does not belong here"),
        (["--sensitive", "nope:distinct_l_diversity:l=2"], "no column 'nope'"),
        (["--delta-presence", "min=0.5"], "delta_presence needs max"),
        (["--delta-presence", "min=0.5,max=1", "--reference", "nope.csv"], "no file"),
    ],
)
def test_what_cannot_be_checked_is_told(
    files: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(files)
    output = CliRunner().invoke(main, ["check", "release.csv", "--qi", "age", *options])
    assert output.exit_code == 2
    assert message in output.stderr and "Traceback" not in output.stderr


@pytest.mark.parametrize(
    "options, code, message",
    [
        (["c.sqlite", "release", "--reference", "c.sqlite", "--reference-table", "source"], 0, "delta=1) holds"),
        (["c.sqlite", "source", "--reference", "./c.sqlite", "--reference-table", "release"], 1, "2 classes"),
        (["c.sqlite", "release", "--reference", "c.sqlite", "--reference-table", "nope"], 2, "'release', 'source'"),
        (["c.sqlite", "release", "--reference", "c.sqlite"], 2, "no table of it is named"),
        (["c.sqlite", "release", "--reference", "source.csv"], 2, "tables of its own database only"),
    ],
)
def test_check_compares_tables_of_one_sqlite_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, message: str
) -> None:
    """SQLite reads no second source, but the reference may be another table of the file."""
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("c.sqlite")) as written, written:
        for name, records in (("source", "xa xb ya yb"), ("release", "xa xb")):
            written.execute(f"CREATE TABLE {name} (q TEXT, s TEXT)")
            written.executemany(f"INSERT INTO {name} VALUES (?, ?)", [tuple(record) for record in records.split()])
        written.execute("INSERT INTO source VALUES ('x', 'c'), ('y', 'c')")
    output = CliRunner().invoke(main, ["check", *options, "--qi", "q", "--sensitive", "s:delta_disclosure:delta=1"])
    assert output.exit_code == code and message in output.output, output.output


@pytest.mark.slow
def test_check_agrees_with_publication_about_null_and_hierarchies(tmp_path: Path) -> None:
    """A release that was published passes ``check`` with the same models, its hierarchy file, and its source."""
    (tmp_path / "tree.csv").write_text("flu;airways;*\ncold;airways;*\nnone;none;*\n")
    with duckdb.connect(str(tmp_path / "source.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i % 3 AS q, ['flu', 'cold', 'none', NULL][i // 3 % 4 + 1] AS s "
            "FROM range(120) AS r(i)"
        )
    models = [{"type": "t_closeness", "t": 0.1, "distance": d} for d in ("equal", "hierarchical", "ordered")]
    policy = {
        "source": str(tmp_path / "source.duckdb"),
        "table": "t",
        "columns": {
            "q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "s": {"role": "sensitive", "models": models, "hierarchy": {"file": str(tmp_path / "tree.csv")}},
        },
        "output": {"file": str(tmp_path / "release.duckdb")},
    }
    with sqlanon.anonymize(None, policy):
        pass
    options = ["--reference", str(tmp_path / "source.duckdb"), "--reference-table", "t"]
    for distance in ("equal", "ordered", f"hierarchical,hierarchy={tmp_path / 'tree.csv'}"):
        asked = ["--sensitive", f"s:t_closeness:t=0.1,distance={distance}"]
        printed = CliRunner().invoke(main, ["check", str(tmp_path / "release.duckdb"), "--qi", "q", *options, *asked])
        assert printed.exit_code == 0, printed.stdout


def test_a_value_that_the_reference_lacks_is_far_away(connection: duckdb.DuckDBPyConnection) -> None:
    from sqlanon.core.models.beta_likeness import BetaLikeness
    from sqlanon.core.models.delta_disclosure import DeltaDisclosure
    from sqlanon.core.models.t_closeness import TCloseness

    connection.execute("CREATE TABLE r AS SELECT 'x' AS q, unnest(['a', 'new']) AS s")
    connection.execute("CREATE TABLE p AS SELECT unnest(['a', 'b']) AS s")
    engine = DuckDBEngine(connection=connection)
    for model in (
        TCloseness("s", 0.4, "equal"), TCloseness("s", 0.4, "ordered"),
        DeltaDisclosure("s", 64), BetaLikeness("s", 1e9), BetaLikeness("s", 1e9, True),
    ):  # fmt: skip
        result = check_relation(
            engine,
            table("r"),
            quasi_identifiers=["q"],
            models=[model],
            reference=table("p"),
        )
        assert not result.holds


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["duckdb", "parquet", "csv"])
@pytest.mark.parametrize("suppressed", ["drop", "redact"])
def test_every_target_is_audited_for_every_model(tmp_path: Path, ending: str, suppressed: str) -> None:
    """Typed sensitive columns with NULLs, an ENUM in its own order, and a subset; the written release passes."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TYPE stage AS ENUM ('low', 'mid', 'high')")
        connection.execute(
            "CREATE TABLE t AS SELECT i % 7 AS q, "
            "CASE WHEN i % 11 = 0 THEN NULL ELSE i % 4 + 0.5::DOUBLE END AS s, "
            "CAST(['low', 'mid', 'high'][i // 3 % 3 + 1] AS stage) AS e, "
            "DATE '2020-01-01' + CAST(i % 5 AS INTEGER) AS d, "
            "i % 3 = 0 AS member FROM range(600) AS r(i)"
        )
        ordered = {"type": "t_closeness", "t": 0.3, "distance": "ordered"}
        policy = sqlanon.Policy.from_dict(
            {
                "table": "t",
                "columns": {
                    "q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
                    "s": {"role": "sensitive", "models": [ordered, {"type": "entropy_l_diversity", "l": 2}]},
                    "e": {"role": "sensitive", "models": [ordered, {"type": "distinct_l_diversity", "l": 2}]},
                    "d": {"role": "sensitive", "models": [ordered, {"type": "t_closeness", "t": 0.5}]},
                    "member": {"role": "drop"},
                },
                "privacy": [
                    {"type": "k_anonymity", "k": 5},
                    {"type": "delta_presence", "min": 0.1, "max": 0.6, "subset": {"column": "member"}},
                ],
                "suppression_limit": 0.5,
                "suppressed": suppressed,
                "output": {"file": str(tmp_path / f"release.{ending}")},
            }
        )
        with sqlanon.anonymize(connection, policy) as release:
            assert release.ledger.records == 200
            rows = release.to_arrow().num_rows
            assert rows == (200 if suppressed == "redact" else release.ledger.published)


@pytest.mark.slow
def test_columns_may_have_the_names_of_ours(connection: duckdb.DuckDBPyConnection) -> None:
    """The names that the statements and audits use inside, as quasi-identifiers and sensitive columns."""
    names = ["n", "value", "node", "key_0", "records", "share", "place", "population", "level", "ancestor", "fails"]
    columns = ", ".join(f'CAST(i // {k + 2} % 2 AS VARCHAR) AS "{name}"' for k, name in enumerate(names))
    connection.execute(f"CREATE TABLE t AS SELECT {columns}, i % 3 = 0 AS member FROM range(300) AS r(i)")
    tree = {"levels": {"0": ["*"], "1": ["*"]}}
    models = [{"type": "t_closeness", "t": 0.4, "distance": d} for d in ("equal", "hierarchical", "ordered")]
    models += [{"type": "entropy_l_diversity", "l": 1.1}, {"type": "recursive_l_diversity", "l": 2, "c": 9}]
    models += [{"type": "distinct_l_diversity", "l": 2}]
    for sensitive in ("value", "level", "n", "place"):
        policy = {
            "table": "t",
            "undeclared": "drop",
            "columns": {
                name: {"role": "sensitive", "models": models, "hierarchy": tree} if name == sensitive else quasi(tree)
                for name in names
            },
            "privacy": [{"type": "delta_presence", "min": 0.1, "max": 0.9, "subset": {"column": "member"}}],
            "suppression_limit": 0.9,
            "search": {"max_evaluations": 60},
        }
        with sqlanon.anonymize(connection, policy) as release:
            assert release.to_arrow().num_rows == release.ledger.published > 0


def test_columns_with_the_prefix_of_ours_are_refused(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute('CREATE TABLE t AS SELECT 1 AS q, 2 AS "SQLanon_count"')
    columns = {"q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    policy = {"table": "t", "undeclared": "drop", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 1}]}
    with pytest.raises(sqlanon.UnsupportedError, match="keeps for itself"):
        sqlanon.plan(connection, policy)
    engine = DuckDBEngine(connection=connection)
    with pytest.raises(sqlanon.UnsupportedError, match="keeps for itself"):
        check_relation(engine, table("t"), quasi_identifiers=["sqlanon_count"], models=[])
