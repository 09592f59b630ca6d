"""Pseudonyms and shifted dates of whole runs: what is published, what is audited, and that the key is nowhere."""

import base64
import datetime
import hashlib
import hmac
import logging
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from effort import fast_of
from engine_kinds import KINDS, Kind, planned
from policies import file_of
from sqlglot import exp

import sqlanon
from sqlanon import Output, Policy
from sqlanon.cli import main
from sqlanon.core.audit.release import audit_entities
from sqlanon.core.compiler.keyed import KeyedColumns
from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import keyed as rules

SECRET = bytes(range(33, 97))
DAY = datetime.timedelta(days=1)
FILES = [(f"visits.{one}", f"out.{other}") for one in ("parquet", "csv") for other in ("parquet", "csv", "duckdb")]
FILES = fast_of(FILES, ("visits.csv", "out.parquet"))


@pytest.fixture(autouse=True)
def linked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let k-anonymity protect pseudonyms: these tests are about what is published."""
    monkeypatch.setattr(rules, "PROTECTING", ("profile_k", "k_anonymity"))


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "secret.key"
    path.write_bytes(SECRET)
    path.chmod(0o600)
    return path


def visits(persons: int = 40, seed: int = 1) -> pa.Table:
    """Persons with one to five visits: admitted (a date), discharged (a time), some of them NULL."""
    draw = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    for person in range(persons):
        sex = draw.choice("fm")
        for _ in range(draw.randint(1, 5)):
            admitted = datetime.date(2020, 1, 1) + draw.randrange(1500) * DAY
            at = datetime.time(draw.randrange(24), draw.randrange(60), draw.randrange(60))
            left = datetime.datetime.combine(admitted, at) + draw.randrange(40) * DAY
            rows.append((person * 7, sex, admitted if draw.random() < 0.9 else None, left, draw.randrange(5)))
    types = (pa.int64(), pa.string(), pa.date32(), pa.timestamp("us"), pa.int64())
    names = ("person", "sex", "admitted", "discharged", "ward")
    return pa.table({n: pa.array([r[i] for r in rows], t) for i, (n, t) in enumerate(zip(names, types, strict=True))})


def document(at: Path | None, **changes: Any) -> dict[str, Any]:
    return {
        "table": "t",
        "entity": "person",
        **({} if at is None else {"key": {"file": str(at)}}),
        "columns": {
            "person": {"role": "pseudonym"},
            "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "admitted": {"role": "shift", "days": 180},
            "discharged": {"role": "shift", "days": 180},
            "ward": {"role": "keep"},
        },
        "privacy": [{"type": "k_anonymity", "k": 3}],
        **changes,
    }


def shifted_only(key: Path, **changes: Any) -> dict[str, Any]:
    keys = document(key, **changes)
    return keys | {"columns": {**keys["columns"], "person": {"role": "drop"}}}


@pytest.fixture(params=[kind for kind in KINDS if kind.name != "spark"], ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of engine in turn that has keyed hashes."""
    return request.param


def as_date(value: Any) -> Any:
    """A date or time of a release, which SQLite holds as a text."""
    if not isinstance(value, str):
        return value
    return datetime.datetime.fromisoformat(value) if len(value) > 10 else datetime.date.fromisoformat(value)


def signature(rows: list[dict[str, Any]]) -> tuple[Any, datetime.date]:
    """What no shift changes of the rows of a person, and the day that the shift is counted from."""
    first = min(row["discharged"] for row in rows).date()

    def since(value: Any) -> Any:
        if value is None:
            return None
        start = datetime.datetime.combine(first, datetime.time())
        return value - start if isinstance(value, datetime.datetime) else value - first

    found = Counter((row["sex"], row["ward"], since(row["admitted"]), since(row["discharged"])) for row in rows)
    return frozenset(found.items()), first


