"""One small source of records, and a run that publishes it as any kind of target."""

from pathlib import Path
from typing import Any

from sqlglot import exp, parse_one

from sqlanon.core.audit.models import audit_of
from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy import Output
from sqlanon.core.publish.order import ReleasedRows
from sqlanon.core.publish.publication import publish
from sqlanon.core.publish.targets import Target

ROWS = 2000
CANARY = "canary-7f3a9"


QUERY = 'SELECT "id", "sex", "note", "ward" FROM "src"."main"."people" AS p'
LOOKUP = parse_one("SELECT value FROM (VALUES ('0'), ('1')) AS t(value)", dialect="duckdb")


def run(engine: DuckDBEngine, kind: str, directory: Path, **changes: Any) -> Any:
    query = parse_one(changes.pop("sql", QUERY), dialect="duckdb")
    name = changes.pop("target", str(directory / kind) if "." in kind else f"anon.{kind}")
    target = Target(
        Output("file" if "." in kind else kind, name, mode=changes.pop("mode", None)),
        if_exists=changes.pop("if_exists", "error"),
        catalog=changes.pop("catalog", "src"),
        source_path=changes.pop("source_path", directory / "source.duckdb"),
    )
    options: dict[str, Any] = {
        "types": dict(zip(["id", "sex", "note", "ward"], ["BIGINT", "INTEGER", "VARCHAR", "ENUM('a', 'b')"])),
        "quasi_identifiers": ("sex",),
        "models": (audit_of(KAnonymity(5), {}),),
        "published": ROWS,
        "lookups": {"sex": exp.Subquery(this=LOOKUP.copy())},
    }
    redacted = changes.pop("redacted", None)
    verify_source = changes.pop("verify_source", lambda: None)
    papers = changes.pop("papers", None)
    claim = ReleaseClaim(**{**options, **changes})
    rows = ReleasedRows(query)
    return publish(engine, target, rows, claim, redacted=redacted, verify_source=verify_source, papers=papers)
