"""The dbt package: its generic tests run by dbt itself, on DuckDB and PostgreSQL, against a count in plain Python.

One ``dbt build`` an engine runs all claims of ``CLAIMS``; dbt keeps the rows of a failing test, which are compared too.
"""

import math
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from dbt_projects import Step, needs, steps
from effort import enough, scaled
from postgres_server import server
from sqlglot import exp

import sqlanon

PACKAGE = Path(__file__).resolve().parents[2] / "sql" / "dbt"
AUDITS = "audits"
TOLERANCE = 1e-11
BROKEN = ("error", "skipped")

Text = str | None
Rows = Sequence[Sequence[Text]]
HOSTILE = ['a"b', "order", "key_0", "x; DROP TABLE y", "sensitive", "entity", "records", "members", "ünï'é"]


@dataclass(frozen=True)
class Table:
    """A model of the project: text columns and rows."""

    name: str
    columns: Sequence[str]
    rows: Rows

    def sql(self, dialect: str) -> str:
        """The model's query; an empty table is a row that no condition lets through."""
        selects = [
            exp.select(
                *[
                    exp.alias_(
                        exp.cast(exp.null() if value is None else exp.Literal.string(value), "text"), name, quoted=True
                    )
                    for name, value in zip(self.columns, row)
                ]
            )
            for row in self.rows or [[None] * len(self.columns)]
        ]
        if not self.rows:
            selects = [selects[0].where(exp.false())]
        query = exp.union(*selects, distinct=False) if len(selects) > 1 else selects[0]
        return "{% raw %}" + query.sql(dialect=dialect) + "{% endraw %}"

    def column(self, name: str) -> int:
        return list(self.columns).index(name)


@dataclass(frozen=True)
class Claim:
    """A generic test on a table, and the classes that it must return."""

    name: str
    table: Table
    test: str
    arguments: dict[str, Any]
    where: str | None = None
    kept: Sequence[int] | None = None
    """The rows that ``where`` keeps, by place."""
    reference: Table | None = None
    passes: bool | None = None
    """What a person says; None where only the count in Python is asked."""
    expected: Counter[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "expected", failing_classes(self))

    def written(self) -> dict[str, Any]:
        arguments = dict(self.arguments)
        if self.reference is not None:
            arguments["population" if self.test == "k_mapped" else "reference"] = f"ref('{self.reference.name}')"
        config: dict[str, Any] = {"store_failures": True, "schema": AUDITS, "alias": self.name}
        if self.where is not None:
            config["where"] = self.where
        return {f"sqlanon.{self.test}": {"name": self.name, "arguments": arguments, "config": config}}


def counts(records: Sequence[tuple[Text, Text]] | Sequence[tuple[Text, None]], by_entity: bool) -> dict[Text, int]:
    """How often each value is held: by records, or by distinct persons. A record is (value, person)."""
    found: dict[Text, Any] = {}
    for value, person in records:
        found.setdefault(value, []).append(person)
    return {v: len({p for p in ps if p is not None}) if by_entity else len(ps) for v, ps in found.items()}


