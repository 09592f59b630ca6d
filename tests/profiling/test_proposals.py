"""The releases that a draft proposes: a run makes them as they were said, and the price of what they leave is right."""

import datetime
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benches import visitors
from command_line import sqlanon as command

import sqlanon
from sqlanon.assess.profiling import drafting, proposals, searched, several
from sqlanon.assess.profiling.drafting import REFUSED, PolicyDraft, draft
from sqlanon.assess.profiling.facts import percent
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.profiling.proposals import (
    BALANCED,
    ENOUGH_PROTECTED,
    FEW_SENSITIVE,
    LOST,
    MUCH_MORE,
    WISHES_COST,
    _Searches,
)
from sqlanon.assess.profiling.proposed import BESIDE_FIRST, Gain
from sqlanon.assess.profiling.several import SEVERAL_RULES
from sqlanon.errors import IdentifyingColumnError, InputError

FIRST = datetime.date(2015, 1, 1)


def _visits(records: int, seed: int = 3, *, sensitive: bool = True) -> pa.Table:
    draw = random.Random(seed)
    towns = [f"{place:05d}" for place in range(10_000, 10_400, 20)]
    data: dict[str, list[Any]] = {
        "sex": draw.choices("mf", k=records),
        "age": [min(97, max(0, int(draw.gauss(55, 20)))) for _ in range(records)],
        "postcode": [draw.choice(towns[: 4 + draw.randrange(16)]) for _ in range(records)],
        "admission_date": [FIRST + datetime.timedelta(draw.randrange(2_500)) for _ in range(records)],
        "nationality": draw.choices(["DE", "TR", "PL", "IT", "SY", "FR"], [80, 8, 5, 4, 2, 1], k=records),
    }
    if sensitive:
        data["diagnosis"] = draw.choices(["I10", "E11", "J45", "C50", "F32"], k=records)
    return pa.table(data)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("proposals")
    pq.write_table(_visits(1_500), made / "visits.parquet")
    return made


