"""Suppression of counts beside τ-ARGUS and the documented examples of GaussSuppression and sdcTable.

    python benchmarks/counts_compare.py [--data DIR] [--seconds 60] [--json FILE]

Tables of ADULT, CUP and OMOP (DIR as ``benchmarks/cases.py`` says, and ``omop/omop-gibleed.duckdb``; without them
these are left out) are protected here and by τ-ARGUS, of which ``pip install pytauargus`` carries an engine: the same
cells, threshold and protection levels (an unsafe count must be able to be 0 and the threshold), each cell costs 1,
cells without records are shown, insiders are not looked at. ``MOD`` is its modular suppression, ``OPT`` the optimal.

The examples are small tables whose suppressed cells their documentation prints. What others suppress is judged by the
audit of this package: so many unsafe cells are ``unprotected``, since they cannot be 0 or cannot be the threshold.

Exits 1 where a table of ours is not protected, or has more cells than one of others that is protected by these rules.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress as ignoring
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pyarrow as pa

import sqlanon
from sqlanon.core.source.joining import open_policy_source
from sqlanon.counts import protecting
from sqlanon.counts.counting import Counted, count_cells
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.exact import suppress
from sqlanon.counts.facts import CellSuppression
from sqlanon.counts.released import released_rows
from sqlanon.counts.unsafe import unsafe_counts
from sqlanon.counts.written import audit_written

Flags = np.ndarray[Any, np.dtype[np.bool_]]
AGES = {"hierarchy": {"intervals": {"width": 10, "fanouts": [2]}}}
LIKE_OTHERS = {"zeros": "omit", "insiders": False}
"""What τ-ARGUS does: cells without records are known to be 0, and nobody knows a cell."""
PERSONS = """
    SELECT p.gender_concept_id AS gender, p.race_concept_id AS race, p.year_of_birth AS born, {}
    FROM {} JOIN person p USING (person_id)
