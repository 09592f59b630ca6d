"""Mistakes on purpose, which the audits must find."""

from sqlglot import exp

from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, table, total


def classes_of_records(key_names, has_population):
    """The mistake: the models see the records of a class, not whom they are of."""
    keys_ = [column(name) for name in key_names]
    counted = [named(total(column(names.COUNT)), name) for name in (names.COUNT, "records")]
    if has_population:
        counted.append(named(total(column(names.POPULATION)), names.POPULATION))
    query = exp.select(*keys_, *counted).from_(table("entities"))
    return query.group_by(*[key.copy() for key in keys_])
