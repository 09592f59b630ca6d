"""A sample of a source, drawn with a key before anything is judged (``sample``): what follows knows the sample alone.

A person is drawn if the keyed hash of the person, 60 bits of it, lies below the share of all such numbers: whoever
lacks the key cannot tell who was drawn, the draw depends on no order of rows, and other records change nobody's.
Records of no known person are drawn by the hash of all their columns and of their number among those that agree in all
of them, so that copies are drawn each by itself. The key is of no release: under one key and context the same persons
are drawn again, for publishing other samples of one table gives away more of it each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EntityColumn
from sqlanon.core.compiler.keyed import keyed_hash, persons_by_key, release_key
from sqlanon.core.policy import Policy
from sqlanon.core.policy.ledger import person_column
from sqlanon.core.source.columns import is_scalar
from sqlanon.core.source.drawn import Drawn
from sqlanon.core.source.opening import Source
from sqlanon.core.source.release_key import ReleaseKey, note_release_key
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    HEX_NUMBER,
    aliased,
    canonical,
    column,
    count_if,
    count_rows,
    equal,
    is_null,
    named,
    number,
    row_number,
    table,
    when,
)
from sqlanon.errors import InputError, UnsupportedError

SAMPLE = "sample"
"""The purpose of the key, and the context of samples beside that of the policy."""
BITS = 60
"""Of a keyed hash, those that are a number (``HEX_NUMBER``)."""
RECORD, COPY = names.PREFIX + "record", names.PREFIX + "copy"


def draw_sample(opened: Source, policy: Policy) -> Source:
    """Return a source with the records of the persons that are drawn, in a table of ours, and how many these are.

    Raises:
        InputError: the key cannot be read, a record has no person, or nothing is drawn.
        UnsupportedError: the engine has no keyed hash, or no person is named and a column cannot be compared.
    """
    engine, types, person = opened.engine, opened.readable, person_column(policy)
    if policy.sample is None or policy.key is None or (person is not None and person not in types):
        return opened  # that the column is not there is said by the check of columns
    limit = int(Fraction(str(policy.sample)) * 2**BITS)
    if person is None:
        query = _records(opened.relation, types, limit)
    else:
        query = _persons(opened.relation, types, EntityColumn(person, types[person]), limit)
    before = _counted(opened, opened.relation, person)
    note_release_key(engine)
    key = ReleaseKey(policy.key.secret(), f"{SAMPLE}\0{policy.key.context or ''}")
    with key.loaded(engine, [SAMPLE]):
        engine.create("sample", names.SAMPLED, query)
    after = _counted(opened, table(names.SAMPLED), person)
    if not after[0]:
        raise InputError(
            f"No record is in the sample: a share of {policy.sample:g} of {before[0]} records was drawn.",
            hint="say a larger share under sample.",
        )
    if policy.population is not None and "sampled" in policy.population:
        wanted = [c.name for c in policy.quasi_identifiers] + ([] if policy.entity is None else [policy.entity])
        known = exp.select(*(column(name) for name in wanted if name in types)).from_(opened.relation.copy())
        engine.create("population of the sample", names.PEOPLE, known)
    drawn = Drawn(policy.sample, before[0], after[0], *((before[1], after[1]) if person else ()))
    warnings = (*opened.warnings, f"{drawn.words}: everything that follows is said of the sample.")
    return replace(opened, relation=table(names.SAMPLED), drawn=drawn, warnings=warnings)


def _counted(opened: Source, relation: exp.Expr, person: str | None) -> tuple[int, int]:
    """Return the records and the persons of a relation, each of which has one.

    Raises:
        InputError: a record has no person.
    """
    query = exp.select(count_rows()).from_(relation.copy())
    if person is not None:
        entity = EntityColumn(person, opened.types[person])
        query = query.select(entity.count(), count_if(is_null(column(person))))
    records, persons, missing = (*map(int, opened.engine.run("count sample", query)[0]), 0, 0)[:3]
    if missing:
        raise InputError(
            f"The column {person!r} is NULL in {missing} records, so that nobody is drawn for them.",
            hint="fill it in, or leave such records out in a view of the source.",
        )
    return records, persons


def _persons(relation: exp.Expr, types: Mapping[str, str], person: EntityColumn, limit: int) -> exp.Select:
    """Select the records of the persons that are drawn."""
    everybody = persons_by_key(relation, person, SAMPLE).subquery("everybody")
    drawn = exp.select(column("value")).from_(everybody).where(_is_drawn(column("pseudonym"), limit))
    return (
        exp.select(*(column(name, "records") for name in types))
        .from_(aliased(relation, "records"))
        .join(aliased(drawn.subquery(), "drawn"), on=equal(person.text("records"), column("value", "drawn")))
    )


def _records(relation: exp.Expr, types: Mapping[str, str], limit: int) -> exp.Select:
    """Select the records that are drawn, each by itself.

    Raises:
        UnsupportedError: a column cannot be compared.
    """
    if wrong := [name for name, kind in types.items() if not is_scalar(kind)]:
        raise UnsupportedError(
            f"Records are drawn by all their columns, and {', '.join(map(repr, wrong))} cannot be compared.",
            hint="name the column of persons (entity), or leave these columns out in a view of the source.",
        )
    whole = _together([_with_length(canonical(name, kind)) for name, kind in types.items()])
    known = exp.select(*map(column, types), named(whole, RECORD)).from_(relation.copy())
    copy = row_number(column(RECORD), partition=[column(RECORD)])
    numbered = exp.select(*map(column, types), column(RECORD), named(copy, COPY)).from_(known.subquery("known"))
    text = _together([exp.cast(column(COPY, "records"), "VARCHAR"), exp.Literal.string(" "), column(RECORD, "records")])
    return (
        exp.select(*(column(name, "records") for name in types))
        .from_(numbered.subquery("records"))
        .join(release_key(SAMPLE, "own"), join_type="cross")
        .where(_is_drawn(keyed_hash(text, "own"), limit))
    )


def _is_drawn(hashed: exp.Expr, limit: int) -> exp.Expr:
    return exp.LT(this=exp.Anonymous(this=HEX_NUMBER, expressions=[hashed]), expression=number(limit))


def _with_length(text: exp.Expr) -> exp.Expr:
    """Return a text behind its length, so that no two records make one text together; NULL has none."""
    length = exp.cast(exp.Length(this=text.copy()), "VARCHAR")
    return when(is_null(text), exp.Literal.string("-"), _together([length, exp.Literal.string(":"), text.copy()]))


def _together(texts: Sequence[exp.Expr]) -> exp.Expr:
    """Return texts one after the other; halved, for a chain of a thousand would be as many calls deep."""
    if len(texts) == 1:
        return texts[0]
    half = len(texts) // 2
    return exp.DPipe(this=_together(texts[:half]), expression=_together(texts[half:]), safe=True)
