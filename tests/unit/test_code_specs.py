"""What is wrong with options of ages, prefixes, codes, ZIP areas and frequent values; the files that are shipped."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sqlanon
from sqlanon.core.hierarchies.code_builders import read_populations, shipped_rows
from sqlanon.core.policy import Policy
from sqlanon.errors import HierarchyError


@pytest.mark.parametrize("spec, key, words", [
    (sqlanon.Ages("today"), "at", "never today"),
    (sqlanon.Ages("2023-02-29"), "at", "not a day"),
    (sqlanon.Ages("2024-01-01", width=0), "width", "whole number"),
    (sqlanon.Ages("2024-01-01", fanouts=[1]), "fanouts", "list of whole numbers"),
    (sqlanon.Dates(["year"], format="%d.%m"), "format", "format of dates"),
    (sqlanon.Dates(["year"], format="%d.%d.%Y"), "format", "format of dates"),
    (sqlanon.Dates(["weekend", "weekday"]), "", "do not grow"),
    (sqlanon.Dates(["quarter", "season"]), "", "do not grow"),
    (sqlanon.Dates(["week", "year"]), "", "cross the borders"),
    (sqlanon.Dates(["week_year", "week"]), "", "do not grow"),
    (sqlanon.Dates(["week", "week_year", "decade"]), "", "do not grow"),
    (sqlanon.Prefix([2, 4]), "lengths", "do not fall"),
    (sqlanon.Prefix([0]), "lengths", "numbers of characters"),
    (sqlanon.Prefix([2], mark="**"), "mark", "one character"),
    (sqlanon.FrequentValues([50, 5]), "at_least", "do not rise"),
    (sqlanon.FrequentValues([1]), "at_least", "numbers of records"),
    (sqlanon.FrequentValues([5], other="*"), "other", "name of the group"),
    (sqlanon.Codes("icd11"), "", "icd10"),
    (sqlanon.Zip3(small=[36]), "small", "in quotes"),
    (sqlanon.Zip3("people.csv", small=["036"]), "small", "one of the two"),
    (sqlanon.Zip3(at_most=-1), "at_most", "number of people"),
])  # fmt: skip
def test_options_out_of_range(spec: Any, key: str, words: str) -> None:
    faults = list(spec.faults())
    assert any(option == key and words in f"{message} {hint}" for option, message, hint in faults), faults


@pytest.mark.parametrize("entry", [{"ages": {}}, {"prefix": {}}, {"frequent": {}}, {"codes": {}}, {"codes": ["x"]}])
def test_options_that_are_missing(entry: dict[str, Any]) -> None:
    document = {"columns": {"a": {"role": "quasi_identifier", "hierarchy": entry}}, "privacy": []}
    with pytest.raises(sqlanon.PolicyError, match=r"columns\.a\.hierarchy"):
        Policy.from_dict(document)


def test_populations_of_areas(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("zip3,people\n021,783432\n036,9000\n021,1\n")
    assert read_populations(path) == {"021": 783433, "036": 9000}
    for text in ("", "21,5\n", "zip3,people\n", "021,many\n022,5\n", "021,5\nx,y\n"):
        path.write_text(text)
        with pytest.raises(HierarchyError, match=r"people\.csv") as caught:
            read_populations(path)
        assert "021,783432" in caught.value.hint


@pytest.mark.slow
def test_a_value_that_reads_like_the_group_is_uncovered(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("v\n" + "a\n" * 9 + "b\n" * 3 + "(other)\n" * 3)
    keys = {"role": "quasi_identifier", "hierarchy": {"frequent": [5]}}
    document = {"columns": {"v": keys}, "privacy": [{"type": "k_anonymity", "k": 3}]}
    with pytest.raises(sqlanon.UncoveredValuesError, match="'v': 1 values in 3 records"):
        sqlanon.plan(tmp_path / "t.csv", document)
    with sqlanon.plan(tmp_path / "t.csv", {**document, "uncovered": "top"}) as plan:
        assert plan.ledger.published == 15


def test_populations_decide_which_areas_are_small(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("v\n" + "02138\n" * 3 + "03601\n" * 3 + "99501\n" * 3)
    (tmp_path / "people.csv").write_text("021,783432\n036,30000\n")
    keys = {"role": "quasi_identifier", "hierarchy": {"zip3": {"populations": "people.csv"}}, "min_level": 1}
    document = {"columns": {"v": keys}, "privacy": [{"type": "k_anonymity", "k": 3}], "output": {"file": "r.csv"}}
    policy = Policy.from_dict(document, base_directory=tmp_path)
    assert tmp_path / "people.csv" in policy.read_files
    assert policy.fingerprint() == Policy.from_dict(policy.to_dict()).fingerprint()
    with sqlanon.anonymize(tmp_path / "t.csv", policy):
        assert sorted((tmp_path / "r.csv").read_text().split()) == ["000"] * 3 + ["021"] * 3 + ["036"] * 3 + ["v"]


def test_shipped_files_are_whole() -> None:
    countries = shipped_rows("countries.csv")
    assert len(countries) == len({row[0] for row in countries}) == len({row[1] for row in countries}) == 249
    blocks = [row for row in shipped_rows("icd10.csv") if row[0] == "block"]
    chapters = [row for row in shipped_rows("icd10.csv") if row[0] == "chapter"]
    assert (len(blocks), len(chapters), len(shipped_rows("zip3_small.csv"))) == (263, 22, 17)
    ordered = sorted((low, high) for _, low, high, _ in blocks)
    assert all(high < low for (_, high), (low, _) in pairwise(ordered))
    assert all(sum(low >= first and high <= last for _, first, last, _ in chapters) == 1 for low, high in ordered)
