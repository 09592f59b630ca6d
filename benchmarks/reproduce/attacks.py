"""Risk figures and attacks: what is found in ADULT as it is, and in four releases of it.

    python benchmarks/reproduce/attacks.py --data DIR

ADULT, 30,162 records, seven quasi-identifiers, ``occupation`` published as it is. Everything counts records. Risks
are those of the quasi-identifiers, of who is published. Attacks are those of ``sqlanon attack`` with a control group of
half of the records; the row has the attack of each kind whose excess over the control group is largest.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import sqlanon

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the modules that benchmarks share
from cases import problem_of, search_case
from recording import record

SEED, COLUMNS = 1, 7
WAYS: dict[str, dict[str, Any]] = {
    "k = 5, one node": {},
    "k = 20, one node": {"privacy": [{"type": "k_anonymity", "k": 20}]},
    "k = 5, local recoding": {"transformation": {"type": "local_recoding", "nodes": 16, "seed": SEED}},
    "k = 5, entropy 3-diversity": {},
}


def releases(data: Path, folder: Path) -> list[dict[str, Any]]:
    """Publish ADULT in each way, and return the figures of each."""
    asked = problem_of(data, "adult", COLUMNS)["quasi_identifiers"]
    source = sqlanon.risk(data / "adult" / "adult.csv", asked, k=5, csv={"delimiter": ";"})
    rows = [{"release": "none: ADULT as it is", "published records": source.records, **risks(source)}]
    for number, (name, changes) in enumerate(WAYS.items()):
        document = search_case(data, "adult", COLUMNS).to_dict() | changes
        document["columns"] = dict(document["columns"]) | {"occupation": occupation(name)}
        output = folder / f"release{number}.parquet"
        policy = sqlanon.Policy.from_dict(document | {"output": {"file": str(output)}})
        release = sqlanon.anonymize(None, policy)
        published = sqlanon.risk(output, asked, k=5)
        row = {"release": name, "published records": release.ledger.published, **risks(published)}
        report = sqlanon.attack(output, policy, seed=SEED)
        for kind in ("singling_out", "linkability", "inference", "membership"):
            found = [each for each in report.findings if each.risk == kind and each.excess is not None]
            best = max(found, key=lambda each: each.excess, default=None)
            row[kind.replace("_", " ")] = None if best is None else round(best.rate, 4)
            row[f"{kind.replace('_', ' ')}: excess over control"] = None if best is None else round(best.excess, 4)
        coefficients = [each.loss_coefficient for each in report.findings if each.risk in ("inference", "membership")]
        row["largest loss coefficient"] = round(max(each for each in coefficients if each is not None), 2)
        rows.append(row)
    return rows


def occupation(name: str) -> dict[str, Any]:
    """Return how a release treats the column that is inferred."""
    diverse = {"role": "sensitive", "models": [{"type": "entropy_l_diversity", "l": 3}]}
    return diverse if "diversity" in name else {"role": "keep"}


def risks(found: sqlanon.Risk) -> dict[str, Any]:
    """Return the figures of risk that a row has."""
    figures = {figure.key: figure.value for figure in found.figures}
    highest, average = figures["prosecutor_highest"], figures["prosecutor_average"]
    return {
        "highest risk": round(highest, 4),
        "average risk": round(average, 4),
        "smallest class": found.smallest_class,
    }


def main() -> None:
    """Run and record the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    with tempfile.TemporaryDirectory() as folder:
        print(record("attacks", "", releases(parser.parse_args().data, Path(folder)), seeds=[SEED]))


if __name__ == "__main__":
    main()
