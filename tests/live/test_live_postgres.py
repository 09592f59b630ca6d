"""Live views on PostgreSQL: published, read by the roles that may, true after every change, and refreshed."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from live_worlds import TREE, VALUES, Wanted, World, published, sensitive_document
from postgres_server import Server, clinic_schemas, execute

import sqlanon
from sqlanon.errors import TargetError, UncoveredValuesError

pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")
dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="the driver of PostgreSQL is not installed")

LISTED = VALUES[:6]
TABLES = ("anon.v_frozen", "anon.v_lookup_0", "clinic.t")


@pytest.fixture
def clinic(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A table of its own, which the anonymizer alone reads."""
    made = "CREATE TABLE clinic.t (q0 TEXT, s TEXT, flag BOOLEAN, person TEXT, id BIGINT)"
    with clinic_schemas(postgres, monkeypatch, made, "GRANT SELECT ON clinic.t TO anonymizer") as found:
        yield found


def policy(**changes: Any) -> sqlanon.Policy:
    levels = {value: ["x" if number < 3 else "y", "*"] for number, value in enumerate(LISTED)}
    document = {
        "source": "postgresql://",
        "table": "clinic.t",
        "undeclared": "drop",
        "columns": {
            "q0": {"role": "quasi_identifier", "hierarchy": {"levels": levels}, "min_level": 1, "max_level": 1},
            "s": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
            "id": {"role": "keep"},
        },
        "accept": ["id"],
        "privacy": [{"type": "k_anonymity", "k": 3}],
        "suppression_limit": 0.5,
        "output": {"live_view": "anon.v", "readers": ["analyst"]},
    }
    return sqlanon.Policy.from_dict({**document, **changes})


def world() -> World:
    lookup: dict[str | None, str | None] = {value: "x" if number < 3 else "y" for number, value in enumerate(LISTED)}
    return World([{**lookup, None: None}], Wanted(k=3, l=2))


def write(server: Server, made: World) -> None:
    def literal(value: Any) -> str:
        return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)

    rows = [f"({', '.join(literal(value) for value in row.values())})" for row in made.rows]
    execute(server, "DELETE FROM clinic.t", *([f"INSERT INTO clinic.t VALUES {', '.join(rows)}"] if rows else []))


def seen(server: Server, user: str = "analyst") -> Counter[tuple[Any, ...]]:
    return Counter(execute(server, "SELECT * FROM anon.v", user=user))


def filled(server: Server, random: Random) -> World:
    built = world()
    built.rows = [built.new_row(random) | {"q0": random.choice(LISTED)} for _ in range(30)]
    write(server, built)
    return built


def test_a_reader_sees_what_must_be_there_and_nothing_beneath(clinic: Server) -> None:
    random = Random(4)
    built = filled(clinic, random)
    with sqlanon.anonymize(None, policy()) as release:
        assert release.output == {"live_view": "anon.v"} and release.ledger.published == sum(published(built).values())
    sizes = set()
    for _ in range(12):
        built.change(random)
        write(clinic, built)
        assert seen(clinic) == published(built)
        sizes.add(sum(published(built).values()) > 0)
    assert sizes == {True, False}
    for table in TABLES:
        with pytest.raises(dbapi.ProgrammingError, match="permission denied"):
            execute(clinic, f"SELECT * FROM {table}", user="analyst")


def test_models_of_distributions_hold_after_every_change(clinic: Server) -> None:
    """With a hierarchy and its order, which are frozen beneath the view; a new value has no place there."""
    built = filled(clinic, Random(7))
    built.wanted = Wanted(k=2, entropy=1.5, recursive=(2, Fraction(3)), close={"hierarchical": 0.4, "ordered": 0.4})
    built.wanted.tree = dict(TREE)
    columns = {**policy().to_dict()["columns"], "s": sensitive_document(built.wanted)}
    with sqlanon.anonymize(None, policy(columns=columns, privacy=[{"type": "k_anonymity", "k": 2}])) as release:
        assert release.ledger.published == sum(published(built).values()) > 0
    random, sizes = Random(8), set()
    for step in range(12):
        built.change(random)
        if step == 6:
            built.rows += [{**row, "s": "new", "id": -row["id"]} for row in built.rows[:1]]
        write(clinic, built)
        assert seen(clinic) == published(built)
        sizes.add(sum(published(built).values()) > 0)
    assert sizes == {True, False}
    for table in ("anon.v_lookup_0", "anon.v_lookup_1"):
        with pytest.raises(dbapi.ProgrammingError, match="permission denied"):
            execute(clinic, f"SELECT * FROM {table}", user="analyst")


