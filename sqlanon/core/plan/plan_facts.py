"""The facts of a plan and its release, whatever it does to the records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar

from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.session import Session
from sqlanon.core.hierarchies.specs import HierarchySpec
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models import for_source, least_count
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.plan.published import PublishedClasses, PublishedTypes
from sqlanon.core.plan.represented import Representing
from sqlanon.core.policy import Column, Policy
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.base import Verdict
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.source.opening import Source

Measured = TypeVar("Measured")


class Closing(ABC):
    """A context manager that closes itself."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Drop every temporary table and close the connection."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(slots=True, kw_only=True)
class OverSession(Closing):
    """What stands on an open source that is encoded: it hands on what its session knows."""

    _session: Session

    def close(self) -> None:
        self._session.close()

    @property
    def session(self) -> Session:
        """The policy with its open source and the source's encoding, for questions about the plan."""
        return self._session

    @property
    def policy(self) -> Policy:
        """The policy that the plan obeys."""
        return self._session.policy

    @property
    def engine(self) -> Engine:
        """Where the source is."""
        return self._session.engine

    @property
    def source(self) -> Source:
        """The open source."""
        return self._session.source

    @property
    def source_name(self) -> str | None:
        """The name of the source's file, without its folder, or what a frame is called; None for an open connection."""
        return self._session.source.name

    @property
    def snapshots(self) -> int:
        """Number of snapshots that were materialised so far."""
        return self._session.grains_kept

    @property
    def statements(self) -> int:
        """Number of SQL statements so far."""
        return self._session.statements


@dataclass(slots=True, kw_only=True)
class PlanFacts(Representing, OverSession):
    """The facts of an encoded source and of what is to be published of it.

    Attributes:
        catalog: facts about the encoded source.
        certificate: what is proven about the loss.
        seconds: ``encode`` and ``search``.
        warnings: what the user should know.
    """

    catalog: Catalog
    certificate: Certificate
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    _measured: dict[str, Any] = field(default_factory=dict)

    # -- what the kinds of plans differ in -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """Accounting of every record: records = published + suppressed + excluded."""

    @property
    @abstractmethod
    def levels(self) -> dict[str, int]:
        """The level of each quasi-identifier, where all records share one; otherwise empty."""

    @property
    @abstractmethod
    def published_levels(self) -> tuple[tuple[int, ...], ...]:
        """Per quasi-identifier, the levels at which records are published, ascending."""

    @abstractmethod
    def published_types(self) -> PublishedTypes:
        """Return the row types of the source with what is published of them, for measurements alone."""

    @abstractmethod
    def published_classes(self) -> PublishedClasses:
        """Return the published classes by size, and what else the risk of the release is measured from."""

    @abstractmethod
    def class_sizes(self, *, published: bool = True) -> tuple[tuple[int, int, int, int], ...]:
        """Return how large the published classes are, or those that are suppressed.

        One ``(least, most, classes, records)`` a bucket that is not empty: the classes of ``least`` to ``most``
        records, which are a power of two and one less than the next.
        """

    @property
    def suppressed_by_model(self) -> tuple[tuple[str, int], ...]:
        """Per privacy model, the records that it suppresses, were it alone; empty where that is not defined."""
        return ()

    @property
    def attribute_losses(self) -> dict[str, float] | None:
        """Per quasi-identifier, its own loss, before weights and folding; None where that is not defined."""
        return None

    @property
    def statistics(self) -> dict[str, float]:
        """Counts of the strategy's own work."""
        return {}

    @property
    def verdict_sources(self) -> dict[str, int]:
        """How many nodes of the search were judged from which grain: ``base``, or ``snapshot`` with its levels."""
        return {}

    @property
    def nothing_left(self) -> tuple[str, ...]:
        """The quasi-identifiers with several values in the source of which the release keeps none apart."""
        return tuple(
            a.name
            for a, levels in zip(self.catalog.attributes, self.published_levels, strict=True)
            if self.catalog.fully_suppressed(a, levels)
        )

    def cost_to_keep(self, name: str) -> Verdict | None:
        """Return the verdict of a node that keeps something of a column of ``nothing_left``; None when none is known.

        It shows what keeping the column costs at most, or what stands in the way; nothing is proven by it.
        """
        return None

    @property
    def proof_document(self) -> dict[str, Any] | None:
        """The certificate that anybody can run again (``sqlanon verify``); None when nothing is proven by boxes."""
        return None

    def _recoding(self) -> dict[str, Any]:
        """Return the account of the release's rules, for its manifest; nothing when one node publishes all records."""
        return {}

    # -- what they share -----------------------------------------------------------------------------------------------

    def _once(self, name: str, measure: Callable[[], Measured]) -> Measured:
        """Return the result of a measurement of the plan, which is made when it is first asked for."""
        if name not in self._measured:
            self._measured[name] = measure()
        measured: Measured = self._measured[name]
        return measured

    @property
    def generalized(self) -> dict[str, str]:
        """The columns of the source that are published, with the types of what they are generalized to."""
        positions = {a.name: position for position, a in enumerate(self.catalog.attributes)}
        types: dict[str, str] = {}
        for item in self.policy.columns:
            if item.role == "drop":
                continue
            type_name = self._session.encoding.types[item.name]
            if type_name.upper().startswith("ENUM") or item.role == "pseudonym":
                type_name = "VARCHAR"
            position = positions.get(item.name)
            if position is not None:
                kept = self.catalog.attributes[position].keeps_type
                if not all(kept[level] for level in self.published_levels[position]):
                    type_name = "VARCHAR"
            types[item.name] = type_name
        return types

    def described_hierarchy(self, column: Column) -> HierarchySpec | None:
        """Return the hierarchy that a quasi-identifier was encoded with; patterns know one level above the values."""
        return {c.name: c.hierarchy for c in self._session.encoded_policy.columns}[column.name]

    def encoded_column(self, column: Column) -> Column:
        """Return a column as it was encoded: with the width of its texts, where the policy leaves that to the data."""
        return self._session.encoding.columns[column.name].spec

    @property
    def threshold(self) -> int:
        """The least size of a class that the models allow; smaller counts do not travel."""
        return least_count(self.models)

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """The privacy models of the policy, with what they take from the source."""
        return for_source(self.policy.models, self.catalog)
