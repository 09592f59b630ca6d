"""The numbers and dates that a plan publishes beside the generalized texts, or in their place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sqlglot import exp

from sqlanon.core.audit.represented import RepresentedClaim
from sqlanon.core.compiler.representatives import RepresentedColumn, represented_rows
from sqlanon.core.compiler.travelling import NOWHERE, TravellingColumn, shared_texts
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.plan.keyed import keyed_columns
from sqlanon.core.policy import Policy
from sqlanon.core.policy.representatives import CLASS_MEAN
from sqlanon.core.publish.order import copies_of
from sqlanon.core.source.representatives import load_bounds
from sqlanon.core.sqltrees import names

NO_VALUES: Mapping[str, str] = MappingProxyType({})


class Representing(ABC):
    """The part of a plan that adds numbers and dates to its generalized rows."""

    __slots__ = ()
    catalog: Catalog
    _session: Session

    @property
    @abstractmethod
    def generalized(self) -> dict[str, str]:
        """The columns of the source that are published, with the types of what they are generalized to."""

    @property
    @abstractmethod
    def published_levels(self) -> tuple[tuple[int, ...], ...]:
        """Per quasi-identifier, the levels at which records are published, ascending."""

    @abstractmethod
    def _once(self, name: str, measure: Callable[[], Any]) -> Any:
        """Return the result of a measurement of the plan, which is made when it is first asked for."""

    @abstractmethod
    def generalized_query(
        self, published: Mapping[str, str], *, entities: bool = False, values: Mapping[str, str] = NO_VALUES
    ) -> exp.Query:
        """Return the released rows, generalized; with their ``entities``, where the plan counts them, for audits alone.

        Args:
            published: columns of the source with the types in which they are returned.
            values: columns of the source whose own values stand under other names, for what is computed of classes.
        """

    @property
    def released(self) -> dict[str, str]:
        """The columns of the release with their types, in the order of the policy.

        Beside a column, or instead of its text, stand the numbers or dates that the policy publishes of it.
        """
        represented = {item.name: item for item in self.represented}
        types: dict[str, str] = {}
        for name, type_name in self.generalized.items():
            types[name] = type_name
            if name in represented:
                types |= {own: represented[name].type_of(own) for own in represented[name].columns}
        return types

    @property
    def represented(self) -> tuple[RepresentedColumn, ...]:
        """The quasi-identifiers of which the policy publishes numbers or dates."""
        represented = self._session.encoding.represented
        if not represented:
            return ()
        loaded: tuple[RepresentedColumn, ...]
        loaded = self._once(
            "represented", lambda: load_bounds(self._session.engine, represented, self.published_levels)
        )
        return loaded

    def _release_query(self, *, entities: bool = False, persons: str | None = None) -> exp.Query:
        """Return the released rows; with their ``entities``, where the plan counts them, for audits alone.

        Args:
            persons: the record key, which the rows hold as ``names.ENTITY``, for a ledger of releases.
        """
        represented, texts, keyed = self.represented, self.generalized, keyed_columns(self._session)
        originals = keyed.originals if keyed is not None and entities else {}
        if persons is not None:
            originals = {persons: names.ENTITY}
        if not represented:
            return self.generalized_query(texts, entities=entities, values=originals)
        as_texts = texts | {item.name: "VARCHAR" for item in represented}
        values = {item.name: item.raw for item in represented if item.needs_mean}
        rows = self.generalized_query(as_texts, entities=entities, values=values | originals)
        also = [names.ENTITY, *originals.values()] if entities and self.catalog.has_entity else []
        return represented_rows(rows, self.released, texts, represented, quasi=self._quasi, also=also)

    def _rows_query(self) -> exp.Query:
        """Return the released rows, for this session alone: it may read what only this one holds."""
        return self._release_query()

    @property
    def travelling(self) -> dict[str, TravellingColumn]:
        """The columns that travel with a quasi-identifier, with the highest level at which each is published."""
        if not self._session.encoding.travelling:
            return {}
        travelling: dict[str, TravellingColumn]
        travelling = self._once("travelling", lambda: travelling_at(self._session, self.published_levels))
        return travelling

    @abstractmethod
    def _records_by_levels(self) -> Sequence[tuple[Sequence[int], int]]:
        """Return the levels of each rule by which records are published, and how many."""

    @property
    def _blank_warnings(self) -> tuple[str, ...]:
        return travelling_warnings(self.travelling.values(), self.catalog, self._records_by_levels())

    @property
    def _claims_beside(self) -> tuple[RepresentedClaim, ...]:
        """The claims of the release on columns that follow from the published texts of a quasi-identifier."""
        travelling = claims_of_travelling(self.travelling.values(), self.catalog, self.generalized)
        return (*map(claim_of, self.represented), *travelling)

    @property
    def _quasi(self) -> list[str]:
        """The names of the quasi-identifiers."""
        return [attribute.name for attribute in self.catalog.attributes]

    def _counted_query(self, published: Mapping[str, str], copies: str) -> exp.Query | None:
        """Return the distinct generalized rows with how often each stands, if the plan knows them already.

        Args:
            published: the columns with the types in which they are returned.
            copies: the name of the column of the counts.
        """
        return None

    def _counted_rows(self) -> exp.Query | None:
        """Return the distinct rows of the release with how often each stands, if the plan knows them already."""
        if self.catalog.earlier is not None:  # a row may be of several joint cells
            return None
        represented, texts, copies = self.represented, self.generalized, copies_of(self.released)
        if not represented:
            return self._counted_query(texts, copies)
        if any(item.instead or item.needs_mean for item in represented):
            return None  # rows may agree then, or need the records
        rows = self._counted_query(texts | {item.name: "VARCHAR" for item in represented}, copies)
        if rows is None:
            return None
        return represented_rows(rows, self.released, texts, represented, quasi=self._quasi, also=[copies])


def mean_warnings(policy: Policy) -> tuple[str, ...]:
    """Return the warnings of the means of classes, for whoever publishes them."""
    names = [column for asked in policy.publish for column, value in asked.columns.items() if value == CLASS_MEAN]
    if not names:
        return ()
    return (
        f"The means of classes ({', '.join(names)}) are computed from the records themselves, not from the hierarchy: "
        "a mean times the size of its class is the sum of their values, but for rounding. Anyone who knows all but one "
        "of them learns the last; where all are alike the mean is their value; and two releases that differ by a "
        "record show it. Ask for midpoint where that matters.",
    )


def claim_of(item: RepresentedColumn) -> RepresentedClaim:
    """Return the claim of a release on the numbers or dates of a column."""
    beside = {} if item.instead else {value: name for name, value in item.columns.items()}
    by_text = {value: name for value, name in beside.items() if value != CLASS_MEAN}
    return RepresentedClaim(
        name=item.name,
        type=item.type,
        instead=item.instead,
        companions=tuple(by_text.values()),
        of_class=tuple(beside[value] for value in beside if value == CLASS_MEAN),
        ascending=tuple(by_text[value] for value in ("low", "midpoint", "high") if value in by_text),
    )


def travelling_at(session: Session, published_levels: Sequence[Sequence[int]]) -> dict[str, TravellingColumn]:
    """Return the columns that travel with a quasi-identifier, for what rules publish of it.

    Two rules may publish one text at two levels. The column must not distinguish their records: its level is lowered
    until no text of the levels up to it stands on a published level above.
    """
    travelling = {}
    for item in session.encoding.travelling:
        levels, level = published_levels[item.position], item.level
        while level > NOWHERE:
            low, high = [used for used in levels if used <= level], [used for used in levels if used > level]
            if not low or not high:
                break
            if not session.engine.run("texts of two levels", shared_texts(item.position, low, high))[0][0]:
                break
            level = low[-1] - 1
        travelling[item.name] = replace(item, level=level)
    return travelling


def claims_of_travelling(
    travelling: Iterable[TravellingColumn], catalog: Catalog, types: Mapping[str, str]
) -> tuple[RepresentedClaim, ...]:
    """Return the claims that each text of a quasi-identifier determines the columns that travel with it."""
    by_attribute: dict[str, list[str]] = {}
    for item in travelling:
        by_attribute.setdefault(catalog.attributes[item.position].name, []).append(item.name)
    return tuple(
        RepresentedClaim(
            name=name, type=types[name], instead=False, companions=tuple(columns), of_class=(), ascending=()
        )
        for name, columns in by_attribute.items()
    )


def travelling_warnings(
    travelling: Iterable[TravellingColumn], catalog: Catalog, records: Iterable[tuple[Sequence[int], int]]
) -> tuple[str, ...]:
    """Return in how many rows each column is blank.

    Args:
        records: the levels of each rule, and the records that it publishes.
    """
    rules = list(records)
    published = sum(count for _, count in rules)
    return tuple(
        f"The column {item.name!r} travels with {catalog.attributes[item.position].name!r}: it is blank in {blank} of "
        f"{published} published records, where that is generalized beyond level {max(item.level, 0)}."
        for item in travelling
        if (blank := sum(count for levels, count in rules if levels[item.position] > item.level))
    )