def check_rows(source: pa.Table, rows: list[dict[str, Any]], days: int, step: int = 1) -> dict[str, int]:
    """Compare a release of all records with its source; return the offset of each pseudonym.

    Persons are found again by what no shift changes.
    """
    before: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    after: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in source.to_pylist():
        before[row["person"]].append(row)
    for row in rows:
        after[row["person"]].append(row | {name: as_date(row[name]) for name in ("admitted", "discharged")})
    assert len(before) == len(after)
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in after)
    known = dict(map(signature, before.values()))
    assert len(known) == len(before), "persons of the test are alike"
    offsets = {}
    for name, own in after.items():
        kind, first = signature(own)
        offsets[name] = (first - known.pop(kind)).days
        assert abs(offsets[name]) <= days
        assert offsets[name] % step == 0
    return offsets


def expected(text: str, context: str) -> str:
    release = hmac.new(SECRET, context.encode(), hashlib.sha256).digest()
    own = hmac.new(release, b"pseudonym", hashlib.sha256).digest()
    return hmac.new(own, text.encode(), hashlib.sha256).hexdigest()[:32]


@pytest.mark.slow
def test_a_release_on_every_engine(engine: Engine, key: Path) -> None:
    source = visits()
    keys = document(key, key={"file": str(key), "context": "study"})
    with planned(engine, source, keys) as plan, plan.publish() as release:
        rows = release.to_arrow().to_pylist()
    assert list(rows[0]) == ["person", "sex", "admitted", "discharged", "ward"]
    assert len(rows) == source.num_rows
    offsets = check_rows(source, rows, 180)
    assert set(offsets) == {expected(str(person), "study") for person in set(source.column("person").to_pylist())}
    assert len(set(offsets.values())) > 10


@pytest.mark.slow
def test_weekdays_are_kept(engine: Engine, key: Path) -> None:
    source, keys = visits(), document(key)
    for name in ("admitted", "discharged"):
        keys["columns"][name] = {"role": "shift", "days": 30, "keep_weekday": True}
    with planned(engine, source, keys) as plan, plan.publish() as release:
        rows = release.to_arrow().to_pylist()
    assert set(check_rows(source, rows, 30, step=7).values()) <= {-28, -21, -14, -7, 0, 7, 14, 21, 28}


@pytest.mark.slow
def test_a_table_is_published_and_nothing_stays(engine: Engine, key: Path) -> None:
    source = visits()
    with planned(engine, source, document(key)) as plan:
        try:
            plan.publish(Output.table("released"))
            where = engine.targets.place(["released"], None)
            rows = engine.arrow("read", f"SELECT * FROM {engine.render(where.table)}").to_pylist()
            check_rows(source, rows, 180)
            for name in ("sqlanon_keyed", "sqlanon_release_key", "sqlanon_staged_release"):
                with pytest.raises(sqlanon.EngineError):
                    engine.run("gone", f"SELECT 1 FROM {name}")
        finally:
            engine.run("drop", "DROP TABLE IF EXISTS released")


def write(folder: Path, data: pa.Table) -> Path:
    connection = duckdb.connect()
    connection.register("d", data)
    connection.execute(f"COPY d TO '{folder}/visits.parquet'")
    connection.execute(f"COPY d TO '{folder}/visits.csv'")
    return folder / "visits.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("files", FILES)
def test_files(tmp_path: Path, key: Path, files: tuple[str, str]) -> None:
    source, target = files
    data = visits()
    write(tmp_path, data)
    keys = document(key, source=source, output={"file": target})
    keys.pop("table")
    with sqlanon.anonymize(None, Policy.from_dict(keys, base_directory=tmp_path)) as release:
        rows = release.to_arrow().to_pylist()
    for row in rows:
        row["ward"] = int(row["ward"])
    check_rows(data, rows, 180)