def test_the_owner_of_a_live_view_must_be_able_to_read_the_source(clinic: Server) -> None:
    built = filled(clinic, Random(4))
    owned = policy(output={"live_view": "anon.v", "owner": "keeper", "readers": ["analyst"]})
    with pytest.raises(TargetError, match="'keeper', who may not read"):
        sqlanon.anonymize(None, owned)
    assert execute(clinic, "SELECT relname FROM pg_class WHERE relnamespace = 'anon'::regnamespace") == []
    execute(clinic, "GRANT USAGE ON SCHEMA clinic TO keeper", "GRANT SELECT ON clinic.t TO keeper")
    sqlanon.anonymize(None, owned).close()
    assert seen(clinic) == published(built)
    owners = "SELECT DISTINCT rolname FROM pg_class JOIN pg_roles r ON r.oid = relowner WHERE relname LIKE 'v%' AND "
    assert execute(clinic, f"{owners} relnamespace = 'anon'::regnamespace AND relkind IN ('v', 'r')") == [("keeper",)]


def test_a_live_view_is_refreshed_and_its_readers_stay(clinic: Server) -> None:
    built = filled(clinic, Random(4))
    sqlanon.anonymize(None, policy()).close()
    assert sqlanon.refresh(None, policy()).reason is None
    built.rows += [
        built.new_row(Random(1)) | {"q0": "d", "s": secret, "id": 1000 + i} for i, secret in enumerate("ab" * 20)
    ]
    built.rows += [built.new_row(Random(1)) | {"q0": "new", "id": 2000 + i} for i in range(80)]
    write(clinic, built)
    with pytest.raises(UncoveredValuesError):
        sqlanon.refresh(None, policy())
    assert seen(clinic) == published(built), "the old view stays"
    wider = policy(uncovered="suppress", suppression_limit=0.9)
    found = sqlanon.refresh(None, wider)
    assert found.refreshed and found.reason == "policy" and found.published == sum(published(built).values())
    assert seen(clinic) == published(built)


def test_no_function_of_a_reader_sees_a_suppressed_record(clinic: Server) -> None:
    """A cheap function of the reader's own would be called before the class sizes are known, were it not for what keeps
    his filter out, the barrier and the fences of the query: it could tell what it saw, here by an error."""
    rows = [(LISTED[0], "a"), (LISTED[0], "b"), (LISTED[1], "c"), (LISTED[1], "a"), (LISTED[3], "secret")]
    values = ", ".join(f"('{q0}', '{s}', true, 'p', {number})" for number, (q0, s) in enumerate(rows))
    execute(clinic, f"INSERT INTO clinic.t VALUES {values}")
    with sqlanon.anonymize(None, policy()) as release:
        assert release.ledger.suppressed == 1
    spying = (
        "CREATE FUNCTION pg_temp.spy(seen text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE COST 0.0000001 AS "
        "$$ BEGIN IF seen IN ('y', 'secret') THEN RAISE EXCEPTION 'seen'; END IF; RETURN true; END $$"
    )
    asked = [f"SELECT count(*) FROM anon.v WHERE pg_temp.spy({name})" for name in ("q0", "s")]
    for query in asked:
        assert execute(clinic, spying, query, user="analyst") == [(4,)]
    reported = execute(clinic, "SELECT pg_get_viewdef('anon.v'::regclass)")[0][0]
    for fence in (" MATERIALIZED", "OFFSET 0", ' COLLATE "C"'):  # a window by an expression is a fence too
        assert fence in reported
        reported = reported.replace(fence, "")
    execute(clinic, f"CREATE OR REPLACE VIEW anon.v AS {reported}")
    with pytest.raises(dbapi.Error, match="seen"):  # the same without: the function sees what is suppressed
        execute(clinic, spying, asked[0], user="analyst")


