"""``sqlanon dbt``: the written folder is built by dbt itself, on DuckDB and PostgreSQL, before and after records come.

One process of dbt an engine builds three releases of a source: by k and distinct ℓ-diversity, by δ-presence, and one
that counts persons. Then records come that no lookup lists, and small classes; then the models are tampered with.
"""

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from click.testing import CliRunner
from dbt_projects import Step, needs, steps
from policies import document_of, file_of, quasi
from postgres_server import server
from sqlglot import exp

from sqlanon import Policy, plan
from sqlanon.cli import main
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.interop.scripts.dbt.release import dbt_release, seed
from sqlanon.interop.scripts.dbt.statements import too_many_suppressed
from sqlanon.interop.scripts.dbt.template import Call, refuse_signs, written
from sqlanon.live.compiler.live import live_view
from sqlanon.live.compiler.live_models import FrozenColumn, LiveView
from sqlanon.live.output import frozen_at

K, L = 4, 2
NOTE = 'no"te'
COLUMNS = {
    "id": "INT", "person": "INT", "ward": "TEXT", "zip": "TEXT", "born": "DATE", "diagnosis": "TEXT",
    "chosen": "BOOLEAN", NOTE: "TEXT",
}  # fmt: skip
Record = tuple[Any, ...]
WARDS = {"a": "x", "b": "x", "": "x", "NULL": "y", "-": "y", "=a": "y"}


def records() -> list[Record]:
    """Wards with texts that are hard to write down, ZIP codes, births; a ZIP code that is three persons."""
    draw = random.Random(11)
    zips = [draw.choice(["1010", "1020", "10", "", None, "2000"]) for _ in range(400)]
    return [
        (
            number, number % 3 if zips[number] == "2000" else number, draw.choice([*WARDS, None]), zips[number],
            date(1970, 1, 1) + timedelta(days=draw.randint(0, 700)), draw.choice(["flu", "cold", "", None]),
            draw.random() < 0.5, draw.choice(["", None, "{ { text"]),
        )
        for number in range(400)
    ]  # fmt: skip


LATER: list[Record] = [
    (1001, 901, "not listed", "1010", date(1970, 5, 5), "flu", True, None),
    (1002, 902, "a", "7777", date(1999, 5, 5), "flu", True, None),  # in a class of its own
    (1003, 903, "a", "123456789", date(1970, 5, 5), "flu", True, None),  # longer than all that were planned with
    (1004, 904, "b", None, date(1950, 5, 5), "cold", False, None),
]


def literal(value: Any) -> exp.Expr:
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    return exp.convert(value)


def inserted(rows: Sequence[Record], dialect: str) -> str:
    values = exp.Values(expressions=[exp.Tuple(expressions=[literal(v) for v in row]) for row in rows])
    target = exp.table_("patients", db="clinic", quoted=True)
    return exp.Insert(this=target, expression=values).sql(dialect=dialect)


def created() -> str:
    columns = [f"{exp.to_identifier(name, quoted=True).sql()} {kind}" for name, kind in COLUMNS.items()]
    return f"CREATE TABLE clinic.patients ({', '.join(columns)})"


def document(source: str, **changes: Any) -> dict[str, Any]:
    """The policy of the release by k and ℓ."""
    columns = {
        "id": "keep",
        "ward": quasi({"levels": {value: [text, "*"] for value, text in WARDS.items()}}),
        "zip": "redact",
        "born": quasi({"dates": ["month", "quarter", "year", "decade"]}),
        "diagnosis": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": L}]},
        NOTE: "keep",
        "person": "drop",
        "chosen": "drop",
    }
    return document_of(
        columns, changes, k=K, version=1, source=source, table="clinic.patients", accept=["id"], suppression_limit=0.1
    )


def presence(source: str) -> dict[str, Any]:
    shares = {"type": "delta_presence", "min": 0, "max": 0.7, "subset": {"column": "chosen"}}
    return document(source, privacy=[{"type": "k_anonymity", "k": K}, shares])


