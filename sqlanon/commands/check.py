"""``sqlanon check``: test whether a relation, as it stands, meets privacy models."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from sqlglot import exp

from sqlanon.commands.check_files import K, files_of
from sqlanon.commands.common import Judged, open_relation, reading_with
from sqlanon.commands.verbosity import say
from sqlanon.core.audit.check import CheckResult, check_relation
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import pick
from sqlanon.core.hierarchies.readers import check_rows, read_rows
from sqlanon.core.models import least_count
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.policy.extensions import NOTHING
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.models import Model, check_model
from sqlanon.core.publish.papers import Belonging, check_papers
from sqlanon.core.publish.workplace import COMPLETED, settle_left_behind
from sqlanon.core.source.files import Reading
from sqlanon.core.source.lookups import list_ancestors
from sqlanon.core.source.opening import Source, other_records, tables_hint
from sqlanon.core.words import counted
from sqlanon.errors import EngineError, InputError, SourceError, SqlanonError, UnsupportedError, instead_of

BESIDE = "*"
"""The value of ``--manifest`` without a file."""

REFERENCE = "sqlanon_reference"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """The options of ``sqlanon check``, as they are given."""

    source: str
    table: str | None
    qi: tuple[str, ...]
    k: int | None
    entity: str | None
    sensitive: tuple[str, ...]
    bounded_knowledge: str | None
    delta_presence: str | None
    model: tuple[str, ...]
    reference: str | None
    reference_table: str | None
    csv: tuple[str, ...]
    manifest: str | None
    as_json: bool

    @property
    def is_about_papers_alone(self) -> bool:
        """Whether nothing is asked about the relation itself."""
        about_models = (self.k is not None, self.sensitive, self.bounded_knowledge, self.delta_presence, self.model)
        given = (self.qi, *about_models, self.entity, self.reference)
        return self.manifest is not None and not any(given)

    @property
    def hierarchies(self) -> list[str]:
        """The files of hierarchies that models name."""
        pairs = [pair.partition("=") for text in self.sensitive for pair in re.split("[:,]", text)]
        return [value.strip() for name, _, value in pairs if name.strip() == "hierarchy" and value.strip()]

    def least(self) -> int:
        """Return the least count that files show: no model lets fewer records stand alone.

        Raises:
            PolicyError, InputError: as ``models``.
        """
        models: list[PrivacyModel] = [_built(model, column) for column, model in self.models()]
        least = least_count([*models, *([KAnonymity(self.k)] if self.k is not None else [])])
        return least if (self.k or 1) > 1 else max(least, K)  # with k = 1 every count would be shown

    def models(self) -> list[tuple[str | None, Model]]:
        """Return the requested models, apart from --k, each with the column that it watches.

        Raises:
            PolicyError: one cannot be read, or has faults.
            InputError: no model is requested.
        """
        if not self.qi:
            raise InputError("No quasi-identifiers are named.", hint="give --qi COLUMN,…")
        models = [model_named(text) for text in self.sensitive]
        if self.bounded_knowledge is not None:
            models.append(model_named(f"bounded_knowledge:{self.bounded_knowledge}"))
        if self.delta_presence is not None:
            models.append(model_named(f"delta_presence:{self.delta_presence}"))
        models += [model_named(text) for text in self.model]
        if self.k is None and not models:
            raise InputError(
                "There is nothing to check.",
                hint="give --k, --sensitive, --model, --bounded-knowledge or --delta-presence.",
            )
        return models


def execute(**given: Any) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    files = files_of(given)
    options = CheckOptions(**given)
    files.begin(options.reference, None if options.manifest == BESIDE else options.manifest, *options.hierarchies)
    try:
        belonging = None if options.manifest is None else find_belonging(options.source, options.manifest)
        checked = None if options.is_about_papers_alone else check_named(options)
    except SqlanonError as error:
        files.write_error(error)
        raise
    replace(files, least=K if checked is None else options.least()).write(checked, belonging)
    holds = (belonging is None or belonging.holds) and (checked is None or checked[0].holds)
    if options.as_json:
        document = {"holds": holds} if checked is None else _document(*checked, options) | {"holds": holds}
        print(json.dumps(document if belonging is None else document | {"manifest": belonging_document(belonging)}))
        return 0 if holds else 1
    if files.printed:
        return 0 if holds else 1
    for line in [] if belonging is None else belonging_lines(belonging):
        say(line)
    if checked is not None:
        _print(*checked)
    return 0 if holds else 1


def _print(result: CheckResult, judged: Judged) -> None:
    of_entities = "" if result.entities is None else f" of {counted(result.entities, 'entity')}"
    classes = f"{counted(result.records, 'record')}{of_entities} in {counted(result.classes, 'class')}"
    say(f"{classes}, the smallest has {counted(result.smallest_class, 'entity' if of_entities else 'record')}.")
    for line in judged.lines():
        say(f"  {line}")
    for item in result.models:
        verb = "fails" if item.failing_classes == 1 else "fail"
        failing = f": {counted(item.failing_classes, 'class')} ({item.failing_records:,} {result.unit}) {verb}"
        say(f"  {item.model} {'holds' if item.holds else 'does not hold' + failing}")


def check_named(options: CheckOptions) -> tuple[CheckResult, Judged]:
    """Check the relation that the options name, and return what was judged of it."""
    requested = options.models()
    reading = reading_with(options.csv)
    with open_relation(options.source, options.table, reading) as opened:
        watched = [column for column, _ in requested]
        judged = Judged.of(opened, (options.source, options.table), options.qi, watched, options.entity)
        requested = [(column, model) for column, (_, model) in zip(judged.watched, requested, strict=True)]
        hierarchies, levels = _hierarchies(opened.engine, requested)
        models: list[PrivacyModel] = [KAnonymity(options.k)] if options.k is not None else []
        result = check_relation(
            opened.engine,
            opened.relation,
            quasi_identifiers=judged.quasi_identifiers,
            models=[*models, *(_built(model, column) for column, model in requested)],
            reference=_reference(opened, options, reading),
            hierarchies=hierarchies,
            levels=levels,
            entity=judged.entity,
        )
        return result, judged


def _reference(opened: Source, options: CheckOptions, reading: Reading) -> exp.Expr | None:
    """Return the relation that models are judged against, if one is given."""
    if not options.reference:
        return None
    if not opened.engine.capabilities.has("several_sources"):
        return _beside(opened, options)
    hint = "check its path, its table and its format."
    with instead_of(EngineError, lambda error: SourceError(f"The reference cannot be read ({error.kind}).", hint=hint)):
        return other_records(opened, options.reference, options.reference_table, reading, name=REFERENCE).relation


def _beside(opened: Source, options: CheckOptions) -> exp.Expr:
    """Return the reference from the database of the relation itself: its engine reads no other source."""
    given, name = options.reference, options.reference_table
    assert given is not None
    same = given == options.source
    if opened.path is not None:
        with suppress(OSError):
            same = opened.path.samefile(given)
    if not same:
        raise UnsupportedError(
            f"{opened.engine.capabilities.name}: a relation is compared with tables of its own database only.",
            hint="copy the reference into it, give --reference what stands for the source, and --reference-table.",
        )
    if not name:
        raise SourceError("The reference is a database, and no table of it is named.", hint="give --reference-table.")

    def unread(error: EngineError) -> SourceError:
        hint = tables_hint(opened.engine, name) or "check its name (schema.table is allowed), and your rights."
        return SourceError(f"The reference {name!r} cannot be read ({error.kind}).", hint=hint)

    with instead_of(EngineError, unread):
        relation: exp.Expr = opened.engine.catalog.source_table(name)
        opened.engine.catalog.columns(relation)
        return relation


def _document(result: CheckResult, judged: Judged, options: CheckOptions) -> dict[str, Any]:
    """Return the document of ``check --json``; ``failing_classes`` and ``failing_records`` are those of --k."""
    size = result.models[0] if options.k is not None else None
    columns = [*([None] if options.k is not None else []), *judged.watched]
    return {
        "holds": result.holds,
        "k": options.k,
        **judged.to_dict(),
        **pick(result, "records classes"),
        "failing_classes": size.failing_classes if size else 0,
        "failing_records": size.failing_records if size else 0,
        **pick(result, "smallest_class entities?"),
        "models": [
            {"column": column, **pick(item, "model holds failing_classes failing_records")}
            for column, item in zip(columns, result.models, strict=True)
        ],
    }


def _hierarchies(
    engine: Engine, requested: Sequence[tuple[str | None, Model]]
) -> tuple[dict[str, exp.Expr], dict[str, int]]:
    """Return the hierarchies of models as relations of value, level and ancestor, and their levels below the root."""
    relations: dict[str, exp.Expr] = {}
    levels: dict[str, int] = {}
    for column, model in requested:
        if column is None or "hierarchy" not in model.parameters:
            continue
        checked = check_rows(read_rows(Path(model.parameters["hierarchy"]), ";", None, "utf-8"), column)
        levels[column] = len(checked.rows[0]) - 1
        relations[column] = list_ancestors(engine, len(relations), checked.rows)
    return relations, levels


def _built(model: Model, column: str | None) -> PrivacyModel:
    """Return the model itself; ``hierarchy`` is none of its parameters."""
    own = {name: value for name, value in model.parameters.items() if name != "hierarchy"}
    if model.type == "k_map" and isinstance(own.get("population"), int):
        raise UnsupportedError(
            "An estimate of k-map rests on the number of records of the sample, of which a release may lack some.",
            hint="check --k with the least size of a class that the report of the release states.",
        )
    return NOTHING.privacy_model(model.type, own, column)


def model_named(text: str) -> tuple[str | None, Model]:
    """Return a model from the command line, ``column:type:key=value,…`` or ``type:key=value,…``, after a check.

    Raises:
        PolicyError: it cannot be read, or has faults.
    """
    faults = Faults("The model on the command line")
    known = NOTHING.names("models")
    parts = text.split(":")
    at = next((i for i, part in enumerate(parts) if part in known), None)
    if at is None:
        hint = f"write column:type:key=value, type one of {', '.join(known)}."
        faults.add("model", "This names no privacy model.", hint)
        faults.finish()
    assert at is not None
    column = ":".join(parts[:at]) or None
    parameters: dict[str, Any] = {}
    for pair in ":".join(parts[at + 1 :]).replace(":", ",").split(","):
        name, _, value = pair.partition("=")
        name = name.strip()
        if name in parameters:
            faults.add(f"model.{name}", "This is given twice.", "give it once.")
        elif pair:
            parameters[name] = _parameter(name, value.strip())
    extra = {name: parameters.pop(name) for name in ("hierarchy",) if name in parameters}
    model = Model(parts[at], parameters)
    check_model(faults, parts[at], model, NOTHING, column=column, without=("subset",))
    faults.finish()
    return column, Model(model.type, {**parameters, **extra})


def _parameter(name: str, value: str) -> Any:
    if name in ("distance", "public_only", "hierarchy"):
        return value
    if value in ("true", "false"):
        return value == "true"
    try:
        number = Decimal(value)
    except InvalidOperation:
        return value
    return int(number) if number.is_finite() and number == int(number) else number


def find_belonging(release: str, manifest: str) -> Belonging:
    """Compare a release with its accompanying files, after a publication to it that was interrupted is settled.

    Raises:
        InputError: one cannot be read, or the manifest holds no digests.
    """
    path = Path(release).absolute()
    if (done := settle_left_behind(path)) is not None:
        what = (
            "The new release got its accompanying files."
            if done == COMPLETED
            else "The old release stays, with its accompanying files."
        )
        print(f"A publication to {path.name!r} was interrupted. {what}", file=sys.stderr)
    return check_papers(path, None if manifest == BESIDE else Path(manifest))


def belonging_lines(belonging: Belonging) -> list[str]:
    """Return the lines to print."""
    if belonging.holds:
        return [f"The release and its accompanying files belong together (SHA-256 {belonging.sha256})."]
    return [
        "The release and its accompanying files do not belong together.",
        *(f"  {fault}" for fault in belonging.faults),
    ]


def belonging_document(belonging: Belonging) -> dict[str, Any]:
    """Return the document of ``--json``."""
    return pick(belonging, "file=manifest holds sha256 faults")
