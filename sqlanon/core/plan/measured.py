"""Questions about a plan that are measured when they are asked: by the wings, and beside its quasi-identifiers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sqlanon.core.audit.beside_release import BesideRelease
from sqlanon.core.doors import behind
from sqlanon.core.plan.beside import judge_release, root_warnings, warnings_of
from sqlanon.core.plan.keyed import keyed_warnings
from sqlanon.core.plan.plan_facts import PlanFacts
from sqlanon.core.plan.represented import mean_warnings
from sqlanon.core.publish.order import ReleasedRows, stage
from sqlanon.core.source.beside import BesideSource
from sqlanon.core.sqltrees import names
from sqlanon.errors import UnsupportedError

if TYPE_CHECKING:  # what questions are answered with: their wing is loaded when one is asked
    from sqlanon import NullAudit, NullBias, RiskComparison, Utility

STAGED = "staged rows"
"""The measurement of a plan that is the table of its released rows, as long as there is one."""


class MeasuredPlan(PlanFacts):
    """A plan that answers questions about its release."""

    __slots__ = ()

    def audit_source(self) -> None:
        """Measure ``null_audit`` and ``null_bias`` now, while the source is read as it was planned on.

        A publication in the source's database ends that.
        """
        with suppress(UnsupportedError):  # raised again by whoever asks
            self.null_audit()
        self.null_bias()

    def null_audit(self) -> NullAudit | None:
        """Measure what an attacker gains who takes the NULLs of the release for wildcards; None when it holds none, or
        so many classes that comparing them would take long, or the engine cannot measure it."""
        audit: NullAudit | None = self._once("null audit", partial(behind("null audit"), self))
        return audit

    def null_bias(self) -> NullBias | None:
        """Measure how the columns change because the records with a NULL are left out (basic match).

        None when none is, or for δ-presence, where the source holds the population too. Columns whose values cannot be
        compared (JSON) are passed over.
        """
        bias: NullBias | None = self._once("null bias", partial(behind("null bias"), self))
        return bias

    def risk(
        self,
        *,
        k: int | None = None,
        population: str | os.PathLike[str] | None = None,
        population_table: str | None = None,
        population_size: int | None = None,
        weights: str | None = None,
        column_sets: bool = False,
    ) -> RiskComparison:
        """Return the risk of the source's records that take part, and of the release: each figure with a sentence.

        Args:
            k: count the records in classes of fewer; None takes the least size that the models allow, or 5.
            population: a file, or a database file, of the population that the source is a sample of, with its
                quasi-identifiers as the source has them. They are generalized as the release is.
            population_table: its relation; without ``population``, one of the source's database.
            population_size: N, for the estimates of how many records are unique in the population.
            weights: the column of how many people each record stands for.
            column_sets: look at which sets of quasi-identifiers single records out, which may take some seconds.

        Raises:
            InputError: no record takes part, the population is smaller than the source or none of it, or a weight is
                missing or not positive.
            SourceError: the population cannot be read, or has no such column.
        """
        comparison: RiskComparison = behind("risk")(
            self,
            k=k,
            population=population,
            population_table=population_table,
            population_size=population_size,
            weights=weights,
            column_sets=column_sets,
        )
        return comparison

    def utility(
        self,
        target: str | None = None,
        *,
        queries: int = 1000,
        seed: int = 1,
        ml: bool = False,
        pairs: bool = True,
    ) -> Utility:
        """Measure what the release is still good for, with the source; for the operator: counts are exact.

        Args:
            target: a column whose prediction by the others is measured.
            queries, seed: how many random COUNT queries are asked, and the seed that draws them.
            ml: predict by scikit-learn too (``sqlanon[ml]``), in this process, by codes of all records.
            pairs: measure how each two columns go together, which takes longest where they are many.

        Raises:
            InputError: the release has no such target, or a number is out of its range.
            UnsupportedError: whole persons are suppressed, or scikit-learn is asked for and cannot be had.
        """
        utility: Utility = behind("utility")(self, target, queries=queries, seed=seed, ml=ml, pairs=pairs)
        return utility

    @property
    def beside_source(self) -> BesideSource:
        """The findings beside the quasi-identifiers of the source."""
        return self._session.beside

    @property
    def beside_release(self) -> BesideRelease:
        """The findings beside the quasi-identifiers of the release, counted when they are first asked for."""
        return self._once("beside", self._judge_release)

    def _judge_release(self) -> BesideRelease:
        def rows(published: Mapping[str, str]) -> exp.Query | ReleasedRows:
            if not self.catalog.has_entity and published.keys() <= self.released.keys():
                staged: ReleasedRows = self._once(STAGED, self._stage)
                return staged
            return self.generalized_query(published, entities=self.catalog.has_entity)

        return judge_release(self._session, rows, self.generalized, self.ledger.published)

    def _stage(self) -> ReleasedRows:
        """Write the released rows to a working table of this plan's own, from which they are published too."""
        name = f"{names.STAGED_RELEASE}_{token_hex(4)}"
        return stage(self.engine, name, self._rows_query(), self.released, self.ledger.published)

    def _drop_staged(self) -> None:
        """Drop rows that were staged, so that the release is read from the source as it is."""
        if (staged := self._measured.pop(STAGED, None)) is not None:
            self.engine.drop(staged.table)

    @property
    def beside(self) -> dict[str, Any]:
        """The findings beside the quasi-identifiers, of the source and of the release: the key ``beside`` of
        ``run --json``. For the operator: its counts are exact."""
        return {**self.beside_source.to_dict(), **self.beside_release.to_dict()}

    @property
    def all_warnings(self) -> tuple[str, ...]:
        """The warnings to the user, of the release too."""
        warnings = warnings_of(self.beside_release, self._session, self.catalog)
        warnings += self._blank_warnings + mean_warnings(self.policy) + root_warnings(self.catalog, self.certificate)
        return self.warnings + warnings + keyed_warnings(self.policy, self._session.encoding.types)
