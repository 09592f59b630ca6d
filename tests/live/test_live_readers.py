"""A reader of a live view on PostgreSQL learns nothing by seeds, settings, plans or values that read differently."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from policies import document_of
from postgres_server import Server, clinic_schemas, execute
from sqlglot import exp

import sqlanon
from sqlanon.core.engines.postgres import dialect as postgres_dialect
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.errors import EngineError, TargetError, UnsupportedError
from sqlanon.live.compiler.live import live_view
from sqlanon.live.compiler.live_models import FrozenColumn, LiveView

module = pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")

Rows = list[tuple[Any, ...]]


@pytest.fixture
def clinic(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A schema of tables that the anonymizer and the keeper read."""
    usage = "GRANT USAGE ON SCHEMA clinic TO keeper"
    select = "ALTER DEFAULT PRIVILEGES IN SCHEMA clinic GRANT SELECT ON TABLES TO anonymizer, keeper"
    with clinic_schemas(postgres, monkeypatch, usage, select) as found:
        yield found


def made_of(server: Server, kind: str, values: str) -> None:
    """A table of a quasi-identifier and of whose record it is; ``values`` is a SELECT of the first, given ``i``."""
    execute(
        server,
        f"CREATE TABLE clinic.t (q {kind}, who TEXT)",
        f"INSERT INTO clinic.t SELECT {values}, 'n' || i FROM generate_series(1, 40) i ORDER BY i",
    )


def policy(hierarchy: dict[str, Any], level: int | None = None, **changes: Any) -> sqlanon.Policy:
    fixed = {} if level is None else {"min_level": level, "max_level": level}
    document = document_of(
        {"q": {"role": "quasi_identifier", "hierarchy": hierarchy, **fixed}, "who": "keep"},
        k=5,
        source="postgresql://",
        table="clinic.t",
        accept=["who"],
        suppression_limit=0.5,
        if_exists="replace",
        output={"live_view": "anon.v", "owner": "keeper", "readers": ["analyst"]},
    )
    return sqlanon.Policy.from_dict({**document, **changes})


def seen(server: Server, *settings: str) -> Counter[tuple[Any, ...]]:
    query = "SELECT CAST(q AS TEXT), who FROM anon.v"
    return Counter(execute(server, *settings, query, user="analyst"))


def test_no_seed_of_a_reader_tells_the_order_of_the_source(clinic: Server) -> None:
    made_of(clinic, "INTEGER", "30 + i % 10")
    sqlanon.anonymize(None, policy({"intervals": {"width": 10}}, 1)).close()
    reads = [execute(clinic, "SELECT setseed(0.3)", "SELECT who FROM anon.v", user="analyst") for _ in range(2)]
    assert sorted(reads[0]) == sorted(reads[1]) and len(reads[0]) == 40
    assert reads[0] != reads[1], "the seed of the reader orders the rows"


LISTED = {f"2024-01-{day:02}": ["winter"] for day in range(1, 32)} | {"no day": ["winter"]}
ZONE = "SET timezone = 'AAA0BBB-1,J21/0,J22/1'"  # another offset on one day of the year alone
SETTINGS = [
    ("timestamptz", "timestamptz '2024-01-01 10:00+00' + i * interval '12 hours'", {"dates": ["month"]}, 1, ZONE),
    ("timestamptz", "timestamptz '2024-01-01 10:00+00' + i * interval '12 hours'", {"suppress": {}}, 1, ZONE),
    ("date", "CASE WHEN i > 5 THEN date '2024-01-01' + i % 25 END", {"dates": ["year"]}, 1, "SET datestyle = 'German'"),
    ("date", "CASE WHEN i > 5 THEN date '2024-01-01' + i % 25 END", {"levels": LISTED}, 1, "SET datestyle = 'German'"),
    ("date", "CASE WHEN i > 5 THEN date '2024-01-01' + i % 5 END", {"levels": LISTED}, 0, "SET datestyle = 'SQL, DMY'"),
    ("timestamp", "timestamp '2024-01-01' + i * interval '1 h'", {"dates": ["month"]}, 1, "SET datestyle = 'German'"),
    ("float8", "CASE i WHEN 3 THEN 99.4 WHEN 4 THEN 'NaN' ELSE 70 + i % 9 END", {"suppress": {}}, 1,
     "SET extra_float_digits = -13"),
    ("float8", "CASE i WHEN 3 THEN 72.3 ELSE 70 + i % 9 END", {"intervals": {"width": 10}}, 1,
     "SET extra_float_digits = -13"),
    ("real", "CASE i WHEN 3 THEN 72.3 ELSE 70 + i % 9 END", {"intervals": {"width": 10}}, 1,
     "SET extra_float_digits = -5"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "values", "hierarchy", "level", "setting"),
    SETTINGS,
    ids=[f"{s[0]} {next(iter(s[2]))} {s[3]}" for s in SETTINGS],
)
def test_no_setting_of_a_reader_chooses_which_records_come(
    clinic: Server, kind: str, values: str, hierarchy: dict[str, Any], level: int, setting: str
) -> None:
    """The difference of two reads of one state would be the records whose text the setting changes."""
    made_of(clinic, kind, values)
    sqlanon.anonymize(None, policy(hierarchy, level)).close()
    rows = seen(clinic)
    assert sum(rows.values()) == 40
    read = seen(clinic, setting)
    assert Counter(who for _, who in read.elements()) == Counter(who for _, who in rows.elements())
    if level:
        assert read == rows