@pytest.mark.slow
def test_pseudonyms_differ_by_release_and_agree_in_a_context(tmp_path: Path, key: Path) -> None:
    write(tmp_path, visits())

    def published(**changes: Any) -> set[tuple[Any, ...]]:
        keys = document(key, source="visits.parquet", **changes)
        keys.pop("table")
        with sqlanon.anonymize(None, Policy.from_dict(keys, base_directory=tmp_path)) as release:
            warned = any("several of them" in warning for warning in release.warnings)
            assert warned is ("key" in changes)
            described = {c["name"]: c for c in release.manifest["columns"]}
            assert described["person"] == {"name": "person", "role": "pseudonym", "differs_by_release": not warned}
            assert described["admitted"] == {
                "name": "admitted", "role": "shift", "days": 180, "keep_weekday": False,
                "differs_by_release": not warned,
            }  # fmt: skip
            return set(zip(*[c.to_pylist() for c in release.to_arrow().columns], strict=True))

    in_context = {"file": str(key), "context": "study"}
    one, other = published(), published()
    assert not {row[0] for row in one} & {row[0] for row in other}
    assert published(key=in_context) == published(key=in_context)


@pytest.mark.slow
def test_suppressed_persons_are_redacted(tmp_path: Path, key: Path) -> None:
    data = visits(40)
    rare = pa.table({"person": [999], "sex": ["x"], "admitted": [datetime.date(2021, 5, 5)],
                     "discharged": [datetime.datetime(2021, 5, 6)], "ward": [1]})  # fmt: skip
    data = pa.concat_tables([data, rare.cast(data.schema)])
    write(tmp_path, data)
    keys = document(key, source="visits.parquet", suppressed="redact", suppression_count=3, output={"file": "o.csv"})
    keys.pop("table")
    keys["columns"]["sex"]["max_level"] = 0
    with sqlanon.anonymize(None, Policy.from_dict(keys, base_directory=tmp_path)) as release:
        assert release.ledger.suppressed == 1
        rows = release.to_arrow().to_pylist()
    marked = [row for row in rows if row["person"] == "[suppressed]"]
    assert len(marked) == 1
    assert set(marked[0].values()) == {"[suppressed]"}
    assert len(rows) == data.num_rows


