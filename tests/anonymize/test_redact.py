"""Texts that a function rewrites: called once per value, hunted for what is not published, refused or blanked."""

import random
import re
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_kinds import KINDS, SOURCE, Kind
from policies import document_of

import sqlanon
from sqlanon import Policy, PolicyError
from sqlanon.assess.redaction.redacting import redact_texts
from sqlanon.core.policy import extensions as registered
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import IdentifyingColumnError, InputError, UnsupportedError
from sqlanon.extending import Extensions

ENGINES = [kind for kind in KINDS if kind.name != "spark"]
Redactor = Callable[[str], str | None]
SYLLABLES = ("mora", "tike", "lunba", "dorvi", "selga", "novpe")


def patients(count: int = 120, seed: int = 5) -> list[tuple[Any, ...]]:
    """Number, name, sex, age, note: a third of the notes say whose they are, another whose neighbour was seen."""
    draw = random.Random(seed)
    names = [f"{a}{b}".title() for a in SYLLABLES for b in SYLLABLES]
    rows: list[tuple[Any, ...]] = []
    for number in range(count):
        own, other = draw.sample(names, 2)
        said = draw.choice([f"Herr {own.upper()} came.", f"Saw ({other}), too.", "All is well.", None])
        said = f"{said} Case AB {number:05}" if said and draw.random() < 0.1 else said
        rows.append((f"AB-{number:05}", f"{own}, X", draw.choice(["female", "male"]), draw.randint(20, 60), said))
    return rows


def arrow(rows: list[tuple[Any, ...]]) -> pa.Table:
    """Records as a table."""
    columns = ("number", "name", "sex", "age", "note")
    types = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.string())
    return pa.table({n: pa.array([r[i] for r in rows], t) for i, (n, t) in enumerate(zip(columns, types, strict=True))})


def policy(function: Redactor, finds: str = "blank", **changes: Any) -> Policy:
    """A policy that keeps the note."""
    columns = {
        "number": "drop",
        "name": "drop",
        "sex": "drop",
        "age": "suppress",
        "note": {"role": "keep", "redact": "clean", "redact_finds": finds},
    }
    document = document_of(columns, changes, k=2, table="t", accept=["note"])
    return Policy.from_dict(document, extensions=Extensions(redactors={"clean": function}))


def words(text: str) -> list[str]:
    """The words of a text."""
    return re.sub(r"[^\w]|_", " ", text.lower()).split()


def by_hand(rows: list[tuple[Any, ...]], function: Redactor) -> tuple[list[str | None], int, int]:
    """The published notes and the records with values of their own and of other records, in plain Python."""
    known = {word for row in rows for word in words(row[1]) if len(word) >= 4}
    known |= {"".join(words(row[0])) for row in rows} | {
        part for row in rows for part in words(row[0]) if len(part) > 3
    }
    notes: list[str | None] = []
    own_records = others = 0
    for number, name, *_, note in rows:
        text = None if note is None else function(note)
        if text is None:
            notes.append(None)
            continue
        said, runs = " ".join(words(text)), words(text)
        joined = {"".join(runs[i : i + n]) for n in range(1, 11) for i in range(len(runs))}
        own = any(part in said for part in [*words(name), *words(number)] if len(part) >= 3)
        own = own or "".join(words(number)) in said.replace(" ", "")
        own_records += own
        others += not own and bool(joined & known)
        notes.append(None if own or joined & known else text)
    return notes, own_records, others


def without_titles(text: str) -> str | None:
    """A redactor that takes out what follows a title, and texts of neighbours of a sort."""
    return None if "Mora" in text else re.sub(r"Herr \w+", "He", text)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENGINES, ids=str)