@dataclass(frozen=True)
class Engine:
    """Where dbt builds: the adapter, its profile, what a policy calls the source, and how rows are read."""

    adapter: str
    profile: dict[str, Any]
    source: str
    schema: str
    execute: Callable[[str], list[Record]]


@dataclass(frozen=True)
class Built:
    """The steps of an engine by name, and of each release the rows that were published, kept and rebuilt."""

    steps: dict[str, Step]
    published: dict[str, Counter[Record]]
    kept: dict[str, list[Record]]
    rebuilt: dict[str, list[Record]]
    told: str
    folder: Path


NAMES = ("patients_released", "chosen_released", "persons_released")
CUT = dict.fromkeys(NAMES, (f'"n" >= {K}', '"n" >= 1'))
"""How a model is tampered with: smaller classes pass."""


def on_duckdb(folder: Path, stack: ExitStack) -> Engine:
    path = str(folder / "warehouse.duckdb")

    def execute(statement: str) -> list[Record]:
        with duckdb.connect(path) as connection:
            return connection.execute(statement).fetchall()

    return Engine("duckdb", {"type": "duckdb", "path": path, "threads": 1}, path, "main", execute)


def on_postgres(folder: Path, stack: ExitStack) -> Engine:
    psycopg2 = pytest.importorskip("psycopg2", reason="psycopg2, which dbt-postgres brings, is not installed")
    pytest.importorskip("adbc_driver_postgresql", reason="the driver of PostgreSQL is not installed")
    running = stack.enter_context(server())
    profile = {
        "type": "postgres", "host": str(running.folder), "port": 5432, "user": running.user, "password": "",
        "dbname": running.database, "schema": "public", "threads": 1,
    }  # fmt: skip

    def execute(statement: str) -> list[Record]:
        with closing(psycopg2.connect(running.uri())) as connection, connection.cursor() as cursor:
            connection.autocommit = True
            cursor.execute(statement)
            return [] if cursor.description is None else cursor.fetchall()

    return Engine("postgres", profile, running.uri(), "public", execute)


ENGINES = {"duckdb": on_duckdb, "postgres": on_postgres}


@pytest.fixture(scope="module", params=list(ENGINES))
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """Everything that dbt does, in one process an engine."""
    needs(request.param)
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp(request.param)
        yield build(ENGINES[request.param](folder, stack), folder)


def build(engine: Engine, folder: Path) -> Built:
    copied = "CREATE TABLE registry.visits AS SELECT * FROM clinic.patients"
    filled = inserted(records(), engine.adapter)
    for statement in ("CREATE SCHEMA clinic", created(), filled, "CREATE SCHEMA registry", copied):
        engine.execute(statement)
    to = folder / "project"
    policies = {"patients": document(engine.source), "chosen": presence(engine.source)}
    policies["persons"] = document(engine.source, entity="person", suppression_limit=0.1)
    for name, made in policies.items():
        (folder / f"{name}.yml").write_text(yaml.safe_dump(made, sort_keys=False))
    output = sqlanon(folder / "patients.yml", "--to", str(to))
    more = ("--name", "chosen_released", "--materialized", "view", "--with-values")
    sqlanon(folder / "chosen.yml", "--to", str(to), *more)
    sqlanon(folder / "persons.yml", "--to", str(to), "--name", "persons_released")
    other = document(engine.source, table="registry.visits")
    sqlanon(policy_file(folder, other), "--to", str(to))
    published = {f"{name}_released": released(made, folder) for name, made in policies.items()}
    wanted: list[tuple[str, ...]] = [("dbt", "deps"), ("dbt", "build")]
    wanted += [keep(engine, name, "kept") for name in NAMES]
    wanted += [("sql", inserted(LATER, engine.adapter)), ("dbt", "build")]
    wanted += [keep(engine, name, "rebuilt") for name in NAMES]
    for name in NAMES:
        path = to / "models" / f"{name}.sql"
        before, after = CUT[name]
        assert before in path.read_text()
        wanted.append(("write", f"models/{name}.sql", path.read_text().replace(before, after)))
    done = steps(to, engine.profile, *wanted, ("dbt", "build"))
    by_name = dict(zip(("deps", "build"), done)) | {"rebuild": done[6], "tampered": done[-1]}
    rows = {
        kind: {name: engine.execute(f"SELECT * FROM clinic.{name}_{kind}") for name in NAMES}
        for kind in ("kept", "rebuilt")
    }
    return Built(by_name, published, rows["kept"], rows["rebuilt"], output, to)