def test_a_view_is_read_once_for_all_of_its_audits(clinic: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would join, sort and shuffle the whole source again."""
    from sqlanon.core.engines.postgres.engine import PostgresEngine

    made = world()
    made.rows = [{"q0": LISTED[n % 3], "s": "ab"[n % 2], "flag": None, "person": None, "id": n} for n in range(12)]
    write(clinic, made)
    sent: list[str] = []
    execute_text = PostgresEngine._text
    monkeypatch.setattr(
        PostgresEngine, "_text", lambda self, statement: sent.append(execute_text(self, statement)) or sent[-1]
    )
    sqlanon.anonymize(None, policy()).close()
    reads = [text for text in sent if 'FROM "anon"."v"' in text]
    assert len(reads) == 1 and len([text for text in sent if 'FROM "sqlanon_read_live"' in text]) > 1


@pytest.mark.parametrize(("diverse", "earlier"), [(False, False), (True, False), (True, True)])
def test_a_view_with_an_epoch_changes_in_groups_at_its_end(clinic: Server, diverse: bool, earlier: bool) -> None:
    """Its readers read the view alone, and a single record that goes or comes shows in no state.

    Four of eight go, and four stay; where values are judged the group is not divided, and six have to go.
    """

    def rows(first: int, last: int, q0: str) -> list[dict[str, Any]]:
        made = range(first, last)
        return [{"q0": q0, "s": "ab"[n % 2], "flag": None, "person": None, "id": n} for n in made]

    def next_state(now: list[dict[str, Any]]) -> tuple[int, ...]:
        built.rows = now
        write(clinic, built)
        execute(clinic, "UPDATE anon.v_frozen SET value = (value::bigint - 1)::text WHERE name = 'number'")
        found = sqlanon.refresh(None, asked)
        assert found.epoch is not None and found.epoch.step is not None
        step = found.epoch.step
        return step.joined, step.gone, step.withdrawn, step.held

    output = {"live_view": "anon.v", "readers": ["analyst"], "epoch": "1 day", "margin": 1, "record": "id"}
    columns = policy().to_dict()["columns"] | ({} if diverse else {"s": {"role": "keep"}})
    asked, built = policy(output=output, columns=columns, accept=["id", "s"]), world()
    first, second = rows(0, 8, LISTED[0]), rows(10, 14, LISTED[4])
    built.rows = first + second
    write(clinic, built)
    sqlanon.anonymize(None, asked).close()
    state = seen(clinic)
    assert sum(state.values()) == 12
    for beneath in ("anon.v_shown", "anon.v_left", "anon.v_frozen"):
        with pytest.raises(dbapi.Error, match="permission denied"):
            execute(clinic, f"SELECT * FROM {beneath}", user="analyst")
    built.rows = []
    write(clinic, built)
    assert seen(clinic) == state, "it reads nothing of the source"
    if earlier:  # as the build before renewals wrote it
        execute(
            clinic,
            "ALTER TABLE anon.v_shown DROP COLUMN sqlanon_place, DROP COLUMN sqlanon_since",
            "DELETE FROM anon.v_frozen WHERE name IN ('states', 'start', 'nodes') OR kind = 'question'",
        )
    few = rows(20, 23, LISTED[1])
    assert next_state([*first[1:], *second, *few]) == (0, 0, 0, 1)
    assert seen(clinic) == state
    few += rows(23, 24, LISTED[1])
    stay, left = (first[6:], set()) if diverse else (first[4:], {4, 5, 6, 7})
    lost = (0, 0, 12, 0) if diverse else (0, 4, 4, 0)
    assert next_state([*stay, *second[:2], *few]) == lost, "a class only loses"
    assert {row[2] for row in seen(clinic)} == left
    assert next_state([*stay, *second, *few]) == (4, 0, 0, 0)
    assert {row[2] for row in seen(clinic)} == left | {20, 21, 22, 23}
    assert asked.output is not None
    asked = replace(asked, output=replace(asked.output, coarser_after=2, hold=1))
    built.rows += rows(30, 36, LISTED[4])
    write(clinic, built)
    renewed = sqlanon.refresh(None, asked, renew=True).epoch
    assert renewed is not None and renewed.step is not None and renewed.step.joined == 6
    assert {row[2] for row in seen(clinic)} == left | {*range(20, 24), *range(30, 36)}
    with pytest.raises(dbapi.Error, match="permission denied"):
        execute(clinic, "SELECT * FROM anon.v_shown", user="analyst")
    assert next_state(built.rows[:-1]) == (0, 0, 0, 1)
    assert next_state(built.rows) == ((0, 0, 6, 0) if diverse else (0, 3, 0, 0)), "it was held as long as asked"
