"""A manifest as facets of OpenLineage (https://openlineage.io/docs/spec/facets), without anything that it withholds.

They are made of the manifest alone. So they name no source and no column that is dropped, and hold no count that the
manifest hides: a reader of the release learns nothing from them but their form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.version import VERSION

PRODUCER = f"https://github.com/sqlanon/sqlanon/tree/v{VERSION}"
FACETS = "https://openlineage.io/spec/facets"
SCHEMA = "1-2-0/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet"
LINEAGE = "1-2-0/ColumnLineageDatasetFacet.json#/$defs/ColumnLineageDatasetFacet"
STATISTICS = "1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet"
TESTS = "1-0-1/TestRunFacet.json#/$defs/TestRunFacet"
REPEATS = f"https://github.com/sqlanon/sqlanon/blob/v{VERSION}/docs/reference/openlineage-repeats.schema.json"
"""The schema of the facet of a release that follows earlier ones, which OpenLineage has none for."""
ENGINE = "1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet"


class Dataset(NamedTuple):
    """A dataset as OpenLineage names it."""

    namespace: str
    name: str

    def of(self, table: str | None) -> Dataset:
        """Return the name of a table in it; None is the whole."""
        return self if table is None else Dataset(self.namespace, f"{self.name}.{table}")


WITHHELD = Dataset("sqlanon", "source")
"""What stands for the source where its name must not travel."""


class Released(NamedTuple):
    """A table of a release, as its manifest describes it.

    Attributes:
        name: what it is called; None of one table that is published alone.
        columns: its columns.
        rows: how many rows were published, as the manifest states it.
    """

    name: str | None
    columns: Sequence[Mapping[str, Any]]
    rows: Any


def released_tables(manifest: Mapping[str, Any]) -> list[Released]:
    """Return what a manifest describes: one table, or several that were published together."""
    if "tables" in manifest:
        return [Released(item["name"], item["columns"], item["published"]) for item in manifest["tables"]]
    return [Released(None, manifest["columns"], manifest["ledger"]["published"])]


def manifest_facets(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key ``openlineage`` of a manifest: the facets of the run and of what it published."""
    target = Dataset("sqlanon", next(iter(manifest["output"].values()), "release"))
    names = [item.name for item in released_tables(manifest)]
    released = {name: target.of(name) for name in names}
    return {
        "run": run_facets(manifest),
        "outputs": released_datasets(manifest, released, {name: WITHHELD.of(name) for name in names}),
    }


def run_facets(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facets of a run: the engine, and the models, which its audit tested if it published anything."""
    audited = bool(manifest["output"])
    tests = [
        {
            "name": model["type"] if "column" not in model else f"{model['column']}: {model['type']}",
            "type": model["type"],
            "status": "pass" if audited else "skip",
            "severity": "error",
            "params": {name: value for name, value in model.items() if name != "type"},
        }
        for model in manifest["models"]
    ]
    facets = {"test": _facet(TESTS, tests=tests)}
    engine = next((name for name in manifest["versions"] if name != "sqlanon"), None)
    if engine is not None:
        version = str(manifest["versions"][engine])
        facets["processing_engine"] = _facet(ENGINE, name=engine, version=version, openlineageAdapterVersion=VERSION)
    if repeated := _repeated(manifest):
        facets["sqlanon_repeats"] = {"_producer": PRODUCER, "_schemaURL": REPEATS, **repeated}
    return facets


def _repeated(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a release follows the earlier ones of its policy, whose levels it keeps; nothing if it does not."""
    if "periods" in manifest:
        periods = manifest["periods"]
        released = [line["period"] for line in periods["released"]]
        return {"by": "periods", "every": periods["every"], "runs": periods["runs"], "periods": released}
    kept = [way for way in ("cohorts", "like") if manifest["certificate"]["strategy"] == way]
    return {"by": kept[0]} if kept else {}


def released_datasets(
    manifest: Mapping[str, Any], released: Mapping[str | None, Dataset], sources: Mapping[str | None, Dataset | None]
) -> list[dict[str, Any]]:
    """Return the tables of a release as outputs: their columns, what of the source they follow from, and their rows.

    Args:
        released: how each is named, by its name in the manifest (None of one table).
        sources: where the columns of each are from; None where no one relation is known.
    """
    tables = released_tables(manifest)
    filters = [item for table in tables for item in _filters(manifest, table, sources[table.name])]
    return [_described(manifest, table, released[table.name], sources[table.name], filters) for table in tables]


def _described(
    manifest: Mapping[str, Any],
    table: Released,
    released: Dataset,
    source: Dataset | None,
    filters: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return one of the outputs; ``filters`` are the columns, of all tables, that decide what is left out."""
    described = [
        {"name": column["name"], "description": description or "as in the source"}
        for column, (_, description) in zip(table.columns, map(_transformation, table.columns), strict=True)
    ]
    facets = {"schema": _facet(SCHEMA, fields=described)}
    if source is not None:
        facets["columnLineage"] = _facet(
            LINEAGE,
            fields={column["name"]: {"inputFields": [_input(source, column)]} for column in table.columns},
            dataset=list(filters),
        )
    counted = isinstance(table.rows, int) and bool(manifest["output"])
    statistics = {"outputStatistics": _facet(STATISTICS, rowCount=table.rows)} if counted else {}
    return {**released._asdict(), "facets": facets, "outputFacets": statistics}


def _input(source: Dataset, column: Mapping[str, Any]) -> dict[str, Any]:
    subtype, description = _transformation(column)
    how: dict[str, Any] = {"type": "DIRECT", "subtype": subtype, "masking": bool(description)}
    if description:
        how["description"] = description
    return {**source._asdict(), "field": column.get("of", column["name"]), "transformations": [how]}


def _transformation(column: Mapping[str, Any]) -> tuple[str, str]:
    """Return the subtype of what was done to a column, and what that was; no words where it is as in the source."""
    if "value" in column:
        return "AGGREGATION", f"{column['value']} of each class"
    if column["role"] in KEYED_ROLES:
        return "TRANSFORMATION", f"{column['role']}, by a secret key"
    if "with" in column:
        return "TRANSFORMATION", f"generalized with {column['with']}"
    if "generalized" in column:
        return "TRANSFORMATION", f"generalized: {column['generalized']}"
    levels: Sequence[int] = column.get("levels", [column.get("level", 0)])
    if not any(levels):
        return "IDENTITY", ""
    named = " and ".join(map(str, levels))
    return "TRANSFORMATION", f"generalized to level {named} of {column['height'] - 1}"


def _filters(manifest: Mapping[str, Any], table: Released, source: Dataset | None) -> Iterator[dict[str, Any]]:
    """Yield the columns that decide which records are left out: what classes are of, and what models look at."""
    if source is None:
        return
    watched = {model.get("column") for model in manifest["models"]}
    whose = "records of classes" if table.name is None else "persons of classes, with all their rows,"
    how = {
        "type": "INDIRECT",
        "subtype": "FILTER",
        "masking": False,
        "description": f"{whose} that fail a privacy model are left out",
    }
    for column in table.columns:
        if column["role"] == "quasi_identifier" or (column["name"] in watched and "of" not in column):
            yield {**source._asdict(), "field": column["name"], "transformations": [how]}


def _facet(schema: str, **values: Any) -> dict[str, Any]:
    return {"_producer": PRODUCER, "_schemaURL": f"{FACETS}/{schema}", **values}