def failing_classes(claim: Claim) -> Counter[tuple[int, int]]:
    """The (records, members) of each class that fails, by definition and without SQL."""
    table, wanted = claim.table, claim.arguments
    entity, sensitive = wanted.get("entity"), wanted.get("sensitive")

    def pair(of: Table, row: Sequence[Text]) -> tuple[Text, Text]:
        return (row[of.column(sensitive)] if sensitive else None, row[of.column(entity)] if entity else None)

    rows = [table.rows[i] for i in claim.kept] if claim.kept is not None else list(table.rows)
    classes: dict[tuple[Text, ...], list[tuple[Text, Text]]] = defaultdict(list)
    for row in rows:
        classes[tuple(row[table.column(q)] for q in wanted["quasi_identifiers"])].append(pair(table, row))
    other = claim.reference or table
    overall = counts(
        [pair(other, row) for row in (rows if claim.reference is None else other.rows)], entity is not None
    )
    failing: Counter[tuple[int, int]] = Counter()
    sizes = [sum(counts(records, entity is not None).values()) for records in classes.values()]
    for key, records in classes.items():
        held = counts(records, entity is not None)
        members, values = sum(held.values()), sum(1 for n in held.values() if n)
        if claim.test == "k_anonymous":
            fails = members < wanted["k"]
        elif members == 0:
            fails = True
        elif claim.test == "average_risk":
            fails = len(sizes) > Fraction(str(wanted["threshold"])) * sum(sizes)
        elif claim.test == "sample_uniqueness":
            fails = members == 1 and sizes.count(1) > Fraction(str(wanted["threshold"])) * sum(sizes)
        elif claim.test == "k_mapped":
            everybody = [
                row for row in other.rows if tuple(row[other.column(q)] for q in wanted["quasi_identifiers"]) == key
            ]
            fails = sum(counts([pair(other, row) for row in everybody], entity is not None).values()) < wanted["k"]
        elif claim.test in ("delta_disclosure_private", "beta_like"):
            fails = any(
                differs(claim, n / members, overall.get(v, 0) / max(sum(overall.values()), 1))
                for v, n in held.items()
                if n
            )
        elif claim.test == "t_close":
            total = sum(overall.values())
            values_of_both = held.keys() | overall.keys()
            apart = sum(abs(held.get(v, 0) / members - overall.get(v, 0) / max(total, 1)) for v in values_of_both) / 2
            fails = total == 0 or apart > wanted["t"] + TOLERANCE
        elif wanted.get("kind", "distinct") == "distinct":
            fails = values < wanted["l"]
        elif wanted["kind"] == "recursive":
            ordered = sorted(held.values(), reverse=True)
            fails = values < wanted["l"] or ordered[0] >= Fraction(str(wanted["c"])) * sum(ordered[wanted["l"] - 1 :])
        else:
            entropy = -sum(n / members * math.log(n / members) for n in held.values() if n)
            fails = entropy < math.log(wanted["l"]) - TOLERANCE
        if fails:
            failing[len(records), members] += 1
    return failing


def differs(claim: Claim, share: float, overall: float) -> bool:
    """The share of a value in its class is too far from, or too far above, that in the reference."""
    wanted = claim.arguments
    if overall == 0:
        return True
    if claim.test == "delta_disclosure_private":
        return abs(math.log2(share / overall)) >= wanted["delta"] - TOLERANCE
    gain = min(wanted["beta"], -math.log(overall)) if wanted.get("enhanced") else wanted["beta"]
    return share / overall > 1 + gain + TOLERANCE


