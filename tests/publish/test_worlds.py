"""Consistent worlds: which source tables a release excludes, and what each paper beside it excludes more.

All tables of a few records over a few values are enumerated (``support/brute_worlds``). Those that the release leaves
are run, and grouped by what a reader sees: the manifest, the recipient's certificate, the operator's certificate.
"""

import json
import random
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from brute_worlds import Node, TinyPolicy, Worlds
from effort import scaled
from policies import quasi
from tables import text_table

import sqlanon
from sqlanon.core.publish.proof_file import write_proof

UNEVEN = {"1": ("1", "123", "*"), "2": ("2", "123", "*"), "3": ("3", "123", "*"), "4": ("4", "4", "*")}
THREE = {"x": ("x", "*"), "y": ("y", "*"), "z": ("z", "*")}
TWO = {"x": ("x", "*"), "y": ("y", "*")}
BY_SIZE = TinyPolicy((UNEVEN, THREE), k=2, limit=3, weights=(1.0, 0.9))
BY_VALUE = TinyPolicy((UNEVEN, TWO), k=2, sensitive=("u", "v"), l=2, limit=2, weights=(1.0, 0.9))
MEASURES = ("loss", "precision", "discernibility", "average_class_size", "non_uniform_entropy")
RANDOM = ("sha256", "proof_hmac_sha256", "release_sha256", "commitment_key")
"""Keys of certificates that differ from run to run."""


class Seen(NamedTuple):
    """What a run shows: to everybody, to recipients, to the operator."""

    node: Node
    rows: list[tuple[str, ...]]
    manifest: str
    recipient: str
    operator: str
    ledger: str


def text(document: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in document.items() if key not in RANDOM}, sort_keys=True)


def run(policy: TinyPolicy, rows: list[tuple[str, ...]], **keys: Any) -> Seen:
    with duckdb.connect() as connection:
        text_table(connection, [*policy.names, *(["s"] if policy.sensitive else [])], rows)
        with sqlanon.anonymize(connection, {**policy.document(len(rows)), **keys}) as release:
            assert release.proof is not None and release.recipient_certificate is not None
            return Seen(
                node=tuple(release.levels.values()),
                rows=sorted(tuple(row.values()) for row in release.to_arrow().to_pylist()),
                manifest=text(release.manifest),
                recipient=text(json.loads(release.recipient_certificate)),
                operator=text(dict(release.proof)),
                ledger=text(release.ledger.to_dict()),
            )


def alike(policy: TinyPolicy, worlds: Worlds, world: int, most: int, **keys: Any) -> list[Seen]:
    """The given world, and of up to ``most`` others those that are published exactly alike (searches break ties)."""
    own = run(policy, worlds.rows(world), **keys)
    same = [own]
    left = [int(other) for other in worlds.consistent(world, own.node) if other != world]
    random.Random(world).shuffle(left)
    best = set(map(int, worlds.optimal(world, own.node))) if not keys else set(left)
    for other in [other for other in left if other in best][:most]:
        found = run(policy, worlds.rows(other), **keys)
        if (found.node, found.rows) == (own.node, own.rows):
            same.append(found)
    return same


@pytest.mark.parametrize(("policy", "records"), [(BY_SIZE, 7), (BY_VALUE, 6)], ids=["k", "l"])
@pytest.mark.slow
def test_the_worlds_are_judged_as_the_package_judges_them(policy: TinyPolicy, records: int) -> None:
    worlds, rng = Worlds(policy, records), random.Random(3)
    for world in rng.sample(range(len(worlds.counts)), scaled(40)):
        best = worlds.best(world)
        if not best:
            with pytest.raises(sqlanon.NoSolutionError):
                run(policy, worlds.rows(world))
            continue
        found = run(policy, worlds.rows(world))
        assert found.node in best, (worlds.rows(world), found.node, best)
        published = worlds.at(found.node).published[world].sum()
        assert published == len(found.rows)


SMALL = [("1", "x"), ("1", "y"), ("1", "y"), ("1", "y"), ("1", "y"), ("2", "y"), ("3", "z")]
"""Three records are suppressed. 151 tables of seven records are published like this one."""