"""
TABLES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ADULT, race × education": ("adult", "*", {"dimensions": ["race", "education"]}),
    "ADULT, race × workclass": ("adult", "*", {"dimensions": ["race", "workclass"]}),
    "ADULT, education × occupation": ("adult", "*", {"dimensions": ["education", "occupation"]}),
    "ADULT, country × marital status": ("adult", "*", {"dimensions": ["native-country", "marital-status"]}),
    "ADULT, age (2 levels) × occupation": ("adult", "*", {"dimensions": {"age": [1, 2], "occupation": 0}}),
    "ADULT, country × education": ("adult", "*", {"dimensions": ["native-country", "education"]}),
    "ADULT, sex × race × workclass": ("adult", "*", {"dimensions": ["sex", "race", "workclass"]}),
    "CUP, gender × state": ("cup", "*", {"dimensions": ["GENDER", "STATE"]}),
    "CUP, income × state": ("cup", "*", {"dimensions": ["INCOME", "STATE"]}),
    "OMOP, birth × race": ("omop", "SELECT year_of_birth // 10 AS born, race_concept_id AS race FROM person",
                           {"dimensions": ["born", "race"]}),
    "OMOP, condition eras × gender × race": (
        "omop", PERSONS.format("condition_concept_id AS condition", "condition_era"),
        {"dimensions": ["condition", "gender", "race"]},
    ),
    "OMOP, drug × gender": ("omop", PERSONS.format("drug_concept_id AS drug", "drug_exposure"),
                            {"dimensions": ["drug", "gender"]}),
}  # fmt: skip
"""By name: the dataset, what is read of it, and the table of counts."""


@dataclass(frozen=True)
class Example:
    """A documented table, and which of its cells the documentation prints as suppressed.

    Attributes:
        rows: the records, each with how often it is there (``n``).
        asked: the document of counts.
        cells: the suppressed cells, by the text of each dimension.
    """

    name: str
    source: str
    rows: Sequence[Mapping[str, Any]]
    asked: Mapping[str, Any]
    cells: Iterable[Sequence[str]]
    note: str = ""


def examples() -> list[Example]:
    """The documented examples, with their source and its licence."""
    gauss = "GaussSuppression, vignette {} (Statistics Norway, MIT)"
    small = gauss.format("Small count frequency table suppression")
    places = (("Spain", "EU"), ("Iceland", "nonEU"), ("Portugal", "EU"))
    frequencies = {"2014": (5, 2, 0, 6, 3, 4), "2015": (5, 0, 0, 6, 3, 4), "2016": (7, 1, 1, 5, 4, 3)}
    every = [
        {"age": age, "geo": geo, "eu": eu, "year": year, "n": n}
        for year, own in frequencies.items()
        for (age, (geo, eu)), n in zip([(a, p) for a in ("young", "old") for p in places], own, strict=True)
    ]
    first = [row for row in every if row["year"] == "2014"]
    tree = {"geo": {"hierarchy": {"levels": {geo: [eu, "*"] for geo, eu in places}}}}
    nested = {"counts": {"by": {"dimensions": {"age": 0, "geo": [0, 1]}}}, "columns": tree}
    hidden = [(a, g) for a in ("young", "old") for g in ("EU", "nonEU", "Iceland", "Portugal")]
    flat = {"counts": {"by": {"dimensions": ["age", "geo"]}}}
    linked = {"counts": {"eu": {"dimensions": ["age", "eu"], "margins": False}, "geo": {"dimensions": ["geo"]}}}
    drawn = [(a, g) for a in ("young", "old") for g in ("Iceland", "Portugal")]
    table = {("A", "male"): 18, ("A", "female"): 2, ("B", "male"): 14, ("B", "female"): 19, ("C", "male"): 12,
             ("C", "female"): 10, ("D", "male"): 11, ("D", "female"): 14}  # fmt: skip
    regions = [{"region": r, "gender": g, "n": n} for (r, g), n in table.items()]
    injuries = {"k1": (0, 0, 4), "k2": (0, 1, 5), "k3": (2, 1, 3), "k4": (1, 4, 4), "k5": (0, 0, 1), "k6": (0, 0, 6)}
    kinds = ("light", "none", "serious")
    accidents = [{"mun": m, "inj": i, "n": n} for m, own in injuries.items() for i, n in zip(kinds, own, strict=True)]
    injured = [("Total", "light"), ("Total", "none"), ("k1", "Total"), ("k1", "serious"), ("k2", "none"),
               ("k2", "serious"), ("k3", "light"), ("k3", "none"), ("k3", "serious"), ("k4", "light"), ("k4", "none"),
               ("k5", "Total"), ("k5", "serious")]  # fmt: skip
    values = gauss.format("Magnitude table suppression")
    sold = {
        ("Agriculture", "Portugal"): (75.9, 24.5), ("Agriculture", "Spain"): (96.6, 43.2),
        ("Entertainment", "Iceland"): (16.8,), ("Entertainment", "Portugal"): (7.1, 2.3),
        ("Entertainment", "Spain"): (77.4, 11.5, 16.4), ("Governmental", "Portugal"): (21.6, 2.0),
        ("Governmental", "Spain"): (6.5, 2.7), ("Industry", "Iceland"): (9.6, 8.8, 1.9),
        ("Industry", "Portugal"): (25.7, 3.4), ("Industry", "Spain"): (8.4,),
    }  # fmt: skip
    sales = [{"sector": s, "geo": g, "value": v, "n": 1} for (s, g), own in sold.items() for v in own]
    by_sector = {"by": {"dimensions": ["sector", "geo"], "measures": [{"sum": "value"}]}}
    amounts = {"counts": by_sector, "p_percent": 1e-9, "zeros": "omit"}
    alone = {"n": 1, "k": 0.999999}
    few = [("Entertainment", "Iceland"), ("Entertainment", "Portugal"), ("Governmental", "Portugal"),
           ("Governmental", "Spain"), ("Industry", "Iceland"), ("Industry", "Spain")]  # fmt: skip
    return [
        Example("Table 4: age × geo in 2 levels, below 5", small, first, nested | {"threshold": 5} | LIKE_OTHERS,
                [*(cell for cell in hidden if cell != ("young", "Portugal")), ("young", "Spain"), ("Total", "Portugal"),
                 ("Total", "Spain")]),
        Example("Table 5: the same, below 4, zeros may be hidden", small, first,
                nested | {"threshold": 4, "insiders": False}, hidden),
        Example("Table 3: age × eu, geo, below 3", small, first, linked | {"threshold": 3, "insiders": False},
                [("young", "nonEU", "Total"), ("old", "nonEU", "Total")],
                "its table has no total of age or eu"),
        Example("Table 9: age × geo, below 4", small, every, flat | {"threshold": 4, "insiders": False},
                [*drawn], "before rangeMin"),
        Example("Table 9: the same, at least 5 wide", small, every,
                flat | {"threshold": 4, "interval": [0, 5], "insiders": False},
                [*drawn, ("young", "Spain"), ("old", "Spain")], "rangeMin = 5"),
        Example("protectTable: region × gender, below 3", "sdcTable, help of protectTable, method HITAS (GPL)", regions,
                {"counts": {"by": {"dimensions": ["region", "gender"]}}, "threshold": 3, "insiders": False},
                [("A", "male"), ("A", "female"), ("C", "male"), ("C", "female")]),
        Example("mun_accidents: municipality × injury, below 4", gauss.format("help of SuppressSmallCounts"), accidents,
                {"counts": {"by": {"dimensions": ["mun", "inj"]}}, "threshold": 4} | LIKE_OTHERS, injured),
        Example("magnitude, Table 2: 1 contributor", values, sales, amounts | {"threshold": 2, "dominance": alone},
                [*few, ("Industry", "Portugal")], "sums with their counts; insiders"),
        Example("magnitude, Table 3: 1 of 80 %", values, sales,
                amounts | {"threshold": 2, "dominance": {"n": 1, "k": 0.8}},
                [*few, ("Industry", "Portugal"), ("Governmental", "Total"), ("Industry", "Total")],
                "sums with their counts; insiders"),
    ]  # fmt: skip


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The records of an example."""
    return pa.Table.from_pylist([{k: v for k, v in row.items() if k != "n"} for row in rows for _ in range(row["n"])])


