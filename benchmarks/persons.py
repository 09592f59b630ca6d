"""Persons with several rows each, published at one node where at least k of them have the same rows (``profile_k``).

Run from the repository, with the number of persons and of rows a person:

    python benchmarks/persons.py --persons 1000000 --rows 10

The answer is checked: the persons with the same rows at the chosen node are counted by sorted lists of DuckDB, which
the package does not use. Prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import duckdb

import sqlanon

SCALE = 1_000_000


def create(path: Path, persons: int, rows: int, kinds: int) -> None:
    """Write the visits of persons: a third of the persons has rows of its own, the others share courses of treatment.

    Args:
        kinds: how many courses of treatment there are.
    """
    with duckdb.connect() as connection:
        connection.execute(f"""
            COPY (
                SELECT person, 20 + hash(who, 1) % 60 AS age, lpad((hash(who, 2) % 100)::VARCHAR, 2, '0') AS zip,
                       (hash(who, visit, 3) % 12 + 1)::INTEGER AS month,
                       chr((65 + hash(who, visit, 4) % 8)::INTEGER) AS ward
                FROM (
                    SELECT person, visit,
                           CASE WHEN person % 3 = 0 THEN person + {kinds} ELSE person % {kinds} END AS who
                    FROM range({persons}) AS p(person), range({rows}) AS v(visit)
                )
            ) TO '{path}' (FORMAT parquet)
        """)


def policy(source: Path, target: Path, k: int, where: str) -> sqlanon.Policy:
    """Return the policy: age and region of a person, month and ward of a visit."""
    quarters = [[str(month), f"Q{(month + 2) // 3}", f"H{(month + 5) // 6}", "*"] for month in range(1, 13)]
    wards = [[chr(65 + ward), "AD" if ward < 4 else "EH", "*"] for ward in range(8)]
    columns = {
        "age": {"hierarchy": {"intervals": {"width": 10, "fanouts": [2, 4], "lower": 0, "upper": 80}}},
        "zip": {"hierarchy": {"redact": {}}},
        "month": {"hierarchy": {"levels": {row[0]: row[1:] for row in quarters}}},
        "ward": {"hierarchy": {"levels": {row[0]: row[1:] for row in wards}}},
    }
    return sqlanon.Policy.from_dict(
        {
            "source": str(source),
            "entity": "person",
            "columns": {name: {"role": "quasi_identifier", **keys} for name, keys in columns.items()},
            "privacy": [{"type": "profile_k", "k": k}],
            "suppression_limit": 0.05,
            "output": {"file": str(target)},
            "undeclared": "drop",
            "search": {"where": where},
        }
    )


def check(source: Path, plan: sqlanon.Plan, k: int) -> bool:
    """Return whether the chosen node publishes as many persons as lists of its rows say."""
    levels = plan.levels
    age = ["age", "age // 10", "age // 20", "age // 80", "0"][levels["age"]]
    zip_code = ["zip", "zip[1]", "0"][levels["zip"]]
    month = ["month", "(month + 2) // 3", "(month + 5) // 6", "0"][levels["month"]]
    ward = ["ward", "ward < 'E'", "0"][levels["ward"]]
    with duckdb.connect() as connection:
        [row] = connection.execute(f"""
            SELECT COALESCE(SUM(persons), 0) FROM (
                SELECT COUNT(*) AS persons FROM (
                    SELECT person, list_sort(list(({age}, {zip_code}, {month}, {ward}))) AS rows
                    FROM '{source}' GROUP BY person
                ) GROUP BY rows HAVING COUNT(*) >= {k}
            )
        """).fetchall()
    assert plan.ledger.entities is not None
    return int(row[0]) == plan.ledger.entities.published


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--kinds", type=int, default=20_000)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--where", default="auto")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "visits.parquet", Path(folder) / "released.parquet"
        create(source, asked.persons, asked.rows, asked.kinds)
        start = time.perf_counter()
        with sqlanon.anonymize(None, policy(source, target, asked.k, asked.where)) as release:
            seconds = time.perf_counter() - start
            plan = release.plan
            assert isinstance(plan, sqlanon.Plan)
            entities = plan.ledger.entities
            assert entities is not None
            print(
                json.dumps(
                    {
                        "persons": asked.persons,
                        "rows": asked.persons * asked.rows,
                        "levels": plan.levels,
                        "loss": round(plan.certificate.loss, 6),
                        "optimal": plan.certificate.optimal,
                        "published persons": entities.published,
                        "nodes": plan.search.evaluated,
                        "lattice": plan.certificate.lattice_size,
                        "seconds": {**{k: round(v, 1) for k, v in plan.seconds.items()}, "in all": round(seconds, 1)},
                        "largest memory, GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / SCALE, 2),
                        "holds": check(source, plan, asked.k),
                    }
                )
            )


if __name__ == "__main__":
    main()