@pytest.fixture(scope="module")
def unhurried() -> Iterator[None]:
    """No search ends because the machine is busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposals, "ALL_SECONDS", 300.0)
        patch.setattr(several, "RULES_SECONDS", 80.0)
        patch.setattr(several, "ALL_RULES_SECONDS", 160.0)
        yield


@pytest.fixture(scope="module")
def drafted(folder: Path, unhurried: None) -> PolicyDraft:
    return draft(profile(folder / "visits.parquet"), folder=folder, search=True)


@pytest.mark.slow
def test_three_releases_are_proposed_and_differ(drafted: PolicyDraft) -> None:
    names = [item.name for item in drafted.proposals]
    assert names[0] == drafted.proposal == BALANCED and len(names) == 3
    assert names[1:] == [SEVERAL_RULES, "most detail of place"]
    shown = [tuple((column.name, column.publishes) for column in item.columns) for item in drafted.proposals]
    assert len(set(shown)) == 3
    left = [{column.name: column.left or 0.0 for column in item.columns} for item in drafted.proposals]
    assert left[2]["postcode"] > left[1].get("postcode", 0.0)
    assert len(left[1]) > len(left[0]), "several rules leave something of more columns"


@pytest.mark.parametrize("place", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_run_makes_the_release_as_it_was_proposed(folder: Path, drafted: PolicyDraft, place: int) -> None:
    """The same levels, records and loss, though the draft leaves out what nothing was left of."""
    proposed = drafted.proposals[place]
    found = profile(folder / "visits.parquet")
    text = draft(found, folder=folder, search=True, proposal=proposed.name).yaml
    (folder / "policy.yaml").write_text(text, encoding="utf-8")
    assert {item.name for item in sqlanon.Policy.from_file(folder / "policy.yaml").quasi_identifiers} == {
        item.name for item in proposed.columns if not item.fully_suppressed
    }
    if proposed.rules == "several":
        with sqlanon.anonymize(None, folder / "policy.yaml") as release:
            assert len(release.plan.rules) > 1 and release.ledger.smallest_class >= 5  # type: ignore[union-attr,operator]
        return
    with sqlanon.plan(None, folder / "policy.yaml") as plan:
        assert plan.certificate.optimal and not plan.nothing_left
        if proposed.optimal:
            assert plan.ledger.suppressed == proposed.suppressed and plan.ledger.published == proposed.published
            assert plan.ledger.smallest_class == proposed.smallest_class
        losses = plan.attribute_losses
        assert losses is not None
        gone = sum(item.fully_suppressed for item in proposed.columns)
        assert (sum(losses.values()) + gone) / len(proposed.columns) <= proposed.loss + 1e-9


@pytest.mark.slow
def test_the_price_of_a_wish_is_right(tmp_path: Path) -> None:
    """By every node: none keeps years within the limit, or all that do lose too much of the others."""
    draw = random.Random(5)
    data = {
        "sex": draw.choices("mf", k=400),
        "age": [draw.randrange(0, 90) for _ in range(400)],
        "admission_date": [FIRST + datetime.timedelta(draw.randrange(9_000)) for _ in range(400)],
    }
    pq.write_table(pa.table(data), tmp_path / "few.parquet")
    made = draft(profile(tmp_path / "few.parquet"), folder=tmp_path, search=True)
    [price] = [item for item in made.proposals[0].unmet if item.column == "admission_date"]
    wide = draft(profile(tmp_path / "few.parquet"), folder=tmp_path).policy
    with sqlanon.plan(None, wide) as plan:
        heights = [range(attribute.height) for attribute in plan.catalog.attributes]
        names = [attribute.name for attribute in plan.catalog.attributes]
        verdicts = plan.evaluate_many([dict(zip(names, node, strict=True)) for node in itertools.product(*heights)])
        place, met = (
            names.index("admission_date"),
            made.proposals[0].max_levels,
        )
        periods = plan.policy.quasi_identifiers[place].hierarchy.levels  # type: ignore[union-attr]
        with_years = [
            item
            for item in verdicts
            if item.node[place] <= [name for name in periods if name != "day"].index("year") + 1
            and all(item.node[names.index(name)] <= level for name, level in met.items() if name != "admission_date")
        ]
    feasible = [item for item in with_years if item.feasible]
    if price.share is not None:
        assert not feasible
        assert price.suppressed in {item.suppressed for item in with_years}
        assert price.share == price.suppressed / 400  # type: ignore[operator]
    else:
        assert price.before is not None and price.after is not None and price.before - price.after > WISHES_COST
    assert "admission_date: the year w" in made.yaml


@pytest.mark.slow
def test_several_rules_are_proposed_where_they_say_more(tmp_path: Path) -> None:
    pq.write_table(_visits(4_000, sensitive=False), tmp_path / "visits.parquet")
    found = profile(tmp_path / "visits.parquet")
    proposals = draft(found, folder=tmp_path, search=True).proposals
    [several] = [item for item in proposals if item.rules == "several"]
    [single] = [item for item in proposals if item.name == BALANCED]
    more = [item.name for item in several.columns if (item.left or 0.0) > 0.5]
    assert several.name == SEVERAL_RULES and len(more) > len(single.columns) and proposals[0] is single
    made = draft(found, folder=tmp_path, search=True, proposal=several.name)
    (tmp_path / "policy.yaml").write_text(made.yaml, encoding="utf-8")
    with sqlanon.anonymize(None, tmp_path / "policy.yaml") as release:
        assert len(release.plan.rules) > 1  # type: ignore[union-attr]
        assert release.ledger.smallest_class is None or release.ledger.smallest_class >= 5


@pytest.mark.slow
def test_what_cannot_be_searched_is_drafted_all_the_same(tmp_path: Path) -> None:
    found = profile(_visits(300))
    made = draft(found, folder=tmp_path, search=True)
    assert made.proposals == () and "not at hand" in made.warnings[0]
    assert draft(found, folder=tmp_path, search=True, source=_visits(300)).proposals
    pq.write_table(pa.table({"age": [1, 2, 3], "sex": ["m", "f", "m"]}), tmp_path / "three.parquet")
    made = draft(profile(tmp_path / "three.parquet"), folder=tmp_path, search=True)  # no class has five records
    assert made.policy.quasi_identifiers


@pytest.mark.slow
def test_a_proposal_is_chosen_by_its_name(folder: Path) -> None:
    done = command(
        "profile", folder / "visits.parquet", "--write", folder / "place.yaml", "--proposal", "most detail of place",
        "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["proposal"] == "most detail of place" and len(document["decisions"]) <= 7
    assert {"name", "loss", "unit", "suppressed", "highest_risk", "columns", "unmet"} <= set(document["proposals"][0])
    assert "weight: 4.0" in (folder / "place.yaml").read_text()
    with pytest.raises(InputError, match="No release of this name"):
        draft(profile(few := _visits(200)), folder=folder, search=True, source=few, proposal="most")
    done = command("profile", folder / "visits.parquet", "--proposal", "balanced")
    assert done.returncode == 2 and "--write" in done.stderr


@pytest.mark.slow
def test_of_many_sensitive_columns_some_are_published(tmp_path: Path) -> None:
    """Each with its model: with all of them nothing would be left of what others know."""
    draw = random.Random(8)
    flags = {
        f"hiv_test_{place}": [int(draw.random() < 0.01 * (1 + place)) for _ in range(1_500)] for place in range(12)
    }
    table = _visits(1_500, sensitive=False)
    for name, values in flags.items():
        table = table.append_column(name, pa.array(values))
    pq.write_table(table, tmp_path / "flags.parquet")
    made = draft(profile(tmp_path / "flags.parquet"), folder=tmp_path, search=True)
    chosen = made.proposals[0]
    published = [item.name for item in made.policy.columns if item.role == "sensitive"]
    assert 2 <= len(published) <= FEW_SENSITIVE and {*published, *chosen.left_out} == set(flags)
    assert not chosen.gone or len(chosen.gone) < len(chosen.columns)
    assert all(item.models for item in made.policy.columns if item.role == "sensitive")
    assert {chosen.displaced[name] for name in chosen.left_out} <= {BESIDE_FIRST, ENOUGH_PROTECTED, LOST}


@pytest.mark.slow
def test_what_would_be_kept_parts_no_class(tmp_path: Path) -> None:
    draw = random.Random(11)
    rows = _visits(3_000).append_column("boards", pa.array(draw.choices("yn", [2, 98], k=3_000)))
    pq.write_table(rows, tmp_path / "visits.parquet")
    found = profile(tmp_path / "visits.parquet")
    assert found.column("boards").role == "keep"  # as a suggestion, of which nothing was searched
    made = draft(found, folder=tmp_path, search=True)
    roles = {item.name: item.role for item in made.policy.columns}
    released = sqlanon.anonymize(tmp_path / "visits.parquet", replace(made.policy, output=None)).to_arrow()
    known = [name for name in released.column_names if roles[name] in ("quasi_identifier", "keep")]
    sizes = released.group_by(known).aggregate([([], "count_all")])["count_all"].to_pylist()
    assert min(sizes) >= 5 and roles["boards"] in ("quasi_identifier", "drop")


@pytest.mark.slow
def test_who_uses_a_thing_is_no_entity(tmp_path: Path) -> None:
    draw = random.Random(5)
    born = [draw.randrange(1950, 2005) for _ in range(300)]
    people = [draw.randrange(300) for _ in range(2_000)]
    rows = {
        "card_id": [f"C{40_000 + 7 * person}" for person in people],
        "bike_id": [f"B{9_000 + draw.randrange(250)}" for _ in people],
        "birth_year": [born[person] for person in people],
        "station": draw.choices("abcd", k=2_000),
    }
    pq.write_table(pa.table(rows), tmp_path / "trips.parquet")
    assert draft(profile(tmp_path / "trips.parquet"), folder=tmp_path).policy.entity == "card_id"
    pq.write_table(pa.table(rows).drop_columns(["card_id"]), tmp_path / "bikes.parquet")
    assert draft(profile(tmp_path / "bikes.parquet"), folder=tmp_path).policy.entity is None


@pytest.mark.slow
def test_flags_do_not_displace_what_a_table_is_about(tmp_path: Path) -> None:
    draw = random.Random(17)
    rows = _visits(600)
    for place in range(9):
        rows = rows.append_column(f"option_{place}", pa.array(draw.choices("yn", [1, 1 + place], k=600)))
    pq.write_table(rows, tmp_path / "visits.parquet")
    pq.write_table(_visits(600), tmp_path / "alone.parquet")
    [made, alone] = [
        draft(profile(tmp_path / name), folder=tmp_path, search=True) for name in ("visits.parquet", "alone.parquet")
    ]
    flags = {name for name in rows.column_names if name.startswith("option_")}
    dropped = {item.name for item in made.policy.columns if item.role == "drop"}
    balanced, of_others = made.proposals[0], alone.proposals[0]
    published = {item.name for item in of_others.columns}
    assert flags & dropped and not published & dropped
    assert balanced.displaced.keys() <= dropped
    said = " ".join(made.yaml.replace("#", "").split())
    assert all(price in said for price in balanced.displaced.values())


@pytest.mark.slow
def test_a_column_of_which_one_value_is_left_gives_its_room_up(tmp_path: Path) -> None:
    """A few have a date: classes of those who have one are too small, and all of them are left out."""
    draw = random.Random(11)
    few = {draw.randrange(400) for _ in range(14)}
    rows = {
        "age": [draw.randrange(20, 80) for _ in range(400)], "sex": draw.choices("mf", k=400),
        "relapse_date": [FIRST + datetime.timedelta(draw.randrange(2_000)) if n in few else None for n in range(400)],
    }  # fmt: skip
    pq.write_table(pa.table(rows), tmp_path / "people.parquet")
    made = draft(profile(tmp_path / "people.parquet"), folder=tmp_path, search="one rule")
    [column] = [item for item in made.columns if item.name == "relapse_date"]
    assert column.keys == {"role": "drop"} and column.reason.endswith(proposals.NOTHING_LEFT)
    assert {item.name for item in made.proposals[0].columns} == {"age", "sex"}


@pytest.mark.slow
@pytest.mark.parametrize("is_published", [True, False])
def test_of_two_columns_of_which_one_gives_the_other_away_the_one_that_is_published_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_published: bool
) -> None:
    """``postcode`` would be refused beside ``age``; where no release publishes that, it comes back."""
    search = drafting.propose

    def refusing(source: object, policy: sqlanon.Policy, *found: Any, **options: Any) -> Any:
        used = {item.name for item in policy.columns if item.role != "drop"}
        if {"postcode", "age"} <= used:
            raise IdentifyingColumnError("", hint="", columns={"postcode": {"determines": {"age": 1.0}}})
        made = search(source, policy, *found, **options)
        if is_published or "age" not in used:
            return made
        return tuple(replace(m, columns=tuple(c for c in m.columns if c.name != "age")) for m in made)

    monkeypatch.setattr(drafting, "propose", refusing)
    made = draft(profile(folder / "visits.parquet"), folder=folder, search="one rule")
    dropped = {item.name for item in made.policy.columns if item.role == "drop"}
    assert dropped & {"postcode", "age"} == {"postcode" if is_published else "age"}


@pytest.mark.slow
def test_what_a_run_would_refuse_is_in_no_proposal(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where a person takes another of the releases that were searched."""
    search = drafting.propose

    def refusing(source: object, policy: sqlanon.Policy, *found: Any, **options: Any) -> Any:
        if "nationality" in {item.name for item in policy.columns if item.role != "drop"}:
            raise IdentifyingColumnError("", hint="", columns={"nationality": {}})
        return search(source, policy, *found, **options)

    monkeypatch.setattr(drafting, "propose", refusing)
    found = profile(folder / "visits.parquet")
    made = draft(found, folder=folder, search=True)
    assert len(made.proposals) > 1
    for proposal in made.proposals:
        again = draft(found, folder=folder, search=True, proposal=proposal.name, searched=made.proposals)
        [column] = [item for item in again.columns if item.name == "nationality"]
        assert column.keys == {"role": "drop"} and column.reason.endswith(REFUSED)
    refused = IdentifyingColumnError("", hint="", columns={"of another table": {}})
    monkeypatch.setattr(drafting, "propose", Mock(side_effect=refused))
    [warning] = draft(found, folder=folder, search=True).warnings
    assert warning.startswith("No release was searched")