def claims_by_hand() -> Iterator[Claim]:
    """Passing and failing data for each test, with the verdict a person gives."""
    people = Table(
        "people",
        ["age", "zip", "diagnosis", "person", "region"],
        [
            ["20-29", "1*", "flu", "1", "north"],
            ["20-29", "1*", "cold", "2", "north"],
            [None, "1*", "flu", "3", "north"],
            [None, "1*", None, "4", "north"],
            ["30-39", None, "flu", "5", "south"],
            ["30-39", None, "cold", "5", "south"],
            ["40-49", "2*", "flu", None, "west"],
            ["40-49", "2*", "cold", None, "west"],
            ["50-59", "", "flu", "6", "east"],
            ["50-59", None, "flu", "7", "east"],
        ],
    )
    two: dict[str, Any] = {"quasi_identifiers": ["age", "zip"]}
    north, south, west = [0, 1, 2, 3], [4, 5], [6, 7]
    of = {"north": north, "south": south, "west": west, "east": [8, 9]}

    def claim(name: str, test: str, region: str | None, passes: bool, **more: Any) -> Claim:
        where = None if region is None else f"region = '{region}'"
        arguments = {**more.pop("on", two), **more.pop("arguments")}
        return Claim(
            name, people, test, arguments, where, None if region is None else of[region], passes=passes, **more
        )

    yield claim("pairs", "k_anonymous", "north", True, arguments={"k": 2})  # NULL equals NULL
    yield claim("all_pairs", "k_anonymous", None, False, arguments={"k": 2})
    yield claim("empty_text_is_not_null", "k_anonymous", "east", False, arguments={"k": 2})
    yield claim("one_person_twice", "k_anonymous", "south", False, arguments={"k": 2, "entity": "person"})
    yield claim("one_person_twice_as_records", "k_anonymous", "south", True, arguments={"k": 2})
    yield claim("nobody", "k_anonymous", "west", False, arguments={"k": 1, "entity": "person"})
    yield claim("no_columns", "k_anonymous", None, True, on={"quasi_identifiers": []}, arguments={"k": 10})
    yield claim("no_columns_eleven", "k_anonymous", None, False, on={"quasi_identifiers": []}, arguments={"k": 11})
    of_diagnosis: dict[str, Any] = {"sensitive": "diagnosis"}
    yield claim("null_is_a_value", "l_diverse", "north", True, arguments={**of_diagnosis, "l": 2})
    yield claim("same_diagnosis", "l_diverse", None, False, arguments={**of_diagnosis, "l": 2})
    uniform: dict[str, Any] = {**of_diagnosis, "l": 2, "kind": "entropy"}
    yield claim("uniform", "l_diverse", "north", True, arguments=uniform)
    yield claim("more_than_uniform", "l_diverse", "north", False, arguments={**uniform, "l": 2.01})
    yield claim("nobody_ill", "l_diverse", "west", False, arguments={**uniform, "l": 1, "entity": "person"})
    yield claim("one_ill_person", "l_diverse", "south", True, arguments={**uniform, "entity": "person"})
    alone = {**of_diagnosis, "t": 1, "entity": "person"}
    yield claim("nobody_close", "t_close", "west", False, arguments=alone, reference=people)
    yield claim("far", "t_close", "north", False, arguments={**of_diagnosis, "t": 0.24})
    yield claim("close", "t_close", "north", False, arguments={**of_diagnosis, "t": 0.2499999})
    yield claim("closer", "t_close", "north", True, arguments={**of_diagnosis, "t": 0.5})
    yield claim("as_all", "t_close", "south", True, arguments={**of_diagnosis, "t": 0})
    yield claim("as_reference", "t_close", "south", False, arguments={**of_diagnosis, "t": 0.1}, reference=people)
    empty = Table("nothing", people.columns, [])
    yield claim("no_reference", "t_close", "south", False, arguments={**of_diagnosis, "t": 1}, reference=empty)
    recursive = {**of_diagnosis, "l": 2, "kind": "recursive"}
    yield claim(
        "one_each", "l_diverse", "north", True, arguments={**recursive, "c": 2.1}, on={"quasi_identifiers": ["region"]}
    )
    yield claim("not_below", "l_diverse", "south", False, arguments={**recursive, "c": 1})
    yield claim("below", "l_diverse", "south", True, arguments={**recursive, "c": 1.001})
    yield claim("three_values", "l_diverse", "south", False, arguments={**recursive, "l": 3, "c": 100})
    far = {**of_diagnosis, "delta": 0.7}
    yield claim("far_share", "delta_disclosure_private", "east", False, arguments=far, reference=people)
    yield claim("within_delta", "delta_disclosure_private", "south", True, arguments={**of_diagnosis, "delta": 1})
    yield claim("gain", "beta_like", "south", False, arguments={**of_diagnosis, "beta": 0.6}, reference=people)
    yield claim("less_gain", "beta_like", "south", True, arguments={**of_diagnosis, "beta": 0.7}, reference=people)
    basic = {**of_diagnosis, "beta": 0.7}
    yield claim("basic_gain", "beta_like", "east", True, arguments=basic, reference=people)
    sharp = {**of_diagnosis, "beta": 0.7, "enhanced": True}
    yield claim("enhanced_gain", "beta_like", "east", False, arguments=sharp, reference=people)
    yield claim("mean_risk", "average_risk", None, True, arguments={"threshold": 0.6})
    yield claim("mean_risk_above", "average_risk", None, False, arguments={"threshold": 0.5999999999})
    yield claim("a_fifth_alone", "sample_uniqueness", None, True, arguments={"threshold": 0.2})
    yield claim("more_alone", "sample_uniqueness", None, False, arguments={"threshold": 0.1999999999})
    yield claim("mapped", "k_mapped", "north", True, arguments={"k": 2}, reference=people)
    yield claim("mapped_to_few", "k_mapped", "north", False, arguments={"k": 3}, reference=people)
    yield claim("mapped_to_nobody", "k_mapped", "north", False, arguments={"k": 1}, reference=empty)
    least: dict[str, dict[str, Any]] = {
        "k_anonymous": {"k": 5},
        "l_diverse": uniform,
        "t_close": {**of_diagnosis, "t": 0},
        "delta_disclosure_private": {**of_diagnosis, "delta": 0.1},
        "beta_like": {**of_diagnosis, "beta": 0.1},
        "average_risk": {"threshold": 0.1},
        "sample_uniqueness": {"threshold": 0},
        "k_mapped": {"k": 2},
    }
    for test, more in least.items():
        other = people if test == "k_mapped" else None
        for named, columns in {"": two, "_no_columns": {"quasi_identifiers": []}}.items():
            yield Claim(f"empty_{test}{named}", empty, test, {**columns, **more}, reference=other, passes=True)
    rows = [[str((i >> j) % 2) for j in range(len(HOSTILE))] for i in range(60)]
    hostile = Table("hostile", HOSTILE, rows)
    every: dict[str, Any] = {"quasi_identifiers": HOSTILE[:4], "entity": "entity"}
    chosen: dict[str, dict[str, Any]] = {
        "k_anonymous": {"k": 4},
        "l_diverse": {"sensitive": "sensitive", "l": 2},
        "t_close": {"sensitive": HOSTILE[-1], "t": 0.1},
        "delta_disclosure_private": {"sensitive": HOSTILE[-1], "delta": 0.3},
        "beta_like": {"sensitive": HOSTILE[-1], "beta": 0.1},
        "average_risk": {"threshold": 0.25},
        "sample_uniqueness": {"threshold": 0.1},
        "k_mapped": {"k": 4},
    }
    for test, more in chosen.items():
        condition = "\"order\" = '1'"
        kept = [i for i, row in enumerate(rows) if row[1] == "1"]
        other = hostile if test == "k_mapped" else None
        yield Claim(f"hostile_{test}", hostile, test, {**every, **more}, condition, kept, other)


