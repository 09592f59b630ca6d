"""The ledger adds up, and what travels of it hides every small count."""

import itertools
import json
from collections import defaultdict
from collections.abc import Sequence

import pytest
from policies import document_of

from sqlanon.core.lattice.catalog import Attribute, Catalog
from sqlanon.core.policy import Policy
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.publish.manifest import manifest
from sqlanon.core.search.certificate import Certificate
from sqlanon.errors import AuditError


def ledger(published: int, failing_class: int, uncovered: int, null: int, /, **changes: int) -> Ledger:
    facts = {
        "records": published + failing_class + uncovered + null,
        "published": published,
        "suppressed": failing_class + uncovered,
        "excluded": null,
        **changes,
    }
    reasons = {"failing_class": failing_class, "uncovered": uncovered, "null": null}
    return Ledger(**facts, reasons=reasons, classes=3, smallest_class=5, largest_class=9)


@pytest.mark.parametrize("key", ["records", "published", "suppressed", "excluded"])
def test_a_ledger_that_does_not_add_up_is_refused(key: str) -> None:
    sound = ledger(20, 3, 1, 2)
    with pytest.raises(AuditError, match="not add up"):
        ledger(20, 3, 1, 2, **{key: getattr(sound, key) + 1})


def test_reasons_must_be_known_and_not_negative() -> None:
    with pytest.raises(AuditError):
        Ledger(5, 5, 0, 0, {"failing_class": 0}, 1, 5, 5)
    with pytest.raises(AuditError, match="negative"):
        ledger(20, 2, -2, 0)


def test_exact_counts_are_for_the_operator() -> None:
    assert ledger(20, 3, 1, 2).to_dict() == {
        "records": 26,
        "published": 20,
        "suppressed": 4,
        "excluded": 2,
        "reasons": {"failing_class": 3, "uncovered": 1, "null": 2},
        "classes": 3,
        "smallest_class": 5,
        "largest_class": 9,
    }


def test_small_counts_read_below_k_and_the_total_is_a_range() -> None:
    shown = ledger(100, 3, 0, 20).coarsened(5)
    assert (shown["suppressed"], shown["excluded"], shown["published"]) == ("<5", 20, 100)
    assert shown["records"] == "121-124"


def test_large_and_zero_counts_stay_exact() -> None:
    shown = ledger(100, 7, 0, 0).coarsened(5)
    assert shown == ledger(100, 7, 0, 0).to_dict()
    assert not ledger(100, 7, 0, 0).hides(5)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("redacted", [False, True])
def test_every_small_count_has_at_least_two_readings(k: int, redacted: bool) -> None:
    """Brute force: a reader who counts the release (P; S too when redacted) and reads the manifest."""
    published, top = 3 * k, 3 * k + 1
    worlds = defaultdict(list)
    for failing_class, uncovered, null in itertools.product(range(top), repeat=3):
        one = ledger(published, failing_class, uncovered, null)
        seen = json.dumps(one.coarsened(k), sort_keys=True)
        worlds[seen, one.suppressed if redacted else None].append(one)
    for alike in worlds.values():
        for fact in ("failing_class", "uncovered", "null", "suppressed", "excluded", "records"):
            if fact == "suppressed" and redacted:
                continue
            values = {one.reasons[fact] if fact in one.reasons else getattr(one, fact) for one in alike}
            if any(0 < value < k for value in values):
                assert len(values) >= 2, (fact, alike[0])
            if fact in ("null", "excluded") and any(0 < value < k for value in values):
                assert len(values) >= max(2, k - 1)


CERTIFICATE = Certificate("loss", "arithmetic_mean", 0.2696123, 0.2696123, 0.0, True, "box", 9, 99)


def document(counts: Ledger, output: dict[str, str], levels: Sequence[int] = (1,)) -> dict[str, object]:
    policy = Policy.from_dict(
        document_of(
            {"age": "suppress", "illness": "keep"},
            table="t",
            privacy=[
                {"type": "k_anonymity", "k": 5},
                {"type": "delta_presence", "min": 0.1, "max": 0.5, "subset": {"file": "/home/me/subset.csv"}},
            ],
        )
    )
    costs = (8 * (counts.records - counts.excluded), 0, 0)
    age = Attribute("age", "INTEGER", 3, 9, ((1,), (2,), (4,)), costs, (9, 3, 1), (True, False, False))
    return manifest(
        policy,
        Catalog((age,), 1, counts.records, counts.excluded, 0, 0, 0),
        levels=[levels],
        recoding={} if len(levels) == 1 else {"rules": [{"levels": {"age": level}} for level in levels], "hold": 0.1},
        ledger=counts,
        certificate=CERTIFICATE,
        output=output,
        versions={"sqlanon": "0.1.0"},
    )


def test_the_loss_is_withheld_with_a_hidden_count_because_it_gives_it_back() -> None:
    hidden = document(ledger(100, 3, 0, 0), {})["certificate"]
    assert isinstance(hidden, dict)
    assert hidden["loss"] is None and hidden["lower_bound"] is None
    assert hidden["optimal"] and hidden["gap"] == 0.0
    shown = document(ledger(100, 0, 0, 0), {})["certificate"]
    assert shown == {**CERTIFICATE.to_dict(), "evaluated": None}


def test_the_manifest_tells_one_level_or_several_with_their_rules() -> None:
    one, several = document(ledger(100, 0, 0, 0), {}), document(ledger(100, 0, 0, 0), {}, (0, 2))
    assert one["columns"][0] == {"name": "age", "role": "quasi_identifier", "level": 1, "height": 3}  # type: ignore[index]
    assert several["columns"][0]["levels"] == [0, 2]  # type: ignore[index]
    assert "rules" not in one and several["rules"] == [{"levels": {"age": 0}}, {"levels": {"age": 2}}]
    assert "hold" not in one and several["hold"] == 0.1


def test_the_manifest_is_json_without_paths() -> None:
    text = json.dumps(document(ledger(100, 3, 0, 0), {"file": "/home/me/out.csv"}))
    assert "/home" not in text and "out.csv" in text and "subset.csv" in text
    assert '"level": 1' in text