def _of_races(folder: Path, shares: list[int]) -> PolicyDraft:
    draw = random.Random(1)
    rows = {
        "sex": draw.choices("mf", k=2_000),
        "age": [draw.randrange(18, 80) for _ in range(2_000)],
        "race": draw.choices(["white", "black", "asian"], shares, k=2_000),
    }
    pq.write_table(pa.table(rows), folder / "people.parquet")
    return draft(profile(folder / "people.parquet"), folder=folder, search=True)


@pytest.mark.slow
def test_half_of_the_records_of_a_rare_value_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def held(made: PolicyDraft) -> list[float]:
        released = sqlanon.anonymize(tmp_path / "people.parquet", replace(made.policy, output=None)).to_arrow()
        before = Counter(pq.read_table(tmp_path / "people.parquet")["race"].to_pylist())
        after = Counter(released["race"].to_pylist())
        return [after[value] / count for value, count in before.items()]

    made = _of_races(tmp_path, [60, 37, 3])
    assert made.proposals[0].limit == float(made.policy.suppression_limit) < 0.05
    assert min(held(made)) >= 0.5
    [said] = [item.reason for item in made.columns if item.name == "race"]
    lost = max(1 - left for left in held(made))
    assert (
        lost >= 0.25
        and f"Of the records with one of its values, as they are published, {percent(lost)} are left out." in said
    )
    assert _of_races(tmp_path, [40, 30, 30]).proposals[0].limit is None
    monkeypatch.setattr(proposals, "too_uneven", lambda *_: {})
    made = _of_races(tmp_path, [60, 37, 3])
    assert min(held(made)) < 0.5, "without the limit, most records of the rare value are left out"