def claims_at_random() -> Iterator[Claim]:
    """Each test on random tables, some with NULLs everywhere, with and without an entity."""
    for seed in range(scaled(3)):
        draw = random.Random(seed)
        people: list[Text] = [*"123456789", None]
        rows = [
            [draw.choice(values) for values in (["a", "b", None], ["x", "", None], [*"stuv", None], people)]
            for _ in range(draw.randint(5, 80))
        ]
        table = Table(f"random_{seed}", ["p", "q", "s", "person"], rows)
        reference = Table(f"reference_{seed}", table.columns, [draw.choice(rows) for _ in range(20)])
        both: dict[str, Any] = {"quasi_identifiers": ["p", "q"][: draw.randint(1, 2)]}
        for entity in ({}, {"entity": "person"}):
            name = f"{seed}_{'persons' if entity else 'records'}"
            on = {**both, **entity}
            yield Claim(f"k_{name}", table, "k_anonymous", {**on, "k": draw.randint(2, 8)})
            yield Claim(f"map_{name}", table, "k_mapped", {**on, "k": draw.randint(1, 5)}, reference=reference)
            risk, alone = draw.choice([0.1, 0.15, 0.25, 0.5]), draw.choice([0, 0.02, 0.1])
            yield Claim(f"average_{name}", table, "average_risk", {**on, "threshold": risk})
            yield Claim(f"alone_{name}", table, "sample_uniqueness", {**on, "threshold": alone})
            on["sensitive"] = "s"
            delta, beta = draw.choice([0.5, 2, 4]), draw.choice([0.3, 3, 20])
            yield Claim(f"delta_{name}", table, "delta_disclosure_private", {**on, "delta": delta})
            far = {**on, "delta": delta}
            yield Claim(f"delta_reference_{name}", table, "delta_disclosure_private", far, reference=reference)
            for enhanced in (False, True):
                gain = {**on, "beta": beta, "enhanced": enhanced}
                yield Claim(f"beta_{enhanced}_{name}".lower(), table, "beta_like", gain, reference=reference)
            tail = {"l": draw.randint(1, 3), "c": draw.choice([0.7, 1, 1.5, 3]), "kind": "recursive"}
            yield Claim(f"recursive_{name}", table, "l_diverse", {**on, **tail})
            yield Claim(f"distinct_{name}", table, "l_diverse", {**on, "l": draw.randint(2, 5)})
            entropy = {"l": draw.choice([1.5, 2, 3, 4]), "kind": "entropy"}
            yield Claim(f"entropy_{name}", table, "l_diverse", {**on, **entropy})
            yield Claim(f"t_{name}", table, "t_close", {**on, "t": draw.choice([0.1, 0.2, 0.3])})
            t = {"t": draw.choice([0.1, 0.2, 0.3]), "distance": "equal"}
            yield Claim(f"t_reference_{name}", table, "t_close", {**on, **t}, reference=reference)


