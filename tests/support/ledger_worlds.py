"""Sources with a record key, policies with a ledger of their releases, and what the ledger must hold (brute force)."""

import hashlib
import hmac
import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from tables import store

from sqlanon.ledger.seals import head_file

SECRET = bytes(range(7, 57))
COLUMNS = "case_id text, sex text, place text, age integer, ill text, tag text"
TEXTS = ["", "NULL", "*", "a", "b", None]


def records(seed: int, rows: int = 60) -> pa.Table:
    """Records with a key, quasi-identifiers with NULLs and odd texts, a sensitive column, and a copy of the key."""
    draw = random.Random(seed)
    keys = draw.sample(range(-500, 5000), rows)
    columns = {
        "case_id": pa.array([None if key is None else f"k{key}" for key in keys]),
        "sex": pa.array([draw.choice("fm") for _ in keys]),
        "place": pa.array([draw.choice(TEXTS) for _ in keys]),
        "age": pa.array([draw.choice([None, *range(20, 30)]) for _ in keys], pa.int64()),
        "ill": pa.array([draw.choice(["flu", "cold", "", None, "NULL"]) for _ in keys]),
        "tag": pa.array([f"k{key}" for key in keys]),
    }
    return pa.table(columns)


def document(folder: Path, **changes: Any) -> dict[str, Any]:
    """A policy of these records; releases show whose record each row is (``tag``), for the tests alone."""
    return {
        "source": str(folder / "source.duckdb"),
        "table": "t",
        "columns": {
            "case_id": {"role": "drop"},
            "sex": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "place": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}},
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5, "fanouts": [2]}}},
            "ill": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
            "tag": {"role": "keep"},
        },
        "accept": ["tag"],
        "privacy": [{"type": "k_anonymity", "k": 3}],
        "suppression_limit": 0.5,
        "key": {"file": str(folder / "secret.key")},
        "ledger": {"file": str(folder / "private" / "ledger.duckdb"), "record": "case_id"},
        "output": {"file": str(folder / "out" / "released.parquet")},
        "if_exists": "replace",
        **changes,
    }


def prepare(folder: Path, data: pa.Table | None = None, *, secret: bytes = SECRET) -> Path:
    """Write the source, the key and the folders; return the path of the ledger, which is not there yet."""
    for name in ("private", "out"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    key = folder / "secret.key"
    key.touch(0o600)
    key.write_bytes(secret)
    key.chmod(0o600)
    write_source(folder, records(1) if data is None else data)
    return folder / "private" / "ledger.duckdb"


def write_source(folder: Path, data: pa.Table) -> None:
    """Write the source anew."""
    (folder / "source.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "source.duckdb")) as connection:
        store(connection, data)


def person(text: str, secret: bytes = SECRET, purpose: bytes = b"ledger member") -> str:
    """Return the digest by which a ledger knows a person."""
    own = hmac.new(secret, b"sqlanon ledger of releases", hashlib.sha256).digest()
    own = hmac.new(own, purpose, hashlib.sha256).digest()
    return hmac.new(own, text.encode(), hashlib.sha256).hexdigest()[:32]


def rows_of(ledger: Path, query: str) -> list[tuple[Any, ...]]:
    """Return rows of a ledger that no run works with."""
    with duckdb.connect(str(ledger), read_only=True) as connection:
        return connection.execute(query).fetchall()


def make_older(ledger: Path, spelled: Mapping[str, str]) -> None:
    """Make a ledger one of the first form, which has no seals and digests keys as they stand.

    Args:
        spelled: how the keys stood, by their normal forms.
    """
    with duckdb.connect(str(ledger)) as connection:
        for change in ("DROP TABLE seals", "DROP TABLE contents", "DELETE FROM ledger WHERE name = 'id'"):
            connection.execute(change)
        connection.execute("UPDATE ledger SET value = 'sqlanon ledger 1' WHERE name = 'format'")
        connection.execute(
            'UPDATE releases SET facts = replace(facts, \'"person_form": "normal"\', \'"person_form": ""\')'
        )
        for name in ("members", "sensitive"):
            pairs = [(person(old), person(new)) for new, old in spelled.items()]
            connection.executemany(f"UPDATE {name} SET person = ?::UUID WHERE person = ?::UUID", pairs)
    head_file(ledger).unlink()


def states(ledger: Path) -> list[str]:
    """Return the states of the releases of a ledger."""
    return (
        [state for (state,) in rows_of(ledger, "SELECT state FROM releases ORDER BY number")] if ledger.exists() else []
    )


def members_of(ledger: Path, number: int) -> dict[str, set[int]]:
    """Return the classes of each person of a release."""
    found: dict[str, set[int]] = defaultdict(set)
    for one, own in rows_of(ledger, f"SELECT person, class FROM members WHERE number = {number}"):
        found[str(one).replace("-", "")].add(own)
    return dict(found)


def check_members(ledger: Path, number: int, released: Iterable[Mapping[str, Any]]) -> None:
    """Compare the members of a release with its rows: the persons, and who shares a class with whom."""
    quasi = ("sex", "place", "age")
    rows = {person(row["tag"]): tuple(row[name] for name in quasi) for row in released}
    members = members_of(ledger, number)
    assert members.keys() == rows.keys()
    assert all(len(classes) == 1 for classes in members.values())
    pairs = {(rows[one], min(classes)) for one, classes in members.items()}
    assert len(pairs) == len({text for text, _ in pairs}) == len({own for _, own in pairs})


def check_values(ledger: Path, number: int, released: Iterable[Mapping[str, Any]]) -> None:
    """Compare the digests of sensitive values with the rows of the release."""
    query = f"SELECT person, attribute, value FROM sensitive WHERE number = {number}"
    found = Counter(
        (str(one).replace("-", ""), name, None if value is None else str(value).replace("-", ""))
        for one, name, value in rows_of(ledger, query)
    )
    digests = {
        (person(row["tag"]), "ill", None if row["ill"] is None else person(row["ill"], purpose=b"ledger value"))
        for row in released
    }
    assert found == Counter(digests)


def write_sqlite(source: Path, data: pa.Table) -> None:
    source.unlink(missing_ok=True)
    connection = sqlite3.connect(source)
    connection.execute(f"CREATE TABLE t({COLUMNS})")
    rows = [tuple(row.values()) for row in data.to_pylist()]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
