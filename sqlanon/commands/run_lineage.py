"""``sqlanon run --openlineage``: the run as events of OpenLineage, for the operator's catalog: they name the source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from sqlanon.disk.writing import write_text
from sqlanon.errors import SqlanonError
from sqlanon.policy import Policy
from sqlanon.policy.paths import is_connection_text, is_database, is_file, is_server, is_url
from sqlanon.publish.openlineage import FACETS, PRODUCER, Dataset, released_dataset, run_facets

EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
ERROR = "1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"
NAMESPACE = "OPENLINEAGE_NAMESPACE"
"""The variable by which clients of OpenLineage name the namespace of jobs."""
Datasets = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Lineage:
    """A run that is told to a catalog of lineage.

    Attributes:
        path: the file of its events, one a line; it is written at the end of the run.
        begun: when the run began.
    """

    path: Path
    policy: Policy
    run: str = field(default_factory=lambda: str(uuid4()))
    begun: str = field(default_factory=lambda: _now())

    def complete(self, manifest: Mapping[str, Any]) -> None:
        """Write that the run began, and that it published what the manifest describes."""
        source = None if self.policy.join else self._sources()[0]
        output = self.policy.output
        outputs: Datasets = []
        if output is not None and manifest["output"]:
            target = self._dataset(output.target, None) if output.kind == "file" else self._of_source(output.target)
            outputs.append(released_dataset(manifest, target, source))
        self._write("COMPLETE", run_facets(manifest), outputs)

    def fail(self, error: SqlanonError) -> None:
        """Write that the run began, and why it failed."""
        message = {
            "message": f"{type(error).__name__}: {self.policy.conceal(str(error))}",
            "programmingLanguage": "Python",
        }
        facet = {"_producer": PRODUCER, "_schemaURL": f"{FACETS}/{ERROR}", **message}
        self._write("FAIL", {"errorMessage": facet}, [])

    def _write(self, how: str, facets: Mapping[str, Any], outputs: Datasets) -> None:
        inputs = [{**dataset.to_dict(), "facets": {}, "inputFacets": {}} for dataset in self._sources()]
        begun = self._event("START", self.begun, {}, inputs, [])
        ended = self._event(how, _now(), facets, inputs, outputs)
        write_text(self.path, "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in (begun, ended)))

    def _event(
        self,
        how: str,
        when: str,
        facets: Mapping[str, Any],
        inputs: Datasets,
        outputs: Datasets,
    ) -> dict[str, Any]:
        name = "sqlanon" if self.policy.file is None else self.policy.file.stem
        return {
            "eventType": how,
            "eventTime": when,
            "run": {"runId": self.run, "facets": dict(facets)},
            "job": {"namespace": os.environ.get(NAMESPACE) or "sqlanon", "name": name, "facets": {}},
            "inputs": inputs,
            "outputs": outputs,
            "producer": PRODUCER,
            "schemaURL": EVENT,
        }

    def _sources(self) -> list[Dataset]:
        """Return what the policy reads records from, the first one first."""
        policy = self.policy
        first = [self._dataset(name, None) for name in policy.files]
        if not first:
            first = [self._of_source(policy.table)]
        joined = [self._dataset(join.source or policy.source or "", join.table) for join in policy.join]
        return list(dict.fromkeys([*first, *joined]))

    def _of_source(self, table: str | None) -> Dataset:
        return self._dataset(self.policy.source or "", table)

    def _dataset(self, place: str, table: str | None) -> Dataset:
        """Return how OpenLineage names a file, or a table of a database; without a user or a password."""
        if is_server(place):
            address = urlsplit(place)
            schema = table if table is not None and "." in table else f"public.{table}"
            database = address.path.strip("/") or address.username or "postgres"
            host = f"{address.hostname or 'localhost'}:{address.port or 5432}"
            return Dataset(f"postgres://{host}", f"{database}.{schema}")
        path = self.policy.base_directory / place
        if is_url(place) or (not is_file(path) and is_connection_text(place)):
            return Dataset("sqlanon", table or "source")
        if is_database(place) and table is not None:
            return Dataset(f"{'duckdb' if 'duck' in place.lower() else 'sqlite'}://{path.absolute()}", table)
        return Dataset("file", str(path.absolute()))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
