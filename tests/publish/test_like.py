"""A release like an earlier one keeps its node: published exactly if that meets the policy, and refused otherwise."""

import hashlib
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import sqlanon as command
from effort import seeds

import sqlanon
from sqlanon.errors import InputError, NoSolutionError, PolicyError, UncoveredValuesError

SEXES = {"f": ["*"], "m": ["*"]}
ZIPS = {f"{a}{b}": [f"{a}*", "**"] for a in "123" for b in "1234"}
Row = tuple[str, str, str]


def write(folder: Path, rows: list[Row]) -> Path:
    path = folder / "source.duckdb"
    with duckdb.connect(str(path)) as opened:
        opened.execute("CREATE OR REPLACE TABLE t (sex TEXT, zip TEXT, ill TEXT)")
        opened.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return path


def keyed(folder: Path, secret: str = "0123456789abcdef" * 4) -> dict[str, str]:
    (folder / "secret.key").write_text(secret)
    (folder / "secret.key").chmod(0o600)
    return {"file": str(folder / "secret.key")}


def document(folder: Path, **changes: Any) -> dict[str, Any]:
    keys = {
        "source": str(folder / "source.duckdb"),
        "table": "t",
        "columns": {
            "sex": {"role": "quasi_identifier", "hierarchy": {"levels": SEXES}},
            "zip": {"role": "quasi_identifier", "hierarchy": {"levels": ZIPS}},
            "ill": {"role": "sensitive", "models": [{"type": "distinct_l_diversity", "l": 2}]},
        },
        "privacy": [{"type": "k_anonymity", "k": 3}],
        "suppression_limit": 0.1,
        "output": {"file": str(folder / "r.csv")},
        "if_exists": "replace",
        "key": keyed(folder),
        **changes,
    }
    return {name: value for name, value in keys.items() if value is not None}


def run(asked: dict[str, Any]) -> sqlanon.Release:
    with sqlanon.anonymize(None, asked) as release:
        return release


def invent(chance: random.Random, count: int) -> list[Row]:
    return [(chance.choice("fm"), chance.choice([*ZIPS]), chance.choice("abc")) for _ in range(count)]


def left_out(rows: list[Row], levels: dict[str, int], k: int, diverse: int) -> int:
    """How many records are in classes that are too small, or hold too few values."""
    classes: dict[tuple[str, str], list[str]] = {}
    for sex, zip_code, ill in rows:
        key = ([sex, *SEXES[sex]][levels["sex"]], [zip_code, *ZIPS[zip_code]][levels["zip"]])
        classes.setdefault(key, []).append(ill)
    return sum(len(ills) for ills in classes.values() if len(ills) < k or len(set(ills)) < diverse)


@pytest.mark.slow
@seeds(12, size=2)
def test_the_node_is_published_exactly_if_it_meets_the_policy(tmp_path: Path, block: range) -> None:
    for seed in block:
        chance = random.Random(seed)
        rows = invent(chance, chance.randint(30, 90))
        write(tmp_path, rows)
        (tmp_path / "first.csv").unlink(missing_ok=True)
        first = run(document(tmp_path, output={"file": str(tmp_path / "first.csv")}, suppression_limit=0.3))
        for _ in range(4):
            rows = [row for row in rows if chance.random() > 0.1] + invent(chance, chance.randint(0, 12))
            write(tmp_path, rows)
            judge_again(tmp_path, rows, first.levels, chance.choice([0, 0.05, 0.15, 0.3]))


def judge_again(folder: Path, rows: list[Row], levels: dict[str, int], limit: float) -> None:
    suppressed = left_out(rows, levels, 3, 2)
    meets = suppressed <= int(limit * len(rows) + 1e-9) and suppressed < len(rows)
    asked = document(folder, like=str(folder / "first.csv.manifest.json"), suppression_limit=limit)
    (folder / "r.csv").unlink(missing_ok=True)
    try:
        release = run(asked)
    except NoSolutionError as error:
        assert not meets and "--replan" in error.hint and not (folder / "r.csv").exists()
        assert f"would suppress {suppressed / len(rows):.3%} of the records" in error.message
        assert error.nearest is not None and error.nearest["suppressed"] == suppressed
        return
    assert meets and release.levels == levels and release.ledger.suppressed == suppressed
    found = release.certificate
    assert (found.strategy, found.optimal, found.gap, found.evaluated) == ("like", False, None, 1)
    assert release.proof is None


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("earlier")
    write(folder, invent(random.Random(7), 200))
    run(document(folder))
    return folder


