"""NURSERY, CMC, ADULT and ADULT2 as the paper on patterns prepares them (section 3.1), record by record as text.

NURSERY needs no file: its records are all combinations of eight attributes, each of them once; the class, which the
paper leaves out, is a function of them. CMC loses its ID. ADULT loses the final weight; ADULT2 keeps nine attributes.
Unknown values (``?``) are values like others.
"""

from __future__ import annotations

import csv
import itertools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import parquet

Numbers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NURSERY = {
    "parents": ("usual", "pretentious", "great_pret"),
    "has_nurs": ("proper", "less_proper", "improper", "critical", "very_crit"),
    "form": ("complete", "completed", "incomplete", "foster"),
    "children": ("1", "2", "3", "more"),
    "housing": ("convenient", "less_conv", "critical"),
    "finance": ("convenient", "inconv"),
    "social": ("nonprob", "slightly_prob", "problematic"),
    "health": ("recommended", "priority", "not_recom"),
}
"""The attributes in the order of the file, and their values."""
UNUSED = ("ID", "fnlwgt")
ADULT2 = (
    "age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country", "salary-class",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Records:
    """A dataset: ``rows`` of text, one a record, in the order of the file; ``numerical`` names columns."""

    columns: tuple[str, ...]
    numerical: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def coding(self) -> tuple[dict[str, int], ...]:
        """Per column its values as numbers: the number itself, or the place in which the value first appears."""
        made = []
        for column, texts in zip(self.columns, zip(*self.rows, strict=True), strict=True):
            found = dict.fromkeys(texts)
            made.append({text: int(text) if column in self.numerical else i for i, text in enumerate(found)})
        return tuple(made)

    def numbers(self) -> Numbers:
        """The records in this coding."""
        coding = self.coding()
        return np.array([[code[text] for code, text in zip(coding, row, strict=True)] for row in self.rows])

    def complete(self) -> Records:
        """The records without unknown values."""
        return replace(self, rows=tuple(row for row in self.rows if "?" not in row))

    def row_types(self) -> RowTypes:
        """Its distinct records."""
        values, counts = np.unique(self.numbers(), axis=0, return_counts=True)
        return RowTypes(values, counts, tuple(column in self.numerical for column in self.columns))

    def write(self, path: Path) -> None:
        """Write it as Parquet: numerical columns as numbers, others as text."""
        texts = zip(self.columns, zip(*self.rows, strict=True), strict=True)
        columns = {name: [int(v) for v in values] if name in self.numerical else values for name, values in texts}
        parquet.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)


@dataclass(frozen=True, slots=True)
class RowTypes:
    """Distinct records: one row of ``values`` each, how many records it stands for, and which columns are numerical."""

    values: Numbers
    counts: Numbers
    numerical: tuple[bool, ...]

    def figures(self, outputs: Numbers) -> dict[str, float]:
        """What the paper measures of a partition; ``outputs`` is the output row type of each row, from 0."""
        sizes = np.bincount(outputs, self.counts)
        if not sizes.all():
            raise ValueError("An output row type is empty.")
        diversity = 0.0
        for column, numerical in zip(self.values.T, self.numerical, strict=True):
            if numerical:
                highest, lowest = np.full(len(sizes), column.min()), np.full(len(sizes), column.max())
                np.maximum.at(highest, outputs, column)
                np.minimum.at(lowest, outputs, column)
                diversity += float((highest - lowest).sum()) / max(1, int(column.max() - column.min()))
            else:
                seen = np.unique(np.stack([outputs, column]), axis=1).shape[1]
                diversity += seen / len(np.unique(column))
        return {
            "u": diversity / len(sizes),
            "#h": len(sizes),
            "h_avg": float(self.counts.sum()) / len(sizes),
            "h_max": float(sizes.max()),
        }


def records(data: Path, name: str, numerical: tuple[str, ...] = (), columns: tuple[str, ...] = ()) -> Records:
    """A dataset by its name; ``data`` holds ``cmc/cmc.csv`` and ``adult_full/adult_full.csv``.

    Args:
        numerical: its numerical columns.
        columns: its columns in the order wanted; (): as in the file.
    """
    if name == "nursery":
        return Records(tuple(NURSERY), numerical, tuple(itertools.product(*NURSERY.values())))
    folder = "cmc" if name == "cmc" else "adult_full"
    with (data / folder / f"{folder}.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter=";")
    if not columns:
        columns = ADULT2 if name == "adult2" else tuple(column for column in header if column not in UNUSED)
    places = [header.index(column) for column in columns]
    return Records(columns, numerical, tuple(tuple(row[place].strip() for place in places) for row in rows))
