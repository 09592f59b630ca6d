"""What the audits of a plan's models are judged against, from the source and the published texts.

The distribution of a sensitive column is counted in the source itself, the population is grouped by the published
texts; neither passes through the keys and masks that the search worked with. Only the places of an ordered distance are
those of the search, the ancestors of a hierarchical one and the texts of a population those of the lookups: of a table
that may hold values without a row there, ``unplaced_audits`` returns the statements that find such values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.core.audit.models import ModelAudit, audit_of
from sqlanon.core.compiler import sensitive
from sqlanon.core.compiler.release import readable_grain
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models import for_source
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.delta_presence import DeltaPresence
from sqlanon.core.models.k_map import KMap
from sqlanon.core.source.encoding import Encoding
from sqlanon.core.sqltrees import files as sqlfiles
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import bigint, canonical, column, lookup_rows, named


def plan_audits(
    models: Sequence[PrivacyModel], encoding: Encoding, catalog: Catalog, node: Node, released: Mapping[str, str]
) -> list[ModelAudit]:
    """Return the audits of the models of a plan.

    Args:
        released: the columns of the release with their types.
    """
    audits = []
    for model in for_source(models, catalog):
        references: dict[str, exp.Expr] = {}
        levels = 0
        if "population" in model.references:
            references["population"] = _population(encoding, catalog, node, released)
        elif model.references:
            assert model.column is not None
            attribute = catalog.sensitive_attribute(model.column)
            levels = attribute.height - 1
            position = len(catalog.attributes) + catalog.sensitive.index(attribute)
            references["reference"] = sensitive.reference(encoding.source, position, placed=_reads_place(model))
            references["hierarchy"] = sensitive.listed_ancestors(position, levels)
        audits.append(audit_of(model, references, levels=levels))
    return audits


def unplaced_audits(
    models: Sequence[PrivacyModel], encoding: Encoding, catalog: Catalog
) -> list[tuple[str, exp.Query]]:
    """Return what must hold besides of a table that another one was planned for: names and statements, no row each.

    A sensitive value without a row in its lookup has no known place in an order and no known ancestors, so that no
    distance by these is defined for a table that holds one. A record of the population without a row is in no class,
    so that the share of the subset in its class would read too high: that can hide a share below ``min``. (Where the
    records of the population are counted, k-map, it can only fail classes.)
    """
    wanted: dict[str, int] = {}
    for model in models:
        if "population" in model.references:
            if not isinstance(model, KMap) and (not isinstance(model, DeltaPresence) or model.min > 0):
                wanted |= {f"population_without_row of {a.name}": i for i, a in enumerate(catalog.attributes)}
        elif "hierarchy" in model.references or _reads_place(model):
            assert model.column is not None
            position = len(catalog.attributes) + catalog.sensitive.index(catalog.sensitive_attribute(model.column))
            wanted[f"values_without_row of {model.column}"] = position
    return [(name, _unplaced(encoding, position)) for name, position in wanted.items()]


def _unplaced(encoding: Encoding, position: int) -> exp.Query:
    source = encoding.source
    item = source.items[position]
    taking_part = source.taking_part if item.sensitive else source.taking_part.of_population
    text = canonical(item.name, item.type)
    counted = (
        exp.select(named(text, "value"), named(bigint(exp.Count(this=exp.Star())), "records"))
        .from_(source.relation.copy())
        .where(taking_part.condition())
        .group_by(text.copy())
    )
    lookup = lookup_rows(position)
    return bind("audit/values_without_row.sql", relations={"reference": counted, "lookup": lookup})


def _reads_place(model: PrivacyModel) -> bool:
    """Return whether the audit of a model reads the place of the reference, in an order of the values."""
    tree = sqlfiles.parse(model.audit_file)
    return any(query.is_star for query in tree.find_all(exp.Select)) or any(
        found.name == "place" for found in tree.find_all(exp.Column)
    )


def _population(encoding: Encoding, catalog: Catalog, node: Node, released: Mapping[str, str]) -> exp.Expr:
    """Select the classes of the whole population at a node, typed like the release.

    ``sqlanon_count`` holds their records, or entities.
    """
    classes = readable_grain(encoding.source.people, node, whole_population=True)
    counted = classes.expressions[-1].alias
    typed = [named(exp.cast(column(a.name), data_type(released[a.name])), a.name) for a in catalog.attributes]
    query = exp.select(*typed, named(column(counted), "sqlanon_count")).from_(classes.subquery("classes"))
    return query.subquery("population")