def test_dates_are_shifted_without_pseudonyms(tmp_path: Path, key: Path) -> None:
    data = visits()
    write(tmp_path, data)
    keys = shifted_only(key, source="visits.parquet")
    keys.pop("table")
    with sqlanon.anonymize(None, Policy.from_dict(keys, base_directory=tmp_path)) as release:
        rows = release.to_arrow()
    assert rows.column_names == ["sex", "admitted", "discharged", "ward"]
    assert rows.column("admitted").null_count == data.column("admitted").null_count
    stays = Counter(
        (d["discharged"].date() - d["admitted"]).days for d in rows.to_pylist() if d["admitted"] is not None
    )
    assert stays == Counter(
        (d["discharged"].date() - d["admitted"]).days for d in data.to_pylist() if d["admitted"] is not None
    )
    assert Counter(rows.column("admitted").to_pylist()) != Counter(data.column("admitted").to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("role", ["shift", "keep", "drop"])
def test_dates_that_are_kept_beside_shifted_ones_are_a_warning(tmp_path: Path, key: Path, role: str) -> None:
    write(tmp_path, visits())
    keys = shifted_only(key, source="visits.parquet", accept=["discharged"] if role == "keep" else [])
    keys.pop("table")
    if role != "shift":
        keys["columns"]["discharged"] = {"role": role}
    with sqlanon.anonymize(None, Policy.from_dict(keys, base_directory=tmp_path)) as release:
        assert any("shifted: 'discharged'" in text for text in release.warnings) == (role == "keep")


# -- where the key must not be -----------------------------------------------------------------------------------------


def secrets_of(context: str) -> list[bytes]:
    """All that would give the key away, as bytes: the key, what is derived from it, its blocks; in three spellings."""
    release = hmac.new(SECRET, context.encode(), hashlib.sha256).digest()
    keys = [SECRET, release, *(hmac.new(release, p, hashlib.sha256).digest() for p in (b"pseudonym", b"shift"))]
    blocks = [bytes(b ^ pad for b in k.ljust(64, b"\0")) for k in keys[2:] for pad in (0x36, 0x5C)]
    blocks = [block[:32] for block in blocks]
    spelled = [(k, k.hex().encode(), k.hex().upper().encode(), base64.b64encode(k)[:40]) for k in [*keys, *blocks]]
    return [each for group in spelled for each in group]


@pytest.mark.slow
@pytest.mark.parametrize("kind", fast_of(["database", "parquet"], "parquet"))
def test_the_key_is_nowhere(tmp_path: Path, key: Path, caplog: pytest.LogCaptureFixture, kind: str) -> None:
    caplog.set_level(logging.DEBUG)
    data = visits()
    source = write(tmp_path, data)
    keys = document(
        key,
        key={"file": str(key), "context": "study"},
        source="visits.parquet",
        output={"file": "out.parquet"},
        report="report.html",
    )
    keys.pop("table")
    if kind == "database":
        with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
            connection.execute(f"CREATE TABLE t AS SELECT * FROM '{source}'")
        keys |= {"source": "clinic.duckdb", "table": "t", "output": {"table": "released"}}
    policy = file_of(tmp_path / "policy.json", keys)
    run = CliRunner().invoke(main, ["run", str(policy), "--json"])
    assert run.exit_code == 0, run.stderr
    explained = CliRunner().invoke(main, ["explain", str(policy)])
    assert explained.exit_code == 0, explained.stderr
    assert "sha256" in explained.stdout.lower()
    assert "sqlanon_release_key" in explained.stdout
    told = [run.stdout, run.stderr, explained.stdout, explained.stderr, caplog.text]
    told.append(CliRunner().invoke(main, ["run", str(policy)]).stderr)  # the target exists
    with sqlanon.anonymize(None, Policy.from_dict({**keys, "output": None}, base_directory=tmp_path)) as release:
        told += [release.sql, release.plan.release_sql, repr(release.plan), repr(release.manifest)]
        told += [
            repr(release.plan.engine.journal.entries),
            repr(release.plan.policy),
            str(release.plan.standalone_sql()),
        ]
        told.append(str(release.plan.policy.to_dict()) + release.plan.policy.fingerprint())
    for path in tmp_path.rglob("*"):
        if path.is_file() and path != key:
            told.append(path.read_bytes().decode("latin-1"))
    everything = "\n".join(told).encode("latin-1", "replace")
    assert b"sqlanon" in everything
    assert not [secret for secret in secrets_of("study") if secret in everything]


def test_the_search_for_the_key_would_find_it(tmp_path: Path) -> None:
    assert SECRET.hex().encode() in secrets_of("study")
    release = hmac.new(SECRET, b"study", hashlib.sha256).digest()
    own = hmac.new(release, b"pseudonym", hashlib.sha256).digest()
    assert bytes(b ^ 0x36 for b in own).hex().encode() in secrets_of("study")


# -- planted faults ----------------------------------------------------------------------------------------------------


def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: Path, **replaced: Any) -> str:
    write(tmp_path, visits())
    keys = document(key, source="visits.parquet", output={"file": "out.parquet"})
    keys.pop("table")
    for name, value in replaced.items():
        monkeypatch.setattr(f"sqlanon.core.compiler.keyed.{name}", value)
    with pytest.raises(sqlanon.AuditError) as raised:
        sqlanon.anonymize(None, Policy.from_dict(keys, base_directory=tmp_path))
    assert not (tmp_path / "out.parquet").exists()
    return str(raised.value)


def test_short_pseudonyms_do_not_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: Path) -> None:
    assert "pseudonyms of person" in failing(monkeypatch, tmp_path, key, DIGITS=31)


def test_two_persons_with_one_pseudonym_do_not_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: Path) -> None:
    same = exp.Literal.string("0" * 32)
    message = failing(monkeypatch, tmp_path, key, pseudonym=lambda text, keys: same.copy())
    assert "unpaired persons of person" in message


@pytest.mark.slow
def test_originals_do_not_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: Path) -> None:
    assert "pseudonyms of person" in failing(monkeypatch, tmp_path, key, pseudonym=lambda text, keys: text)


def test_shifts_beyond_the_window_do_not_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: Path) -> None:
    wide = exp.convert(181)
    message = failing(monkeypatch, tmp_path, key, shift_days=lambda *_, **__: wide.copy())
    assert "shifted_dates" in message
    assert "pseudonyms" not in message


