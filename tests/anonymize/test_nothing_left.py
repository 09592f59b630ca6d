"""A column of which a release keeps nothing is said so, with a node that keeps something of it."""

import json
import re
from itertools import product
from pathlib import Path

from click.testing import CliRunner
from policies import document_of, file_of, quasi

import sqlanon
from sqlanon.cli import main

POLICY = document_of({"zip": "redact", "sex": "suppress", "land": "suppress"}, k=4)


def policy(folder: Path, rows: list[str], **keys: object) -> Path:
    """A policy over a CSV file with these rows."""
    (folder / "t.csv").write_text("zip,sex,land\n" + "".join(f"{row}\n" for row in rows))
    return file_of(folder / "policy.json", {**POLICY, "source": "t.csv", **keys})


def test_what_a_lost_column_costs_to_keep_is_that_of_a_node_that_meets_the_policy(tmp_path: Path) -> None:
    rows = [f"{zip},{'mf'[i % 2]},de" for zip in ("11", "12", "21") for i in range(4)] + ["22,m,de", "22,f,de"]
    path = policy(tmp_path, rows)
    with sqlanon.plan(None, sqlanon.Policy.from_file(path)) as plan:
        assert plan.nothing_left  # a constant column has lost nothing: it was one value before
        heights = [attribute.height for attribute in plan.catalog.attributes]
        names = [attribute.name for attribute in plan.catalog.attributes]
        for name in plan.nothing_left:
            nodes = [dict(zip(names, levels, strict=True)) for levels in product(*map(range, heights))]
            verdicts = plan.evaluate_many([node for node in nodes if node[name] < heights[names.index(name)] - 1])
            best = min(verdict.loss for verdict in verdicts if verdict.feasible)
            kept = plan.cost_to_keep(name)
            assert kept is not None and kept.node[names.index(name)] < heights[names.index(name)] - 1
            assert kept.loss >= best - 1e-12 and (kept.feasible or kept.suppressed > 0)
        evaluated = plan.search.evaluated
    result = CliRunner().invoke(main, ["run", str(path), "--json"])
    document = json.loads(result.stdout)
    assert [entry["column"] for entry in document["nothing_left"]] == list(plan.nothing_left)
    assert document["evaluated"] == evaluated and document["optimal"]


def test_the_terminal_says_what_is_left_of_nothing(tmp_path: Path) -> None:
    path = policy(tmp_path, [f"{zip},{sex},de" for zip in ("11", "12") for sex in "mf" for _ in range(3)])
    result = CliRunner().invoke(main, ["run", str(path)])
    assert result.exit_code == 0, result.stderr
    assert "  1 of 3 quasi-identifiers fully suppressed:\n" in result.stdout
    [line] = [line for line in result.stdout.splitlines() if "fully suppressed;" in line]
    assert (
        line.split(":")[0].strip() in ("zip", "sex") and "keeping some detail would raise the loss by at most 0" in line
    )
    assert "land: fully" not in result.stdout


def test_what_stands_in_the_way_of_a_column_is_counted(tmp_path: Path) -> None:
    path = policy(tmp_path, [f"{zip}1,{sex},de" for zip in "123456789" for sex in "mf"])
    document = json.loads(CliRunner().invoke(main, ["run", str(path), "--json"]).stdout)
    [entry] = [entry for entry in document["nothing_left"] if entry["column"] == "zip"]
    assert entry["keeping"]["feasible"] is False
    assert (entry["keeping"]["suppressed"], entry["keeping"]["allowed"]) == (18, 0)
    printed = CliRunner().invoke(main, ["run", str(path)]).stdout
    assert "18 records would be suppressed; the limit is 0" in printed


def test_patterns_that_keep_nothing_of_a_column_say_so_without_a_cost(tmp_path: Path) -> None:
    rows = [f"{i}1,{'mf'[i % 2]},de" for i in range(8)]
    path = policy(tmp_path, rows, transformation={"type": "patterns"})
    result = CliRunner().invoke(main, ["run", str(path)])
    assert "zip: fully suppressed\n" in result.stdout


