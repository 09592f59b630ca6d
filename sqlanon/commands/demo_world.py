"""The demo: a believable hospital-discharge table with hierarchies and a policy, generated from a fixed seed.

Every number is invented. Ages drive diagnoses, diagnoses drive departments and lengths of stay, ZIP codes and
diagnoses follow a Zipf law, and a few percent of some columns are NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from sqlanon.core.engines.duckdb.files import write_table
from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.policy.schema_line import schema_line
from sqlanon.errors import TargetError, instead_of

SEED = 20240229
CHAPTERS = (
    ("I00-I99", "circulatory", "cardiology", 66.0, 6.0),
    ("C00-D48", "neoplasms", "oncology", 62.0, 8.0),
    ("S00-T98", "injuries", "surgery", 45.0, 5.0),
    ("K00-K93", "digestive", "gastroenterology", 52.0, 4.0),
    ("J00-J99", "respiratory", "pneumology", 58.0, 6.0),
    ("O00-O99", "pregnancy", "obstetrics", 31.0, 3.0),
    ("F00-F99", "mental", "psychiatry", 41.0, 18.0),
    ("G00-G99", "nervous", "neurology", 55.0, 7.0),
)
MARITAL = ("married", "single", "divorced", "widowed")
INSURANCE = ("statutory", "private", "self-pay", "other")
DISCHARGE = ("home", "rehabilitation", "nursing home", "transfer", "died")
POLICY = """\
# The release of the demo: everything that could single out a patient is a quasi-identifier.
version: 1
source: hospital.duckdb
table: discharges
columns:
  patient_id: {role: drop}
  sex: {role: quasi_identifier, hierarchy: {suppress: {}}}
  age: {role: quasi_identifier, hierarchy: {intervals: {width: 5, fanouts: [2, 2], lower: 0, upper: 100}}}
  zip: {role: quasi_identifier, hierarchy: {redact: {direction: right, char: "*"}}}
  marital_status:
    role: quasi_identifier
    hierarchy: {groups: {partner: [married], no partner: [single, divorced, widowed]}}
  insurance: {role: quasi_identifier, hierarchy: {suppress: {}}}
  admission_date: {role: quasi_identifier, hierarchy: {dates: [month, quarter, year]}}
  diagnosis: {role: quasi_identifier, hierarchy: {file: hierarchies/diagnosis.csv}}
  department: {role: drop}
  length_of_stay: {role: keep}
  discharge_to: {role: keep}
privacy:
  - {type: k_anonymity, k: 5}