def refused(folder: Path, **changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        run(document(folder, like=str(folder / "r.csv.manifest.json")) | changes)
    assert "--replan" in caught.value.hint
    return caught.value.message


def columns(folder: Path, **changes: Any) -> dict[str, Any]:
    return {"columns": document(folder)["columns"] | changes}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"privacy": [{"type": "k_anonymity", "k": 2}]}, "'k_anonymity' is missing or weaker"),
        ({"columns": {"ill": {"role": "keep"}}}, "'distinct_l_diversity ill' is missing or weaker"),
        ({"columns": {"sex": {"role": "keep"}}}, "gone are 'sex'"),
        ({"columns": {"zip": {"role": "drop"}}}, "gone are 'zip'"),
        ({"columns": {"ill": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}}, "new are 'ill'"),
        (
            {"columns": {"sex": {"role": "quasi_identifier", "hierarchy": {"levels": {"f": ["+"], "m": ["+"]}}}}},
            "The hierarchies of 'sex' are not",
        ),
        ({"columns": {"zip": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}}}, "another number of levels"),
        ({"like": "missing.json"}, "no manifest 'missing.json'"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value,
)
def test_what_is_not_the_earlier_release_is_refused(earlier: Path, changes: dict[str, Any], said: str) -> None:
    others = {name: value for name, value in changes.items() if name != "columns"}
    asked = columns(earlier, **changes["columns"]) if "columns" in changes else {}
    if asked and "ill" in changes["columns"]:
        asked["privacy"] = [{"type": "k_anonymity", "k": 3}]
    assert said in refused(earlier, **asked, **others)


def test_limits_on_levels_that_exclude_the_node_are_refused(earlier: Path) -> None:
    level = json.loads((earlier / "r.csv.manifest.json").read_text())["columns"][1]["level"]
    spec = document(earlier)["columns"]["zip"] | ({"max_level": level - 1} if level else {"min_level": 1})
    assert "min_level, max_level" in refused(earlier, **columns(earlier, zip=spec))


@pytest.mark.slow
def test_a_new_value_and_a_transformation_are_refused(tmp_path: Path) -> None:
    rows = invent(random.Random(3), 100)
    write(tmp_path, rows)
    run(document(tmp_path))
    asked = document(tmp_path, like=str(tmp_path / "r.csv.manifest.json"))
    with pytest.raises(PolicyError, match="rules of a transformation"):
        sqlanon.Policy.from_dict(asked | {"transformation": {"type": "local_recoding"}})
    write(tmp_path, [*rows, ("f", "99", "a")])
    with pytest.raises(UncoveredValuesError):
        run(asked)


@pytest.mark.slow
def test_stronger_models_pass_and_a_file_is_known_by_its_content(tmp_path: Path) -> None:
    write(tmp_path, invent(random.Random(5), 400))
    file = tmp_path / "zip.csv"
    file.write_text("".join(f"{value};{';'.join(above)}\n" for value, above in ZIPS.items()))
    asked = document(tmp_path, **columns(tmp_path, zip={"role": "quasi_identifier", "hierarchy": {"file": str(file)}}))
    run(asked)
    like = asked | {"like": str(tmp_path / "r.csv.manifest.json"), "privacy": [{"type": "k_anonymity", "k": 4}]}
    assert run(like).certificate.strategy == "like"
    file.write_text(file.read_text().replace("1*", "one*"))
    with pytest.raises(InputError, match="'zip' are not those"):
        run(like)


def test_a_hierarchy_without_a_digest_is_named(earlier: Path, tmp_path: Path) -> None:
    run(document(earlier, output={"file": str(tmp_path / "unkeyed.csv")}, key=None))
    asked = document(earlier, output={"file": str(tmp_path / "r.csv")})
    asked["like"] = str(tmp_path / "unkeyed.csv.manifest.json")
    release = run(asked)
    assert {*release.manifest["hierarchies"]} == {"sex", "zip"}
    said = [text for text in release.warnings if "was not compared" in text]
    assert len(said) == 1
    assert "the hierarchies of 'sex', 'zip' mean" in said[0] and "(key: {file: secret.key})" in said[0]
    asked["like"] = str(tmp_path / "old.json")
    (tmp_path / "old.json").write_text(json.dumps(release.manifest))
    assert not [text for text in run(asked).warnings if "was not compared" in text]


