"""The release of several tables: its levels, its ledger by table and by person, and what is proven of its loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.core.facts import pick
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.publish.ledger import Entities, is_small
from sqlanon.core.publish.openlineage import manifest_facets
from sqlanon.core.search.base import Problem, Verdict
from sqlanon.core.search.certificate import Certificate
from sqlanon.errors import AuditError
from sqlanon.tables.keys import MODEL
from sqlanon.tables.policy import TablesPolicy


@dataclass(frozen=True, slots=True)
class TableLedger:
    """Accounting of every row of a table: records = published + suppressed + excluded.

    Attributes:
        suppressed, excluded: rows of persons who are suppressed, or left out (basic match).
        beyond: rows of the source that are no records here, because later ones were taken (``latest``).
        output: where the table is published; None where nothing is.

    Raises:
        AuditError: the counts do not add up.
    """

    records: int
    published: int
    suppressed: int
    excluded: int
    output: str | None = None
    beyond: int = 0

    def __post_init__(self) -> None:
        counts = (self.published, self.suppressed, self.excluded)
        if min(counts) < 0 or self.records != sum(counts):
            raise AuditError(
                f"The rows of a table do not add up ({self.records} in all, {self.published} published, "
                f"{self.suppressed} suppressed, {self.excluded} excluded).",
                hint="the source may have changed; run again, and report it as a defect if it stays.",
            )


@dataclass(frozen=True, slots=True)
class TablesRelease:
    """A release of several tables, published or only described. For the operator: its counts are exact.

    Attributes:
        levels: per quasi-identifier (``visits.age``) its level; ``heights`` how many levels it has.
        losses: per quasi-identifier its own loss.
        persons: the account of persons, which the limit on suppression is about.
        classes: classes of published persons; ``largest_class`` the persons of the largest.
        tables: the account of rows, by table.
        output: kind -> target; empty where nothing was published.
        manifest: what travels with the release.
    """

    policy: TablesPolicy
    levels: Mapping[str, int]
    heights: Mapping[str, int]
    losses: Mapping[str, float]
    persons: Entities
    classes: int
    largest_class: int | None
    tables: Mapping[str, TableLedger]
    certificate: Certificate
    output: Mapping[str, str]
    manifest: Mapping[str, Any]
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]
    statements: int

    def to_dict(self) -> dict[str, Any]:
        """Return the document of ``run --json``."""
        counts = ("records", "published", "suppressed", "excluded")
        return {
            **pick(self, "strategy=certificate.strategy levels"),
            **pick(self.certificate, "optimal gap lower_bound loss measure aggregate"),
            **{name: sum(getattr(item, name) for item in self.tables.values()) for name in counts},
            **pick(self, "entities=persons tables"),
            "models": [{"model": f"{MODEL}(k={self.policy.k})", "suppressed": self.persons.suppressed}],
            **pick(self, "classes smallest_class=persons.smallest_class largest_class losses"),
            **pick(self.certificate, "lattice_size evaluated"),
            "statements": self.statements,
            **pick(self, "seconds", digits=6),
            **pick(self, "output warnings"),
        }


def count_persons(problem: Problem, verdict: Verdict) -> Entities:
    """Return the account of persons at a judged node."""
    catalog = problem.catalog
    return Entities(
        total=catalog.records,
        published=catalog.population - verdict.suppressed,
        suppressed=verdict.suppressed,
        excluded=catalog.excluded,
        smallest_class=verdict.smallest,
    )


def tables_manifest(
    policy: TablesPolicy,
    catalog: Catalog,
    node: Sequence[int],
    *,
    persons: Entities,
    published: Mapping[str, int],
    certificate: Certificate,
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """Return the manifest of a release: names, levels and counts of what is published; no value, no small count.

    Of what is not published it holds no count of rows, and the loss is withheld: the rows of suppressed persons may be
    those of one of them, however many there are.

    Args:
        published: rows by table.
    """
    level_of = dict(zip((a.name for a in catalog.attributes), node, strict=True))
    heights = {a.name: a.height for a in catalog.attributes}
    linked = policy.key is not None and policy.key.context is not None
    tables = []
    for item, is_published in zip(policy.tables, policy.published_keys, strict=True):
        keys = [name for name in (item.key if is_published else None, item.link) if name is not None]
        columns: list[dict[str, Any]] = [
            {"name": name, "role": "pseudonym", "differs_by_release": not linked} for name in keys
        ]
        for column in item.policy.columns:
            if column.role == "drop":
                continue
            name = f"{item.name}.{column.name}"
            level = {"level": level_of[name], "height": heights[name]} if name in level_of else {}
            columns.append({"name": column.name, "role": column.role} | level)
        parent = {} if item.parent is None else {"parent": {policy.tables[item.parent].name: item.link}}
        latest = {} if item.latest is None else {"latest": {"rows": item.latest.rows, "by": item.latest.by}}
        tables.append({"name": item.name, **parent, **latest, "columns": columns, "published": published[item.name]})
    shown = {
        name: f"<{policy.k}" if is_small(count, policy.k) else count
        for name, count in (("suppressed", persons.suppressed), ("excluded", persons.excluded))
    }
    document = {
        "manifest_version": 1,
        "policy_fingerprint": policy.fingerprint(),
        "models": [{"type": MODEL, "k": policy.k}],
        "tables": tables,
        "persons": {"published": persons.published, **shown, "smallest_class": persons.smallest_class},
        "certificate": certificate.coarsened(),
        "output": {} if policy.output is None else {policy.output.kind: policy.shown_target},
        "versions": dict(versions),
    }
    return {**document, "openlineage": manifest_facets(document)}
