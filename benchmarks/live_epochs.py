"""Persons that the states of a live view single out, with and without epochs, on a stream of ADULT records.

    python benchmarks/live_epochs.py --data DIR [--hours 96] [--records 6000] [--seed 1]

DIR as ``benchmarks/cases.py`` says. The source begins with some records; each hour 20 come, 15 go and 5 get another
occupation, all at random; k = 5, five quasi-identifiers, at the levels that are best at first. An observer reads each
view every hour. A line each of:

- a live view without an epoch;
- what only a list of classes would show that is fixed for a day, with and without a margin (counted in Python, from the
  classes of all records; sqlanon has no such view);
- a live view with an epoch of an hour, and of a day, with margins.

Printed: ``moved``, records that came, went or changed in what was shown; ``single``, those whose history fewer than k
share, for an observer who follows every row; ``difference``, rows that a plain subtraction of two consecutive states
shows where it shows fewer than k in a class; ``shown``, the share of the source's records that are shown at last as
they are; ``untrue``, the share of shown rows that the source has no longer so, on average; ``newcomers``, the share of
the records that came later which were shown, and ``waits``, after how many hours, the median.

Exits 1 when a view with an epoch singles somebody out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import duckdb
from cases import policy_of

import sqlanon

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from epoch_worlds import State, differences, histories

K = 5
QUASI = ["age", "sex", "race", "marital-status", "education"]
COMING, GOING, CHANGING = 20, 15, 5
DAY = 24
EPOCHS = [(1, 0), (1, 2), (1, 5), (DAY, 0), (DAY, 2), (DAY, 5)]
"""Hours and margin of the views with an epoch."""


def stream(rows: list[tuple[Any, ...]], records: int, hours: int, random: Random) -> list[dict[int, tuple[Any, ...]]]:
    """The source after each hour: records by their key."""
    random.shuffle(rows)
    waiting = iter(enumerate(rows))
    now = dict(next(waiting) for _ in range(records))
    found = [dict(now)]
    for _ in range(hours):
        for key in random.sample(sorted(now), GOING):
            del now[key]
        for key in random.sample(sorted(now), CHANGING):
            now[key] = (*now[key][:-1], random.choice(rows)[-1])
        now |= dict(next(waiting) for _ in range(COMING))
        found.append(dict(now))
    return found


def write(connection: duckdb.DuckDBPyConnection, before: dict[int, Any], now: dict[int, Any]) -> None:
    """Bring the table from one state to the next."""
    gone = [[key] for key, row in before.items() if now.get(key) != row]
    come = [[key, *row] for key, row in now.items() if before.get(key) != row]
    if gone:
        connection.executemany("DELETE FROM t WHERE id = ?", gone)
    connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * (len(QUASI) + 2))})", come)


def read(connection: duckdb.DuckDBPyConnection, relation: str, key: str) -> State:
    """The rows of a relation by the key of their records."""
    cells = ", ".join(f'"{name}"' for name in QUASI)
    rows = connection.execute(f"SELECT {key}, {cells}, occupation FROM {relation}").fetchall()
    return {row[0]: (row[1:-1], row[1:]) for row in rows}


def listed(states: list[State], margin: int) -> list[State]:
    """What a view would show whose list of classes is fixed for a day, while its records are not."""
    shown, classes = [], set()
    for hour, state in enumerate(states):
        sizes = Counter(cells for cells, _ in state.values())
        if hour % DAY == 0:
            classes = {c for c, n in sizes.items() if n >= K + (margin if hour and c not in classes else 0)}
        shown.append({key: row for key, row in state.items() if row[0] in classes and sizes[row[0]] >= K})
    return shown


def figures(states: list[State], everything: list[State]) -> dict[str, Any]:
    """What the states of a view show of the records."""
    moved = {
        key for one, other in pairwise(states) for key in one.keys() | other.keys() if one.get(key) != other.get(key)
    }
    single = {key for keys in histories(states) if len(keys) < K for key in keys}
    untrue = [
        sum(all_of.get(key) != row for key, row in state.items()) / max(1, len(state))
        for state, all_of in zip(states, everything, strict=True)
    ]
    first, came = {}, {}
    for hour, (state, all_of) in enumerate(zip(states, everything, strict=True)):
        for key in all_of:
            came.setdefault(key, hour)
        for key in state:
            first.setdefault(key, hour)
    waits = [first[key] - came[key] for key in first if came[key] > 0]
    return {
        "moved": len(moved),
        "single": len(single),
        "difference": sum(differences(one, other, K) for one, other in pairwise(states)),
        "shown": round(sum(states[-1].get(key) == row for key, row in everything[-1].items()) / len(everything[-1]), 3),
        "untrue": round(statistics.mean(untrue), 4),
        "newcomers": round(len(waits) / max(1, sum(hour > 0 for hour in came.values())), 3),
        "waits": statistics.median(waits) if waits else None,
    }


def main() -> int:
    """Let the stream run by all views at once, print a line each, and return 1 if an epoch singles somebody out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--hours", type=int, default=4 * DAY)
    parser.add_argument("--records", type=int, default=6_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    connection = duckdb.connect()
    cells = ", ".join(f'"{name}"' for name in [*QUASI, "occupation"])
    file = given.data / "adult" / "adult.csv"
    rows = connection.execute(f"SELECT {cells} FROM read_csv(?, all_varchar = true)", [str(file)]).fetchall()
    connection.execute(f"CREATE TABLE t (id BIGINT, {', '.join(name + ' VARCHAR' for name in cells.split(', '))})")
    hours = stream(rows, given.records, given.hours, Random(given.seed))
    write(connection, {}, hours[0])

    def policy(output: dict[str, Any], k: int = K, **changes: Any) -> sqlanon.Policy:
        case = {
            "dataset": "adult", "quasi_identifiers": QUASI, "models": [{"type": "k_anonymity", "k": k}],
            "measure": "loss", "aggregate": "arithmetic_mean", "suppression_limit": 0.05,
        }  # fmt: skip
        found = policy_of(given.data, case).to_dict()
        found["columns"] |= {"occupation": {"role": "keep"}, "id": {"role": "drop"}} | changes.pop("columns", {})
        for key in ("source", "csv"):
            found.pop(key, None)
        for name, level in levels.items():
            found["columns"][name] |= {"min_level": level, "max_level": level}
        return sqlanon.Policy.from_dict(
            {**found, "table": "t", "output": output, "suppression_limit": 1, **changes}, base_directory=given.data
        )

    levels: dict[str, int] = {}
    with sqlanon.plan(
        connection, sqlanon.Policy.from_dict({**policy({"live_view": "x"}).to_dict(), "suppression_limit": 0.05})
    ) as plan:
        levels = plan.levels
    kept = {"columns": {"id": {"role": "keep"}}, "accept": ["id"]}
    sqlanon.anonymize(connection, policy({"live_view": "every"}, 1, **kept)).close()
    sqlanon.anonymize(connection, policy({"live_view": "live"}, **kept)).close()
    views = {f"epoch_{length}_{margin}": (length, margin) for length, margin in EPOCHS}
    asked = {
        name: policy({"live_view": name, "epoch": f"{length} hours", "margin": margin, "record": "id"})
        for name, (length, margin) in views.items()
    }
    for document in asked.values():
        sqlanon.anonymize(connection, document).close()
    states: dict[str, list[State]] = defaultdict(list)
    seconds: list[float] = []
    for hour, now in enumerate(hours):
        if hour:
            write(connection, hours[hour - 1], now)
        for name in views:
            if hour and hour % views[name][0] == 0:
                connection.execute(f"UPDATE {name}_frozen SET value = CAST(value AS BIGINT) - 1 WHERE name = 'number'")
                start = time.perf_counter()
                sqlanon.refresh(connection, asked[name])
                seconds.append(time.perf_counter() - start)
            states[name].append(read(connection, f"{name}_shown", "sqlanon_record"))
        for name in ("every", "live"):
            states[name].append(read(connection, name, "id"))
    everything = states.pop("every")
    print(
        json.dumps(
            {"levels": levels, "records": len(hours[-1]), "refresh_seconds": round(statistics.median(seconds), 2)}
        )
    )
    listings = {f"list_{DAY}_{margin}": listed(everything, margin) for margin in (0, 5)}
    wrong = 0
    for name, found in ({"live": states.pop("live")} | listings | dict(states)).items():
        measured = figures(found, everything)
        wrong += name in views and bool(measured["single"] or measured["difference"])
        print(json.dumps({"view": name, **measured}), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