@pytest.mark.parametrize(
    ("column", "after", "given_up"),
    [("branch", 0.9, True), ("branch", 0.6, False), ("sector", 0.9, False), ("age", 0.9, False), ("sex", 0.9, False)],
)
def test_what_costs_the_others_much_is_given_up_unless_most_readers_ask_for_it(
    column: str, after: float, given_up: bool
) -> None:
    first = ["sector", "region", "wage"]
    found = {name: Mock(looks_like=name, topic=name) for name in (*first, "branch", "age", "sex")}
    search = Mock(_order=[*found], _found=found, _near={}, _scores=dict.fromkeys(found, 0.0))
    assert _Searches.gives_up(search, Gain(column, 0.5, after)) == given_up
    assert (column in search._near, column in search._order) == (given_up, not given_up)


@pytest.mark.slow
def test_the_age_of_persons_is_published_whatever_it_costs(tmp_path: Path) -> None:
    pq.write_table(visitors(records=3_000), tmp_path / "visitors.parquet")
    best = draft(profile(tmp_path / "visitors.parquet"), folder=tmp_path, search=True).proposals[0]
    assert best.drop is not None and best.drop.column == "age" and best.drop.after - best.drop.before > MUCH_MORE
    assert "age" in {item.name for item in best.columns}


@pytest.mark.slow
def test_it_is_counted_whom_a_protected_column_would_single_out(tmp_path: Path) -> None:
    """By a brute force over the release that a run makes."""
    pq.write_table(visitors(records=1_000), tmp_path / "visitors.parquet")
    made = draft(profile(tmp_path / "visitors.parquet"), folder=tmp_path, search=True)
    rows = sqlanon.anonymize(tmp_path / "visitors.parquet", replace(made.policy, output=None)).to_arrow().to_pylist()
    quasi = [item.name for item in made.policy.quasi_identifiers]
    counted = made.proposals[0].counted.few_if_known
    own = tuple(item.name for item in made.policy.sensitive)
    assert counted.keys() == {(), *((name,) for name in own), own} and counted[()] == len(rows)
    for also, few in counted.items() - {((), len(rows))}:
        groups = Counter(tuple(row[each] for each in (*quasi, *also)) for row in rows)
        assert sum(held for held in groups.values() if held < 5) == few
    for name in own:
        [reason] = [item.reason for item in made.columns if item.name == name]
        few = counted[(name,)]
        said = "fewer than 5" if 0 < few < 5 else f"{few:,}"
        assert f" {said} of {len(rows):,} published records stand in groups of fewer than 5" in reason