CLAIMS = {claim.name: claim for claim in [*claims_by_hand(), *claims_at_random()]}


def project(folder: Path, dialect: str, claims: Sequence[Claim]) -> None:
    """Write a project that uses the package by its path."""
    documents = {
        "dbt_project.yml": {
            "name": "clinic", "version": "1.0", "profile": "clinic", "model-paths": ["models"],
            "models": {"clinic": {"+materialized": "table"}},
        },
        "packages.yml": {"packages": [{"local": str(PACKAGE)}]},
    }  # fmt: skip
    tables = {table.name: table for claim in claims for table in (claim.table, claim.reference) if table is not None}
    tested: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        tested[claim.table.name].append(claim)
    documents["models/schema.yml"] = {
        "version": 2,
        "models": [{"name": name, "data_tests": [c.written() for c in tested[name]]} for name in tables],
    }
    (folder / "models").mkdir()
    for path, document in documents.items():
        (folder / path).write_text(yaml.safe_dump(document, allow_unicode=True, sort_keys=False), encoding="utf-8")
    for table in tables.values():
        (folder / "models" / f"{table.name}.sql").write_text(table.sql(dialect), encoding="utf-8")


@dataclass(frozen=True)
class Built:
    """What a ``dbt build`` said: per claim its status, the number of rows, and the rows that dbt kept."""

    status: dict[str, str]
    failures: dict[str, int]
    rows: dict[str, Counter[tuple[int, int]]]


def built(folder: Path, profile: dict[str, Any], dialect: str, fetch: Any) -> Built:
    project(folder, dialect, list(CLAIMS.values()))
    deps, build = steps(folder, profile, ("dbt", "deps"), ("dbt", "build"))
    assert deps.success and build.results, deps.printed + build.printed
    errors = {name: entry["message"] for name, entry in build.results.items() if entry["status"] in BROKEN}
    assert not errors, errors
    said = {name: build.results[name] for name in CLAIMS}
    return Built(
        {name: entry["status"] for name, entry in said.items()},
        {name: entry["failures"] for name, entry in said.items()},
        fetch(),
    )


def kept_rows(execute: Any, schema: str) -> dict[str, Counter[tuple[int, int]]]:
    query = 'SELECT records, members FROM "{}"."{}"'
    return {name: Counter(tuple(r) for r in execute(query.format(schema, name)).fetchall()) for name in CLAIMS}


def on_duckdb(folder: Path, stack: ExitStack) -> Built:
    path = folder / "clinic.duckdb"

    def fetch() -> dict[str, Counter[tuple[int, int]]]:
        with duckdb.connect(str(path), read_only=True) as connection:
            return kept_rows(connection.execute, f"main_{AUDITS}")

    return built(folder, {"type": "duckdb", "path": str(path), "threads": 1}, "duckdb", fetch)


def on_postgres(folder: Path, stack: ExitStack) -> Built:
    psycopg2 = pytest.importorskip("psycopg2", reason="psycopg2, which dbt-postgres brings, is not installed")
    running = stack.enter_context(server())
    profile = {
        "type": "postgres", "host": str(running.folder), "port": 5432, "user": running.user, "password": "",
        "dbname": running.database, "schema": "public", "threads": 2,
    }  # fmt: skip

    def fetch() -> dict[str, Counter[tuple[int, int]]]:
        with closing(psycopg2.connect(running.uri())) as connection, connection.cursor() as cursor:

            def execute(statement: str) -> Any:
                cursor.execute(statement)
                return cursor

            return kept_rows(execute, f"public_{AUDITS}")

    return built(folder, profile, "postgres", fetch)


ENGINES = {"duckdb": on_duckdb, "postgres": on_postgres}