def world_of(worlds: Worlds, rows: list[tuple[str, ...]]) -> int:
    counts = [rows.count(row) for row in worlds.policy.domain]
    return int((worlds.counts == counts).all(axis=1).argmax())


@pytest.mark.slow
def test_the_papers_for_recipients_exclude_no_world_and_the_operators_certificate_does() -> None:
    worlds = Worlds(BY_SIZE, len(SMALL))
    same = alike(BY_SIZE, worlds, world_of(worlds, SMALL), max(6, scaled(60)))
    assert len(same) > 4
    assert len({seen.manifest for seen in same}) == 1
    assert len({seen.recipient for seen in same}) == 1
    assert len({seen.ledger for seen in same}) == 1, "the number of records is known"
    assert len({seen.operator for seen in same}) > 1, "the test could not fail"


@pytest.mark.slow
@pytest.mark.parametrize(("policy", "records"), [(BY_SIZE, 7), (BY_VALUE, 6)], ids=["k", "l"])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.few(2)
def test_no_paper_for_recipients_tells_worlds_apart(policy: TinyPolicy, records: int, measure: str) -> None:
    """For every measure the papers leave the worlds that the release leaves.

    Where the policy limits the search, they tell one thing more: whether it came to its end.
    """
    worlds, rng = Worlds(policy, records), random.Random(measure)
    operators = 0
    for limits in ({}, {"search": {"max_evaluations": 3}}):
        keys = {**limits, **({} if measure == "loss" else {"quality": {"measure": measure}})}
        for _ in range(scaled(2)):
            world = rng.randrange(len(worlds.counts))
            if worlds.best(world):
                same = alike(policy, worlds, world, 20, **keys)
                shown = {(seen.manifest, seen.recipient) for seen in same}
                ends = {json.loads(seen.recipient)["optimal"] for seen in same}
                assert len(shown) == len(ends) and (limits or ends == {True}), worlds.rows(world)
                operators += len({seen.operator for seen in same}) - 1
    assert operators or measure in ("precision", "discernibility", "average_class_size")


def test_computed_hierarchies_tell_no_loss() -> None:
    """How many values a builder was given, suppressed ones included, is a factor of the loss."""
    columns = {"a": quasi({"intervals": {"width": 5, "fanouts": [10], "lower": 0, "upper": 100}})}
    asked = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 3}], "suppression_count": 4}
    shown = []
    for hidden in ([51, 52, 57, 58], [51, 56, 61, 66]):
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t (a INTEGER)")
            connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in [1, 1, 1, 2, 2, 2, 3, 3, 3] * 3 + hidden])
            with sqlanon.anonymize(connection, asked) as release:
                shown.append((release.certificate.loss, text(release.manifest)))
    assert shown[0][1] == shown[1][1]


LISTED = {"levels": {value: ["*"] for value in "12345"}}
TOLD = {
    "reasons": (LISTED, {"uncovered": "suppress"}, {}, ["2345xxx", "234xxxx"], {"ledger/reasons"}),
    "NULLs": (
        LISTED,
        {},
        {"nulls": "basic"},
        ["2345---", "234----"],
        {"ledger/reasons", "ledger/excluded", "ledger/suppressed", "certificate/loss", "certificate/lower_bound"},
    ),
    "lengths": (  # both tell the width that as many records reach as a class must hold
        {"redact": {"direction": "right", "char": "*"}},
        {},
        {},
        ["234", ["22", "33", "44"]],
        {"columns", "hierarchies"},
    ),
}
"""A hierarchy, keys of its column and of the policy, records that are not published, and what manifests tell."""


