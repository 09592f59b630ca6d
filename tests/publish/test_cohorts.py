"""Releases in cohorts, night after night: what whoever has all of them finds, by brute force over the records' tags."""

import json
import random
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import ledger_worlds as worlds
import pyarrow as pa
import pytest
from cohort_nights import K, Nights, Row, class_of, histories, remove
from effort import Block, scaled, seeds

import sqlanon
from sqlanon.commands.ledger import read_keys
from sqlanon.commands.run import run_policy
from sqlanon.core.anonymizer import encoded_session
from sqlanon.core.plan.full_domain import judging
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.ledger.cohorts.erasing import erase_records
from sqlanon.ledger.review import accept_release, check_ledger_file, forget_release
from sqlanon.live.deciding import choose_chain
from sqlanon.report import story
from sqlanon.report.document import report_document
from sqlanon.report.summarizing import summarize
from sqlanon.report.text import text_report

OPTIONS: list[dict[str, int]] = [
    {"coarser_after": 2, "hold": 1, "margin": 1},
    {"margin": 2},
    {"hold": 3, "margin": 0},
    {"margin": 0},
    {"coarser_after": 3, "margin": 0},
    {"hold": 1, "margin": 1},
]


def check(nights: Nights) -> None:
    """What is promised of all releases together."""
    releases = nights.releases
    first: dict[str, tuple[int, Row]] = {}
    for night, release in enumerate(releases):
        for tag, row in release.items():
            began, as_it_was = first.setdefault(tag, (night, row))
            assert row == as_it_was, "a row that is shown does not change"
            assert {night for night, other in enumerate(releases) if tag in other} >= {*range(began, night + 1)}
            source = nights.sources[began][tag]
            assert (row["ill"], row["tag"]) == (source["ill"], source["tag"]), "it was true when it came"
            if (hold := nights.cohorts.get("hold")) is not None and night - began >= hold:
                assert any(nights.true_at(tag, row, night - back) for back in range(hold + 1)), "it is held too long"
        for members in _classes(release).values():
            assert len(members) >= K
            assert not nights.values or len({row["ill"] for row in members}) >= 2
    for tags in histories(releases).values():
        assert len(tags) >= K
        assert not nights.values or len({first[tag][1]["ill"] for tag in tags}) >= 2
    for one in range(len(releases)):
        for other in range(one):
            differ = Counter(class_of(releases[one][tag]) for tag in releases[one].keys() - releases[other].keys())
            differ_back = Counter(
                class_of(releases[other][tag]) for tag in releases[other].keys() - releases[one].keys()
            )
            assert min([K, *differ.values(), *differ_back.values()]) >= K


