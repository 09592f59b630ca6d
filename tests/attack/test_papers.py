"""Papers beside a release: the operator's certificate gives suppressed records away, the recipient's does not."""

import random
from collections import Counter
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import pytest
from effort import enough, scaled
from policies import quasi

import sqlanon
from sqlanon.assess.attack.papers import ATTACK, multisets
from sqlanon.core.publish.papers import CERTIFICATE
from sqlanon.core.publish.proof_file import proof_text

GROUPS = (1, 2, 9, 40)
"""Values of education by group: their sums are told apart."""
EDUCATION = {f"e{i}": f"g{g}" for g, size in enumerate(GROUPS) for i in range(sum(GROUPS[:g]), sum(GROUPS[: g + 1]))}


def skewed(rng: random.Random, stem: str, rate: float, count: int) -> str:
    return f"{stem}{min(int(rng.expovariate(rate)), count - 1)}"


def people(seed: int) -> tuple[list[str], list[tuple[str, ...]]]:
    """Four hundred records of six columns."""
    rng = random.Random(seed)
    by_group = [[value for value, group in EDUCATION.items() if group == f"g{g}"] for g in range(len(GROUPS))]
    rows = [
        (
            rng.choice(rng.choice(by_group)),
            skewed(rng, "r", 1.2, 5),
            rng.choice("fm"),
            skewed(rng, "m", 0.6, 7),
            skewed(rng, "w", 0.9, 8),
            skewed(rng, "", 0.04, 60),
        )
        for _ in range(400)
    ]
    return ["education", "race", "sex", "marital", "work", "age"], rows


def released(folder: Path, seed: int) -> tuple[dict[str, Any], str, list[tuple[str, ...]], dict[str, int]]:
    """Publish; return the policy, the operator's certificate, the records and the levels."""
    names, rows = people(seed)
    levels: dict[str, dict[str, list[str]]] = {
        "education": {value: [group, "*"] for value, group in EDUCATION.items()},
        "race": {f"r{i}": ["*"] for i in range(5)},
        "sex": {"f": ["*"], "m": ["*"]},
        "marital": {f"m{i}": [f"M{(i + 1) // 3}", "*"] for i in range(7)},
        "work": {f"w{i}": [f"W{int(i**0.5)}", "*"] for i in range(8)},
        "age": {str(i): [f"{i // 5 * 5}-", f"{i // 20 * 20}+", "*"] for i in range(60)},
    }
    (folder / "people.csv").write_text("\n".join(",".join(row) for row in [tuple(names), *rows]) + "\n")
    columns: dict[str, Any] = {name: quasi({"levels": levels[name]}) for name in names}
    columns["education"]["weight"] = 2
    policy = {
        "source": str(folder / "people.csv"),
        "columns": columns,
        "privacy": [{"type": "k_anonymity", "k": 3}],
        "suppression_limit": 0.04,
        "output": {"file": str(folder / "r.csv")},
        "if_exists": "replace",
        "repeats": "accept",
    }
    with sqlanon.anonymize(None, policy) as release:
        assert release.proof is not None and release.ledger.suppressed >= 3
        return policy, proof_text(release.proof), rows, release.levels


def papers(folder: Path, policy: dict[str, Any]) -> Any:
    found = sqlanon.attack(folder / "r.csv", policy)
    return next(item for item in found.findings if item.attack == ATTACK)


def left(rows: list[tuple[str, ...]], folder: Path) -> int:
    """The multisets of groups of education that fit the suppressed records' leaves, by trying all."""
    published = Counter(line.split(",")[0] for line in (folder / "r.csv").read_text().splitlines()[1:])
    groups = Counter(EDUCATION[row[0]] for row in rows)
    hidden = [int(group[1:]) for group in (groups - published).elements()]
    fits = [
        guess
        for guess in combinations_with_replacement(range(len(GROUPS)), len(hidden))
        if sum(GROUPS[g] for g in guess) == sum(GROUPS[g] for g in hidden)
    ]
    assert tuple(sorted(hidden)) in fits
    return len(fits)


@pytest.mark.slow
def test_the_operators_certificate_beside_a_release_is_decoded_and_the_recipients_is_not(tmp_path: Path) -> None:
    policy, proof, rows, levels = released(tmp_path, 0)
    assert levels["education"] == 1
    safe = papers(tmp_path, policy)
    assert safe.attempts == 4 and safe.successes == 0 and safe.baseline_successes == 0
    (tmp_path / f"r.csv{CERTIFICATE}").write_text(proof)
    found = papers(tmp_path, policy)
    assert (found.attempts, found.successes) == (4, 1), found.meaning
    assert left(rows, tmp_path) <= 3
    assert "keep it elsewhere" in found.meaning


@pytest.mark.slow
def test_samples_are_decoded_from_the_operators_certificate_alone(tmp_path: Path) -> None:
    decoded = 0
    for seed in range(scaled(16)):
        policy, proof, _, _ = released(tmp_path, seed)
        assert papers(tmp_path, policy).successes == 0
        (tmp_path / f"r.csv{CERTIFICATE}").write_text(proof)
        decoded += papers(tmp_path, policy).successes > 0
    assert enough(decoded >= 8)


@pytest.mark.parametrize("seed", range(scaled(30)))
def test_multisets_are_counted_as_by_trying_all(seed: int) -> None:
    rng = random.Random(seed)
    groups = [tuple(rng.randrange(6) for _ in range(2)) for _ in range(rng.randrange(1, 6))]
    size = rng.randrange(1, 5)
    chosen = rng.choices(groups, k=size)
    sums = tuple(map(sum, zip(*chosen, strict=True)))
    expected = sum(
        tuple(sum(groups[g][i] for g in guess) for i in range(2)) == sums
        for guess in combinations_with_replacement(range(len(groups)), size)
    )
    assert multisets([*Counter(groups).items()], size, sums) == expected  # type: ignore[arg-type]
