"""What the audits of a plan's models are judged against, made from the source and the published texts.

The distribution of a sensitive column is counted in the source itself, the population is grouped by the published
texts; neither passes through the keys and masks that the search worked with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.audit.models import ModelAudit, audit_of
from sqlanon.catalog import Catalog
from sqlanon.compiler import sensitive
from sqlanon.compiler.release import readable_grain
from sqlanon.compiler.trees import column, named
from sqlanon.data_types import data_type
from sqlanon.encoding import Encoding
from sqlanon.lattice import Node
from sqlanon.models.base import PrivacyModel


def plan_audits(
    models: Sequence[PrivacyModel],
    encoding: Encoding,
    catalog: Catalog,
    node: Node,
    released: Mapping[str, str],
    *,
    basic: bool,
) -> list[ModelAudit]:
    """The audits of the models of a plan.

    Args:
        released: the columns of the release with their types.
        basic: records with a NULL in a quasi-identifier do not take part.
    """
    audits = []
    for model in models:
        references: dict[str, exp.Expr] = {}
        levels = 0
        if "population" in model.references:
            references["population"] = _population(encoding, catalog, node, released, basic)
        elif model.references:
            assert model.column is not None
            attribute = catalog.sensitive_attribute(model.column)
            levels = attribute.height - 1
            position = len(catalog.attributes) + catalog.sensitive.index(attribute)
            entities = encoding.entity.count() if encoding.entity is not None else None
            references["reference"] = sensitive.reference(
                encoding.source, encoding.items, position, basic, entities=entities
            )
            references["hierarchy"] = sensitive.listed_ancestors(position, levels)
        audits.append(audit_of(model, references, levels=levels))
    return audits


def _population(encoding: Encoding, catalog: Catalog, node: Node, released: Mapping[str, str], basic: bool) -> exp.Expr:
    """The classes of the whole population at a node, typed like the release, with ``sqlanon_count``: their records, or
    entities."""
    classes = readable_grain(
        encoding.source, encoding.items, node, basic, whole_population=True, entity=encoding.entity
    )
    counted = classes.expressions[-1].alias
    typed = [named(exp.cast(column(a.name), data_type(released[a.name])), a.name) for a in catalog.attributes]
    query = exp.select(*typed, named(column(counted), "sqlanon_count")).from_(classes.subquery("classes"))
    return query.subquery("population")
