"""Random hierarchies as a policy writes them, and what they mean in plain Python, where that is known here."""

from __future__ import annotations

import csv
import datetime
import random
from collections import Counter
from pathlib import Path
from typing import Any

import brute
import brute_hierarchies

from fuzzing.columns import DAYS, NUMBERS, WHOLE, Column, Text

Made = tuple[dict[str, Any], "list[tuple[Text, ...]] | None"]
"""A hierarchy of a policy; the texts of each value that occurs, level 0 first; None where sqlanon alone knows."""
DATE_LEVELS = (["month", "quarter", "year"], ["day", "month", "year"], ["year", "decade"], ["weekday", "weekend"],
               ["month_of_year", "season"], ["week"], ["month", "year"])  # fmt: skip


def listed_tree(rng: random.Random, column: Column) -> list[tuple[Text, ...]]:
    """Return random rows over the values of a column, with one root in most cases."""
    values = [value for value in column.pool if value is not None] or ["extra"]
    if rng.random() < 0.2:
        values.append("extra")
    height = rng.randint(1, 4)
    rows = {value: [value] for value in values}
    for level in range(1, height):
        groups = sorted({row[-1] for row in rows.values()})
        if level == height - 1 and rng.random() < 0.85:
            names = dict.fromkeys(groups, "*")
        else:
            names = {group: f"L{level}_{rng.randint(0, max(1, len(groups) // 2))}" for group in groups}
        for row in rows.values():
            row.append(names[row[-1]])
    return [tuple(row) for row in rows.values()]


def random_hierarchy(rng: random.Random, column: Column, folder: Path, number: int) -> Made:
    """Return a hierarchy for a column; files are written to ``folder``."""
    kinds = ["levels", "levels", "file", "suppress", "suppress"]
    text = column.type == "VARCHAR"
    if text:
        kinds += ["redact", "redact", "prefix", "frequent", "groups"]
        kinds += {"zip": ["zip3"] * 3, "code": ["icd10"] * 3, "country": ["countries"] * 3}.get(column.kind, [])
    if column.type in NUMBERS or column.kind == "whole":
        kinds += ["intervals"] * 5
    if column.type in DAYS or column.kind == "date":
        kinds += ["dates"] * 4 + ["ages"]
    return _make(rng, rng.choice(kinds), column, folder, number)


def _make(rng: random.Random, kind: str, column: Column, folder: Path, number: int) -> Made:
    present = [value for value in dict.fromkeys(column.values) if value is not None]
    if kind == "levels":
        rows = listed_tree(rng, column)
        return {"levels": {row[0]: list(row[1:]) for row in rows}}, rows
    if kind == "file":
        rows = listed_tree(rng, column)
        with (folder / f"h {number}é.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=";", quoting=csv.QUOTE_ALL).writerows(rows)
        return {"file": f"h {number}é.csv", "delimiter": ";", "header": False}, rows
    if kind == "suppress":
        return {"suppress": {}}, [(value, "*") for value in present]
    if kind == "groups":
        half = len(column.pool) // 2
        values = [value for value in column.pool if value is not None] or ["extra"]
        halves = {"first": values[:half], "second": values[half:]}
        return {"groups": {name: part for name, part in halves.items() if part}}, None
    if kind == "redact":
        options = {"direction": rng.choice(["left", "right"]), "char": rng.choice("*#é")}
        return {"redact": options | ({"width": rng.randint(1, 9)} if rng.random() < 0.5 else {})}, None
    if kind == "prefix":
        lengths = sorted(rng.sample(range(1, 7), rng.randint(1, 3)), reverse=True)
        rows = [(value, *brute_hierarchies.prefix(value, lengths, "*")) for value in present]
        return {"prefix": lengths}, rows if not any("\n" in value for value in present) else None
    if kind == "frequent":
        least, counts = sorted(rng.sample([2, 3, 5, 9], rng.randint(1, 2))), Counter(column.values)
        texts = {value: brute_hierarchies.frequent(value, counts[value], least, "(other)") for value in present}
        return {"frequent": least}, [(value, *row) for value, row in texts.items() if row is not None]
    if kind == "zip3":
        return {"zip3": {}}, None
    if kind in ("icd10", "countries"):
        read = brute_hierarchies.icd10 if kind == "icd10" else brute_hierarchies.country
        texts = {value: read(value) for value in present}
        return {"codes": kind}, [(value, *row) for value, row in texts.items() if row is not None]
    return _intervals(rng, column, present) if kind == "intervals" else _days(rng, kind, column, present)


def _intervals(rng: random.Random, column: Column, present: list[str]) -> Made:
    width, fanouts = rng.choice([1, 5, 10]), rng.choice([[], [2], [2, 5]])
    options: dict[str, Any] = {"width": width, "fanouts": fanouts}
    low, high = rng.choice([(None, None), (0, 100), (20, None), (None, 60)])
    options |= {key: bound for key, bound in (("lower", low), ("upper", high)) if bound is not None}
    if rng.random() < 0.2:
        return {"intervals": options | {"labels": "start"}}, None
    if (column.type not in WHOLE and column.kind != "whole") or any(len(value) > 15 for value in present):
        return {"intervals": options}, None
    widths = [width]
    for fanout in fanouts:
        widths.append(widths[-1] * fanout)
    aligned = all(bound is None or bound % widths[-1] == 0 for bound in (low, high))
    rows = [(value, *brute_hierarchies.interval(int(value), widths, low, high)) for value in present]
    return {"intervals": options}, rows if aligned else None


def _days(rng: random.Random, kind: str, column: Column, present: list[str]) -> Made:
    if kind == "ages":
        return {"ages": {"at": "2024-01-01"}}, None
    levels = rng.choice(DATE_LEVELS)
    try:
        days = [datetime.date.fromisoformat(value[:10]) for value in present if len(value) in (10, 19, 26)]
    except ValueError:
        days = []
    if "week" in levels or len(days) < len(present):
        return {"dates": levels}, None
    texts = [[brute_hierarchies.period(name, day) for name in levels] for day in days]
    return {"dates": levels}, [(value, *row, "*") for value, row in zip(present, texts, strict=True)]


def tree_of(rows: list[tuple[Text, ...]] | None, uncovered: str) -> brute.Tree | None:
    """Return the brute force's tree, if there is one."""
    return brute.Tree(rows, uncovered) if rows else None
