"""The experiments of the ANON report: on generated records against a small brute force, and in part on ADULT."""

import csv
import hashlib
import itertools
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import anon_experiments
import anon_figures
import anon_findings
import anon_findings_nulls
import anon_findings_priorities as priorities
import anon_findings_suppression as suppression
import anon_nulls
import duckdb
import pytest
from anon_figures import Grid
from anon_findings import Finding
from anon_nulls import NullGrid, NullSetting
from anon_settings import PRIORITY_ORDER, QUASI_IDENTIFIERS, WEIGHTS, Experiments, Setting

SMALL = Grid(qis=(1, 4), ks=(2, 5), ls=(1, 5))
LEVELS = {"age": 3, "sex": 1, "race": 1, "marital-status": 2}
"""Levels above the values, in the generated hierarchies."""


def generalized(name: str, value: int, level: int) -> str:
    """A number of two digits in binary steps; the highest level is one value."""
    return "*" if level == LEVELS[name] else f"{value >> level}/{level}"


def made(folder: Path, records: int = 300) -> list[dict[str, str]]:
    """Write an ADULT of four quasi-identifiers into a data folder; return its records."""
    draw = random.Random(5)
    (folder / "adult").mkdir()
    values = {name: range(2 ** LEVELS[name] + (name == "age")) for name in LEVELS}
    for name, domain in values.items():
        lines = [";".join(generalized(name, value, level) for level in range(LEVELS[name] + 1)) for value in domain]
        (folder / "adult" / f"adult_hierarchy_{name}.csv").write_text("\n".join(lines) + "\n")
    rows = [
        {
            **{name: generalized(name, min(map(draw.choice, [domain, domain])), 0) for name, domain in values.items()},
            "salary-class": draw.choice("LLLH"),
            "occupation": draw.choice("ABCDEFG"),
        }
        for _ in range(records)
    ]
    with (folder / "adult" / "adult.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return rows


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, str]]]:
    """A data folder with generated records, and the records."""
    folder = tmp_path_factory.mktemp("data")
    return folder, made(folder)


def brute_force(rows: list[dict[str, str]], setting: Setting) -> tuple[int, tuple[int, ...]]:
    """How many nodes a queue by weighted information loss visits up to the first that passes, and that node."""
    names = QUASI_IDENTIFIERS[: setting.qis]
    weight = WEIGHTS[setting.priorities]

    def cost(node: tuple[int, ...]) -> tuple[float, int, tuple[int, ...]]:
        unit = {name: 1 if setting.priorities == "none" else 1 / LEVELS[name] for name in names}
        lost = sum(weight[name] * level * unit[name] for name, level in zip(names, node))
        return (round(lost, 9), sum(node), tuple(-level for level in node))

    def passes(node: tuple[int, ...]) -> bool:
        classes = defaultdict(list)
        for row in rows:
            key = (generalized(n, int(row[n].split("/")[0]), level) for n, level in zip(names, node))
            classes[tuple(key)].append(row)
        failing = sum(len(rows) for rows in classes.values() if not good(rows))
        return failing < len(rows) and failing <= int(setting.suppression * len(rows))

    def good(rows: list[dict[str, str]]) -> bool:
        distinct = {name: len({row[name] for row in rows}) for name in ("salary-class", "occupation")}
        return (
            len(rows) >= setting.k and distinct["salary-class"] >= setting.l1 and distinct["occupation"] >= setting.l2
        )

    nodes = sorted(itertools.product(*(range(LEVELS[name] + 1) for name in names)), key=cost)
    for visited, node in enumerate(nodes, start=1):
        if passes(node):
            return visited, node
    return len(nodes), ()


@pytest.mark.slow
@pytest.mark.parametrize("order", ["rising", "none", "age first", "doubling"])
def test_visited_nodes_are_those_of_a_brute_force(generated, order) -> None:
    folder, rows = generated
    with Experiments(folder) as experiments:
        for n, k, (l1, l2), share in itertools.product((2, 4), (3,), ((1, 1), (2, 5)), (0.0, 0.1)):
            run = experiments.run(Setting(n, k, l1, l2, share, order))
            assert (run.visited, run.levels) == brute_force(rows, run.setting), run.setting
            assert not run.fault and run.box_judged <= run.lattice
            assert run.published + run.suppressed == len(rows)