def test_no_setting_of_a_reader_changes_a_view_over_seeds(clinic: Server) -> None:
    """As dbt makes it: the lookups are texts with a sign."""
    made_of(
        clinic, "timestamptz", "CASE WHEN i > 9 THEN timestamptz '2024-01-01 10:00+00' + i * interval '12 hours' END"
    )
    execute(
        clinic,
        "SET timezone = 'UTC'",
        "CREATE TABLE anon.seed AS SELECT DISTINCT COALESCE('=' || CAST(q AS TEXT), '-') AS value, '=all' AS text "
        "FROM clinic.t",
    )
    seed = exp.to_table("anon.seed")
    item = FrozenColumn("q", "TIMESTAMP WITH TIME ZONE", seed, signed=True, by_value=True)
    view = LiveView(exp.to_table("clinic.t"), (item,), {"q": "VARCHAR", "who": "VARCHAR"}, (KAnonymity(5),))
    built = postgres_dialect.render(live_view(view))
    execute(
        clinic,
        f"CREATE VIEW anon.v AS {built}",
        "GRANT USAGE ON SCHEMA anon TO analyst",
        "GRANT SELECT ON anon.v TO analyst",
    )
    assert sum(seen(clinic).values()) == 40 and seen(clinic) == seen(clinic, ZONE)


@pytest.mark.parametrize(("kind", "value"), [("interval", "interval '1 day'"), ("date[]", "ARRAY[date '2024-01-01']")])
def test_a_type_that_reads_by_settings_alone_is_refused(clinic: Server, kind: str, value: str) -> None:
    made_of(clinic, kind, value)
    for level in (0, 1):
        with pytest.raises(UnsupportedError, match="settings") as caught:
            sqlanon.anonymize(None, policy({"suppress": {}}, level))
        assert "snapshot" in str(caught.value)


def test_partitions_are_counted_through_their_parent_and_nothing_beneath_is_read(clinic: Server) -> None:
    """Who may read new tables by default may not read lookups; a partition that comes later is judged as all are."""
    execute(
        clinic,
        "CREATE TABLE clinic.t (q INTEGER, who TEXT) PARTITION BY RANGE (q)",
        "CREATE TABLE clinic.t_low PARTITION OF clinic.t FOR VALUES FROM (0) TO (50)",
        "INSERT INTO clinic.t SELECT 30 + i % 20, 'n' || i FROM generate_series(1, 40) i",
        "ALTER DEFAULT PRIVILEGES FOR ROLE anonymizer IN SCHEMA anon GRANT SELECT ON TABLES TO PUBLIC, analyst",
    )
    levels = {str(number): ["below" if number < 50 else "above"] for number in range(30, 60)}
    sqlanon.anonymize(None, policy({"levels": levels}, 1)).close()
    execute(
        clinic,
        "CREATE TABLE clinic.t_high PARTITION OF clinic.t FOR VALUES FROM (50) TO (100)",
        "INSERT INTO clinic.t SELECT 45 + i, 'late' FROM generate_series(1, 8) i",
    )
    assert Counter(q for q, _ in seen(clinic).elements()) == {"below": 44}
    for beneath in ("clinic.t", "clinic.t_low", "clinic.t_high", "anon.v_lookup_0", "anon.v_frozen"):
        with pytest.raises(dbapi.Error, match="permission denied"):
            execute(clinic, f"SELECT * FROM {beneath}", user="analyst")


def plans(server: Server, options: str, condition: str) -> list[str]:
    """The lines of a plan as a reader sees it, but for the condition that he wrote."""
    explaining = (
        "CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS "
        f"$$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN ({options}) ' || query; END $$"
    )  # the driver reads rows of a SELECT only
    query = f"SELECT * FROM pg_temp.plan($q$ SELECT * FROM anon.v WHERE {condition} $q$)"
    lines = execute(server, explaining, query, user="analyst")
    without = ("Filter:", "Time:", "Memory", "Sort Key:")
    return [line for (line,) in lines if not any(word in line for word in without)]