@pytest.mark.slow
def test_it_is_counted_which_persons_a_protected_column_would_single_out(tmp_path: Path) -> None:
    draw = random.Random(4)
    people = [(1_000 + 7 * n, draw.choice("mf"), draw.randrange(20, 70)) for n in range(200)]
    rows = [(*person, draw.choice(["I10", "E11", "J45", "C50"])) for person in people for _ in range(3)]
    names = ("patient_id", "sex", "age", "diagnosis")
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), tmp_path / "r.parquet")
    made = draft(profile(tmp_path / "r.parquet"), folder=tmp_path, search=True)
    [((), everyone), ((name,), few)] = made.proposals[0].counted.few_if_known.items()
    with sqlanon.plan(tmp_path / "r.parquet", replace(made.policy, output=None)) as plan:
        query = plan.generalized_query({"age": "VARCHAR", "sex": "VARCHAR", name: "VARCHAR"}, entities=True)
        released = plan.engine.run("rows", query)
    persons: dict[tuple[object, ...], set[object]] = {}
    for *known, person in released:
        persons.setdefault(tuple(known), set()).add(person)
    assert len({person for held in persons.values() if len(held) < 5 for person in held}) == few > 0
    assert len(set().union(*persons.values())) == everyone


@pytest.mark.slow
def test_what_links_the_records_of_a_person_is_generalized(tmp_path: Path) -> None:
    draw = random.Random(4)
    people = [(1_000 + 7 * n, draw.choice("mf"), draw.choice(["hot", "mild", "none"])) for n in range(300)]
    rows = [(*person, draw.choice("abcd")) for person in people for _ in range(6)]
    names = ("respondent_id", "sex", "result_type", "result")
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), tmp_path / "r.parquet")
    made = draft(profile(tmp_path / "r.parquet"), folder=tmp_path, search=True)
    roles = {item.name: item.role for item in made.policy.columns}
    assert made.policy.entity == "respondent_id" and roles["result_type"] == "quasi_identifier"
    with sqlanon.anonymize(tmp_path / "r.parquet", replace(made.policy, output=None)) as release:
        assert roles["result"] == "sensitive" and not any("linked by" in text for text in release.warnings)


