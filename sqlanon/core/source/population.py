"""The table of a population, of which the source is a sample (k-map): its quasi-identifiers, as the source has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.check import exact_columns
from sqlanon.core.compiler import encode
from sqlanon.core.compiler.class_sizes import without_population
from sqlanon.core.compiler.encoded_source import EncodedSource
from sqlanon.core.engines.base import Engine
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.policy import Policy
from sqlanon.core.policy.paths import is_file
from sqlanon.core.source.columns import is_scalar, without_enum
from sqlanon.core.source.csv_types import Wanted, is_read_as
from sqlanon.core.source.files import Reading
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    both,
    canonical,
    column,
    count_rows,
    equal,
    is_null,
    named,
    not_null,
    number,
    own_text,
    row_number,
    table,
    when,
)
from sqlanon.errors import EngineError, SourceError, UnsupportedError, instead_of


def population_of(engine: Engine, policy: Policy, types: Mapping[str, str], warnings: list[str]) -> exp.Expr:
    """Return the records of the policy's population: the quasi-identifiers in the types of the source, and with an
    entity the number of each person (``names.ENTITY``).

    A record with a value that the type of the source does not hold exactly (20.5 where there are whole numbers) agrees
    with no record of the source and is left out, as is one without an entity. That can only lower what is counted of a
    class. Where the population has no column of the entity, each of its records is a person.

    Args:
        warnings: receives how many records are left out.

    Raises:
        SourceError: it cannot be read, or lacks a quasi-identifier.
        UnsupportedError: a column has a type that cannot be compared.
    """
    where = policy.population
    assert where is not None
    quasi = [item.name for item in policy.quasi_identifiers]
    if "sampled" in where:
        relation: exp.Expr = table(names.PEOPLE)
        found = dict(engine.catalog.columns(relation))
    else:
        relation, found = named_records(engine, policy, types, "population", where, into=names.PEOPLE)
    actual = exact_columns(found, "The population", quasi)
    cells: list[exp.Expr] = []
    exact: list[exp.Expr] = []
    for own, name in zip(actual, quasi, strict=True):
        kind, wanted = without_enum(found[own]), without_enum(types[name])
        if not is_scalar(found[own]):
            raise UnsupportedError(
                f"Column {own!r} of the population has the type {found[own].split('(')[0]}, which cannot be compared.",
                hint="cast it to text in a view of the population.",
            )
        cell: exp.Expr = column(own)
        if kind != wanted:
            cell = canonical(own, found[own]) if wanted == "VARCHAR" else exp.TryCast(this=cell, to=data_type(wanted))
            if wanted != "VARCHAR":
                back = exp.TryCast(this=cell.copy(), to=data_type(kind))
                is_exact = exp.or_(is_null(column(own)), equal(back, column(own)))
                exact.append(equal(when(is_exact, number(1), number(0)), number(1)))
        elif found[own] != kind:
            cell = exp.cast(cell, "VARCHAR")
        cells.append(named(cell, name))
    if policy.entity is not None:
        person, known = _person(found, policy.entity, actual)
        cells.append(named(person, names.ENTITY))
        exact += known
    query = exp.select(*(cells or [exp.Star()])).from_(relation.copy())
    if exact:
        query = query.where(both(exact))
        left_out = exp.select(count_rows()).from_(relation.copy()).where(exp.not_(both(exact)))
        if count := engine.run("other values of the population", left_out)[0][0]:
            warnings.append(
                f"{count} records of the population hold values that the types of the source do not hold (20.5, where "
                f"it has whole numbers){'' if policy.entity is None else ', or no entity'}, and count for no class "
                "(k-map)."
            )
    return query.subquery("people")


def _person(types: Mapping[str, str], entity: str, quasi: Sequence[str]) -> tuple[exp.Expr, list[exp.Expr]]:
    """Return the number of the person of a record, and the conditions that it is known who that is.

    Args:
        types: of the columns of the population.
        entity: the column of entities of the source.
    """
    matches = names.matching(entity, types)
    if len(matches) != 1:
        return row_number(*[column(name) for name in quasi[:1]]), []
    text = exp.Ordered(this=own_text(matches[0], types[matches[0]]), nulls_first=False)
    return exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[text])), [not_null(column(matches[0]))]


def population_notes(engine: Engine, source: EncodedSource, catalog: Catalog) -> list[str]:
    """Return what the user should know of the population: what was not counted of it, and who is not part of it."""
    if source.population is None:
        return []
    everybody, counted = engine.run("count population", encode.population_counts(source))[0]
    strangers = engine.run("records without population", without_population(catalog))[0][0]
    notes = []
    if everybody > counted:
        notes.append(
            f"{everybody - counted} of {everybody} records of the population hold values that no hierarchy lists, and "
            "count for no class (k-map): classes may be larger in the population than they are taken for."
        )
    if strangers:
        notes.append(
            f"{strangers} records of the source agree with no record of the population in the original values of "
            "their quasi-identifiers: the source is no sample of it, or the two write values in different ways."
        )
    return notes


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
    hint = f"check {key}.table, or the format of {key}.file: delimiter, quoting, encoding and line ends."
    with instead_of(EngineError, lambda error: SourceError(f"The {key} cannot be read ({error.kind}).", hint=hint)):
        relation = records.relation if "file" in where else engine.catalog.source_table(where["table"])
        return relation, dict(engine.catalog.columns(relation))
