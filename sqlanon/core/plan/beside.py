"""Measures the risk of a plan's release beside its quasi-identifiers: its records are staged, and counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from sqlglot import exp

from sqlanon.core.audit.beside_release import BesideRelease, ReleasedColumns, judge_released
from sqlanon.core.audit.judged_columns import FEWEST, JudgedColumn
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models import least_count
from sqlanon.core.publish.order import ReleasedRows
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.source.beside import compared
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, own_text, table

MOST_LISTED = 4
"""Columns that a warning lists: all together, and those that single most records out."""
MOST_NAMED = 6
"""Names of columns that a warning lists as one."""
NEARLY_UNIQUE = 0.8
"""A sensitive column is reported when at least this share of its records hold a value that nobody else has: classes are
diverse in it whatever they hold."""
WORTH_A_WARNING = 0.01
"""A column is reported when more than this share of the records hold values of it that its hierarchy cannot read."""
LEVELS_ALONE = ("precision", "height", "weighted_information_loss")
"""Measures that look at levels, and so not at values that stand at the root below the last one."""
NOTHING_VARIES = (
    "Each quasi-identifier holds one value in all records: they are one class, and the privacy models protect nobody "
    "against anyone who knows a column that is published."
)
Rows = Callable[[Mapping[str, str]], exp.Query | ReleasedRows]
"""Returns the published records with these columns of the source (name -> type), and with their entities, if any; or
the released rows, where they stand in a table."""


def judge_release(session: Session, rows: Rows, released: Mapping[str, str], records: int) -> BesideRelease:
    """Count what the published records give away; no statement where nothing is published beside the quasi-identifiers.

    Args:
        released: the columns of the release with their types.
        records: how many are published.
    """
    policy, engine = session.policy, session.engine
    quasi = [item.name for item in policy.quasi_identifiers]
    beside = [item.name for item in policy.columns if item.role in ("keep", "sensitive")]
    identifies = {name for found in session.beside.columns if found.identifies for name in found.names}
    accepted = {name for name in policy.accept if name in identifies or name == policy.entity}
    split = {item.name for item in policy.columns if item.role == "keep" and item.travels is None}  # others split none
    kept = [item.name for item in policy.columns if item.name in split - accepted]
    singled = [found.name for found in _nearly_unique(session)]
    entity_like = [found.name for found in session.beside.columns if found.entity_like]
    linked = beside if policy.entity is not None else []
    wanted = list(dict.fromkeys([*kept, *singled, *linked, *entity_like]))
    if not records or not wanted:
        return BesideRelease(records)
    types = {name: released.get(name, session.encoding.types[name]) for name in (*quasi, *wanted)}
    places = {name: f"{names.PREFIX}{place}" for place, name in enumerate(types)}
    cells: list[exp.Expr] = [
        named(column(name) if name in quasi else compared(name, kind), places[name]) for name, kind in types.items()
    ]
    if policy.entity is not None:
        cells.append(named(own_text(names.ENTITY, session.encoding.types[policy.entity]), names.ENTITY))
    found, copies = rows(types), None
    if isinstance(found, ReleasedRows):
        if found.counted is not None:
            copies = found.counted.named_selects[-1]
            cells.append(column(copies))
        query = exp.select(*cells).from_((found.counted or found.query).subquery("records"))
        relation: exp.Expr = query.subquery("beside")
    else:
        query, relation = exp.select(*cells).from_(found.subquery("records")), table(names.BESIDE)
        engine.create("stage beside", names.BESIDE, query, replayed=False)
    try:
        columns = ReleasedColumns(
            quasi_identifiers=[places[name] for name in quasi],
            kept={name: places[name] for name in kept},
            singled={name: places[name] for name in singled},
            published={name: places[name] for name in linked},
            entity_like={name: places[name] for name in entity_like},
            entity=names.ENTITY if policy.entity is not None else None,
            copies=copies,
        )
        k = max(2, least_count(policy.models))
        return judge_released(engine, relation, columns, k=k, records=records)
    finally:
        if not isinstance(found, ReleasedRows):
            engine.drop(names.BESIDE)


def warnings_of(released: BesideRelease, session: Session, catalog: Catalog) -> tuple[str, ...]:
    """Return the warnings of a release, beside its classes."""
    k, warnings = max(2, least_count(session.policy.models)), []
    in_words = partial(_in_words, k=k, by_entity=session.policy.entity is not None)
    if released.records and catalog.attributes and all(attribute.widths[0] <= 1 for attribute in catalog.attributes):
        warnings.append(NOTHING_VARIES)
    unique = {item.name: item for item in _nearly_unique(session)}
    kept = [counts for counts in released.alone if not unique.keys() & counts[0]]
    if kept and kept[-1][2]:
        ranked = sorted(kept, key=lambda item: (-len(item[0]), -item[1], -item[2]))[:MOST_LISTED]
        listed = [f"by {_listed(names)}: {in_words(alone, few)}" for names, alone, few in ranked if few]
        warnings.append(
            f"Among {released.records:,} published records, these columns make some unique or rare for anyone who "
            f"knows them besides the quasi-identifiers: {'; '.join(listed)}."
        )
    for (name, *_), alone, few in released.alone:
        if name in unique:
            warnings.append(_of_sensitive(unique[name], released.records, in_words(alone, few)))
    for name, classes, few in released.few:
        if few:
            warnings.append(
                f"The column {name!r} looks like the person that a record is about, and the policy names no entity: "
                f"{few:,} of {classes:,} classes hold fewer than {k} of its values. Say entity: {name}."
            )
    linking = [item.name for item in session.policy.columns if item.role == "pseudonym"]
    beside = tuple(item.name for item in session.policy.columns if item.role in ("keep", "sensitive"))
    if linking and beside:
        warnings.append(
            f"The records of a person are linked by {linking[0]!r}, so that {_listed(beside)} add up over them: "
            "anyone who knows some of these values of a person may find all of the person's records, however many "
            "persons have the same rows. Drop them, or declare them as quasi-identifiers."
        )
    for model in session.policy.privacy if linking else ():
        if model.type == "profile_k" and (most := model.parameters.get("at_most")) is not None:
            warnings.append(  # noqa: PERF401 - its condition names a value
                f"The records of a person are linked by {linking[0]!r}, and profile_k has at_most {most}: anyone who "
                f"knows up to {most} of a person's records finds at least {model.parameters['k']} persons with them, "
                "but anyone who knows more, or how many there are, may find the person alone, and then reads all of "
                "the person's records. Leave at_most out to protect persons by all of their records."
            )
    if released.apart:
        warnings.append(
            f"The records of a person are linked by {_listed(released.linking)}, the same in all of them: "
            f"{released.apart:,} of {released.linked:,} persons stand in a set of classes that fewer than {k} share, "
            "and anyone who knows of some of their records finds all. Drop the column, or publish one record per "
            "person."
        )
    return tuple(warnings)


def root_warnings(catalog: Catalog, certificate: Certificate) -> tuple[str, ...]:
    """Return which columns hold values that no hierarchy lists, published as the root (``uncovered: top``).

    A measure of levels leaves them out of the loss, however few they are.
    """
    left_out = certificate.measure in LEVELS_ALONE
    listed = [
        f"{name!r}: {records:,} of {catalog.encoded:,}"
        for name, records in catalog.at_root.items()
        if left_out or records > catalog.encoded * WORTH_A_WARNING
    ]
    if not listed:
        return ()
    measured = f"The measure {certificate.measure} counts levels, and leaves them out of the loss. " if left_out else ""
    return (
        "Hierarchies cannot read values of the source, which are fully suppressed whatever the level (uncovered: top): "
        f"records by column {', '.join(listed)}. {measured}List the values, repair them in the source, or choose "
        "another hierarchy.",
    )


def _nearly_unique(session: Session) -> list[JudgedColumn]:
    """Return the sensitive columns of which nearly each record holds a value of its own."""
    return [
        judged
        for judged in session.beside.columns
        if judged.role == "sensitive" and judged.alone >= FEWEST and judged.unique >= NEARLY_UNIQUE
    ]


def _of_sensitive(column: JudgedColumn, records: int, counts: str) -> str:
    return (
        f"The sensitive column {column.name!r} has nearly as many values as records: "
        f"{column.unique:.0%} of the records hold one that no other record has. So nearly any class is "
        "diverse in it, and anyone who knows the value finds the record: by it and the quasi-identifiers, of "
        f"{records:,} published records {counts}. Round it in the source, or drop it."
    )


def _in_words(alone: int, few: int, *, k: int, by_entity: bool) -> str:
    """Return how many records are unique, and how many in small groups, where that is something else."""
    first, entities = (f"{alone:,} in groups of one entity", " entities") if by_entity else (f"{alone:,} unique", "")
    return first if k == 2 else f"{first}, {few:,} in groups of fewer than {k}{entities}"


def _listed(columns: tuple[str, ...]) -> str:
    """Return the names of columns, of many the first ones and how many more there are."""
    first = ", ".join(map(repr, columns[:MOST_NAMED]))
    return first if len(columns) <= MOST_NAMED else f"{first} and {len(columns) - MOST_NAMED} more"