@pytest.mark.parametrize("function", [without_titles, lambda text: text])
def test_what_is_found_is_what_a_brute_force_finds(
    kind: Kind, function: Redactor, request: pytest.FixtureRequest
) -> None:
    rows = patients()
    expected, own, others = by_hand(rows, function)
    assert own and others and any(expected)
    seen: list[str] = []

    def counted(text: str) -> str | None:
        seen.append(text)
        return function(text)

    with closing(kind.open(request)) as engine:
        engine.load("source", SOURCE, arrow(rows))
        types = dict(engine.catalog.columns(table(SOURCE)))
        opened = Source(engine, table(SOURCE), types, None, None)
        found = redact_texts(opened, policy(counted))
        assert sorted(seen) == sorted({row[-1] for row in rows if row[-1] is not None})  # once per value
        assert dict(engine.catalog.columns(found.relation)) == types
        held = engine.run("notes", f"SELECT number, note FROM {engine.render(found.relation)} ORDER BY number")
        assert [note for _, note in held] == expected
        assert f"{own + others} of 120 records" in found.warnings[-1]
        looked_for = "looked for: number, name; in texts of the same record: age"
        assert f"{own} of their own record, {others} of others ({looked_for})" in found.warnings[-1]
        engine.drop(found.relation.name)
        with pytest.raises(IdentifyingColumnError) as refused:
            redact_texts(opened, policy(function, "refuse"))
        assert refused.value.columns == {"note": {"own_record": own, "other_records": others}}
        assert not re.search("(?i)mora|lunba|AB-", str(refused.value) + found.warnings[-1])


def test_a_release_holds_the_redacted_texts_and_says_so(tmp_path: Path) -> None:
    rows = patients(400)
    pq.write_table(arrow(rows), tmp_path / "t.parquet")
    asked = policy(without_titles, source=str(tmp_path / "t.parquet"), output={"file": str(tmp_path / "out.parquet")})
    with sqlanon.anonymize(None, asked) as release:
        notes = pq.read_table(tmp_path / "out.parquet").column("note").to_pylist()
        assert sorted(map(str, notes)) == sorted(map(str, by_hand(rows, without_titles)[0]))
        assert {"name": "note", "role": "keep", "redacted": True} in release.manifest["columns"]
        script = release.plan.script()
        assert "redacted texts: load them here" in script and "Herr" not in script
    with pytest.raises(IdentifyingColumnError, match=r"redact_finds: blank"):
        sqlanon.plan(None, policy(without_titles, "refuse", source=str(tmp_path / "t.parquet")))


def test_long_texts_are_rewritten_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlanon.assess.redaction.redacting.AT_ONCE", 7)
    rows = [(f"N{i:04}x", "Nobody", "male", 30, f"note {i % 50} " + "of a long day " * 50) for i in range(200)]
    pq.write_table(arrow(rows), tmp_path / "t.parquet")
    with sqlanon.plan(str(tmp_path / "t.parquet"), policy(lambda text: text[:7].strip())) as plan:
        found = plan.engine.run("notes", f"SELECT DISTINCT note FROM {plan.engine.render(plan.source.relation)}")
    assert sorted(note for (note,) in found) == sorted(f"note {i}" for i in range(50))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda text: 1 / 0, r"redactor 'clean' failed \(ZeroDivisionError\)"),
        (lambda text: 7, "returned what is no text"),
    ],
)
def test_a_function_that_fails_says_so_without_a_value(function: Redactor, message: str, tmp_path: Path) -> None:
    pq.write_table(arrow(patients()), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=message) as raised:
        sqlanon.plan(str(tmp_path / "t.parquet"), policy(function))
    assert "Herr" not in str(raised.value)