def counted_of(frame: pa.Table, policy: CountsPolicy) -> Counted:
    """The cells of a table, with their true values."""
    with open_policy_source(frame, policy.policy) as opened:
        return count_cells(opened, policy)


def unprotected(counted: Counted, policy: CountsPolicy, hidden: Flags) -> str:
    """What the audit finds in a table with these cells suppressed; empty where it is protected."""
    try:
        audit_written(released_rows(counted, policy, hidden), counted, policy)
    except sqlanon.AuditError as error:
        return str(error).partition("(")[2].partition(")")[0]
    return ""


def _heuristic(*asked: Any, exact: bool, **options: Any) -> CellSuppression:
    """Suppress as ``suppress`` does, without a proof whatever is asked."""
    return suppress(*asked, exact=False, **options)


def ours(counted: Counted, policy: CountsPolicy, *, exact: bool) -> dict[str, Any]:
    """How many cells we suppress, of what weight and in which time."""
    start = time.perf_counter()
    with mock.patch.object(protecting, "suppress", suppress if exact else _heuristic):
        found = protecting.protect(counted, policy)
    return {
        "unsafe": found.unsafe,
        "further": found.complementary,
        "weight": found.weight,
        "bound": found.lower_bound,
        "optimal": found.optimal,
        "seconds": round(time.perf_counter() - start, 2),
        "fault": unprotected(counted, policy, found.suppressed),
    }


def argus_files(counted: Counted, policy: CountsPolicy, folder: Path, method: str) -> Path:
    """Write a table with its safe and unsafe cells as τ-ARGUS reads it; return the batch.

    An unsafe count x must be able to be 0 and the threshold t: its protection levels are x and t - x.
    """
    grid, keys, threshold = counted.grid, counted.grid.all_keys, policy.rules.threshold
    metadata = []
    for position, dimension in enumerate(grid.dimensions):
        metadata += [f"d{position}", "  <RECODEABLE>", '  <TOTCODE> "T"']
        if len(dimension.levels) > 1:
            fine, coarse = dimension.levels
            lines = []
            for group in dimension.categories(coarse).tolist():
                own = [c for c in dimension.categories(fine).tolist() if dimension.above[coarse][c] == group]
                lines += [f"c{group:04}", *(f"@c{c:04}" for c in own)]
            (folder / f"d{position}.hrc").write_text("\n".join(lines) + "\n")
            metadata += ["  <HIERARCHICAL>", f'  <HIERCODELIST> "{folder}/d{position}.hrc"', '  <HIERLEADSTRING> "@"']
    metadata += ["value", "  <NUMERIC>", "  <DECIMALS> 0", "freq", "  <FREQUENCY>", "costs", "  <NUMERIC> <COST>"]
    metadata += ["status", "  <STATUS>", "lower", "  <NUMERIC> <LOWERPL>", "upper", "  <NUMERIC> <UPPERPL>"]
    rows = []
    for key, x in zip(keys.tolist(), counted.contributors.tolist(), strict=True):
        codes = ["T" if c == 0 else f"c{c:04}" for c in key]
        unsafe = 0 < x < threshold
        levels = [x, threshold - x] if unsafe else [0, 0]
        rows += [";".join(map(str, [*codes, x, x, 1, "U" if unsafe else "S", *levels]))] if x else []
    head = ['<SEPARATOR> ";"', '<SAFE> "S"', '<UNSAFE> "U"', '<PROTECT> "P"']
    (folder / "t.rda").write_text("\n".join([*head, *metadata]) + "\n")
    (folder / "t.tab").write_text("\n".join(rows) + "\n")
    names = "".join(f'"d{position}"' for position in range(len(grid.dimensions)))
    batch = [f'<OPENTABLEDATA> "{folder}/t.tab"', f'<OPENMETADATA> "{folder}/t.rda"']
    batch += [f'<SPECIFYTABLE> {names}|"value"|"value"|"costs"', "<SAFETYRULE>", "<READTABLE>", f"<SUPPRESS> {method}"]
    batch += [f'<WRITETABLE> (1,5,AS+,"{folder}/out.tab")']
    (folder / "t.arb").write_text("\n".join(batch) + "\n")
    return folder / "t.arb"