def test_dates_of_a_person_that_are_shifted_apart_do_not_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, key: Path
) -> None:
    whole = KeyedColumns.joined

    def apart(self: KeyedColumns, source: Any) -> Any:
        query = whole(self, source)
        found = [call for call in query.find_all(exp.Anonymous) if call.name == "SQLANON_SHIFTED"]
        found[-1].set("expressions", [found[-1].expressions[0], exp.convert(1)])
        return query

    monkeypatch.setattr(KeyedColumns, "joined", apart)
    assert "shifted_dates" in failing(monkeypatch, tmp_path, key)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("after", "offends"),
    [
        (["2024-03-02", "2024-03-01 09:30:00"], False),
        (["2024-03-02", "2024-03-02 09:30:00"], True),  # another interval
        (["2024-03-02", "2024-03-01 09:31:00"], True),  # another time of day
        (["2024-03-02", None], True),
        (["2024-03-09", "2024-03-08 09:30:00"], True),  # beyond the window
        (["2024-02-29", "2024-02-28 09:30:00"], False),
    ],
)
def test_the_audit_of_shifted_dates(engine: Engine, after: list[str | None], offends: bool) -> None:
    from sqlanon.core.audit.keyed import KeyedClaim
    from sqlanon.core.audit.release import ReleaseClaim
    from sqlanon.core.sqltrees.trees import table

    columns = {"who": ["7"], "a": ["2024-02-28"], "b": ["2024-02-27 09:30:00"], "x": after[:1], "y": after[1:]}
    engine.load("rows", "staged", pa.table({n: pa.array(v, pa.string()) for n, v in columns.items()}), replayed=False)
    claim = ReleaseClaim(
        types={"x": "VARCHAR", "y": "VARCHAR"},
        quasi_identifiers=(),
        models=(),
        published=1,
        keyed=KeyedClaim(pseudonym=None, shifted=(("x", "a"), ("y", "b")), days=7),
    )
    if not offends:
        audit_entities(engine, table("staged"), claim, entity="who")
        return
    with pytest.raises(sqlanon.AuditError, match="shifted_dates"):
        audit_entities(engine, table("staged"), claim, entity="who")


# -- with the model that protects what pseudonyms link -----------------------------------------------------------------


@pytest.mark.slow
def test_linked_persons_have_k_with_the_same_rows(engine: Engine, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "PROTECTING", ("profile_k",))
    source = visits(120, seed=4)
    keys = document(key, privacy=[{"type": "profile_k", "k": 4}], suppression_limit=0.4)
    keys["columns"]["ward"] = {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 2, "fanouts": [2]}}}
    with planned(engine, source, keys) as plan, plan.publish() as release:
        rows = release.to_arrow().to_pylist()
        entities = release.ledger.entities
    persons: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        persons[row["person"]].append((row["sex"], row["ward"]))
    profiles = Counter(tuple(sorted(own)) for own in persons.values())
    assert min(profiles.values()) >= 4
    assert entities is not None
    assert len(persons) == entities.published
    assert entities.suppressed > 0
    of_source = Counter(Counter(source.column("person").to_pylist()).values())
    of_release = Counter(map(len, persons.values()))
    assert all(of_release[visits_] <= of_source[visits_] for visits_ in of_release)  # whole persons are suppressed


@pytest.mark.slow
def test_a_report_says_what_pseudonyms_leave_open(tmp_path: Path, key: Path) -> None:
    write(tmp_path, visits(120, seed=4))
    keys = document(key, source="visits.parquet", privacy=[{"type": "profile_k", "k": 3}], suppression_limit=0.3)
    keys.pop("table")
    policy = Policy.from_dict(keys | {"output": {"file": "out.parquet"}}, base_directory=tmp_path)
    with sqlanon.anonymize(None, policy) as release:
        sqlanon.write_report(sqlanon.summarize(release), tmp_path / "report.md")
        with pytest.raises(sqlanon.UnsupportedError, match="whole persons"):
            release.utility()
    text = " ".join((tmp_path / "report.md").read_text().split())
    assert "Pseudonyms do not make anonymous: they link the records of a person." in text
    assert "Shifted dates (admitted, discharged) hide when something was" in text