def _classes(release: dict[str, Row]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in release.values():
        found[class_of(row)].append(row)
    return found


@pytest.mark.slow
def test_a_second_release_keeps_the_levels_and_counts_who_came_and_waits(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 1, values=False, cohorts={"margin": 1})
    nights.release()
    nights.rows = nights.rows[1:]
    nights.arrive(15)
    found = nights.release()
    check(nights)
    assert found.recorded is not None
    counts = found.recorded.to_dict()["cohorts"]
    assert counts["joined"] == len(nights.releases[1].keys() - nights.releases[0].keys())
    assert counts["held"] == len(nights.releases[1].keys() - nights.sources[1].keys())
    assert counts["waiting"] == len(nights.sources[1].keys() - nights.releases[1].keys() - nights.releases[0].keys())
    manifest = json.loads((tmp_path / "out" / "released.parquet.manifest.json").read_text())
    assert "cohort" in manifest["cohorts"]["rows"] and manifest["ledger"]["suppressed"] == "withheld"
    assert manifest["ledger"]["records"] is None and manifest["certificate"]["loss"] is None


@pytest.mark.slow
@pytest.mark.parametrize("values", [False, True], ids=["sizes", "values"])
@seeds(6, size=3)
def test_whoever_has_all_releases_singles_nobody_out(tmp_path: Path, block: Block, values: bool) -> None:
    more = 0
    for seed in block:
        nights = Nights(tmp_path / str(seed), seed, values, OPTIONS[seed % len(OPTIONS)])
        for _ in range(max(5, scaled(8))):
            if not nights.goes_on():
                break
            nights.change()
        check(nights)
        more += len(histories(nights.releases)) - len(_classes(nights.releases[0]))
    assert more > 0, "cohorts came or were divided"


@pytest.mark.slow
def test_who_is_shown_does_not_depend_on_the_values_of_those_who_are(tmp_path: Path) -> None:
    """The same nights, with the values of each cohort dealt out among its records anew, show the same records."""
    levels = {"sex": 0, "place": 1, "age": 1}
    found = []
    deal: dict[str, Any] = {}
    for once in ("as they are", "dealt anew"):
        nights = Nights(tmp_path / once, 11, values=True, cohorts={"margin": 1, "hold": 2}, levels=levels, steady=True)
        for _ in range(max(4, scaled(6))):
            nights.rows = [row | {"ill": deal.get(row["tag"], row["ill"])} for row in nights.rows]
            nights.release()
            nights.change()
        check(nights)
        found.append([release.keys() for release in nights.releases])
        draw = random.Random(3)
        for tags in histories(nights.releases).values():
            own = [next(release[tag]["ill"] for release in nights.releases if tag in release) for tag in sorted(tags)]
            deal |= dict(zip(sorted(tags), draw.sample(own, len(own)), strict=True))
    assert found[0] == found[1]
    assert any(
        deal[row["tag"]] != row["ill"] for source in nights.sources for row in source.values() if row["tag"] in deal
    )


@pytest.mark.slow
def test_the_chain_of_coarser_nodes_does_not_depend_on_values(tmp_path: Path) -> None:
    worlds.prepare(tmp_path)
    document = {name: value for name, value in worlds.document(tmp_path).items() if name not in ("ledger", "output")}
    draw, found = random.Random(4), set()
    rows = worlds.records(13, 400).to_pylist()
    for _ in range(6):
        for row in rows:
            row["ill"] = draw.choices(["flu", "cold", "gout"], (6, 1, 1))[0]
        worlds.write_source(tmp_path, pa.Table.from_pylist(rows, schema=worlds.records(1).schema))
        with encoded_session(None, sqlanon.Policy.from_dict(document), None) as (session, _), closing(session):
            problem, _ = judging(session)
            found.add(choose_chain(session, problem, problem.lattice.bottom))
    assert len(found) == 1 and len(*found) > 2


@pytest.mark.slow
def test_there_is_a_next_night_whatever_the_values_are(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 3, values=True, cohorts={"margin": 0})
    nights.release()
    for row in nights.rows:
        row["ill"] = "flu"  # no class of the source could meet the policy now
    nights.release()
    assert nights.releases[1] == nights.releases[0]


@pytest.mark.slow
def test_who_knows_a_new_value_does_not_learn_the_old_one(tmp_path: Path) -> None:
    """Of a cohort of k, one record's value becomes flu, which somebody knows. Whatever it was, all are shown on."""
    shown = []
    for was in ("flu", "gout"):
        nights = Nights(tmp_path / was, 3, values=True, cohorts={"margin": 0})
        like = nights.rows[0] | {"sex": "f", "place": "a", "age": 21}
        nights.rows = [
            like | {"case_id": f"k{i}", "tag": f"k{i}", "ill": ("flu", "gout")[i % 2], "sex": "fm"[i >= K]}
            for i in range(20)
        ]
        nights.rows[0]["ill"], nights.rows[1]["ill"] = was, {"flu": "gout", "gout": "flu"}[was]
        nights.release()
        nights.rows[0] = nights.rows[0] | {"ill": "flu"}
        nights.release()
        check(nights)
        shown.append([release.keys() for release in nights.releases])
    assert shown[0] == shown[1] and len(shown[0][1]) == 20


@pytest.mark.slow
def test_erased_records_go_with_the_next_release_and_the_fewest_others(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 4, values=False, cohorts={"margin": 0})
    nights.release()
    (keys := tmp_path / "erased.txt").write_text("k3\n K4 \n\nnobody\n")
    (policy := tmp_path / "policy.json").write_text(json.dumps(nights.document()))
    asked = erase_records(sqlanon.Policy.from_file(policy), read_keys(keys))
    assert (asked.named, asked.shown) == (3, len({"k3", "k4"} & nights.releases[0].keys()))
    nights.rows = [row for row in nights.rows if row["tag"] != "k3"]
    found = nights.release()
    check(nights)
    assert not {"k3", "k4"} & nights.releases[1].keys()
    gone = nights.releases[0].keys() - nights.releases[1].keys()
    counts = found.recorded.to_dict()["cohorts"] if found.recorded is not None else {}
    assert (counts["erased"], counts["gone"] + counts["withdrawn"]) == (asked.shown, len(gone))
    for cell, members in _classes(nights.releases[0]).items():
        left = [row for row in members if row["tag"] in gone]
        asked_of = [row for row in left if row["tag"] in ("k3", "k4")]
        assert len(left) in (0, max(K, len(asked_of)) if len(members) >= 2 * K else len(members)), cell
    ledger = tmp_path / "private" / "ledger.duckdb"
    known = {str(digest).replace("-", "") for (digest,) in worlds.rows_of(ledger, "SELECT person FROM members")}
    assert not {worlds.person("k3"), worlds.person("k4")} & known, "no release knows them, wherever the source has them"
    nights.release()
    check(nights)
    assert check_ledger_file(ledger, sqlanon.Policy.from_file(policy)).holds


@pytest.mark.slow
def test_an_erased_record_stays_away_though_the_source_has_it_again(tmp_path: Path) -> None:
    """The source lacks it for one night; then it is back, with enough newcomers of its class."""
    nights = Nights(tmp_path, 4, values=False, cohorts={"margin": 0})
    nights.release()
    (policy := tmp_path / "policy.json").write_text(json.dumps(nights.document()))
    erased = nights.rows[next(i for i, row in enumerate(nights.rows) if row["tag"] in nights.releases[0])]
    erase_records(sqlanon.Policy.from_file(policy), [erased["tag"]])
    nights.rows.remove(erased)
    nights.release()
    nights.rows += [erased, *(erased | dict.fromkeys(("case_id", "tag"), f"n{number}") for number in range(K + 1))]
    nights.release()
    nights.release()
    check(nights)
    assert not any(erased["tag"] in release for release in nights.releases[1:])
    assert "n0" in nights.releases[-1], "its class took newcomers"
    ledger = tmp_path / "private" / "ledger.duckdb"
    for name, known in (("members", False), ("shown", False), ("departed", False), ("erased", True)):
        digests = {str(digest).replace("-", "") for (digest,) in worlds.rows_of(ledger, f"SELECT person FROM {name}")}
        assert (worlds.person(erased["tag"]) in digests) == known, name
    assert worlds.rows_of(ledger, "SELECT count(*) FROM erased") == [(1,)], "nothing links it to its history"
    assert check_ledger_file(ledger, sqlanon.Policy.from_file(policy)).holds


@pytest.mark.slow
def test_another_policy_is_refused_before_anything_is_decided(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 5, values=False, cohorts={"margin": 0})
    nights.release()
    narrower, fewer, larger, modelled, alone = (nights.document() for _ in range(5))
    narrower["columns"]["age"]["hierarchy"] = {"intervals": {"width": 3}}
    fewer["columns"]["age"]["hierarchy"] = {"suppress": {}}
    larger["privacy"][0]["k"] = K + 1
    modelled["columns"]["ill"] = {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]}
    del alone["ledger"]["cohorts"]
    for other, said in (
        (narrower, "hierarchies"), (fewer, "hierarchies"), (larger, "models"), (modelled, "models"),
        (alone, "asks for none"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            sqlanon.anonymize(None, other)
    nights.release()
    assert nights.releases[0] == nights.releases[1], "the sequence goes on"


@pytest.mark.slow
def test_losing_more_than_half_of_the_records_is_refused_until_it_is_accepted(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 5, values=False, cohorts={"margin": 0})
    nights.release()
    rows, anew = nights.rows, [row | {"ill": "coded anew"} for row in nights.rows]
    few = {row["tag"] for row in next(iter(_classes(nights.releases[0]).values()))}
    nights.rows = most = [old if old["tag"] in few else new for old, new in zip(rows, anew, strict=True)]
    with pytest.raises(InputError, match="would go") as refused:
        nights.release(accept=False)
    assert "--accept 1" in str(refused.value)
    (policy := tmp_path / "policy.json").write_text(json.dumps(nights.document()))
    accept_release(tmp_path / "private" / "ledger.duckdb", sqlanon.Policy.from_file(policy), "1")
    nights.rows = anew
    with pytest.raises(InputError, match="nobody would be left"):
        nights.release()
    nights.rows = most
    nights.release()
    check(nights)
    assert nights.releases[1].keys() == few


@pytest.mark.slow
def test_a_policy_without_k_asks_for_as_many_records_as_values(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 6, values=True, cohorts={"margin": 0})
    document = nights.document() | {"privacy": []}
    for _ in range(3):
        worlds.write_source(tmp_path, pa.Table.from_pylist(nights.rows, schema=worlds.records(1).schema))
        with sqlanon.anonymize(None, document):
            shown = duckdb.read_parquet(str(tmp_path / "out" / "released.parquet")).to_arrow_table().to_pylist()
        assert shown and all(
            len({row["ill"] for row in each}) >= 2 for each in _classes(dict(enumerate(shown))).values()
        )
        nights.change()


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


@pytest.mark.slow
def test_who_comes_and_goes_many_times_is_shown_once_among_k(tmp_path: Path) -> None:
    """Each departure and return would be a difference of one; a record that left does not come back."""
    nights = Nights(tmp_path, 5, values=False, cohorts={"margin": 0})
    nights.release()
    victim = dict(next(row for row in nights.rows if row["tag"] in nights.releases[0]))
    for night in range(1, max(6, scaled(NIGHTS))):
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


@pytest.mark.slow
def test_what_an_attacker_enters_joins_no_cohort_that_is_there(tmp_path: Path) -> None:
    """2k records enter the victim's class and leave it, again and again. What is shown of the victim is what would be
    shown without them, among k records of others."""
    worlds = [Nights(tmp_path / name, 5, values=False, cohorts={"margin": 0}) for name in ("alone", "attacked")]
    owned: set[str] = set()
    inside: list[str] = []
    victim = ""
    for night in range(max(4, scaled(10))):
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_release_that_withdrew_records_is_forgotten_and_the_next_continues_the_one_before(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 4, values=False, cohorts={"margin": 0})
    nights.release()
    (policy := tmp_path / "policy.json").write_text(json.dumps(nights.document()))
    ledger, found = tmp_path / "private" / "ledger.duckdb", sqlanon.Policy.from_file(policy)
    gone = {row["tag"] for row in min(_classes(nights.releases[0]).values(), key=len)}
    rows, shown = nights.rows, []
    left = [row for row in rows if row["tag"] not in gone]
    for nights.rows in (left, rows, left):
        for path in (tmp_path / "out").iterdir():
            path.unlink()
        nights.release()
        check(nights)
        if len(shown) < 2:
            forget_release(ledger, found, "2")
            assert check_ledger_file(ledger, found).faults == ()
        nights.sources.pop()
        shown.append(nights.releases.pop())
    assert len(shown[0]) < len(nights.releases[0]) and shown[2] == shown[0]
    assert not gone & shown[0].keys() and gone <= shown[1].keys(), "nobody saw them go"
    asked = erase_records(found, [min(gone), next(iter(shown[2])), "nobody"])
    assert (asked.named, asked.shown, asked.unknown) == (3, 1, 1)
    with pytest.raises(UnsupportedError, match="No script"):
        run_policy(found, as_json=True, files={"script": str(tmp_path / "out.sql")})


@pytest.mark.slow
def test_a_source_that_moved_is_no_first_release(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 1, values=False, cohorts={"margin": 0})
    nights.release()
    (tmp_path / "source.duckdb").rename(tmp_path / "moved.duckdb")
    moved = nights.document() | {"source": str(tmp_path / "moved.duckdb")}
    with pytest.raises(InputError, match="another source"):
        sqlanon.anonymize(None, moved)
    [[name]] = worlds.rows_of(tmp_path / "private" / "ledger.duckdb", "SELECT source FROM releases")
    with sqlanon.anonymize(None, moved | {"ledger": moved["ledger"] | {"source": name}}) as continued:
        assert continued.recorded is not None and "cohorts" in continued.recorded.to_dict()


@pytest.mark.slow
def test_sqlite_records_a_release_of_two_columns_that_are_kept(tmp_path: Path) -> None:
    """Their warnings stage the release before, without the keys of its records."""
    nights = Nights(tmp_path, 1, values=False, cohorts={"margin": 0})
    worlds.write_sqlite(tmp_path / "s.sqlite", pa.Table.from_pylist(nights.rows, schema=worlds.records(1).schema))
    for _ in range(2):
        with sqlanon.anonymize(None, nights.document() | {"source": str(tmp_path / "s.sqlite")}) as found:
            assert found.recorded is not None and found.ledger.published > 0


def test_a_report_says_that_rows_may_be_of_records_that_left(tmp_path: Path) -> None:
    policy = sqlanon.Policy.from_dict(Nights(tmp_path, 1, values=False, cohorts={"hold": 3}).document())
    text = " ".join([*dict(story.asked(policy)).values(), *story.not_promised(policy)])
    assert "at one level in all records" not in text and "are not considered" not in text
    assert "they are shown as they were in 3 releases at most" in text


@pytest.mark.slow
def test_the_operator_s_report_says_who_came_and_went_and_no_other_does(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 1, values=False, cohorts={"hold": 3, "margin": 0})
    nights.release()
    remove(nights, sorted(nights.releases[0])[:9])
    nights.arrive(20)
    worlds.write_source(tmp_path, pa.Table.from_pylist(nights.rows, schema=worlds.records(1).schema))
    with sqlanon.anonymize(None, nights.document()) as found:
        assert found.recorded is not None
        counts = found.recorded.more["cohorts"]
        run = summarize(found)
        words = ("joined", "gone", "withdrawn", "held", "waiting", "erased", "along")
        said = [f"{counts[name]} {name}" for name in words]
        assert any(counts.values())
        assert f"Records in cohorts: {', '.join(said)}." in " ".join(text_report(run).split())
        assert report_document(run)["facts"]["ledger"]["cohorts"] == counts
        for audience in (text_report(run, "recipient"), json.dumps(report_document(run, "recipient"))):
            assert "Records in cohorts" not in audience
            assert '"joined"' not in audience
        assert found.manifest["cohorts"]["hold"] == 3
        assert "joined" not in json.dumps(found.manifest)