def test_no_plan_tells_the_size_of_a_suppressed_class(clinic: Server) -> None:
    execute(
        clinic,
        "CREATE TABLE clinic.t (q TEXT, born INTEGER, who TEXT)",
        "INSERT INTO clinic.t SELECT 'm', 1980, 'n' || i FROM generate_series(1, 20) i",
        "INSERT INTO clinic.t SELECT 'f', 1990, 'n' || i FROM generate_series(1, 20) i",
        "INSERT INTO clinic.t SELECT 'f', 1980, 'hidden' FROM generate_series(1, 3) i",
        "INSERT INTO clinic.t SELECT 'x', 1970, 'hidden' FROM generate_series(1, 2) i",
        "ANALYZE clinic.t",
    )
    quasi = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "max_level": 0}
    columns = {"q": quasi, "born": quasi, "who": {"role": "keep"}}
    sqlanon.anonymize(None, policy({}, columns=columns)).close()
    assert execute(clinic, "SELECT count(*) FROM anon.v", user="analyst") == [(40,)]
    suppressed = (
        "q = 'f' AND born = 1980",
        "born = 1970",
        "who = 'hidden'",
        "q = 'f' AND born = 1980 AND who = 'hidden'",
    )
    nowhere = ("q = 'g' AND born = 1981", "born = 1971", "who = 'nobody'", "q = 'g' AND born = 1981 AND who = 'nobody'")
    for options in ("ANALYZE, COSTS OFF, TIMING OFF", "COSTS ON"):
        for here, there in zip(suppressed, nowhere, strict=True):
            assert plans(clinic, options, here) == plans(clinic, options, there)


EQUAL = [
    ("TEXT COLLATE clinic.loose", "'Bob'", "'bob'", None),
    ("NUMERIC", "70", "70.000", "70"),
    ("DOUBLE PRECISION", "0", "'-0'", "0"),
    ("REAL", "0", "'-0'", "0"),
]


@pytest.mark.parametrize(("kind", "value", "odd", "shown"), EQUAL, ids=[item[0] for item in EQUAL])
def test_values_that_are_equal_and_read_differently_are_not_one_class(
    clinic: Server, kind: str, value: str, odd: str, shown: str | None
) -> None:
    """One record among five would stand alone, seen by whoever reads the texts: it is left out with the others, or its
    text is that of the others."""
    deterministic = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
    try:
        execute(clinic, f"CREATE COLLATION clinic.loose ({deterministic})")
    except dbapi.Error:
        pytest.skip("this PostgreSQL was built without ICU")
    execute(clinic, f"CREATE TABLE clinic.t (q {kind}, who TEXT)")
    execute(clinic, f"INSERT INTO clinic.t SELECT {value}, 'n' FROM generate_series(1, 10)")
    sqlanon.anonymize(None, policy({"suppress": {}}, 0, privacy=[{"type": "k_anonymity", "k": 10}])).close()
    execute(clinic, f"UPDATE clinic.t SET q = {odd} WHERE ctid = (SELECT min(ctid) FROM clinic.t)")
    read = Counter(q for q, _ in seen(clinic).elements())
    assert read == Counter({shown: 10} if shown is not None else {}), "the odd one is shown"


def row_security(server: Server) -> None:
    made_of(server, "INTEGER", "30 + i % 2")
    execute(
        server,
        "ALTER TABLE clinic.t ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY all_of_them ON clinic.t TO anonymizer USING (true)",
        "CREATE VIEW clinic.over AS SELECT * FROM clinic.t",
        "CREATE VIEW clinic.above AS SELECT q, who FROM clinic.over",
    )


@pytest.mark.parametrize("source", ["t", "over", "above"])
def test_row_security_beneath_is_refused(clinic: Server, source: str) -> None:
    row_security(clinic)
    with pytest.raises(UnsupportedError, match="row-level security") as caught:
        chosen = replace(policy({"suppress": {}}, table=f"clinic.{source}"), row_security="accept")
        sqlanon.anonymize(None, chosen)
    assert "snapshot" in str(caught.value)