def test_without_a_solution_the_whole_lattice_is_visited(generated) -> None:
    with Experiments(generated[0]) as experiments:
        run = experiments.run(Setting(3, k=2, l2=8))
    assert run.visited == run.lattice == 16
    assert (run.loss, run.levels, run.average_class_size, run.fault) == (None, (), None, "")


def test_every_order_of_priorities_ranks_all_quasi_identifiers() -> None:
    assert sorted(PRIORITY_ORDER) == sorted(QUASI_IDENTIFIERS)
    for order in ("rising", "doubling"):
        assert sorted(WEIGHTS[order], key=WEIGHTS[order].__getitem__) == list(PRIORITY_ORDER)
    assert max(WEIGHTS["age first"], key=WEIGHTS["age first"].__getitem__) == "age"


@pytest.mark.slow
def test_one_command_writes_every_table(generated, tmp_path, capsys) -> None:
    nulls = NullGrid((0.0, 0.2), (3,), (0.0, 0.01), tuple(LEVELS))
    checks = ((suppression.grows_with_k, ""), (suppression.suppression_never_costs, ""))
    checks += ((anon_findings.answers_are_proven, ""),)
    drawing = anon_experiments.plots()
    findings = anon_experiments.experiment(generated[0], tmp_path, SMALL, nulls, drawing, checks)
    assert all(finding.holds for finding in findings[: len(checks)])
    assert "300 records, levels (4, 2, 2, 3), 48 nodes" in capsys.readouterr().out
    names = [*(f"figure{number}" for number in range(3, 8)), "figure_nulls"]
    for name in names:
        rows = list(csv.DictReader((tmp_path / f"{name}.csv").open(encoding="utf-8")))
        assert rows and "" not in rows[0]
        assert (tmp_path / f"{name}.svg").is_file() == (drawing is not None)
    assert rows[0]["loss_in_all"]
    assert (tmp_path / "other.csv").is_file()