def sqlanon(policy: Path, *arguments: str) -> str:
    done = CliRunner().invoke(main, ["dbt", str(policy), *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def keep(engine: Engine, name: str, kind: str) -> tuple[str, str]:
    return ("sql", f"CREATE TABLE clinic.{name}_{kind} AS SELECT * FROM {engine.schema}.{name}")


def released(policy: dict[str, Any], folder: Path) -> Counter[Record]:
    """The rows of a published release."""
    path = folder / "released.parquet"
    chosen_policy = Policy.from_dict({**policy, "output": {"file": str(path)}, "if_exists": "replace"})
    with plan(None, chosen_policy) as planned:
        planned.publish()
    return Counter(duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall())


def test_the_model_holds_the_rows_of_a_published_release(built: Built) -> None:
    for name, rows in built.published.items():
        assert Counter(built.kept[name]) == rows
        assert 250 * (1 if name == NAMES[0] else 0.4) < len(built.kept[name])


def test_every_generated_test_passes_before_and_after_records_came(built: Built) -> None:
    losing = {"chosen_released_suppressed": "warn"}  # more than the limit: its seeds list the days that had occurred
    for step, expected in (("build", {}), ("rebuild", losing)):
        said = built.steps[step]
        assert said.success, said.printed
        asked = [name for name in said.results if any(name.startswith(f"{model}_") for model in NAMES)]
        others = {name: said.status(name) for name in asked if "lookup" not in name and said.status(name) != "pass"}
        assert others == expected
        assert {"patients_released_k_anonymous_0", "patients_released_suppressed", "chosen_released_classes"} <= {
            *asked
        }
        assert {"persons_released_classes", "persons_released_suppressed", "patients_released_l_diverse_1"} <= {*asked}


def test_releases_of_one_table_and_of_another_schema_stand_in_one_project(built: Built) -> None:
    for step in ("build", "rebuild"):
        names = (*NAMES, "visits_released")
        assert {built.steps[step].status(name) for name in names} == {"success"}
    shared = yaml.safe_load((built.folder / "models" / "sqlanon_sources.yml").read_text())
    tables = {source["name"]: source["tables"] for source in shared["sources"]}
    assert tables == {"clinic": [{"name": "patients"}], "registry": [{"name": "visits"}]}


def classes(rows: Sequence[Record]) -> dict[Record, list[Record]]:
    """The rows by ward, zip and day of birth."""
    found = defaultdict(list)
    for row in rows:
        found[row[1:4]].append(row)
    return found


@pytest.mark.parametrize("rows_of", ["kept", "rebuilt"])
def test_a_count_in_plain_python_finds_no_class_that_fails(built: Built, rows_of: str) -> None:
    source = {row[0]: row for row in [*records(), *LATER]}
    later = {row[0] for row in LATER}
    for name in NAMES:
        rows = getattr(built, rows_of)[name]
        assert not later & {row[0] for row in rows}
        for members in classes(rows).values():
            persons = {source[row[0]][1] for row in members}
            assert len(persons if name == NAMES[2] else members) >= K
            assert len({row[4] for row in members}) >= L
    assert {row[0] for row in built.rebuilt[NAMES[1]]} <= {number for number, row in source.items() if row[6]}


def test_counting_persons_publishes_less(built: Built) -> None:
    ours, persons = ({row[0] for row in built.kept[name]} for name in (NAMES[0], NAMES[2]))
    of_few = {row[0] for row in records() if row[3] == "2000"}
    assert len(of_few & ours) > 30 and persons == ours - of_few


def test_a_model_that_was_tampered_with_fails_its_tests(built: Built) -> None:
    said = built.steps["tampered"]
    assert not said.success
    failing = {name for name, entry in said.results.items() if entry["status"] == "fail"}
    assert failing >= {"patients_released_k_anonymous_0", "chosen_released_k_anonymous_0"}
    assert failing >= {"chosen_released_classes", "persons_released_classes"}


def test_the_folder_says_what_it_holds(built: Built) -> None:
    manifest = json.loads((built.folder / "patients_released.sqlanon.json").read_text())
    assert {"models/patients_released.sql", "models/patients_released.yml"} <= manifest["files"].keys()
    listed = [path.name for path in (built.folder / "seeds").iterdir() if path.name.startswith("patients")]
    assert listed == ["patients_released_lookup_0.csv"]  # of the wards: ZIP codes and days are in no file
    assert f"{len(WARDS) + 1} values of ward" in built.told
    seeded = (built.folder / "seeds" / listed[0]).read_text()
    assert '"-","' in seeded and '"=-","' in seeded and '"="' in seeded
    assert "1010" not in "".join(path.read_text() for path in (built.folder / "models").glob("patients*"))


# -- without dbt -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "warehouse.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA clinic")
        connection.execute(created())
        connection.execute(inserted(records(), "duckdb"))
        connection.execute("CREATE TABLE clinic.numbers AS SELECT range * 7 % 90 AS n, range / 8 AS x FROM range(200)")
        connection.execute("INSERT INTO clinic.numbers VALUES (NULL, -0.0), (1, 'nan'), (2, NULL), (3, 'inf')")
    return path


def policy_file(folder: Path, made: dict[str, Any]) -> Path:
    return file_of(folder / "policy.yml", made)


def refused(policy: Path, *arguments: str) -> str:
    done = CliRunner().invoke(main, ["dbt", str(policy), *arguments])
    assert done.exit_code == 2, done.output
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("column", "hierarchy"),
    [
        ("zip", {"redact": {}}),
        ("zip", {"redact": {"direction": "left", "steps": 2}}),
        ("zip", {"suppress": {}}),
        ("born", {"dates": ["week", "week_year"]}),
        ("chosen", {"suppress": {}}),
        ("n", {"intervals": {"width": 10, "fanouts": [2], "lower": 10, "upper": 80}}),
        ("n", {"intervals": {"width": 10, "labels": "start"}}),
        ("x", {"intervals": {"width": 2.5}}),
    ],
)
def test_a_computed_level_gives_what_was_planned(warehouse: Path, column: str, hierarchy: dict[str, Any]) -> None:
    table = "clinic.numbers" if column in "nx" else "clinic.patients"
    columns = {column: {"role": "quasi_identifier", "hierarchy": hierarchy}}
    keys = {"version": 1, "source": str(warehouse), "table": table, "columns": columns, "undeclared": "drop"}
    policy = Policy.from_dict({**keys, "privacy": [{"type": "k_anonymity", "k": 1}]})
    height = None
    compared = 0
    level = 1
    while height is None or level < height:
        fixed = replace(policy.columns[0], min_level=level, max_level=level)
        with plan(None, replace(policy, columns=(fixed,))) as planned:
            height = planned.catalog.attributes[0].height
            [lookups] = frozen_at(planned, [planned.node], planned.released)
            frozen = planned.engine.run("frozen", exp.select("*").from_(lookups[column]))
            release = dbt_release(
                planned, policy=policy, name="r", source=Call.parsed("ref('t')"), declares=False, dialect="duckdb",
                materialized="table", with_values=False,
            )  # fmt: skip
            lookup = release.view.quasi[0].lookup
            assert lookup is not None
            for relation in lookup.find_all(exp.Table):
                relation.replace(planned.source.relation.copy())
            computed = planned.engine.run("computed", exp.select('"value"', '"text"').from_(lookup))
            assert Counter(computed) == Counter(frozen)
            compared += len(computed)
        level += 1
    assert compared > 1


def test_what_is_no_live_view_is_refused(warehouse: Path, tmp_path: Path) -> None:
    close = {"type": "t_closeness", "t": 0.9, "distance": "hierarchical"}
    tree = {"levels": {"flu": ["*"]}}
    diverse = {"diagnosis": {"role": "sensitive", "models": [close], "hierarchy": tree}}
    keys = document(str(warehouse))
    keys["columns"] |= diverse
    output = refused(policy_file(tmp_path, keys), "--to", str(tmp_path / "project"))
    assert "A dbt model is built as a live view" in output and "no seed" in output
    keys = document(str(warehouse))
    keys["columns"]["born"] = {"role": "quasi_identifier"}
    keys["periods"] = {"column": "born", "every": "month"}
    keys["output"] = {"table": "clinic.released"}
    keys.pop("entity", None)
    output = refused(policy_file(tmp_path, keys), "--to", str(tmp_path / "project"))
    assert "A dbt model is built as a live view" in output and "not closed" in output
    assert not (tmp_path / "project").exists()


def test_a_name_that_reads_like_a_template_is_refused(warehouse: Path, tmp_path: Path) -> None:
    source = tmp_path / "hostile.duckdb"
    with duckdb.connect(str(source)) as connection:
        connection.execute("CREATE SCHEMA clinic")
        connection.execute('CREATE TABLE clinic.patients AS SELECT 1 AS a, 2 AS "{{ run_query(1) }}" FROM range(9)')
    columns = {"a": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "{{ run_query(1) }}": {"role": "keep"}}
    keys = {"version": 1, "source": str(source), "table": "clinic.patients", "columns": columns}
    policy = policy_file(tmp_path, {**keys, "privacy": [{"type": "k_anonymity", "k": 2}]})
    assert "beginning of a template" in refused(policy, "--to", str(tmp_path / "project"))
    for text in ("{{", "a{%b", "{#"):
        with pytest.raises(UnsupportedError):
            refuse_signs(text)
        with pytest.raises(UnsupportedError):
            written(exp.select(exp.Literal.string(text)), "duckdb")
    refuse_signs("{ { } }")


def test_what_postgres_cannot_compute_is_refused_until_values_are_listed(warehouse: Path, tmp_path: Path) -> None:
    columns = {"x": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 2.5}}, "min_level": 1}}
    keys = {"version": 1, "source": str(warehouse), "table": "clinic.numbers", "columns": columns, "undeclared": "drop"}
    limited = {"privacy": [{"type": "k_anonymity", "k": 2}], "suppression_limit": 0.5}
    policy, to = policy_file(tmp_path, keys | limited), tmp_path / "project"
    assert "--with-values" in refused(policy, "--to", str(to), "--dialect", "postgres")
    assert not to.exists()
    output = sqlanon(policy, "--to", str(to), "--dialect", "postgres", "--with-values")
    assert "numbers_released_lookup_0.csv" in output and "reads differently as text there" in output