def test_a_manifest_lets_nobody_test_guesses_of_values(tmp_path: Path) -> None:
    """Whoever knows how a digest is made, but not the key, finds no digest of a listed hierarchy among its guesses."""
    write(tmp_path, invent(random.Random(7), 100))
    (other := tmp_path / "other").mkdir()
    plain, own, others = (
        run(document(tmp_path, repeats="accept", **more)).manifest
        for more in ({"key": None}, {"key": keyed(tmp_path)}, {"key": keyed(other, "fedcba9876543210" * 4)})
    )
    assert plain["hierarchies"] == {}
    rows = [[value, *above] for value, above in ZIPS.items()]
    guesses = [{"levels": rows}, {"levels": sorted(rows, key=repr)}]
    hashed = {hashlib.sha256(json.dumps(guess).encode()).hexdigest() for guess in guesses}
    assert not hashed & {*own["hierarchies"].values()}
    assert all(own["hierarchies"][name] != others["hierarchies"][name] for name in ("sex", "zip"))
    assert run(document(tmp_path, repeats="accept", key=keyed(tmp_path))).manifest["hierarchies"] == own["hierarchies"]


@pytest.mark.slow
def test_other_persons_other_nulls_and_new_columns_are_refused_and_columns_that_are_gone_named(tmp_path: Path) -> None:
    write(tmp_path, invent(random.Random(7), 200))
    with duckdb.connect(str(tmp_path / "source.duckdb")) as opened:
        opened.execute("ALTER TABLE t ADD COLUMN person INTEGER; ALTER TABLE t ADD COLUMN visit INTEGER")
        opened.execute("UPDATE t SET visit = rowid, person = rowid / 2")
    drop = {"person": {"role": "drop"}, "visit": {"role": "drop"}}
    privacy = {"ill": {"role": "keep"}}
    asked = document(tmp_path, entity="person", suppression_limit=1, **columns(tmp_path, **drop, **privacy))
    written = run(asked).manifest
    assert len(written["entity_digest"]) == 64 and "person" not in json.dumps(written)
    asked["like"] = str(tmp_path / "r.csv.manifest.json")
    assert not [text for text in run(asked).warnings if "compared" in text or "differs" in text]
    with pytest.raises(InputError, match="counts persons by another column"):
        run(asked | {"entity": "visit"})
    with pytest.raises(InputError, match="nulls: extended, and this policy with nulls: basic"):
        run(asked | {"nulls": "basic"})
    kept = asked["columns"] | {"visit": {"role": "keep"}}
    with pytest.raises(InputError, match="publishes what the earlier release did not: 'visit'"):
        run(asked | {"accept": ["visit"], "columns": kept})
    [said] = [text for text in run({**asked, "key": None}).warnings if "not compared" in text]
    assert "'zip' and the persons mean" in said
    fewer = asked | {"suppressed": "redact", "columns": asked["columns"] | {"ill": {"role": "drop"}}}
    [said] = [text for text in run(fewer).warnings if "differs" in text]
    assert said.endswith("another 'suppressed', columns that are gone 'ill'.")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("models", [{"type": "k_anonymity", "k": "5"}]),
        ("models", [{"type": "k_anonymity", "k": [5]}]),
        ("hierarchies", [1]),
        ("hierarchies", {"sex": 1}),
        ("entity_digest", 1),
        ("handling", {"nulls": ["basic"]}),
    ],
)
def test_a_manifest_of_other_kinds_is_refused(earlier: Path, tmp_path: Path, key: str, value: Any) -> None:
    found = json.loads((earlier / "r.csv.manifest.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps(found | {key: value}))
    with pytest.raises(InputError, match=f"its key '{key}' is not what a run writes"):
        run(document(earlier, like={"manifest": str(tmp_path / "other.json"), "replan": True}))


@pytest.mark.slow
def test_a_hierarchy_without_values_is_digested_without_a_key(tmp_path: Path) -> None:
    write(tmp_path, invent(random.Random(7), 200))
    redact = {"role": "quasi_identifier", "hierarchy": {"redact": {"width": 2}}}
    asked = document(tmp_path, key=None, **columns(tmp_path, zip=redact))
    assert {*run(asked).manifest["hierarchies"]} == {"zip"}
    asked["like"] = str(tmp_path / "r.csv.manifest.json")
    asked["columns"]["zip"] = {"role": "quasi_identifier", "hierarchy": {"redact": {"width": 2, "char": "#"}}}
    with pytest.raises(InputError, match="'zip' are not those"):
        run(asked)


def test_the_key_changes_no_fingerprint(earlier: Path) -> None:
    plain, like = (sqlanon.Policy.from_dict(document(earlier, **more)) for more in ({}, {"like": "m.json"}))
    assert plain.fingerprint() == like.fingerprint()
    assert like.to_dict()["like"]["manifest"].endswith("m.json")
    assert Counter(sqlanon.Policy.from_dict(like.to_dict()).to_dict()) == Counter(like.to_dict())


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["exhaustive", "box"])
@pytest.mark.parametrize("gap", [0.0, 0.1, 0.4])
def test_a_new_plan_takes_the_nearest_of_what_is_proven_good_enough(tmp_path: Path, gap: float, strategy: str) -> None:
    moved = 0
    for seed in range(4):
        chance = random.Random(seed)
        write(tmp_path, rows := invent(chance, 300))
        (tmp_path / "r.csv").unlink(missing_ok=True)
        earlier = run(document(tmp_path, suppression_limit=0.5))
        write(tmp_path, [row for row in rows if chance.random() < 0.15 + seed / 10])
        like = {"manifest": str(tmp_path / "r.csv.manifest.json"), "replan": True}
        search = {"strategy": strategy, "gap": gap}
        with sqlanon.plan(None, document(tmp_path, suppression_limit=0.25, search=search, like=like)) as plan:
            verdicts = [plan.evaluate({"sex": sex, "zip": level}) for sex in range(2) for level in range(3)]
            feasible = [verdict for verdict in verdicts if verdict.feasible]
            best = min(verdict.loss for verdict in feasible)
            near = (earlier.levels["sex"], earlier.levels["zip"])

            def away(node: tuple[int, ...], near: tuple[int, ...] = near) -> float:
                return abs(node[0] - near[0]) / 1 + abs(node[1] - near[1]) / 2

            certificate, chosen = plan.certificate, plan.solution
            assert certificate.lower_bound is not None and certificate.lower_bound <= best * (1 + 1e-9)
            assert certificate.gap is not None and certificate.gap <= gap + 1e-9
            assert certificate.optimal == (chosen.loss <= best * (1 + 1e-9))
            moved += away(plan.node) > 0
            if strategy == "exhaustive":
                within = [verdict for verdict in feasible if verdict.loss <= best / (1 - gap) * (1 + 1e-9)]
                assert away(plan.node) == min(away(verdict.node) for verdict in within)
    assert gap or moved, "the optimum moved in none of the cases"


@pytest.mark.slow
def test_the_first_night_needs_no_manifest_and_the_second_says_what_changes(tmp_path: Path) -> None:
    write(tmp_path, invent(random.Random(2), 60))
    asked = document(tmp_path, like="r.csv.manifest.json")
    (tmp_path / "p.json").write_text(json.dumps(asked))

    def told(*options: str) -> tuple[int, dict[str, Any]]:
        done = command("run", tmp_path / "p.json", "--json", *options)
        return done.returncode, json.loads(done.stdout)

    assert told()[0] == 2
    code, first = told("--replan")
    assert code == 0 and first["optimal"] and "diff" not in first
    code, second = told()
    assert (code, second["strategy"], second["gap"]) == (0, "like", None)
    write(tmp_path, invent(random.Random(2), 20))
    code, failed = told()
    assert (code, failed["error"]) == (1, "NoSolutionError") and "--replan" in failed["hint"]
    code, third = told("--replan")
    assert code == 0 and third["diff"]["columns"]["changed"]


@pytest.mark.slow
def test_a_release_of_several_rules_is_no_node(tmp_path: Path) -> None:
    write(tmp_path, invent(random.Random(4), 80))
    columns = {name: item for name, item in document(tmp_path)["columns"].items() if name != "ill"}
    asked = document(tmp_path, columns=columns | {"ill": {"role": "keep"}})
    run(asked | {"transformation": {"type": "local_recoding"}, "suppression_limit": 0.5})
    with pytest.raises(InputError, match="several rules"):
        run(asked | {"like": str(tmp_path / "r.csv.manifest.json")})
    release = run(asked | {"like": {"manifest": str(tmp_path / "r.csv.manifest.json"), "replan": True}})
    assert release.certificate.optimal