def test_a_view_is_counted_as_its_owner_sees_it(clinic: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were row security not told by the database, the view would still be seen to show other rows."""
    row_security(clinic)
    monkeypatch.setattr(module.pg_catalog.PostgresCatalog, "differs_by_reader", lambda *_: False)
    with pytest.raises(TargetError, match="shows 0 records once it belongs to 'keeper', and 40"):
        sqlanon.anonymize(None, replace(policy({"suppress": {}}), row_security="accept"))
    assert execute(clinic, "SELECT 1 FROM pg_class WHERE relname = 'v'") == []


# -- refresh -----------------------------------------------------------------------------------------------------------


def test_a_refresh_that_may_not_read_does_not_plan_anew(clinic: Server) -> None:
    made_of(clinic, "INTEGER", "30 + i % 2")
    sqlanon.anonymize(None, policy({"suppress": {}})).close()
    execute(clinic, "REVOKE SELECT ON clinic.t FROM keeper")
    for dry_run in (True, False):
        with pytest.raises(EngineError) as caught:
            sqlanon.refresh(None, policy({"suppress": {}}), dry_run=dry_run)
        assert caught.value.kind == "42501" and caught.value.statement == "count live view"


def test_a_refresh_notices_a_changed_hierarchy_table(clinic: Server) -> None:
    made_of(clinic, "INTEGER", "30 + i % 2")
    execute(
        clinic,
        "CREATE TABLE clinic.ages (value TEXT, text TEXT)",
        "INSERT INTO clinic.ages VALUES ('30', 'young'), ('31', 'young'), ('32', 'older')",
    )
    listed = policy({"table": "clinic.ages"}, 1)
    reasons = [sqlanon.refresh(None, listed).reason, sqlanon.refresh(None, listed).reason]
    execute(clinic, "DELETE FROM clinic.ages WHERE value = '30'", "INSERT INTO clinic.ages VALUES ('30', 'young')")
    reasons.append(sqlanon.refresh(None, listed).reason)
    execute(clinic, "UPDATE clinic.ages SET text = 'old'")
    reasons += [sqlanon.refresh(None, listed).reason, sqlanon.refresh(None, listed).reason]
    assert reasons == ["missing", None, None, "files", None]
    assert {q for q, _ in seen(clinic)} == {"old"}


def test_a_dry_run_tells_how_many_persons_may_lose_a_record(clinic: Server) -> None:
    made_of(clinic, "INTEGER", "30 + i % 2")
    execute(
        clinic,
        "UPDATE clinic.t SET who = 'p' || (right(ctid::text, 2)::text)",
        "UPDATE clinic.t SET who = 'p1' WHERE q = 30",
    )
    columns = {"q": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}, "who": {"role": "drop"}}
    persons = execute(clinic, "SELECT count(DISTINCT who) FROM clinic.t")[0][0]
    counted = policy({}, columns=columns, accept=[], entity="who")
    missing = sqlanon.refresh(None, counted, dry_run=True)
    assert (missing.reason, missing.allowed) == ("missing", persons // 2) and persons < 30
    sqlanon.refresh(None, counted)
    stricter = policy({}, columns=columns, accept=[], entity="who", privacy=[{"type": "k_anonymity", "k": 3}])
    changed = sqlanon.refresh(None, stricter, dry_run=True)
    assert (changed.reason, changed.allowed) == ("policy", persons // 2)


# -- what is not ours --------------------------------------------------------------------------------------------------


def test_a_live_view_replaces_nothing_of_somebody_elses(clinic: Server) -> None:
    made_of(clinic, "INTEGER", "30 + i % 2")
    execute(
        clinic,
        "SET ROLE keeper",
        "CREATE TABLE anon.v_released (mine INTEGER)",
        "INSERT INTO anon.v_released VALUES (7)",
    )
    sqlanon.anonymize(None, policy({"suppress": {}})).close()
    execute(clinic, "DROP VIEW anon.v", "DROP TABLE anon.v_frozen", "DROP TABLE IF EXISTS anon.v_lookup_0")
    execute(clinic, "SET ROLE keeper", "CREATE VIEW anon.v AS SELECT 1 AS mine")
    with pytest.raises(TargetError, match="no view that sqlanon created"):
        sqlanon.anonymize(None, policy({"suppress": {}}))
    reported = [execute(clinic, f"SELECT mine FROM anon.{name}") for name in ("v", "v_released")]
    assert reported == [[(1,)], [(7,)]]


def test_a_snapshot_of_ours_is_replaced(clinic: Server) -> None:
    made_of(clinic, "INTEGER", "30 + i % 2")
    snapshot = policy({"suppress": {}}, output={"view": "anon.v", "owner": "keeper"})
    sqlanon.anonymize(None, snapshot).close()
    sqlanon.anonymize(None, policy({"suppress": {}})).close()
    names = execute(
        clinic, "SELECT relname FROM pg_class WHERE relnamespace = 'anon'::regnamespace AND relkind IN ('r', 'v')"
    )
    assert sorted(names) == [("v",), ("v_frozen",)]