@pytest.mark.slow
def test_plots_repeat(generated, tmp_path) -> None:
    pytest.importorskip("matplotlib")
    drawing = anon_experiments.plots()
    assert drawing is not None
    with Experiments(generated[0]) as experiments:
        for figure in anon_figures.figures(Grid(qis=(1, 2), ks=(2, 5), ls=(1, 3)))[:3]:
            for name in ("one", "two"):
                drawing.draw(experiments, figure, tmp_path / f"{name}.svg")
            assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_without_matplotlib_the_command_says_so(generated, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "anon_plots", raising=False)
    monkeypatch.setattr(anon_experiments, "experiment", lambda *_: [Finding("f", True, "")])
    monkeypatch.setattr(sys, "argv", ["anon_experiments.py", "--data", str(generated[0]), "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        anon_experiments.main()
    assert ended.value.code == 0
    assert anon_experiments.NO_PLOTS in capsys.readouterr().out


@pytest.mark.parametrize(("holds", "reason", "code"), [(True, "", 0), (False, "why", 0), (False, "", 1)])
def test_a_finding_that_fails_ends_with_1(generated, tmp_path, monkeypatch, capsys, holds, reason, code) -> None:
    finding = Finding("figure 9", holds, "7 nodes", reason)
    monkeypatch.setattr(anon_experiments, "experiment", lambda *_: [finding])
    monkeypatch.setattr(sys, "argv", ["anon_experiments.py", "--data", str(generated[0]), "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        anon_experiments.main()
    assert ended.value.code == code
    output = capsys.readouterr().out
    assert {0: "PASS  figure 9 7 nodes", 1: "FAIL  figure 9"}[code] in output or "NOT REPRODUCED  figure 9" in output


def test_a_folder_without_adult_is_bad_input(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["anon_experiments.py", "--data", str(tmp_path), "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        anon_experiments.main()
    assert ended.value.code == 2


def test_nulls_are_drawn_as_said_and_nested(generated, tmp_path) -> None:
    folder, rows = generated
    grid = NullGrid((0.0, 0.1, 0.3), quasi_identifiers=("age", "race"))
    files = anon_nulls.prepare(folder, tmp_path, grid)
    drawn = {share: duckdb.read_parquet(str(path)).fetchall() for share, path in files.items()}
    for number, row in enumerate(rows):
        for place, name in enumerate(grid.quasi_identifiers):
            digest = hashlib.md5(f"{anon_nulls.SEED}|{name}|{number}".encode()).digest()
            draw = int.from_bytes(digest[8:], "little") % anon_nulls.RESOLUTION / anon_nulls.RESOLUTION
            for share in grid.shares:
                assert drawn[share][number][place] == (None if draw < share else row[name])


@pytest.mark.slow
def test_losses_with_nulls_count_every_record(generated) -> None:
    grid = NullGrid((0.0, 0.2), (3,), (0.05,), tuple(LEVELS))
    runs = anon_nulls.run(generated[0], grid)
    assert len(runs) == 8 and not any(run.fault for run in runs.values())
    for setting, run in runs.items():
        assert run.published + run.suppressed + run.excluded == 300
        assert bool(run.excluded) == (setting.match == "basic" and setting.share > 0)
        assert run.kept <= 1 and run.excluded / 300 <= run.whole <= 1
        if setting.measure == "loss":
            assert run.whole == pytest.approx((run.excluded + run.kept * (300 - run.excluded)) / 300)
        else:
            lost = run.excluded + run.suppressed + run.kept * run.published
            assert run.whole == pytest.approx(lost / 300)
    assert anon_findings_nulls.answers_are_proven(runs, grid)[0]


@pytest.fixture(scope="module")
def adult(shared: Path) -> Iterator[Experiments]:
    """Experiments over ADULT."""
    with Experiments(shared / "data") as made:
        yield made


def test_the_lattice_of_adult_is_the_reports(adult) -> None:
    assert adult.heights(7) == (5, 2, 2, 3, 4, 3, 3)  # one more than the levels of generalization of Table 3
    assert adult.lattice(7) == 2160
    occupations = Counter(adult.occupations())
    assert (sum(occupations.values()), len(occupations)) == (30162, 14)
    assert occupations.most_common()[-1] == ("Armed-Forces", 9)


def test_suppression_of_one_per_cent_saves_most_nodes(adult) -> None:
    holds, _ = suppression.suppression_saves(adult, anon_figures.FULL)
    assert holds
    none, some = (adult.run(Setting(suppression=share)) for share in (0.0, 0.01))
    assert (none.visited, some.visited) == (955, 76)
    assert none.levels[0] == 4 and some.levels == (4, 0, 0, 0, 2, 1, 0)
    assert some.suppressed <= 301 and not none.fault and not some.fault


def test_findings_on_fewer_columns_of_adult(adult) -> None:
    grid = Grid(qis=(1, 5), ks=(2, 10), ls=(1, 2, 3))
    checks = (
        suppression.grows_with_quasi_identifiers,
        suppression.bounding_setting_visits_nearly_all,
        suppression.grows_with_k,
        suppression.diversity_jumps,
        suppression.rare_occupation_bounds_classes,
        suppression.suppression_never_costs,
        priorities.priorities_save,
        priorities.age_first_costs_more_than_age_last,
        priorities.some_diversities_change_nothing,
        anon_findings.answers_are_proven,
    )
    findings = anon_findings.found(adult, grid, [(check, "") for check in checks])
    assert not [str(finding) for finding in findings if finding.wrong]


def test_extended_match_loses_less_when_nulls_are_many(shared) -> None:
    grid = NullGrid((0.0, 0.05, 0.3), (5,), (0.0, 0.01), QUASI_IDENTIFIERS[:5])
    runs = anon_nulls.run(shared / "data", grid)
    findings = {finding.name: finding for finding in anon_findings_nulls.found(runs, grid)}
    assert not [name for name, finding in findings.items() if finding.wrong]
    basic = runs[NullSetting(0.3, 5, 0.01, "loss", "basic")]
    assert basic.excluded == pytest.approx(30162 * (1 - 0.7**5), rel=0.01)


def test_every_check_quotes_or_says_that_it_is_not_of_the_report() -> None:
    checks = [check for check, _ in (*anon_experiments.CHECKS, *anon_findings_nulls.CHECKS)]
    assert len(set(checks)) == len(checks)
    for check in checks:
        first = (check.__doc__ or "").splitlines()[0]
        assert '"' in first or "narrower" in first or "Not of the report" in first, first