@pytest.fixture(scope="module", params=list(ENGINES))
def result(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """One ``dbt build`` of all claims."""
    needs(request.param)
    with ExitStack() as stack:
        yield ENGINES[request.param](tmp_path_factory.mktemp(request.param), stack)


@pytest.mark.parametrize("name", list(CLAIMS))
def test_returns_the_classes_that_fail_by_definition(result: Built, name: str) -> None:
    claim = CLAIMS[name]
    assert result.rows[name] == claim.expected
    assert result.failures[name] == sum(claim.expected.values())
    assert result.status[name] == ("fail" if claim.expected else "pass")
    if claim.passes is not None:
        assert result.status[name] == ("pass" if claim.passes else "fail")


def test_random_tables_show_both_verdicts() -> None:
    written = {path.stem for path in (PACKAGE / "macros" / "generic_tests").glob("*.sql")}
    of_classes = {claim.test for claim in claims_at_random()}
    assert written == {*of_classes, "safe_counts"}  # that of tables of counts has claims of its own in the package
    for test in of_classes:
        verdicts = {bool(claim.expected) for claim in claims_at_random() if claim.test == test}
        assert enough(verdicts == {False, True}), test


TWO: dict[str, Any] = {"quasi_identifiers": ["age", "zip"], "sensitive": "diagnosis"}
SLIPS: dict[str, tuple[str, dict[str, Any]]] = {
    "k_anonymous: quasi_identifiers must be a list": ("k_anonymous", {"quasi_identifiers": "age", "k": 2}),
    "k_anonymous: k must be a whole number": ("k_anonymous", {"quasi_identifiers": ["age"], "k": "2 OR TRUE"}),
    "l_diverse: kind must be one of: distinct, entropy, recursive": ("l_diverse", {**TWO, "l": 2, "kind": "other"}),
    "l_diverse: c must be a number": ("l_diverse", {**TWO, "l": 2, "kind": "recursive"}),
    "l_diverse: c is of the kind recursive alone": ("l_diverse", {**TWO, "l": 2, "c": 2}),
    "beta_like: enhanced must be one of": ("beta_like", {**TWO, "beta": 1, "enhanced": "no"}),
    "average_risk: threshold must be at least 0 and at most 1": (
        "average_risk",
        {"quasi_identifiers": ["age"], "threshold": 5},
    ),
    "t_close: t must be at least 0 and at most 1": ("t_close", {**TWO, "t": 20}),
}


@pytest.fixture(scope="module")
def slips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Step]:
    """What dbt says of each slip, in a project that has the package and one model."""
    needs("duckdb")
    folder = tmp_path_factory.mktemp("slips")
    project(folder, "duckdb", [CLAIMS["pairs"]])
    wanted: list[tuple[str, ...]] = [("dbt", "deps")]
    for test, arguments in SLIPS.values():
        tests = [{f"sqlanon.{test}": {"arguments": arguments}}]
        document = {"version": 2, "models": [{"name": CLAIMS["pairs"].table.name, "data_tests": tests}]}
        wanted += [("write", "models/schema.yml", yaml.safe_dump(document)), ("dbt", "parse")]
    profile = {"type": "duckdb", "path": str(folder / "clinic.duckdb")}
    done = steps(folder, profile, *wanted)
    assert done[0].success, done[0].printed
    return dict(zip(SLIPS, done[2::2]))


@pytest.mark.parametrize("message", list(SLIPS))
def test_a_slip_in_the_arguments_stops_dbt(message: str, slips: dict[str, Step]) -> None:
    assert not slips[message].success
    assert message in " ".join(slips[message].printed.split())


@pytest.mark.slow
def test_the_package_tests_itself_and_warns_of_incremental_models(tmp_path: Path) -> None:
    """As a maintainer runs ``integration_tests``: all its claims are met, and one model is incremental."""
    needs("duckdb")
    project = shutil.copytree(PACKAGE, tmp_path / "package") / "integration_tests"
    profile = {"type": "duckdb", "path": str(tmp_path / "package.duckdb")}
    _, built, again = steps(project, profile, ("dbt", "deps"), ("dbt", "build"), ("dbt", "build"))
    for step in (built, again):
        assert step.success, step.printed
        assert len(step.results) == 18 and all(step.status(name) in ("pass", "success") for name in step.results)
        assert step.printed.count("the model visits_kept is incremental") == 1


def test_the_package_has_what_the_hub_asks_for() -> None:
    project = yaml.safe_load((PACKAGE / "dbt_project.yml").read_text(encoding="utf-8"))
    assert project["name"] == "sqlanon" and project["config-version"] == 2
    assert project["version"] == sqlanon.__version__ and len(project["require-dbt-version"]) == 2
    assert (PACKAGE / "README.md").is_file() and (PACKAGE / "integration_tests" / "dbt_project.yml").is_file()
    assert (PACKAGE / "LICENSE").read_bytes() == (PACKAGE.parents[1] / "LICENSE").read_bytes()
