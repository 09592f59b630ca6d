"""``sqlanon run --openlineage``: the run as events of OpenLineage, for the operator's catalog: they name the source."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

from sqlanon.commands.agents.sieve import without_numbers
from sqlanon.commands.verbosity import verbosity
from sqlanon.core.disk.writing import write_text
from sqlanon.core.policy import Policy
from sqlanon.core.policy.output import LAKES, PATHS
from sqlanon.core.policy.paths import is_connection_text, is_database, is_file, is_server, is_url
from sqlanon.core.publish.openlineage import FACETS, PRODUCER, Dataset, released_datasets, released_tables, run_facets
from sqlanon.errors import SqlanonError
from sqlanon.tables.policy import TablesPolicy

EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
ERROR = "1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet"
NAMESPACE = "OPENLINEAGE_NAMESPACE"
"""The variable by which clients of OpenLineage name the namespace of jobs."""
UNNAMED = "source"
"""What stands for a place that cannot be named without revealing more, such as an address that may hold a password."""
HARMLESS = frozenset({"sslmode", "sslrootcert", "connect_timeout", "application_name"})
"""What a URL of PostgreSQL may ask for without changing which database it names."""
Datasets = list[dict[str, Any]]


def _run() -> str:
    metrics = verbosity().metrics
    return str(uuid4()) if metrics is None else metrics.run


@dataclass(frozen=True, slots=True)
class Lineage:
    """A run that is reported to a catalog of lineage.

    Attributes:
        path: the file of its events, one a line; it is written at the end of the run.
        policy: of one table, or of several; without an output where nothing stays.
        run: its id, which its metrics have too.
        begun: when the run began.
    """

    path: Path
    policy: Policy | TablesPolicy
    run: str = field(default_factory=_run)
    begun: str = field(default_factory=lambda: _now())  # noqa: PLW0108 - tests replace it

    def complete(self, manifest: Mapping[str, Any]) -> None:
        """Write that the run began, and that it published what the manifest describes."""
        outputs: Datasets = []
        if self.policy.output is not None and manifest["output"]:
            names = [item.name for item in released_tables(manifest)]
            released = {name: self._released(name) for name in names}
            outputs = released_datasets(manifest, released, self._origins())
        self._write("COMPLETE", run_facets(manifest), outputs)

    def skip(self) -> None:
        """Write that the run began, and that it had nothing to publish."""
        self._write("COMPLETE", {}, [])

    def fail(self, error: SqlanonError) -> None:
        """Write that the run began, and why it failed; without numbers, which may be small counts."""
        message = {
            "message": f"{type(error).__name__}: {without_numbers(self.policy.conceal(str(error)))}",
            "programmingLanguage": "Python",
        }
        facet = {"_producer": PRODUCER, "_schemaURL": f"{FACETS}/{ERROR}", **message}
        self._write("FAIL", {"errorMessage": facet}, [])

    def _write(self, how: str, facets: Mapping[str, Any], outputs: Datasets) -> None:
        inputs = [{**dataset._asdict(), "facets": {}, "inputFacets": {}} for dataset in self._sources()]
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

    def _policies(self) -> dict[str | None, Policy]:
        """Return the policy of each table, by its name in the release; None is that of one table."""
        if isinstance(self.policy, TablesPolicy):
            return {item.name: item.policy for item in self.policy.tables}
        return {None: self.policy}

    def _sources(self) -> list[Dataset]:
        """Return the sources of the policy's records, the first one first."""
        return list(dict.fromkeys(dataset for policy in self._policies().values() for dataset in _read_by(policy)))

    def _origins(self) -> dict[str | None, Dataset | None]:
        """Return where the columns of each table are from; None where several relations are read for it."""
        read = {name: _read_by(policy) for name, policy in self._policies().items()}
        return {name: dataset[0] if len(dataset) == 1 else None for name, dataset in read.items()}

    def _released(self, table: str | None) -> Dataset:
        """Return how a table of the release is named."""
        output = self.policy.output
        assert output is not None
        if isinstance(self.policy, TablesPolicy):
            if self.policy.folder_format is not None:
                return Dataset("file", str(Path(output.target) / f"{table}.{self.policy.folder_format}"))
            return Dataset(f"duckdb://{output.target}", table or "release")
        if output.kind in PATHS:
            return _dataset(self.policy, output.target, None)
        if output.kind in LAKES:
            return Dataset("sqlanon", output.target)
        return _dataset(self.policy, self.policy.source or "", output.target)


def _read_by(policy: Policy) -> list[Dataset]:
    """Return the sources of the records of a policy of one table, the first one first."""
    first = [_dataset(policy, name, None) for name in policy.files]
    if not first:
        first = [_dataset(policy, policy.source or "", policy.table)]
    joined = [_dataset(policy, join.source or policy.source or "", join.table) for join in policy.join]
    return list(dict.fromkeys([*first, *joined]))


def _dataset(policy: Policy, place: str, table: str | None) -> Dataset:
    """Return how OpenLineage names a file, or a table of a database; without a user or a password."""
    if is_server(place):
        return _of_server(place, table) or Dataset("sqlanon", table or UNNAMED)
    path = policy.base_directory / place
    if is_url(place) or (not is_file(path) and is_connection_text(place)):
        return Dataset("sqlanon", table or UNNAMED)
    if is_database(place) and table is not None:
        return Dataset(f"{'duckdb' if 'duck' in place.lower() else 'sqlite'}://{path.absolute()}", table)
    return Dataset("file", str(path.absolute()))


def _of_server(place: str, table: str | None) -> Dataset | None:
    """Return how a table of PostgreSQL is named; None for a URL whose parts are not where they look.

    In one with a character that is not escaped, a part of the password may look like a port or a database.
    """
    try:
        address = urlsplit(place)
        host, port = address.hostname, address.port
    except ValueError:  # of several hosts, say
        return None
    database = unquote(address.path.removeprefix("/"))
    asked = parse_qs(address.query, keep_blank_values=True).keys()
    if not database or address.fragment or not asked <= HARMLESS or any(mark in database for mark in "@/:?#"):
        return None
    host = host or "localhost"
    schema = table if table is not None and "." in table else f"public.{table}"
    shown = f"[{host}]" if ":" in host else host
    return Dataset(f"postgres://{shown}:{port or 5432}", f"{database}.{schema}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
