"""Certificates of counts: genuine ones hold, and no false claim is ever verified, whatever evidence is forged."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import sqlanon as command
from counted_worlds import AGES, as_table, contingency, records
from effort import Block, is_full, scaled, seeds, spread
from enumerated_tables import Enumerated

import sqlanon
from sqlanon.core.publish.proof_file import digest, proof_text
from sqlanon.counts.counting import Counted
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.judging import PARTS, Judge, Stated, StatedCut
from sqlanon.counts.verification import CountsVerification, verify_counts
from sqlanon.errors import InputError, NoSolutionError

pytest.importorskip("highspy", reason="needs HiGHS: the extra exact")
ORACLES = Path(__file__).parents[3] / "shared" / "oracles" / "counts_small.jsonl"
BY = {"by": {"dimensions": {"sex": 0, "region": 0}}}
Document = dict[str, Any]


@pytest.mark.parametrize("is_equation", [True, False], ids=["equation", "inequality"])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_relation_without_an_upper_bound_has_no_multiplier_above_0(is_equation: bool, sign: int) -> None:
    """Parts that exceed their total (persons in several categories) bound no part from above, though the total does."""
    row, faults = {0: 1, 1: 1, 2: -1}, list[str]()
    judge: Any = object.__new__(Judge)
    judge._blame, judge._values, judge._same = faults.append, [1, 4, 5], {}
    judge._relations = {frozenset(row.items()): is_equation}
    judge._stated = Stated(frozenset(), [(row, is_equation)], [], frozenset(), [], 0.0, 0.0, 0.0, False)
    judge.shown, judge._unsafe, judge._may = frozenset({0, 1, 2}), {0}, frozenset({1, 2})
    found = judge._coefficients((0, 1, 5), -1, {0: sign * PARTS})
    if sign > 0 and not is_equation:
        assert found is None and "wrong sign" in faults[0]
    else:
        assert not any("sign" in fault for fault in faults)
    if sign > 0 and is_equation:
        assert found == {1: 1, 2: 1}, "one of the others is suppressed"


def certified(source: pa.Table, asked: Document) -> tuple[Document, sqlanon.CountsRelease]:
    """The certificate of a release as its file has it, and the release."""
    release = sqlanon.counts(source, asked)
    found: Document = json.loads(proof_text(release.proof))
    return found, release


def judged(proof: Document, asked: Document, source: pa.Table) -> CountsVerification:
    """The verification of a certificate whose digest is right."""
    return verify_counts({**proof, "sha256": digest(proof)}, asked, source)


def is_rejected(proof: Document, asked: Document, source: pa.Table) -> bool:
    """Whether a certificate does not hold, or is refused by one clear error."""
    try:
        found = judged(proof, asked, source)
    except InputError as error:
        assert error.hint
        return True
    return not found.holds


def drawn_table(seed: int) -> pa.Table:
    """Records of a two-way table with small cells."""
    draw = np.random.default_rng(seed)
    return as_table(contingency(draw.choice([0, 1, 2, 3, 5, 9, 20], (3 + seed % 2, 4)).tolist()))


WORLDS: tuple[Document, ...] = (
    {},
    {"joint": 0, "weights": "records"},
    {"entity": "person", "joint": 0},
    {"insiders": False, "interval": [0, 7], "zeros": "omit"},
    {"counts": {"one": {"dimensions": ["sex", "region"]}, "two": {"dimensions": {"sex": 0, "age": [1, 2]}}}},
    {"counts": {"one": {"dimensions": {"age": [1, 2], "region": 0}, "margins": ["region"]}}, "entity": "person"},
    {"counts": {"by": {**BY["by"], "measures": [{"sum": "cost"}]}}, "weights": {"sex": 1.5}, "groups": ["region"]},
    {"never": "totals", "nulls": "basic"},
)


@pytest.mark.slow
@seeds(80, 8)
def test_genuine_certificates_hold(block: Block) -> None:
    for seed in block:
        source = as_table(records(random.Random(seed), 40 + seed % 60))
        asked = {"counts": BY, "threshold": 3 + seed % 2, **WORLDS[seed % len(WORLDS)]}
        if "age" in json.dumps(asked["counts"]):
            asked["columns"] = {"age": AGES}
        try:
            proof, release = certified(source, asked)
        except NoSolutionError:
            continue
        found = judged(proof, asked, source)
        assert (found.faults, found.optimal) == ([], release.protection.optimal), seed
        assert found.weight == release.protection.weight, seed


LINKED = {"one": {"dimensions": ["sex", "region"]}, "two": {"dimensions": {"region": 0, "age": 2}}}
WIDER: tuple[Document, ...] = (
    {"counts": {"by": {"dimensions": {"sex": 0, "region": 0, "age": 2}}}, "zeros": "omit"},
    {"counts": {"by": {"dimensions": {"sex": 0, "age": [1, 2]}}}, "zeros": "omit", "joint": 0},
    {"counts": {**LINKED, "three": {"dimensions": {"sex": 0, "age": 2}}}, "zeros": "omit"},
    {"counts": LINKED, "weights": "records"},
)


@seeds(120, 12)
def test_a_search_without_time_protects_and_proves_nothing(block: Block) -> None:
    """What it refuses cannot be protected: a search with time refuses it, too."""
    for seed in block:
        source, worlds = as_table(records(random.Random(seed), 30 + seed)), WORLDS + WIDER
        asked = {"counts": BY, "threshold": 3 + seed % 3, **worlds[seed % len(worlds)]}
        if "age" in json.dumps(asked["counts"]):
            asked["columns"] = {"age": AGES}
        try:
            proof, release = certified(source, asked | {"time_limit": 0})
        except NoSolutionError:
            with pytest.raises(NoSolutionError):
                sqlanon.counts(source, asked)
            continue
        policy, faults = CountsPolicy.from_dict(asked), list[str]()
        stated = Stated.of(proof, release.counted.grid, policy.rules.joint)
        Judge(release.counted, policy, stated, faults.append).run()
        assert not faults, seed
        assert stated.lower_bound == 0 and stated.optimal == (stated.weight == 0)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.skipif(not ORACLES.exists(), reason="needs the oracles beside the repository")
def test_certificates_of_the_oracles_hold() -> None:
    lines = [*enumerate(ORACLES.read_text().splitlines())]
    for number, line in lines if is_full() else spread(lines, 24):
        known = json.loads(line)
        insiders = number % 2 == 0
        source = as_table(contingency(known["rows"]))
        asked = {"counts": BY, "threshold": known["threshold"], "insiders": insiders, "joint": 10_000 * (number % 3)}
        if 0 in np.array(known["rows"]).sum(0).tolist() + np.array(known["rows"]).sum(1).tolist():
            continue  # a category that nobody is in is no category here
        proof, _ = certified(source, asked)
        found = judged(proof, asked, source)
        assert (found.faults, found.optimal) == ([], True)
        assert found.lower_bound == known["least_insiders" if insiders else "least"]


Forgery = Callable[[Document, random.Random, Document], None]


def _any_pair(draw: random.Random, listed: list[Any]) -> Any:
    return draw.choice([pair for own in listed for pair in own] or [[0, 0]])


def _multiplied(proof: Document, draw: random.Random, asked: Document) -> None:
    pairs = [pair for row in proof["inequalities"] if isinstance(row[3], list) for own in row[3] for pair in own]
    for pair in draw.sample(pairs, min(3, len(pairs))):
        pair[1] = draw.choice([0, -pair[1], 2 * pair[1], pair[1] + PARTS, draw.randrange(-9 * PARTS, 9 * PARTS)])


def _related(proof: Document, draw: random.Random, asked: Document) -> None:
    if proof["relations"]:
        row = draw.choice(proof["relations"])
        draw.choice([lambda: row[0].pop(), lambda: row.__setitem__(1, 1 - row[1]), row[0].reverse])()


def _other_demand(proof: Document, draw: random.Random, asked: Document) -> None:
    if proof["inequalities"]:
        draw.choice(proof["inequalities"])[draw.randrange(3)] = draw.choice([-1, 1, draw.randrange(9)])


def _tried(proof: Document, draw: random.Random, asked: Document) -> None:
    cells = sorted(draw.sample(range(12), 3))
    proof["inequalities"].append([draw.randrange(9), draw.choice([1, -1]), draw.choice([-1, 2]), {"tried": cells}])


def _witnessed(proof: Document, draw: random.Random, asked: Document) -> None:
    if proof["witnesses"]:
        pair = _any_pair(draw, proof["witnesses"])
        pair[draw.randrange(2)] = draw.randrange(12)


def _waived(proof: Document, draw: random.Random, asked: Document) -> None:
    proof["waived"] += [[known, other] for known in range(12) for other in range(12)]


EVIDENCE: tuple[Forgery, ...] = (_multiplied, _related, _other_demand, _tried, _witnessed, _waived)


def claim(proof: Document, weight: float) -> None:
    """Claim that a weight is that of the suppression, and the least."""
    proof.update(weight=weight, lower_bound=weight, gap=0.0, optimal=True)


@pytest.mark.slow
@seeds(240, 12)
def test_no_false_claim_is_verified_whatever_the_evidence(block: Block) -> None:
    """One more cell than needed, said to be the least; or one fewer, which does not protect: with forged evidence."""
    for seed in block:
        draw, source = random.Random(seed), drawn_table(seed % 6)
        asked = {"counts": BY, "threshold": 4, "insiders": seed % 4 < 2, "joint": 10_000 * (seed % 2)}
        proof, release = certified(source, asked)
        assert release.protection.optimal
        protection, published = release.protection, release.counted.grid.is_published
        further = np.flatnonzero(protection.suppressed & ~protection.evidence.system.unsafe[: len(published)]).tolist()
        forged = copy.deepcopy(proof)
        if draw.random() < 0.5 or not further:
            shown = np.flatnonzero(published & ~protection.suppressed).tolist()
            forged["suppressed"] = sorted([*proof["suppressed"], draw.choice(shown)])
            claim(forged, protection.weight + 1)
        else:
            gone = draw.choice(further)
            forged["suppressed"] = [cell for cell in proof["suppressed"] if cell != gone]
            if draw.random() < 0.5:
                forged["witnesses"] = [w for w in proof["witnesses"] if gone not in [cell for cell, _ in w]]
            claim(forged, protection.weight - 1)
        for forge in draw.sample(EVIDENCE, draw.randrange(4)):
            forge(forged, draw, asked)
        assert is_rejected(forged, asked, source), seed


def _huge(proof: Document, draw: random.Random, asked: Document) -> None:
    place = draw.choice([proof["witnesses"], [own for row in proof["inequalities"] for own in row[3]]])
    _any_pair(draw, place)[1] = draw.choice([2**70, -(2**63), 1.0, float("nan"), float("inf"), True, "1", None, [1]])


def _said(proof: Document, draw: random.Random, asked: Document) -> None:
    name = draw.choice(["weight", "lower_bound", "gap", "optimal"])
    proof[name] = draw.choice([-1, proof[name] + 0.5, float("nan"), 1e300, 2**70, "2", None])


def _lacking(proof: Document, draw: random.Random, asked: Document) -> None:
    name = draw.choice([key for key in proof if key not in ("versions", "sha256", "certificate_of")])
    proof[name] = draw.choice([{}, None, "x", -3, [[]], [None], {"tried": []}, 10**30, [2**63]])


def _cell(proof: Document, draw: random.Random, asked: Document) -> None:
    proof["suppressed"] = draw.choice(
        [proof["suppressed"][1:], [], [*proof["suppressed"], 10**6], [*proof["suppressed"], -1], [0.0]]
    )


def _document(proof: Document, draw: random.Random, asked: Document) -> None:
    asked.update(draw.choice([{"threshold": 5}, {"weights": "records"}, {"interval": [0, 9]}, {"never": "totals"}]))


def _without(proof: Document, draw: random.Random, asked: Document) -> None:
    proof[draw.choice(["witnesses", "inequalities"])] = []


@pytest.mark.slow
@pytest.mark.parametrize("forge", [_huge, _said, _lacking, _cell, _document, _without])
def test_every_forgery_is_rejected(forge: Forgery) -> None:
    source, asked = drawn_table(1), {"counts": BY, "threshold": 4}
    proof, _ = certified(source, asked)
    for seed in range(max(12, scaled(40))):
        forged, other = copy.deepcopy(proof), dict(asked)
        forge(forged, random.Random(seed), other)
        if forged != proof or other != asked:
            assert is_rejected(forged, other, source), seed


@pytest.mark.slow
@seeds(60, 6)
def test_every_suppression_that_protects_fulfils_an_inequality_of_any_multipliers(block: Block) -> None:
    """By enumeration of all tables and all suppressions."""
    shown = 0
    for seed in block:
        draw = random.Random(seed)
        values = [[1, draw.choice([0, 1, 2, 3])], [draw.choice([1, 2, 3]), draw.choice([1, 2, 4])]]
        source = as_table(contingency(values))
        asked = {"counts": BY, "threshold": 2, "insiders": seed % 2 == 0, "joint": 0}
        try:
            proof, release = certified(source, asked)
        except NoSolutionError:
            continue
        system, counted = release.protection.evidence.system, release.counted
        enumerated = Enumerated(system, 3)
        judge = judge_of(proof, counted, asked)
        relations = [(dict(row), flag) for row, flag in judge._relations.items()]
        object.__setattr__(judge._stated, "relations", relations)
        protecting = [
            hidden
            for bits in range(1 << len(system))
            if (hidden := np.array([bits >> cell & 1 for cell in range(len(system))], bool)) is not None
            and not (system.unsafe & ~hidden).any()
            and enumerated.protects(hidden)
        ]
        for _ in range(60):
            cell, other = draw.choices(np.flatnonzero(system.unsafe).tolist(), k=2)
            known = other if other != cell and draw.random() < 0.5 else -1
            number = len(judge._demands(cell, 1, known))
            chosen = [draw.sample(range(len(relations)), 2) for _ in range(number)]
            parts = [{row: draw.choice([-1, 1, 2]) * draw.choice([PARTS, PARTS // 2]) for row in own} for own in chosen]
            found = judge._inequality(StatedCut(cell, draw.choice([1, -1]), known, parts, None))
            for hidden in protecting if found is not None else ():
                assert sum(found[c] for c in found if hidden[c]) >= 1, seed
                shown += 1
    assert shown


def judge_of(proof: Document, counted: Counted, asked: Document) -> Judge:
    """What judges a certificate by counted cells."""
    policy = CountsPolicy.from_dict(asked)
    return Judge(counted, policy, Stated.of(proof, counted.grid, policy.rules.joint), lambda text: None)


def test_a_certificate_is_written_and_verified_and_what_was_changed_is_said(tmp_path: Path) -> None:
    source, proof, asked = drawn_table(1), tmp_path / "p.json", tmp_path / "c.json"
    document = {"counts": BY, "threshold": 4, "output": {"file": "out/c.csv"}, "certificate": "p.json"}
    document["source"] = "t.parquet"
    pq.write_table(source, tmp_path / "t.parquet")
    (tmp_path / "out").mkdir()
    asked.write_text(json.dumps(document))
    assert command("counts", asked).returncode == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"c.csv", "c.csv.manifest.json"}, "no paper of the operator is beside the release"
    assert "which is the least" in command("verify", proof, asked).stdout
    told = json.loads(command("verify", proof, asked, "--json").stdout)
    assert told["holds"] and told["optimal"] and told["weight"] == told["lower_bound"] and told["inequalities"]

    def said(text: str, code: int = 1) -> str:
        """What verify says of a file with this text."""
        (tmp_path / "f.json").write_text(text)
        found = command("verify", tmp_path / "f.json", asked)
        assert found.returncode == code, found
        return found.stdout + found.stderr

    text, file = proof.read_text(), tmp_path / "out" / "c.csv"
    assert "digest" in said(text.replace('"gap": 0.0', '"gap": 0.5'))
    assert "is no certificate" in said(text[:-100], 2)
    assert "version 1" in said(text.replace('"certificate_version": 1', '"certificate_version": true'), 2)
    assert "of a kind" in said(text.replace('"certificate_of": "counts"', '"certificate_of": "other"'), 2)
    with pytest.raises(InputError, match="kind"):
        sqlanon.verify(proof, asked, proof=proof)
    released = file.read_text()
    file.write_text(released.replace("true", "false", 1))
    assert "holds another table" in said(text)
    file.unlink()
    assert "There is no released file" in said(text, 0)
    pq.write_table(source.slice(1), tmp_path / "t.parquet")
    assert "other cells" in said(text)
    asked.write_text(json.dumps({**document, "threshold": 5}))
    assert "another document" in said(text)


def test_what_evidence_lacks_is_said() -> None:
    source, asked = drawn_table(1), {"counts": BY, "threshold": 4, "joint": 0}
    proof, release = certified(source, asked)
    grid, protection = release.counted.grid, release.protection
    shown = int(np.flatnonzero(grid.is_published & ~protection.suppressed)[0])
    [cell, sign, known, _] = proof["inequalities"][0]
    row = len(proof["relations"])

    def faults(**added: list[Any]) -> list[str]:
        return judged(proof | {name: [*proof[name], own] for name, own in added.items()}, asked, source).faults

    forged = [cell, sign, known, [[[row, PARTS]]] * (1 if known < 0 else 2)]
    assert "A relation of the certificate is none of the cells." in faults(
        relations=[[[shown, 1]], 1], inequalities=forged
    )
    assert "A witness changes a cell that is shown." in faults(witnesses=[[shown, 1]])
    assert faults(waived=[0, 0]) == []
