"""Records that a model of the policy names beside the source: a file, or a table of the source's database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Policy
from sqlanon.core.policy.paths import is_file
from sqlanon.core.source.csv_types import Wanted, is_read_as
from sqlanon.core.source.files import Reading
from sqlanon.errors import EngineError, SourceError


def named_records(
    engine: Engine, policy: Policy, types: Mapping[str, str], key: str, where: Mapping[str, Any], *, into: str
) -> tuple[exp.Expr, dict[str, str]]:
    """Return the records of ``file`` or ``table``, and the types of their columns.

    Args:
        types: of the source, as which the texts of a file are read where they are numbers or dates there.
        key: what the policy calls the records: ``subset``, ``population``.
        into: the table that a file is read into which the engine does not read itself.

    Raises:
        SourceError: they cannot be read.
    """
    if "file" in where:
        path = policy.base_directory / where["file"]
        if not is_file(path):
            raise SourceError(
                f"There is no {key} file {path.name!r} in {str(path.absolute().parent)!r}.",
                hint=f"check {key}.file; relative paths are relative to the policy file.",
            )
        csv = {**policy.csv, "types": None, **{k: v for k, v in where.items() if k != "file"}}
        wanted = {name: Wanted(kind) for name, kind in types.items() if is_read_as(kind)}
        reading = Reading(csv, policy.formats, policy.extensions, wanted)
        records = reading.records(engine, path.absolute(), into=into)
    try:
        relation = records.relation if "file" in where else engine.source_table(where["table"])
        return relation, dict(engine.columns(relation))
    except EngineError as error:
        kind = error.kind
    raise SourceError(
        f"The {key} cannot be read ({kind}).",
        hint=f"check {key}.table, or the format of {key}.file: delimiter, quoting, encoding and line ends.",
    )