@pytest.mark.parametrize(("hierarchy", "refuses"), [({"suppress": {}}, True), ({"dates": ["month"]}, False)])
def test_a_view_whose_levels_depend_on_the_reader_is_refused(
    warehouse: Path, tmp_path: Path, hierarchy: dict[str, Any], refuses: bool
) -> None:
    """The text of a date depends on DateStyle in PostgreSQL, its month does not."""
    columns = {"born": {"role": "quasi_identifier", "hierarchy": hierarchy, "min_level": 1}}
    keys = {"version": 1, "source": str(warehouse), "table": "clinic.patients", "columns": columns}
    limited = {"undeclared": "drop", "privacy": [{"type": "k_anonymity", "k": 2}], "suppression_limit": 0.5}
    policy, to = policy_file(tmp_path, keys | limited), str(tmp_path / "project")
    view = ("--to", to, "--dialect", "postgres", "--materialized", "view")
    if refuses:
        assert "settings" in refused(policy, *view)
    else:
        sqlanon(policy, *view)
    assert "lookup_0.csv" in sqlanon(policy, *view, "--with-values")
    model = (tmp_path / "project" / "models" / "patients_released.sql").read_text()
    assert "AS DATE)" in model and "GEN_RANDOM_UUID()" in model and "RANDOM()" not in model.replace("GEN_RANDOM", "")
    sqlanon(policy, *view[:-1], "table", "--force")


