"""The audits of numbers and dates that stand beside generalized texts, or in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from sqlglot import exp

from sqlanon.core.sqltrees.binding import bind


@dataclass(frozen=True, slots=True, kw_only=True)
class RepresentedClaim:
    """The claims of a release on the numbers and dates of a quasi-identifier.

    Attributes:
        name: the quasi-identifier.
        type: of the numbers or dates, whatever they are written as.
        instead: the column itself holds one, and NULL where there is none.
        companions: columns that its text determines.
        of_class: columns that its class determines.
        ascending: the companions whose values are in order.
    """

    name: str
    type: str
    instead: bool
    companions: tuple[str, ...]
    of_class: tuple[str, ...]
    ascending: tuple[str, ...]


def beside_classes(claims: Sequence[RepresentedClaim]) -> list[str]:
    """Return the columns that stand beside the quasi-identifiers; a class must be as large with them."""
    return [name for claim in claims for name in (*claim.companions, *claim.of_class)]


def represented_audits(
    records: exp.Expr, quasi_identifiers: Sequence[str], claims: Sequence[RepresentedClaim]
) -> list[tuple[str, exp.Query]]:
    """Return the audits as (name, SELECT of what offends)."""
    audits: list[tuple[str, exp.Query]] = []
    for claim in claims:
        for by, columns in (([claim.name], claim.companions), (list(quasi_identifiers), claim.of_class)):
            if columns:
                named = {"audited_column": by, "companion": list(columns)}
                query = bind("audit/companions.sql", relations={"release": records}, columns=named)
                audits.append((f"companions of {claim.name}", query))
        for lesser, greater in pairwise(claim.ascending):
            query = bind(
                "audit/unordered_bounds.sql",
                relations={"release": records},
                columns={"lesser": [lesser], "greater": [greater]},
                released_type=claim.type,
            )
            audits.append((f"unordered_bounds of {claim.name}", query))
    return audits