@pytest.mark.slow
def test_ages_are_finer_in_place_of_a_flag_that_says_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched, "MOST_FLAGS", 0)
    draw = random.Random(3)
    rows: dict[str, list[Any]] = {name: draw.choices([0, 1], [60, 40], k=500) for name in ("gift", "bonus", "flyer")}
    rows |= {"age": [draw.randrange(18, 80) for _ in range(500)], "sex": draw.choices("mf", k=500)}
    pq.write_table(pa.table(rows), tmp_path / "people.parquet")

    def drafted() -> PolicyDraft:
        return draft(profile(tmp_path / "people.parquet"), folder=tmp_path, search=True)

    best = drafted().proposals[0]
    assert sum("room is taken by ages in bands of 10 years" in reason for reason in best.displaced.values()) == 1
    assert "age" not in {item.column for item in best.unmet}
    monkeypatch.setattr(_Searches, "_in_place_of_another", lambda _, finer, *__: (None, finer))
    assert "age" in {item.column for item in drafted().proposals[0].unmet}


@pytest.mark.slow
def test_a_flag_that_follows_from_bands_is_left_out_in_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searched, "MOST_FLAGS", 0)
    draw = random.Random(6)
    earned = [draw.choice([0.0, round(draw.uniform(1, 60), 3)]) for _ in range(800)]
    rows = {
        "age": [draw.randrange(18, 60) for _ in range(800)],
        "earnings": earned,
        "unem": [int(not wage) for wage in earned],
    }
    pq.write_table(pa.table(rows), tmp_path / "people.parquet")
    made = draft(profile(tmp_path / "people.parquet"), folder=tmp_path, search=True)
    assert {item.name: item.role for item in made.policy.columns}["earnings"] == "sensitive"
    [flag] = [item for item in made.columns if item.name == "unem"]
    assert flag.keys == {"role": "drop"} and "follows from 'earnings'" in flag.reason


@pytest.mark.slow
def test_questions_that_are_asked_alike_share_a_role_and_leave_room_for_who_was_asked(tmp_path: Path) -> None:
    draw = random.Random(6)
    mood = [draw.randrange(1, 6) for _ in range(900)]
    data: dict[str, Any] = {
        "sex": draw.choices("mf", k=900), "age": [draw.randrange(18, 80) for _ in range(900)],
        "country": draw.choices(["Eastasia", "Eurasia", "Oceania"], k=900), "y": draw.choices(range(1, 6), k=900),
    }  # fmt: skip
    data |= {
        f"{stem}{n}": [min(5, max(1, m + draw.choice([-1, 0, 1]))) for m in mood] for stem in "vw" for n in range(1, 7)
    }
    pq.write_table(pa.table(data), tmp_path / "asked.parquet")
    made = draft(profile(tmp_path / "asked.parquet"), folder=tmp_path, search="one rule")
    roles = {item.name: item.role for item in made.policy.columns}
    assert {roles[name] for name in ("sex", "age", "country")} == {"quasi_identifier"}
    asked = {name: role for name, role in roles.items() if name[0] in "vw"}
    assert {*asked.values()} == {"sensitive", "drop"}, "none of them parts the classes"
    held = [sum(role == "sensitive" for name, role in asked.items() if name[0] == stem) for stem in "vw"]
    assert min(held) >= 3 and max(held) - min(held) <= 1, "of each group about as many"
