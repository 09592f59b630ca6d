"""NULLs in ADULT: what the basic match loses and what the extended match loses, over the share of NULLs.

The ANON report cites these experiments from "k-anonymity of microdata with NULL values" (DEXA 2014) and prints their
outcome only, so the settings are ours. A share of the cells of the seven quasi-identifiers becomes NULL: those whose
hash of column, record and seed is below the share, so that the NULLs of a smaller share are among those of a larger.
Basic excludes every record with a NULL; extended takes NULL for a value of its own. Both are optima, proven by ``box``.

The limit on suppression is a share of the records that are not excluded, as in a policy.

Loss in all counts excluded and suppressed records as entirely lost, as shares of all N records, whether or not they
were excluded: (excluded + loss * kept) / N. The measure ``loss`` counts suppressed records so itself; the share of
weighted information loss does not, and is (excluded + suppressed + share * published) / N in all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
from anon_settings import QUASI_IDENTIFIERS, WEIGHTS, weighted_share
from sqlglot import exp

import sqlanon

SEED = 2014
RESOLUTION = 1_000_000
"""Shares are compared as whole millionths."""
MATCHES = ("basic", "extended")
MEASURES = ("loss", "weighted_information_loss")
COLUMNS = (
    "null_share", "k", "suppression", "measure", "match", "excluded", "suppressed", "published", "classes",
    "loss_of_kept", "loss_in_all", "box_judged", "lattice", "levels",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NullGrid:
    """The values of the parameters that are run."""

    shares: tuple[float, ...] = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
    ks: tuple[int, ...] = (5, 10)
    suppression: tuple[float, ...] = (0.0, 0.01, 0.1)
    quasi_identifiers: tuple[str, ...] = QUASI_IDENTIFIERS


FULL = NullGrid()
QUICK = NullGrid(shares=(0.0, 0.01, 0.1, 0.3), ks=(5,))


@dataclass(frozen=True, slots=True)
class NullSetting:
    """One point: which records, what is asked of them, and by which match and measure."""

    share: float
    k: int
    suppression: float
    measure: str
    match: str


@dataclass(frozen=True, slots=True)
class NullRun:
    """What came of a point.

    Attributes:
        kept: loss of the records that are not excluded, in [0, 1]; suppressed ones among them count for ``loss`` only.
        whole: loss in all, see the module.
        fault: what is wrong with the answer.
    """

    setting: NullSetting
    excluded: int
    suppressed: int
    published: int
    classes: int
    kept: float
    whole: float
    box_judged: int
    lattice: int
    levels: tuple[int, ...]
    fault: str = ""


Runs = dict[NullSetting, NullRun]


def cells(run: NullRun) -> dict[str, object]:
    """A run as cells of a table."""
    setting = run.setting
    return {
        "null_share": setting.share,
        "k": setting.k,
        "suppression": setting.suppression,
        "measure": setting.measure,
        "match": setting.match,
        "excluded": run.excluded,
        "suppressed": run.suppressed,
        "published": run.published,
        "classes": run.classes,
        "loss_of_kept": round(run.kept, 9),
        "loss_in_all": round(run.whole, 9),
        "box_judged": run.box_judged,
        "lattice": run.lattice,
        "levels": " ".join(map(str, run.levels)),
    }


def with_nulls(share: float, quasi_identifiers: tuple[str, ...]) -> exp.Select:
    """The query of the records with NULLs, over the table ``records``.

    >>> print(with_nulls(0.1, ("age",)).sql("duckdb"))
    SELECT CASE WHEN MD5_NUMBER_LOWER('2014|age|' || rowid) % 1000000 >= 100000 THEN "age" END AS "age" FROM records
    """

    def cell(name: str) -> exp.Expr:
        text = exp.DPipe(this=exp.Literal.string(f"{SEED}|{name}|"), expression=exp.column("rowid"))
        drawn = exp.Mod(this=exp.func("MD5_NUMBER_LOWER", text), expression=exp.Literal.number(RESOLUTION))
        stays = exp.GTE(this=drawn, expression=exp.Literal.number(round(share * RESOLUTION)))
        return exp.alias_(exp.case().when(stays, exp.column(name, quoted=True)), name, quoted=True)

    return exp.select(*map(cell, quasi_identifiers)).from_("records")


def prepare(data: Path, folder: Path, grid: NullGrid) -> dict[float, Path]:
    """Write the records with each share of NULLs as Parquet; ``rowid`` follows the file, so the draw repeats."""
    files = {}
    with duckdb.connect() as connection:
        source = str(data / "adult" / "adult.csv")
        connection.read_csv(source, delimiter=";", header=True, all_varchar=True).create("records")
        for share in grid.shares:
            files[share] = folder / f"nulls_{share}.parquet"
            connection.sql(with_nulls(share, grid.quasi_identifiers).sql("duckdb")).write_parquet(str(files[share]))
    return files


def policy(data: Path, source: Path, grid: NullGrid, setting: NullSetting) -> sqlanon.Policy:
    """The policy of a point; the weights are ANON's rising priorities for its own measure, 1 for ``loss``."""
    weight = WEIGHTS["rising" if setting.measure == "weighted_information_loss" else "none"]
    return sqlanon.Policy.from_dict(
        {
            "source": str(source),
            "columns": {
                name: {
                    "role": "quasi_identifier",
                    "hierarchy": {"file": str(data / "adult" / f"adult_hierarchy_{name}.csv")},
                    "weight": weight[name],
                }
                for name in grid.quasi_identifiers
            },
            "privacy": [{"type": "k_anonymity", "k": setting.k}],
            "suppression_limit": setting.suppression,
            "nulls": setting.match,
            "quality": {"measure": setting.measure},
            "search": {"strategy": "box"},
        }
    )


def judged(plan: sqlanon.Plan, setting: NullSetting) -> NullRun:
    """The run of a searched plan."""
    ledger, levels = plan.ledger, plan.solution.levels
    kept = plan.solution.loss
    if setting.measure == "weighted_information_loss":
        kept = weighted_share(levels, tuple(attribute.height for attribute in plan.catalog.attributes))
        lost = ledger.excluded + ledger.suppressed + kept * ledger.published
    else:
        lost = ledger.excluded + kept * (ledger.records - ledger.excluded)
    return NullRun(
        setting=setting,
        excluded=ledger.excluded,
        suppressed=ledger.suppressed,
        published=ledger.published,
        classes=ledger.classes,
        kept=kept,
        whole=lost / ledger.records,
        box_judged=plan.certificate.evaluated,
        lattice=plan.certificate.lattice_size,
        levels=tuple(levels.values()),
        fault="" if plan.certificate.optimal else "no proof",
    )


def points(grid: NullGrid, share: float, match: str) -> Iterator[NullSetting]:
    """The points over the same records and match."""
    for measure in MEASURES:
        for k in grid.ks:
            for suppression in grid.suppression:
                yield NullSetting(share, k, suppression, measure, match)


def run(data: Path, grid: NullGrid) -> Runs:
    """All points of a grid."""
    runs: Runs = {}
    with tempfile.TemporaryDirectory() as folder:
        for share, source in prepare(data, Path(folder), grid).items():
            for match in MATCHES:
                settings = list(points(grid, share, match))
                with sqlanon.plan(None, policy(data, source, grid, settings[0])) as base:
                    for setting in settings:
                        runs[setting] = judged(base.with_policy(policy(data, source, grid, setting)), setting)
    return runs
