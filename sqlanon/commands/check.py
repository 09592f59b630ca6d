"""``sqlanon check``: test whether a relation, as it stands, meets privacy models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click
from sqlglot import exp

from sqlanon.audit.check import CheckResult, check_relation
from sqlanon.commands.common import guarded
from sqlanon.engines.base import Engine
from sqlanon.errors import EngineError, InputError, SourceError
from sqlanon.models.base import PrivacyModel
from sqlanon.models.k_anonymity import KAnonymity
from sqlanon.policy import Model
from sqlanon.policy.checks import check_model
from sqlanon.policy.extensions import NOTHING
from sqlanon.policy.faults import Faults
from sqlanon.policy.hierarchy.readers import check_rows, read_rows
from sqlanon.source.files import Reading
from sqlanon.source.lookups import list_ancestors
from sqlanon.source.opening import Source, open_source, other_relation

REFERENCE = "sqlanon_reference"


@click.command()
@click.argument("source", type=click.Path())
@click.argument("table", required=False)
@click.option("--qi", required=True, help="Quasi-identifiers, with commas.")
@click.option("--k", type=click.IntRange(min=1), help="Records (or entities) that every class must hold.")
@click.option("--entity", help="A column that tells whom a record is of: count distinct entities instead of records.")
@click.option(
    "--sensitive",
    multiple=True,
    metavar="COLUMN:TYPE:KEY=VALUE,…",
    help="A model of a column, e.g. x:entropy_l_diversity:l=3.",
)
@click.option("--delta-presence", metavar="min=…,max=…", help="Share of the reference's records, with the same --qi.")
@click.option("--reference", type=click.Path(), help="What t-closeness and δ-presence are judged against.")
@click.option("--reference-table", help="Its table, if it is a database.")
@click.option("--delimiter", default=None, help="Of a CSV source or reference.")
@click.option("--json", "as_json", is_flag=True)
def check(
    source: str,
    table: str | None,
    qi: str,
    k: int | None,
    entity: str | None,
    sensitive: Sequence[str],
    delta_presence: str | None,
    reference: str | None,
    reference_table: str | None,
    delimiter: str | None,
    as_json: bool,
) -> None:
    """Test whether a relation, as it stands, meets privacy models on --qi: exit 0 holds, 1 does not, 2 cannot say."""

    def action() -> int:
        asked = [model_named(text) for text in sensitive]
        if delta_presence is not None:
            asked.append(model_named(f"delta_presence:{delta_presence}"))
        if k is None and not asked:
            raise InputError("There is nothing to check.", hint="give --k, --sensitive or --delta-presence.")
        columns = [part.strip() for part in qi.split(",") if part.strip()]
        name = table or _only_table(source)
        reading = Reading({"delimiter": delimiter} if delimiter else {})
        with open_source(source, name, reading=reading) as opened:
            hierarchies, levels = _hierarchies(opened.engine, asked)
            other = _reference(opened, reference, reference_table, reading) if reference else None
            models: list[PrivacyModel] = [KAnonymity(k)] if k is not None else []
            found = check_relation(
                opened.engine,
                opened.relation,
                quasi_identifiers=columns,
                models=[*models, *(_made(model, column) for column, model in asked)],
                reference=other,
                hierarchies=hierarchies,
                levels=levels,
                entity=entity,
            )
        if as_json:
            print(json.dumps(_checked(found, columns, k)))
        else:
            whose = "" if found.entities is None else f" of {found.entities} entities"
            print(
                f"{found.records} records{whose} in {found.classes} classes, the smallest has {found.smallest_class}."
            )
            for item in found.models:
                failing = f": {item.failing_classes} classes ({item.failing_records} {found.unit}) fail"
                print(f"  {item.model} {'holds' if item.holds else 'does not hold' + failing}")
        return 0 if found.holds else 1

    guarded(action, as_json=as_json)


def _reference(opened: Source, path: str, table: str | None, reading: Reading) -> exp.Expr:
    """The relation that models are judged against."""
    failure = ""
    try:
        return other_relation(opened, path, table, reading, name=REFERENCE)
    except EngineError as error:
        failure = error.kind
    raise SourceError(f"The reference cannot be read ({failure}).", hint="check its path, its table and its format.")


def _checked(found: CheckResult, columns: Sequence[str], k: int | None) -> dict[str, Any]:
    """The document of ``check --json``; ``failing_classes`` and ``failing_records`` are those of --k."""
    size = found.models[0] if k is not None else None
    return {
        "holds": found.holds,
        "k": k,
        "quasi_identifiers": list(columns),
        "records": found.records,
        "classes": found.classes,
        "failing_classes": size.failing_classes if size else 0,
        "failing_records": size.failing_records if size else 0,
        "smallest_class": found.smallest_class,
        **({} if found.entities is None else {"entities": found.entities}),
        "models": [
            {
                "model": item.model,
                "holds": item.holds,
                "failing_classes": item.failing_classes,
                "failing_records": item.failing_records,
            }
            for item in found.models
        ],
    }


def _hierarchies(
    engine: Engine, asked: Sequence[tuple[str | None, Model]]
) -> tuple[dict[str, exp.Expr], dict[str, int]]:
    """The hierarchies that models name, as relations of value, level and ancestor, and their levels below the root."""
    relations: dict[str, exp.Expr] = {}
    levels: dict[str, int] = {}
    for column, model in asked:
        if column is None or "hierarchy" not in model.parameters:
            continue
        checked = check_rows(read_rows(Path(model.parameters["hierarchy"]), ";", None, "utf-8"), column)
        levels[column] = len(checked.rows[0]) - 1
        relations[column] = list_ancestors(engine, len(relations), checked.rows)
    return relations, levels


def _made(model: Model, column: str | None) -> PrivacyModel:
    """The model itself; ``hierarchy`` is none of its parameters."""
    own = {name: value for name, value in model.parameters.items() if name != "hierarchy"}
    return NOTHING.privacy_model(model.type, own, column)


def model_named(text: str) -> tuple[str | None, Model]:
    """A model from the command line, ``column:type:key=value,…`` or ``type:key=value,…``, checked.

    Raises:
        PolicyError: it cannot be read, or has faults.
    """
    faults = Faults()
    known = NOTHING.names("models")
    parts = text.split(":")
    at = next((i for i, part in enumerate(parts) if part in known), None)
    if at is None:
        told = f"write column:type:key=value, type one of {', '.join(known)}."
        faults.add("model", "This names no privacy model.", told)
        faults.finish()
    assert at is not None
    column = ":".join(parts[:at]) or None
    parameters: dict[str, Any] = {}
    for pair in ":".join(parts[at + 1 :]).replace(":", ",").split(","):
        name, _, value = pair.partition("=")
        if pair:
            parameters[name.strip()] = _parameter(name.strip(), value.strip())
    extra = {name: parameters.pop(name) for name in ("hierarchy",) if name in parameters}
    model = Model(parts[at], parameters)
    check_model(faults, parts[at], model, NOTHING, column=column, without=("subset",))
    faults.finish()
    return column, Model(model.type, {**parameters, **extra})


def _parameter(name: str, value: str) -> Any:
    if name in ("distance", "public_only", "hierarchy"):
        return value
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    return int(number) if number.is_finite() and number == int(number) else number


def _only_table(source: str) -> str | None:
    """A release file of ours holds one table, ``release``; any other database needs the TABLE argument."""
    return "release" if Path(source).suffix.lower() == ".duckdb" else None