suppression_limit: 0.05
nulls: extended
quality: {measure: loss}
output: {file: released.parquet}
report: report.html
if_exists: replace
"""


def codes() -> list[tuple[str, str, str]]:
    """Return diagnosis codes with their group and chapter: twenty a chapter, in groups of four."""
    return [
        (
            f"{chapter[0]}{number:02d}",
            f"{chapter[0]}{number // 4 * 4:02d}-{chapter[0]}{number // 4 * 4 + 3:02d}",
            chapter,
        )
        for chapter, *_ in CHAPTERS
        for number in range(20)
    ]


def discharges(records: int, seed: int = SEED, *, first_id: int = 0) -> pa.Table:
    """Return a table of ``records`` discharges; the same seed gives the same table."""
    rng = np.random.default_rng(seed)
    chapter = rng.choice(len(CHAPTERS), records, p=_zipf(len(CHAPTERS), 0.7))
    mean_age = np.array([c[3] for c in CHAPTERS])[chapter]
    age = np.clip(rng.normal(mean_age, np.where(chapter == 5, 6.0, 17.0)), 0, 104).astype(np.int32)
    stay = 1 + rng.poisson(np.array([c[4] for c in CHAPTERS])[chapter] * (0.6 + age / 120.0)).astype(np.int32)
    diagnosis = chapter * 20 + rng.choice(20, records, p=_zipf(20, 1.2))
    sex = np.where(chapter == 5, 1, rng.random(records) < 0.5).astype(np.int64)
    marital = np.where(
        age < 20, 1, np.where((age > 75) & (rng.random(records) < 0.4), 3, rng.choice(3, records, p=[0.55, 0.28, 0.17]))
    )
    zips = np.array([f"{10000 + (n * 7919) % 89999:05d}" for n in range(400)])
    columns = {
        "patient_id": pa.array(np.char.add("P", np.char.zfill((first_id + np.arange(records)).astype(str), 9))),
        "sex": _text(np.array(["male", "female"]), sex),
        "age": pa.array(age, mask=rng.random(records) < 0.01),
        "zip": _text(zips, rng.choice(len(zips), records, p=_zipf(len(zips), 1.0)), rng.random(records) < 0.02),
        "marital_status": _text(np.array(MARITAL), marital, rng.random(records) < 0.06),
        "insurance": _text(np.array(INSURANCE), rng.choice(4, records, p=[0.82, 0.12, 0.02, 0.04])),
        "admission_date": pa.array(
            np.datetime64("2022-01-01") + (rng.beta(1.2, 1.0, records) * 730).astype("timedelta64[D]"), pa.date32()
        ),
        "diagnosis": _text(np.array([code for code, _, _ in codes()]), diagnosis, rng.random(records) < 0.01),
        "department": _text(np.array([c[2] for c in CHAPTERS]), chapter),
        "length_of_stay": pa.array(stay),
        "discharge_to": _text(
            np.array(DISCHARGE),
            np.where(
                age > 80,
                rng.choice(5, records, p=[0.45, 0.2, 0.2, 0.07, 0.08]),
                rng.choice(5, records, p=[0.85, 0.08, 0.02, 0.04, 0.01]),
            ),
        ),
    }
    return pa.table(columns)


def discharge_batches(records: int, seed: int = SEED, batch: int = 1_000_000) -> Iterator[pa.Table]:
    """Yield the same kind of table in batches, for data larger than memory."""
    for number, start in enumerate(range(0, records, batch)):
        yield discharges(min(batch, records - start), seed + number, first_id=start)


def _zipf(size: int, exponent: float) -> np.ndarray:
    weights = 1.0 / np.arange(1, size + 1) ** exponent
    return np.asarray(weights / weights.sum())


def _text(values: np.ndarray, index: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(index, mask=missing))


def generate(directory: Path, *, records: int = 50_000, seed: int = SEED, watch: Watcher | None = None) -> Path:
    """Write ``hospital.duckdb``, ``hierarchies/`` and ``policy.yaml`` to a folder and return the policy's path.

    Raises:
        TargetError: the folder cannot be created, or holds a demo already, of which nothing is changed.
    """
    names = ("hospital.duckdb", "policy.yaml", "hierarchies")
    present = ", ".join(name for name in names if (directory / name).exists())
    if present:
        raise TargetError(f"The folder {str(directory)!r} holds {present} already.", hint="choose another folder.")
    unwritten, hint = f"The demo cannot be written to {str(directory)!r}", "choose another folder."
    with instead_of(OSError, lambda error: TargetError(f"{unwritten}: {error.strerror or 'refused'}.", hint=hint)):
        (directory / "hierarchies").mkdir(parents=True)
        rows = "".join(f"{code};{group};{chapter};*\n" for code, group, chapter in codes())
        (directory / "hierarchies" / "diagnosis.csv").write_text(rows, encoding="utf-8")
        (directory / "policy.yaml").write_text(f"{schema_line(directory)}\n{POLICY}", encoding="utf-8")

    def watched() -> Iterator[pa.Table]:
        done = 0
        for batch in discharge_batches(records, seed):
            yield batch
            done += batch.num_rows
            if watch is not None:
                watch(Step("generating", done=done, total=records, unit="records"))

    if watch is not None:
        watch(Step("generating", total=records, unit="records"))
    write_table(directory / "hospital.duckdb", "discharges", watched())
    return directory / "policy.yaml"