def run_argus(batch: Path) -> float:
    """Run τ-ARGUS; return the seconds."""
    from pytauargus.engine import run_batch

    os.chdir(batch.parent)  # it leaves its logs where it runs
    start = time.perf_counter()
    run_batch(str(batch))
    return time.perf_counter() - start


def argus(counted: Counted, policy: CountsPolicy, method: str, seconds: float) -> dict[str, Any]:
    """How many cells τ-ARGUS suppresses, in a process of its own; ``fault`` is why there is no answer."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        batch = argus_files(counted, policy, folder, method)
        pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        try:
            took = pool.submit(run_argus, batch).result(seconds)
            rows = [line.split(";") for line in (folder / "out.tab").read_text().splitlines()]
        except (TimeoutError, BrokenProcessPool, RuntimeError, OSError) as error:
            return {"fault": f"none: {type(error).__name__} {error}"[:90].strip()}
        finally:
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(wait=False)
    place = {tuple(key): cell for cell, key in enumerate(counted.grid.all_keys.tolist())}
    width = len(counted.grid.dimensions)
    hidden = np.zeros(len(counted.grid), bool)
    for row in rows:
        codes = [text.strip().strip('"') for text in row[:width]]
        cell = place[tuple(0 if code in ("T", "") else int(code[1:]) for code in codes)]
        hidden[cell] = row[-3].strip() in ("U", "M")
    unsafe = unsafe_counts(counted, policy)
    return {
        "unsafe": int(unsafe.sum()),
        "further": int((hidden & ~unsafe).sum()),
        "seconds": round(took, 2),
        "fault": unprotected(counted, policy, hidden),
    }


def hidden_of(counted: Counted, cells: Iterable[Sequence[str]]) -> Flags:
    """Cells by the texts of their categories."""
    dimensions = counted.grid.dimensions
    hidden = np.zeros(len(counted.grid), bool)
    texts = [("Total", *d.texts[1:]) for d in dimensions]
    wanted = {tuple(cell) for cell in cells}
    for cell, key in enumerate(counted.grid.all_keys.tolist()):
        hidden[cell] = tuple(texts[p][c] for p, c in enumerate(key)) in wanted
    assert hidden.sum() == len(wanted), "a cell of the example is not in the table"
    return hidden


def dataset(data: Path | None, name: str, wanted: str) -> pa.Table | None:
    """The records of a dataset; None where it is not there."""
    file = Path() if data is None else data / name / ("omop-gibleed.duckdb" if name == "omop" else f"{name}.csv")
    if data is None or not file.exists():
        return None
    if name == "omop":
        with duckdb.connect(str(file), read_only=True) as connection:
            return connection.sql(wanted).to_arrow_table()
    with duckdb.connect() as connection:
        return connection.read_csv(str(file), sep=";").to_arrow_table()


def compared(name: str, frame: pa.Table, table: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """One table, protected here (exact, and by the heuristic alone) and by τ-ARGUS (OPT and MOD)."""
    asked: dict[str, Any] = {"counts": {"by": table}, "threshold": 5, "time_limit": seconds, **LIKE_OTHERS}
    if "age" in table["dimensions"]:
        asked["columns"] = {"age": AGES}
    policy = CountsPolicy.from_dict(asked)
    counted = counted_of(frame, policy)
    found: dict[str, Any] = {"name": name, "cells": len(counted.grid)}
    for mode, exact in (("exact", True), ("heuristic", False)):
        with ignoring(sqlanon.SqlanonError):
            found[mode] = ours(counted, policy, exact=exact)
    if find_spec("pytauargus") is not None:
        minutes = max(1, round(seconds / 60))
        for mode, method in (("OPT", f"OPT(1,{minutes})"), ("MOD", f"MOD(1,{minutes})")):
            found[mode] = argus(counted, policy, method, 2 * seconds + 60)
    return found


def documented(example: Example) -> dict[str, Any]:
    """One documented table, protected here and as its documentation prints it."""
    policy = CountsPolicy.from_dict(dict(example.asked))
    counted = counted_of(frame_of(example.rows), policy)
    hidden = hidden_of(counted, example.cells)
    exact = ours(counted, policy, exact=True)
    theirs = {"further": int(hidden.sum()) - exact["unsafe"], "fault": unprotected(counted, policy, hidden)}
    found = {"name": example.name, "source": example.source, "note": example.note, "cells": len(counted.grid)}
    return {**found, "exact": exact, "heuristic": ours(counted, policy, exact=False), "theirs": theirs}


def wrong(row: Mapping[str, Any]) -> list[str]:
    """What is wrong with an answer."""
    name, exact = row["name"], row.get("exact")
    faults = [f"{name}: {mode} of ours: {row[mode]['fault']}" for mode in MODES[:2] if row.get(mode, {}).get("fault")]
    for mode in MODES[2:]:
        theirs = row.get(mode, {})
        if exact and not theirs.get("fault") and theirs.get("further", np.inf) < exact["further"]:
            faults.append(f"{name}: {mode} protects with fewer cells")
    return faults


MODES = ("exact", "heuristic", "OPT", "MOD", "theirs")


def shown(row: Mapping[str, Any], mode: str) -> str:
    """An answer as a cell of Markdown."""
    found = row.get(mode)
    if found is None:
        return "-"
    if "further" not in found:
        return str(found["fault"])
    proof = "" if mode != "exact" else " (proven)" if found["optimal"] else f" (at least {found['bound']:g})"
    took = f", {found['seconds']} s" if "seconds" in found else ""
    lack = f", {found['fault'].rpartition(' ')[2]} unprotected" if found["fault"] else ""
    return f"{found['further']}{proof}{took}{lack}"


def main() -> int:
    """Run all comparisons; return 1 where an answer is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", help="parts of names of tables")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()

    def is_wanted(name: str) -> bool:
        return not asked.only or any(part in name for part in asked.only)

    rows = [documented(example) for example in examples() if is_wanted(example.name)]
    print("| documented table | cells | unsafe | further: ours | heuristic | theirs | note |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        cells = [row["name"], row["cells"], row["exact"]["unsafe"], *(shown(row, m) for m in ("exact", "heuristic"))]
        print("|", " | ".join(map(str, [*cells, shown(row, "theirs"), row["note"]])), "|")
    if find_spec("pytauargus") is None:
        print("\nτ-ARGUS is left out: pytauargus is not installed.")
    print("\n| table | cells | unsafe | further: ours | heuristic | τ-ARGUS OPT | MOD |\n|---|---|---|---|---|---|---|")
    for name, (folder, wanted, table) in TABLES.items():
        if not is_wanted(name):
            continue
        frame = dataset(asked.data, folder, wanted)
        if frame is None:
            print(f"| {name} | left out: {folder} is not there | | | | | |")
            continue
        row = compared(name, frame, table, asked.seconds)
        rows.append(row)
        unsafe = next((row[mode]["unsafe"] for mode in MODES if "unsafe" in row.get(mode, {})), "-")
        print(
            "|",
            " | ".join(map(str, [name, row["cells"], unsafe, *(shown(row, m) for m in MODES[:4])])),
            "|",
            flush=True,
        )
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n")
    faults = [fault for row in rows for fault in wrong(row)]
    print("\n".join(faults) or "\nEvery answer holds.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
