"""Policies that show every key: the example of each entry of the reference, put into a policy that lets it stand."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from sqlanon.commands.reference.entries import KeyEntry, entries

QUASI = {"role": "quasi_identifier", "hierarchy": {"suppress": {}}}
COLUMNS: dict[str, Any] = {
    "age": QUASI,
    "zip": QUASI,
    "region": QUASI,
    "length_of_stay": {"role": "keep"},
}
FILES = ("age.csv", "zip3.csv", "people.parquet", "secret.key")
"""Files that the examples name, which need not hold anything."""
ONE_MODEL = {"privacy": [{"type": "k_anonymity", "k": 5}]}


def write_files(folder: Path) -> None:
    """Create the files that the examples name."""
    for name in FILES:
        (folder / name).touch()


def example_document(entry: KeyEntry) -> dict[str, Any]:
    """Return a policy in which the example of an entry stands."""
    given = yaml.safe_load(entry.example)
    if "tables" in given or entry.name in ("output.folder", "output.format"):
        return _of_tables(given)
    columns = {**COLUMNS, **given.get("columns", {})}
    document: dict[str, Any] = {"source": "hospital.csv", **ONE_MODEL, **given, "columns": columns}
    roles = {column["role"] for column in columns.values()}
    kinds = {model["type"] for model in document["privacy"]}
    if given.get("files"):
        del document["source"]
    if "shift" in roles or "profile_k" in kinds:
        document |= {"entity": "patient_id"}
    if "shift" in roles or "sample" in given:
        document |= {"key": {"file": "secret.key"}}
    if "periods" in given:
        columns["admitted"] = {"role": "quasi_identifier"}
    if "suppression_count" in given:
        document.pop("suppression_limit", None)
    if document.get("source") == "hospital.duckdb":
        document |= {"table": "discharges"}
    if isinstance(document.get("join"), list) and "table" in document["join"][0]:
        document |= {"source": "hospital.duckdb", "table": "discharges"}
    return plain(document)


def _of_tables(given: dict[str, Any]) -> dict[str, Any]:
    tables = {"patients": {"key": "patient_id", "columns": {"sex": QUASI}}, **given.get("tables", {})}
    document = {"source": "hospital.duckdb", "privacy": [{"type": "profile_k", "k": 5}], **given, "tables": tables}
    return plain(document)


def plain(value: Any) -> Any:
    """Return a document as JSON would hold it: YAML reads dates, and ``null`` as a key."""
    if isinstance(value, dict):
        return {"null" if key is None else key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


def example_documents() -> Iterator[tuple[KeyEntry, dict[str, Any]]]:
    """Yield every entry of a policy with its policy."""
    for entry in policy_entries():
        yield entry, example_document(entry)


def policy_entries() -> list[KeyEntry]:
    """Return the entries of the reference but those of a document of counts, which is no policy."""
    return [entry for entry in entries() if not str(entry.page).startswith("counts.md")]
