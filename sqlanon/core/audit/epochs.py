"""The audits of a live view with an epoch: of a state, and of what it differs in from the one before.

They share nothing with the statements that decide who comes and goes.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.audit.models import audit_of
from sqlanon.core.audit.release import ReleaseClaim, audit_entities
from sqlanon.core.engines.base import Engine
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, named

WAS, NOW = names.PREFIX + "was", names.PREFIX + "now"


def audit_state(
    engine: Engine, shown: exp.Expr, quasi_identifiers: Sequence[str], models: Sequence[PrivacyModel]
) -> None:
    """Raise AuditError unless each class of the rows that are shown meets the models, and each group of them.

    Args:
        shown: the rows with their persons (``names.PERSON``; without an entity, records) and groups.
    """
    for classes in (quasi_identifiers, [names.COHORT]):
        _audit(engine, shown, classes, models)


def audit_changes(engine: Engine, was: exp.Expr, shown: exp.Expr, models: Sequence[PrivacyModel]) -> None:
    """Raise AuditError unless the records with one group before and one group now meet the models; see
    ``sql/audit/epoch_changes.sql``.

    Args:
        was, shown: the rows of two states, with records, persons, groups and the columns of the models.
    """
    watched = list(dict.fromkeys(model.column for model in models if model.column is not None))
    values = [named(exp.Coalesce(this=column(n, "was"), expressions=[column(n, "shown")]), n) for n in watched]
    changes = bind("audit/epoch_changes.sql", relations={"was": was, "shown": shown}, columns={"watched": values})
    _audit(engine, changes.subquery("changes"), [WAS, NOW], models)


def _audit(engine: Engine, rows: exp.Expr, classes: Sequence[str], models: Sequence[PrivacyModel]) -> None:
    claim = ReleaseClaim(
        types={}, quasi_identifiers=tuple(classes), models=tuple(audit_of(model, {}) for model in models), published=0
    )
    audit_entities(engine, rows, claim, entity=names.PERSON)
