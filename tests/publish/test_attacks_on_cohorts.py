"""What attackers learn from many releases in cohorts: one who comes and goes, and one who writes to the source."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from test_cohorts import K, Nights, check, class_of, histories

pytestmark = pytest.mark.slow
NIGHTS = 30


def own(nights: Nights, like: dict[str, Any], some: int) -> list[str]:
    """Enter records of the attacker's into the source, with the quasi-identifiers of another, and return their tags."""
    tags = []
    for _ in range(some):
        nights.made += 1
        tags.append(f"k{nights.made}")
        cells = {name: like[name] for name in ("sex", "place", "age")}
        nights.rows.append({**cells, "ill": "flu", "case_id": tags[-1], "tag": tags[-1]})
    return tags


def remove(nights: Nights, tags: list[str]) -> None:
    nights.rows = [row for row in nights.rows if row["tag"] not in tags]


def test_who_comes_and_goes_many_times_is_shown_once_among_k(tmp_path: Path) -> None:
    """Each departure and return would be a difference of one; a record that left does not come back."""
    nights = Nights(tmp_path, 11, values=False, cohorts={"margin": 0})
    nights.release()
    victim = dict(next(row for row in nights.rows if row["tag"] in nights.releases[0]))
    for night in range(1, NIGHTS):
        nights.rows = [row for row in nights.rows if nights.draw.random() > 0.02]
        nights.arrive(night % 4)
        remove(nights, [victim["tag"]])
        if night % 2:
            nights.rows.append(dict(victim))
        nights.release()
    check(nights)
    shown = [victim["tag"] in release for release in nights.releases]
    assert shown == sorted(shown, reverse=True), "it was shown in one stretch"
    assert not all(shown)
    [among] = [tags for tags in histories(nights.releases).values() if victim["tag"] in tags]
    assert len(among) >= K


def test_what_an_attacker_enters_joins_no_cohort_that_is_there(tmp_path: Path) -> None:
    """2k records enter the victim's class and leave it, again and again. What is shown of the victim is what would be
    shown without them, among k records of others."""
    worlds = [Nights(tmp_path / name, 5, values=False, cohorts={"margin": 0}) for name in ("alone", "attacked")]
    owned: set[str] = set()
    inside: list[str] = []
    victim = ""
    for night in range(NIGHTS // 3):
        if night:
            gone = [row["tag"] for row in worlds[0].rows if random.Random(f"{row['tag']} {night}").random() < 0.03]
            for nights in worlds:
                remove(nights, gone)
        else:
            worlds[1].rows = [dict(row) for row in worlds[0].rows]
        if night and night % 2:
            like = worlds[1].sources[0][victim]
            inside = own(worlds[1], like, 2 * K)
            owned |= {*inside}
        elif night:
            remove(worlds[1], inside)
        for nights in worlds:
            nights.release()
        victim = victim or min(worlds[0].releases[0])
    for nights in worlds:
        check(nights)
    others = [{tag: row for tag, row in release.items() if tag not in owned} for release in worlds[1].releases]
    first = {*worlds[0].releases[0]}
    assert owned & {tag for release in worlds[1].releases for tag in release}, "the attacker's records were shown"
    for alone, attacked in zip(worlds[0].releases, others, strict=True):
        assert {tag: class_of(alone[tag]) for tag in alone.keys() & first} == {
            tag: class_of(attacked[tag]) for tag in attacked.keys() & first
        }
    for tags in histories(worlds[1].releases).values():
        assert not {*tags} & owned or {*tags} <= owned
        assert {*tags} <= owned or len(tags) >= K


def test_who_comes_in_one_night_with_an_attacker_s_records_is_among_these(tmp_path: Path) -> None:
    """k counts records of anybody: of a history with k - j records or more of one's own, j of others may be left. So
    who writes to the source before others come may see one of them alone; the page on ledgers says so."""
    nights = Nights(tmp_path, 7, values=False, cohorts={"margin": 0})
    nights.release()
    like = dict(next(row for row in nights.rows if row["tag"] in nights.releases[0]))
    newcomer = own(nights, like, 1)
    owned = {*own(nights, like, 2 * K)}
    for _ in range(3):
        nights.release()
        nights.rows = [row for row in nights.rows if row["tag"] not in {*sorted(owned)[:1]}]
    check(nights)
    found = [{*tags} for tags in histories(nights.releases).values()]
    assert all(len(tags) >= K for tags in found)
    assert all(len(tags - owned) >= K - len(tags & owned) for tags in found)
    assert any({*newcomer} == tags - owned for tags in found), "the attack works where nobody else came"