@pytest.mark.parametrize(
    "text",
    ["patients", "ref()", "ref('a', 'b', 'c')", "source('a')", "ref(a)", "ref('a}}')", "ref('{{')", "eval('1')",
     "ref('a') or 1", "ref(name='a')", "ref('a\\'')", "'", ""],
)  # fmt: skip
def test_a_source_is_a_call_with_plain_names(text: str) -> None:
    with pytest.raises(InputError):
        Call.parsed(text)


def test_a_source_is_written_as_it_was_given() -> None:
    assert str(Call.parsed(' source("clinic", "patients") ')) == "source('clinic', 'patients')"
    query = exp.select("*").from_(Call.parsed("ref('p')").relation)
    assert [written(query, dialect) for dialect in ("duckdb", "postgres")] == ["SELECT\n  *\nFROM {{ ref('p') }}"] * 2


def test_files_of_a_person_are_left_alone(warehouse: Path, tmp_path: Path) -> None:
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    (to / "models").mkdir(parents=True)
    (to / "packages.yml").write_text("packages: []\n")
    (to / "dbt_project.yml").write_text("name: mine\nseed-paths: [tables]\n")
    output = sqlanon(policy, "--to", str(to))
    assert "Add to packages.yml" in output and (to / "packages.yml").read_text() == "packages: []\n"
    assert (to / "dbt_project.yml").read_text().startswith("name: mine")
    assert (to / "tables" / "patients_released_lookup_0.csv").exists()
    sqlanon(policy, "--to", str(to), "--node", "2,1,2")  # our own files are replaced
    model = to / "models" / "patients_released.sql"
    model.write_text(model.read_text() + "-- mine\n")
    assert "models/patients_released.sql" in refused(policy, "--to", str(to))
    assert model.read_text().endswith("-- mine\n")
    sqlanon(policy, "--to", str(to), "--force")
    assert not model.read_text().endswith("-- mine\n")


