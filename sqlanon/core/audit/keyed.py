"""The audits of what was made by a key, pseudonyms and shifted dates. They know neither the key nor a hash."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import column, named, union_all


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedClaim:
    """The claims of a release on its pseudonyms and shifted dates.

    Attributes:
        pseudonym: the column that holds the pseudonym of a person; None without one.
        shifted: pairs of a column of shifted dates and the column of the staged rows that holds them as they were.
        days: by how many days dates are shifted at most.
        step: all are shifted by a multiple of so many days.
    """

    pseudonym: str | None
    shifted: tuple[tuple[str, str], ...]
    days: int = 0
    step: int = 1


def keyed_audits(relation: exp.Expr, claim: KeyedClaim, *, entity: str) -> list[tuple[str, exp.Query]]:
    """Return the audits as (name, SELECT of what offends), over staged rows with their persons.

    Args:
        entity: the column of the person of each row, as the source has it.
    """
    audits: list[tuple[str, exp.Query]] = []
    own = claim.pseudonym
    if own is not None:
        rows = {"release": relation}
        each: dict[str, list[str | exp.Expr]] = {"audited_column": [own]}
        each["original"] = [exp.cast(column(entity), "VARCHAR")]
        audits.append((f"pseudonyms of {own}", bind("audit/pseudonyms.sql", relations=rows, columns=each)))
        for one, other, title in ((entity, own, "pseudonyms"), (own, entity, "persons")):
            paired = {"audited_column": [one], "companion": [other]}
            query = bind("audit/unpaired.sql", relations=rows, columns=paired)
            audits.append((f"unpaired {title} of {own}", query))
    if claim.shifted:
        both = [
            exp.select(
                named(column(entity), "who"),
                named(exp.cast(column(original), "VARCHAR"), "before"),
                named(exp.cast(column(shown), "VARCHAR"), "after"),
            ).from_(relation.copy())
            for shown, original in claim.shifted
        ]
        values = {"most": claim.days, "step": claim.step}
        query = bind(
            "audit/shifted_dates.sql",
            relations={"release": union_all(both)},
            columns={"entity": ["who"]},
            values=values,
        )
        audits.append(("shifted_dates", query))
    return audits