@pytest.mark.parametrize(("hierarchy", "column", "keys", "hidden", "told"), TOLD.values(), ids=TOLD)
def test_what_a_manifest_tells_beside_its_release_is_known(
    hierarchy: dict[str, Any], column: dict[str, Any], keys: dict[str, Any], hidden: list[Any], told: set[str]
) -> None:
    own = {"a": {"role": "quasi_identifier", "hierarchy": hierarchy, "max_level": 0, **column}}
    asked = {"table": "t", "columns": own, "privacy": [{"type": "k_anonymity", "k": 3}], "suppression_limit": 1, **keys}
    shown = []
    for others in hidden:
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t (a VARCHAR)")
            values = [*"11111", *(None if value == "-" else value for value in others)]
            connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
            with sqlanon.anonymize(connection, asked) as release:
                assert release.to_arrow().to_pylist() == [{"a": "1"}] * 5
                shown.append(release.manifest)
    one, other = map(parts, shown)
    assert {place for place in one if one[place] != other[place]} == told


def parts(document: dict[str, Any]) -> dict[str, Any]:
    """The keys of a manifest, and of its ledger and its certificate."""
    inner = {f"{key}/{name}": value for key in ("ledger", "certificate") for name, value in document[key].items()}
    return inner | {key: value for key, value in document.items() if key not in ("ledger", "certificate")}


@pytest.mark.slow
def test_what_minimality_excludes_is_known() -> None:
    """That the node is optimal excludes worlds by itself: whoever knows the software knows it without any paper."""
    left = []
    for policy, records in ((BY_SIZE, 7), (BY_VALUE, 6)):
        worlds, rng = Worlds(policy, records), random.Random(1)
        for world in rng.sample(range(len(worlds.counts)), max(40, scaled(200))):
            for node in worlds.best(world)[:1]:
                left.append(len(worlds.optimal(world, node)) / len(worlds.consistent(world, node)))
    assert min(left) < 0.1 < max(left) == 1.0


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder with a source, a policy, its release and the operator's certificate in a place of its own."""
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        text_table(connection, BY_SIZE.names, SMALL)
    policy = {**BY_SIZE.document(7), "source": str(tmp_path / "s.duckdb"), "output": {"file": "r.csv"}}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    with sqlanon.anonymize(None, tmp_path / "policy.json") as release:
        assert release.proof is not None
        (tmp_path / "private").mkdir()
        write_proof(release.proof, tmp_path / "private" / "proof.json")
    return tmp_path


def verified(folder: Path, proof: str | None = None) -> sqlanon.Verification:
    beside = None if proof is None else folder / "private" / proof
    return sqlanon.verify(folder / "r.csv.certificate.json", folder / "policy.json", proof=beside)


def changed(path: Path, **keys: Any) -> None:
    from sqlanon.core.publish.proof_file import digest

    document = {**json.loads(path.read_text()), **keys}
    path.write_text(json.dumps({**document, "sha256": digest(document)}))


@pytest.mark.slow
def test_a_recipients_certificate_is_verified_by_a_new_proof_or_by_the_operators(published: Path) -> None:
    anew, given = verified(published), verified(published, "proof.json")
    assert anew.holds and anew.optimal and (anew.audience, anew.proof) == ("recipient", "search"), anew.faults
    assert given.holds and given.optimal and (given.audience, given.proof) == ("recipient", "file"), given.faults
    own = sqlanon.verify(published / "private" / "proof.json", published / "policy.json")
    assert own.holds and (own.audience, own.proof) == ("operator", "certificate")


def test_what_is_changed_in_a_recipients_certificate_or_its_proof_is_found(published: Path) -> None:
    certificate, proof = published / "r.csv.certificate.json", published / "private" / "proof.json"
    written = certificate.read_text()
    changed(certificate, chosen="21")
    assert not verified(published).holds
    certificate.write_text(written.replace('"optimal": true', '"optimal": false'))
    assert not verified(published).holds, "its digest differs"
    certificate.write_text(written)
    changed(proof, evaluated=1)
    assert not verified(published, "proof.json").holds, "it commits to another proof"
    (published / "r.csv").write_text("a,b\n")
    assert not verified(published).holds, "the release was changed"


def test_no_paper_beside_a_release_is_a_proof(published: Path) -> None:
    for path in published.glob("r.csv*"):
        assert "boxes" not in path.read_text() and "commitment_key" not in path.read_text(), path.name