def test_a_seed_that_is_not_needed_any_more_goes(warehouse: Path, tmp_path: Path) -> None:
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    sqlanon(policy, "--to", str(to), "--with-values", "--node", "1,1,1")
    assert len(list((to / "seeds").iterdir())) == 3
    assert "removed: seeds/patients_released_lookup_1.csv" in sqlanon(policy, "--to", str(to), "--node", "1,1,1")
    assert len(list((to / "seeds").iterdir())) == 1


def declarations(project: Path) -> Counter[tuple[str, str]]:
    """How often the files of a project declare each table: dbt accepts one time."""
    found: Counter[tuple[str, str]] = Counter()
    for path in (project / "models").rglob("*.yml"):
        for source in yaml.safe_load(path.read_text()).get("sources", []):
            found.update((source["name"], table["name"]) for table in source["tables"])
    return found


SHARED = "models/sqlanon_sources.yml"
PATIENTS = ("clinic", "patients")
NUMBERS = ("clinic", "numbers")


@pytest.fixture
def numbers(warehouse: Path, tmp_path: Path) -> Path:
    """A policy for another table of the same schema."""
    (tmp_path / "numbers").mkdir()
    columns = {"n": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    keys = {"version": 1, "source": str(warehouse), "table": "clinic.numbers", "columns": columns, "undeclared": "drop"}
    return policy_file(tmp_path / "numbers", {**keys, "privacy": [{"type": "k_anonymity", "k": 2}]})


def test_each_table_is_declared_once(warehouse: Path, numbers: Path, tmp_path: Path) -> None:
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    first = sqlanon(policy, "--to", str(to))
    assert SHARED in first.splitlines() and "from the profile 'patients_released'" in first
    text = (to / SHARED).read_text()
    again = sqlanon(policy, "--to", str(to), "--name", "second")
    assert declarations(to) == {PATIENTS: 1} and SHARED not in again.splitlines() and "the profile" not in again
    sqlanon(numbers, "--to", str(to))
    assert declarations(to) == {PATIENTS: 1, NUMBERS: 1}
    sqlanon(policy, "--to", str(to))  # its files are still its own, though another release changed the shared one
    manifest = json.loads((to / "patients_released.sqlanon.json").read_text())
    assert SHARED not in manifest["files"]
    for path, digest in manifest["files"].items():
        assert hashlib.sha256((to / path).read_bytes()).hexdigest() == digest
    (to / SHARED).write_text(text)
    sqlanon(numbers, "--to", str(to))
    assert declarations(to) == {PATIENTS: 1, NUMBERS: 1}


def test_a_table_that_the_project_declares_is_refused_until_it_is_named(warehouse: Path, tmp_path: Path) -> None:
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    theirs = to / "models" / "staging" / "schema.yaml"
    theirs.parent.mkdir(parents=True)
    text = "sources: [{name: clinic, tables: [{name: patients, description: mine}, {name: wards}]}, 5]\n"
    theirs.write_text(text)
    for forced in ((), ("--force",)):
        output = refused(policy, "--to", str(to), *forced)
        assert "models/staging/schema.yaml" in output and "--source \"source('clinic', 'patients')\"" in output
        assert [path.name for path in to.iterdir()] == ["models"]
    sqlanon(policy, "--to", str(to), "--source", "source('clinic', 'patients')")
    assert theirs.read_text() == text and not (to / SHARED).exists()


def test_what_a_person_declares_later_leaves_the_shared_file(warehouse: Path, numbers: Path, tmp_path: Path) -> None:
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    for made, name in ((policy, "first"), (policy, "second"), (numbers, "third")):
        sqlanon(made, "--to", str(to), "--name", name)
    (to / "models" / "mine.yml").write_text("sources: [{name: clinic, tables: [{name: patients}]}]")
    sqlanon(policy, "--to", str(to), "--name", "first", "--source", "source('clinic', 'patients')")
    assert declarations(to) == {PATIENTS: 1, NUMBERS: 1}
    (to / "models" / "mine.yml").write_text("sources: [{name: clinic, tables: [{name: patients}, {name: numbers}]}]")
    output = sqlanon(numbers, "--to", str(to), "--name", "third", "--source", "source('clinic', 'numbers')")
    assert f"removed: {SHARED}" in output and not (to / SHARED).exists()


def test_a_table_that_no_release_declares_any_more_leaves_the_shared_file(
    warehouse: Path, numbers: Path, tmp_path: Path
) -> None:
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    for made, name in ((policy, "first"), (policy, "second"), (numbers, "third")):
        sqlanon(made, "--to", str(to), "--name", name)
    elsewhere = ("--source", "ref('patients')", "--force")
    sqlanon(policy, "--to", str(to), "--name", "first", *elsewhere)
    assert declarations(to) == {PATIENTS: 1, NUMBERS: 1}
    sqlanon(policy, "--to", str(to), "--name", "second", *elsewhere)
    assert declarations(to) == {NUMBERS: 1}


def test_a_shared_file_that_a_person_changed_is_theirs(warehouse: Path, numbers: Path, tmp_path: Path) -> None:
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    sqlanon(policy, "--to", str(to))
    mine = (to / SHARED).read_text() + "    description: mine\n"
    (to / SHARED).write_text(mine)
    sqlanon(policy, "--to", str(to))  # which needs no change of it
    assert SHARED in refused(numbers, "--to", str(to))
    assert (to / SHARED).read_text() == mine and not (to / "models" / "numbers_released.sql").exists()
    sqlanon(numbers, "--to", str(to), "--force")
    assert declarations(to) == {PATIENTS: 1, NUMBERS: 1} and "mine" not in (to / SHARED).read_text()


def test_a_model_of_other_records_is_not_replaced(warehouse: Path, numbers: Path, tmp_path: Path) -> None:
    """Tables of one name in two schemas have models of one name, unless the command says another."""
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    sqlanon(policy, "--to", str(to), "--name", "released")
    model = (to / "models" / "released.sql").read_text()
    output = refused(numbers, "--to", str(to), "--name", "released")
    assert "release of other records" in output and "--name" in output
    assert (to / "models" / "released.sql").read_text() == model
    sqlanon(numbers, "--to", str(to), "--name", "released", "--force")
    assert declarations(to) == {NUMBERS: 1}


def test_a_manifest_does_not_say_what_is_removed(warehouse: Path, tmp_path: Path) -> None:
    """It may have come with a project of somebody else's: no file is removed that this release would not write."""
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    sqlanon(policy, "--to", str(to))
    (to / "away").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").mkdir()
    names = [
        "../patients_released_1.csv",
        str(tmp_path / "patients_released_2.csv"),
        "away/patients_released_3.csv",
        "patients.csv",
    ]
    manifest = to / "patients_released.sqlanon.json"
    answer = json.loads(manifest.read_text())
    for name in names:
        (to / name).write_text("precious")
        answer["files"][name] = hashlib.sha256(b"precious").hexdigest()
    manifest.write_text(json.dumps(answer))
    assert "removed" not in sqlanon(policy, "--to", str(to))
    assert [(to / name).read_text() for name in names] == ["precious"] * 4


@pytest.mark.parametrize(
    ("name", "text", "cause"),
    [
        *(
            ("dbt_project.yml", json.dumps({"name": "mine", "model-paths": [path]}), "model-paths")
            for path in ("{{ var('models') }}", "../models", "/models")
        ),
        ("packages.yml", "packages: 5", "no list"),
        ("packages.yml", "packages: {a: b}", "no list"),
    ],
)
def test_a_project_that_takes_no_model_is_left_as_it_is(
    warehouse: Path, tmp_path: Path, name: str, text: str, cause: str
) -> None:
    policy, to = policy_file(tmp_path, document(str(warehouse))), tmp_path / "project"
    to.mkdir()
    (to / name).write_text(text)
    assert cause in refused(policy, "--to", str(to))
    assert [entry.name for entry in to.iterdir()] == [name]


def test_null_and_the_empty_text_differ_in_a_seed() -> None:
    assert seed([(None, ""), ("", None), ('a"\n', "-")]) == '"value","text"\n"-","="\n"=","-"\n"=a""\n","=-"\n'


def test_a_name_is_plain(warehouse: Path, tmp_path: Path) -> None:
    policy = policy_file(tmp_path, document(str(warehouse)))
    for name in ("a b", "../x", "é", "a" * 41):
        assert "is not plain" in refused(policy, "--to", str(tmp_path / "project"), "--name", name)
    assert SHARED.removeprefix("models/") in refused(policy, "--to", str(tmp_path), "--name", "sqlanon_sources")


def test_what_cannot_be_written_names_the_folder_only(warehouse: Path, tmp_path: Path) -> None:
    policy = policy_file(tmp_path, document(str(warehouse)))
    (tmp_path / "file").write_text("")
    assert "'file' cannot be written" in refused(policy, "--to", str(tmp_path / "file"))


@pytest.mark.parametrize("entity", [None, "person"])
def test_the_limit_is_told_when_it_is_passed(warehouse: Path, entity: str | None) -> None:
    ward = FrozenColumn("ward", "VARCHAR", None)
    source = exp.table_("patients", db="clinic", quoted=True)
    rare = sum(Counter(row[2] for row in records()).values()) - 1
    for k, passed in ((1, False), (rare, True)):
        view = LiveView(source, (ward,), {"ward": "VARCHAR"}, (KAnonymity(k),), entity=entity)
        with duckdb.connect(str(warehouse)) as connection:
            connection.execute(f"CREATE OR REPLACE VIEW released AS {live_view(view).sql('duckdb', identify=True)}")
            for limit, count in ((Decimal("0.99"), None), (Decimal(0), 3), (Decimal(1), 1000), (Decimal(1), None)):
                query = too_many_suppressed(view, exp.to_table("released"), limit=limit, count=count)
                found = connection.execute(query.sql("duckdb", identify=True)).fetchall()
                assert len(found) == int(passed and (count or 0) < 1000 and (limit < 1 or count is not None))
            connection.execute("DROP VIEW released")