def test_a_column_that_no_hierarchy_can_read_is_not_reported_as_untouched(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,sex\n" + "".join(f"{20 + i % 30} years,{'mf'[i % 2]}\n" for i in range(100)))
    columns = {"age": quasi({"intervals": {"width": 10}}), "sex": "suppress"}
    document = document_of(columns, k=7, source="t.csv", uncovered="top", output={"file": "out.csv"})
    path = file_of(tmp_path / "policy.json", document)
    result = CliRunner().invoke(main, ["run", str(path), "--report", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.stderr
    assert "loss 0.500000, proven optimal" in result.stdout
    assert "age: level 0 of 2; 100 of 100 values are not in the hierarchy, and fully suppressed" in result.stdout
    assert "age: fully suppressed\n" in result.stdout
    assert "'age': 100 of 100" in result.stderr
    manifest = json.loads((tmp_path / "out.csv.manifest.json").read_text())
    assert manifest["columns"][0]["at_root"] == 98  # in steps of k
    [age, sex] = json.loads((tmp_path / "r.json").read_text())["facts"]["attributes"]
    assert (age["at_root"], age["loss"], sex["at_root"]) == (100, 1.0, 0)
    policy = sqlanon.Policy.from_dict({**document, "quality": {"measure": "precision"}}, base_directory=tmp_path)
    with sqlanon.plan(None, policy) as plan:
        [warning] = [text for text in plan.all_warnings if "'age': 100 of 100" in text]
        assert "precision counts levels" in warning
        assert [level.to_dict() for level in plan.utility(queries=0).column("age").levels] == [
            {"level": 2, "records": 100, "share": 1.0}
        ]


def test_a_report_names_what_is_lost_and_draws_it(tmp_path: Path) -> None:
    rows = [f"{zip},{sex},de" for zip in ("11", "12") for sex in "mf" for _ in range(3)]
    path = policy(tmp_path, rows, output={"file": "out.csv"})
    path.write_text(path.read_text().replace('"k": 4', '"k": 12'))
    result = CliRunner().invoke(main, ["run", str(path), "--report", str(tmp_path / "r.html")])
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "r.html").read_text()
    assert "Fully suppressed, in every record: zip, sex." in page
    drawn = re.findall(r"<figcaption[^>]*><b><bdi>(\w+)</bdi></b> ([\w ]+)</figcaption>", page)
    assert drawn == [("zip", "fully suppressed"), ("sex", "fully suppressed")], "and not the constant column"
    assert page.index('id="risk"') < page.index('<summary><h2 id="search">') < page.index('<summary><h2 id="time">')
    found = json.loads(CliRunner().invoke(main, ["utility", str(path), "--json"]).stdout)
    facts = {column["name"]: (column["fully_suppressed"], column["shape"]) for column in found["columns"]}
    assert facts["land"] == (False, []) and facts["zip"][0]
    assert [(bar["before_share"], bar["after_share"]) for bar in facts["zip"][1]] == [(0.5, 0.0), (0.5, 0.0)]
    printed = CliRunner().invoke(main, ["utility", str(path)]).stdout
    assert re.search(r"zip .* fully suppressed +–\n", printed)


def test_a_picture_shows_what_is_published_spread_over_the_values_of_the_source(tmp_path: Path) -> None:
    rows = [f"{zip},{'mf'[i % 2]},de" for zip, n in (("11", 6), ("12", 2), ("21", 8)) for i in range(n)]
    with sqlanon.plan(None, sqlanon.Policy.from_file(policy(tmp_path, rows))) as plan:
        found = plan.utility(queries=0).column("zip")
    assert [level.level for level in found.levels] == [1] and not found.fully_suppressed
    assert [bar.before_share for bar in found.shape] == [8 / 16, 6 / 16, 2 / 16], "by frequency"
    assert [bar.after_share for bar in found.shape] == [8 / 16, 4 / 16, 4 / 16]


def test_the_association_of_a_column_that_follows_from_another_is_1(tmp_path: Path) -> None:
    """60 values of zip, of which 19 and "others" are categories; the first digit is land."""
    rows = [f"{zip:02},{'mf'[i % 2]},{zip // 10}" for zip in range(60) for i in range(4)]
    with sqlanon.plan(None, sqlanon.Policy.from_file(policy(tmp_path, rows))) as plan:
        found = plan.utility(queries=0).association
    assert plan.levels["land"] == 0 and found is not None
    [pair] = [pair for pair in found.pairs if {pair.first, pair.second} == {"zip", "land"}]
    assert pair.before == 1 and pair.after in (0, 1)


def test_levels_that_were_kept_may_lose_more_than_others(tmp_path: Path) -> None:
    """Nothing was searched: another node may keep some detail and lose less."""
    rows = [f"{zip},{sex},de" for zip in ("11", "12") for sex in "mf" for _ in range(3)]
    first = policy(tmp_path, rows, output={"file": "first.csv"})
    assert CliRunner().invoke(main, ["run", str(first)]).exit_code == 0
    like = ["--like", str(tmp_path / "first.csv.manifest.json")]
    more = policy(tmp_path, rows * 2, output={"file": "second.csv"}, repeats="accept")
    result = CliRunner().invoke(main, ["run", str(more), *like])
    assert result.exit_code == 0, result.stderr
    [line] = [line for line in result.stdout.splitlines() if "fully suppressed;" in line]
    assert re.search(r"a node was found that keeps some detail and loses less \(0\.\d+\)$", line)
