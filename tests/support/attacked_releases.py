"""Random tables, their releases, and what an attacker sees of both, read without the code that is tested."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import brute
import brute_attacks
import duckdb
from random_cases import POOL, random_case
from tables import text_table

import sqlanon

PART = "sqlanon_part"


def random_release(seed: int, folder: Path) -> tuple[Any, sqlanon.Policy, Path, list[Any], list[brute.Tree]] | None:
    """Publish a random table; return the connection with all records, the policy, the release, records and trees."""
    rng = random.Random(seed)
    rows, trees, document = random_case(seed)
    kept, secrets = rng.randint(0, 2), rng.randint(1, 2)
    pools = [rng.sample(POOL, rng.randint(1, 4)) for _ in range(kept + secrets)]
    records = [(row, tuple(rng.choice(pool) for pool in pools), int(rng.random() < 0.4)) for row in rows]
    beside = [f"k{i}" for i in range(kept)] + [f"s{i}" for i in range(secrets)]
    document["columns"] |= {name: {"role": "keep"} for name in beside[:kept]}
    models = [{"type": "distinct_l_diversity", "l": rng.choice([1, 2])}]
    document["columns"] |= {name: {"role": "sensitive", "models": models} for name in beside[kept:]}
    document |= {"suppression_limit": 1, "undeclared": "drop", "accept": beside}
    document["suppressed"] = rng.choice(["drop", "redact"])
    if rng.random() < 0.3 and document["nulls"] == "extended":
        document["transformation"] = {"type": "local_recoding"}
        document["quality"] = {"measure": "loss"}
        del document["search"]
    policy = sqlanon.Policy.from_dict(document)
    connection = duckdb.connect()
    titles = [*(f"c{i}" for i in range(len(trees))), *beside]
    for name, part in (("t", (0, 1)), ("training", (0,))):
        marked = [PART] if 1 in part else []
        drawn = [(*q, *b, *([str(p)] if marked else [])) for q, b, p in records if p in part]
        text_table(connection, [*titles, *marked], drawn, name)
    target = folder / f"{seed}.{rng.choice(['parquet', 'csv', 'duckdb'])}"
    try:
        output = sqlanon.Output.file(target)
        changed = replace(policy, table="training", output=output)
        sqlanon.anonymize(connection, changed).close()
    except (sqlanon.NoSolutionError, sqlanon.InputError):
        return None
    return connection, policy, target, records, trees


def read_release(target: Path, columns: Sequence[str]) -> list[tuple[brute.Text, ...]]:
    with duckdb.connect() as connection:
        source = f"read_csv('{target}', all_varchar=true, header=true, allow_quoted_nulls=false)"
        if target.suffix == ".duckdb":
            connection.execute(f"ATTACH '{target}' AS released (READ_ONLY)")
            source = "released.release"
        elif target.suffix == ".parquet":
            source = f"'{target}'"
        named = ", ".join(f'"{name}"' for name in columns)
        return connection.execute(f"SELECT {named} FROM {source}").fetchall()


def levels_of(target: Path, manifest: bool, trees: list[brute.Tree]) -> list[list[int]]:
    if not manifest:
        return [[*range(tree.height)] for tree in trees]
    document = json.loads(target.with_name(target.name + ".manifest.json").read_text())
    columns = {item["name"]: item for item in document["columns"]}
    return [columns[f"c{i}"].get("levels", [columns[f"c{i}"].get("level")]) for i in range(len(trees))]


def attacked_by_hand(
    target: Path, policy: sqlanon.Policy, records: list[Any], trees: list[brute.Tree], *, manifest: bool
) -> brute_attacks.Attacked:
    """A release beside its records, as it is counted one by one; without a manifest a text may stand at any level."""
    m, kept = len(trees), sum(column.role == "keep" for column in policy.columns)
    rows = [(row[:m], row[m:]) for row in read_release(target, [column.name for column in policy.columns])]
    if policy.suppressed == "redact":
        rows = [row for row in rows if {str(x)[:12] for x in (*row[0], *row[1])} != {"[suppressed]"}]
    if policy.nulls == "basic":
        records = [record for record in records if None not in record[0]]
    return brute_attacks.Attacked(records, rows, trees, levels_of(target, manifest, trees), kept)