def test_only_kept_texts_are_redacted_by_what_is_registered(tmp_path: Path) -> None:
    pq.write_table(arrow(patients()), tmp_path / "t.parquet")
    columns = {"age": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}
    document: dict[str, Any] = {"columns": columns, "undeclared": "drop", "privacy": [{"type": "k_anonymity", "k": 2}]}
    for wrong, message in (
        ({"note": {"role": "keep", "redact": "clean"}}, "No redactor is called 'clean'"),
        ({"note": {"role": "keep", "redact": "os:remove"}}, "No redactor is called 'os:remove'"),
        ({"note": {"role": "keep", "redact_finds": "blank"}}, "Nothing is redacted"),
        ({"note": {"role": "keep", "redact": 3}}, r"columns\.note\.redact"),
    ):
        with pytest.raises(PolicyError, match=message):
            Policy.from_dict(document | {"columns": columns | wrong})
    asked = policy(str.upper).to_dict()
    assert asked["columns"]["note"] == {"role": "keep", "redact": "clean", "redact_finds": "blank"}
    asked["columns"]["note"]["role"] = "drop"
    with pytest.raises(PolicyError, match="Only texts that are kept"):
        Policy.from_dict(asked, extensions=Extensions(redactors={"clean": str.upper}))
    numbers = {"age": {"role": "keep", "redact": "clean"}, "note": {"role": "drop"}}
    with pytest.raises(InputError, match="'age' holds no texts"):
        sqlanon.plan(str(tmp_path / "t.parquet"), policy(str.upper, columns=numbers, undeclared="drop", accept=[]))
    with pytest.raises(UnsupportedError, match="nothing has redacted"):
        live = policy(str.upper, source=str(tmp_path / "t.parquet"), output={"live_view": "v"})
        sqlanon.anonymize(None, live)


def test_an_installed_function_may_be_named_by_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("upper", "test_redact:without_titles", "sqlanon.redactors")
    monkeypatch.setattr(registered, "_installed", lambda kind: {"upper": (point,)} if kind == "redactors" else {})
    monkeypatch.setattr(registered, "_loaded", lambda kind, found: without_titles)
    known = Extensions()
    assert known.redactor("upper") is known.redactor("test_redact:without_titles") is without_titles


SCHMIDTKE = [
    "met Gerda! and Schmidtke! ok", "met “Schmidtke” and Schmidtke’s son", "met Gerda–Schmidtke", "[Schmidtke] *Gerda*",
    "met Schmidtke…", "name=Schmidtke|x", "account DE89 3704 0044 0532 0130 00", "tab\tSchmidtke",
]  # fmt: skip


@pytest.mark.parametrize("note", SCHMIDTKE)
def test_signs_around_a_name_hide_it_from_nobody(note: str, tmp_path: Path) -> None:
    rows = [*patients(80), ("DE89370400440532013000", "Gerda\tSchmidtke", "female", 31, None)]
    rows = [
        (number, name, sex, age, note if place == 3 else None) for place, (number, name, sex, age, _) in enumerate(rows)
    ]
    pq.write_table(arrow(rows), tmp_path / "t.parquet")
    with pytest.raises(IdentifyingColumnError) as refused:
        sqlanon.plan(None, policy(lambda text: text, "refuse", source=str(tmp_path / "t.parquet")))
    assert refused.value.columns == {"note": {"own_record": 0, "other_records": 1}}


@pytest.mark.slow
def test_who_is_not_drawn_is_looked_for_too(tmp_path: Path) -> None:
    """Whether a text is refused must not depend on the draw, which is secret."""
    rows = [(f"AB-{place:05}", f"name{place:05}x", "male", 40, "Saw name00007x, too.") for place in range(200)]
    pq.write_table(arrow(rows), tmp_path / "t.parquet")
    (tmp_path / "key").write_bytes(bytes(range(32)))
    (tmp_path / "key").chmod(0o600)
    for context in "abc":
        drawn = {"sample": 0.1, "key": {"file": str(tmp_path / "key"), "context": context}}
        with pytest.raises(IdentifyingColumnError) as refused:
            sqlanon.plan(None, policy(lambda text: text, "refuse", source=str(tmp_path / "t.parquet"), **drawn))
        assert refused.value.columns == {"note": {"own_record": 1, "other_records": 199}}
