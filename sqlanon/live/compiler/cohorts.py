"""The statements that decide which rows are shown next: groups come as a whole, and go as a whole or as a part.

They serve live views with an epoch (``epochs.py`` has the proof) and releases in cohorts (the ledger). A group are the
records that came at one moment to one class of one node; its *place* is the place of this node in a chain of nodes,
each more general than the one before. ``names.PRESENT`` holds the rows of the source as they would be shown now, at
each place of the chain. A record comes in one group, at the first place at which there are enough; so groups at several
places are as disjoint as those at one, and the proof holds for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.models import least_size
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    aliased,
    both,
    column,
    equal,
    is_null,
    named,
    not_null,
    number,
    same,
    table,
    union_all,
    when,
)
from sqlanon.live.compiler.live import live_view
from sqlanon.live.compiler.live_models import FrozenColumn, LiveView, SensitiveColumn

MOST = 2**31
"""More persons than a group holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohorts:
    """The columns, models and relations of records that are shown in groups.

    Attributes:
        published: the columns and their types.
        quasi: those of them that form classes.
        models: all must hold of each group.
        persons: the models count persons (``names.PERSON``), not records.
        sensitive: the columns whose histograms the models look at.
        collation: that of the classes; None: those of the columns.
        shown, left: the relations of the rows that are shown, and of the records that never will be again.
        erasing: some records have to go at once (``names.ERASED``).

    Rows have their place in the chain (``names.NODE_PLACE``), and since when they are as they were (``names.SINCE``).
    """

    published: Mapping[str, str]
    quasi: Sequence[str]
    models: tuple[PrivacyModel, ...]
    persons: bool
    sensitive: Sequence[SensitiveColumn]
    collation: str | None
    shown: exp.Expr
    left: exp.Expr
    erasing: bool = False

    @property
    def watched(self) -> list[str]:
        """The columns that the models look at, each once."""
        return list(dict.fromkeys(m.column for m in self.models if m.column is not None))

    @property
    def by_size(self) -> bool:
        """Whether the models judge how large a class is and nothing else."""
        return all(isinstance(model, KAnonymity) for model in self.models)

    @property
    def k(self) -> int:
        """The least number of records or persons of a group."""
        return max((model.k for model in self.models if isinstance(model, KAnonymity)), default=1)

    def fates(self, now: int = 0) -> exp.Select:
        """Return the records that are shown, their groups, whether the source has them so still, and their part.

        Where models judge values, these are not compared: what is decided would tell whoever knows the new value
        whether the old one was another.

        Args:
            now: the number of the state that is decided, since when rows are shown as they were that are so no longer.
        """
        compared = [*(name for name in self.published if name not in self.watched), names.PERSON]
        agree = [same(self._text(name, "was"), self._text(name, "present")) for name in compared]
        stays = when(both([not_null(column(names.RECORD, "present")), *agree]), number(1), number(0))
        cells: list[exp.Expr] = [
            column(name, "was") for name in (*self.watched, names.RECORD, names.PERSON, names.COHORT)
        ]
        met = [equal(column(name, "present"), column(name, "was")) for name in (names.RECORD, names.NODE_PLACE)]
        since = exp.Coalesce(this=column(names.SINCE, "was"), expressions=[number(now)])
        cells.append(named(when(equal(stays.copy(), number(0)), since), names.SINCE))
        return (
            exp.select(*cells, named(stays, "stays"), named(_part(column(names.COHORT, "was"), stays), names.PART))
            .from_(aliased(self.shown, "was"))
            .join(table(names.PRESENT, "present"), on=both(met), join_type="left")
        )

    def passing(self, relation: exp.Expr, *, margin: int = 0) -> exp.Query:
        """Return the parts (``names.PART``) of a relation that meet the models by themselves.

        Args:
            margin: so many records or persons more than k are asked for.
        """
        raised = [_raised(model, margin) for model in self.models]
        return self._judged(relation, raised if self.by_size else [*raised, self._least(margin)])

    def large(self, relation: exp.Expr, *, margin: int = 0) -> exp.Query:
        """Return the parts of a relation that are as large as the models ask for, whatever their values are."""
        return self._judged(relation, [self._least(margin)])

    def deciding(self) -> exp.Query:
        """Return the parts of the groups by which it is decided who stays: those that meet the models.

        Where models judge values: those who stay, if they are enough. Nobody goes but with the whole group.
        """
        if self.by_size:
            return self.passing(table(names.FATES))
        stays = exp.select(exp.Star()).from_(table(names.FATES)).where(equal(column("stays"), number(1)))
        return self.large(stays.subquery("staying"))

    def newcomers(self, place: int = 0) -> exp.Select:
        """Return the rows that may come at a place of the chain, by their classes (``names.PART``, from 1).

        They were never shown, did not fail, do not come at an earlier place, and their class lost nobody at this moment
        (``names.GONE``).
        """
        cells = [*self.published, names.RECORD, names.PERSON]
        kinds = []
        for relation, goes in ((table(names.PRESENT, "rows"), 0), (table(names.GONE, "rows"), 1)):
            kinds.append(exp.select(*[column(n, "rows") for n in cells], named(number(goes), "goes")).from_(relation))
        kinds[0] = kinds[0].where(equal(column(names.NODE_PLACE, "rows"), number(place)))
        known: list[exp.Expr] = [self.shown, self.left, table(names.COMING), table(names.FAILED)]
        for position, relation in enumerate(known):
            alias = f"known_{position}"
            kinds[0] = (
                kinds[0]
                .join(
                    aliased(relation, alias),
                    on=equal(column(names.RECORD, alias), column(names.RECORD, "rows")),
                    join_type="left",
                )
                .where(is_null(column(names.RECORD, alias)))
            )
        numbered = exp.select("*", named(self.class_number(), names.PART)).from_(union_all(kinds).subquery("both"))
        losing = exp.Window(this=exp.Max(this=column("goes")), partition_by=[column(names.PART)])
        judged = exp.select("*", named(losing, "losing")).from_(numbered.subquery("numbered"))
        rows = exp.select(*map(column, cells), column(names.PART)).from_(judged.subquery("judged"))
        return rows.where(equal(column("losing"), number(0)))

    def coming(self, first: int, place: int = 0) -> exp.Select:
        """Return the rows of the groups that come at a place of the chain, numbered from ``first``."""
        cells = [column(name, "rows") for name in (*self.published, names.RECORD, names.PERSON)]
        group = named(exp.Add(this=column(names.PART, "rows"), expression=number(first)), names.COHORT)
        own = [named(number(place), names.NODE_PLACE), named(nothing(), names.SINCE)]
        return (
            exp.select(*cells, group, *own)
            .from_(table(names.NEWCOMERS, "rows"))
            .join(table(names.PASSING, "passing"), on=equal(column(names.PART, "passing"), column(names.PART, "rows")))
        )

    def failed(self) -> exp.Select:
        """Return the records (``names.RECORD``) of newcomers that are enough (``names.LARGE``) and do not pass."""
        of_part = equal(column(names.PART, "large"), column(names.PART, "rows"))
        passes = equal(column(names.PART, "passing"), column(names.PART, "rows"))
        rows = exp.select(column(names.RECORD, "rows")).from_(table(names.NEWCOMERS, "rows"))
        rows = rows.join(table(names.LARGE, "large"), on=of_part)
        rows = rows.join(table(names.PASSING, "passing"), on=passes, join_type="left")
        return rows.where(is_null(column(names.PART, "passing")))

    def remaining(self, latest: int | None = None) -> exp.Query:
        """Return the records that stay; see ``sql/epoch/remaining.sql``.

        Args:
            latest: nobody goes but those of groups with a record that is overdue, as it was since this state.
        """
        decided = bind("epoch/remaining.sql", relations={"fates": table(names.FATES), "passing": table(names.PASSING)})
        if latest is None:
            return decided
        record, cohort = column(names.RECORD), column(names.COHORT)
        overdue = [equal(column("stays"), number(0)), exp.LTE(this=column(names.SINCE), expression=number(latest))]
        groups = exp.select(cohort).from_(table(names.FATES)).where(both(overdue))
        others = exp.select(record).from_(table(names.FATES)).where(exp.Not(this=cohort.isin(query=groups)))
        return exp.select(record).distinct().from_(union_all([decided, others]).subquery("staying"))

    def going(self) -> exp.Select:
        """Return the rows that are shown and do not stay."""
        stays = equal(column(names.RECORD, "remaining"), column(names.RECORD, "shown"))
        return (
            exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("shown", quoted=True)))
            .from_(aliased(self.shown, "shown"))
            .join(table(names.REMAINING, "remaining"), on=stays, join_type="left")
            .where(is_null(column(names.RECORD, "remaining")))
        )

    def following(self) -> exp.Query:
        """Return the rows of the next state: those that stay, and those that come."""
        cells = [*self.published, names.RECORD, names.PERSON, names.COHORT, names.NODE_PLACE]
        stays = exp.select(*[column(name, "shown") for name in cells], column(names.SINCE, "fates"))
        stays = stays.from_(aliased(self.shown, "shown"))
        for name, alias in ((names.REMAINING, "remaining"), (names.FATES, "fates")):
            stays = stays.join(table(name, alias), on=equal(column(names.RECORD, alias), column(names.RECORD, "shown")))
        comes = exp.select(*map(column, (*cells, names.SINCE))).from_(table(names.COMING))
        return union_all([stays, comes])

    def along(self, latest: int) -> exp.Select:
        """Return the records that go with others of their group that are overdue; see ``sql/epoch/along.sql``.

        Where models judge values, all of the group go.
        """
        k = self.k if self.by_size else MOST
        return bind("epoch/along.sql", relations={"fates": table(names.FATES)}, values={"k": k, "latest": latest})

    def counts(self, shown: exp.Expr | None = None) -> exp.Select:
        """Return how many records came, went and are held; see ``sql/epoch/counts.sql``."""
        relations = {"fates": table(names.FATES), "shown": self.shown if shown is None else shown}
        return bind("epoch/counts.sql", relations=relations)

    def class_number(self) -> exp.Expr:
        """Return the number of the class of a row, from 1."""
        cells = [self._text(name) for name in self.quasi]
        if not cells:
            return exp.cast(number(1), "BIGINT")
        ordered = [exp.Ordered(this=cell, nulls_first=False) for cell in cells]
        return exp.cast(exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=ordered)), "BIGINT")

    def _least(self, margin: int) -> KAnonymity:
        """Return the model that asks for k and the margin, and for no fewer records than could pass."""
        k = self.k + margin
        return KAnonymity(k if self.persons else max(k, least_size(self.models)))

    def _judged(self, relation: exp.Expr, models: Sequence[PrivacyModel]) -> exp.Query:
        watched = {model.column for model in models}
        judged = LiveView(
            source=relation,
            quasi=(FrozenColumn(names.PART, "BIGINT", None),),
            published={names.PART: "BIGINT"},
            models=tuple(models),
            entity=names.PERSON if self.persons else None,
            shuffled=False,
            collation=self.collation,
            sensitive=tuple(SensitiveColumn(i.name, i.type) for i in self.sensitive if i.name in watched),
        )
        return exp.select(column(names.PART)).distinct().from_(live_view(judged).subquery("judged"))

    def _text(self, name: str, relation: str | None = None) -> exp.Expr:
        """Return a published cell as it reads, compared as such."""
        cell: exp.Expr = exp.cast(column(name, relation), "VARCHAR")
        if self.collation is None:
            return cell
        return exp.Collate(this=cell, expression=exp.to_identifier(self.collation, quoted=True))


def nothing() -> exp.Expr:
    """Return the number of no state."""
    return exp.cast(exp.null(), "BIGINT")


def _part(cohort: exp.Expr, stays: exp.Expr) -> exp.Expr:
    """Return the number of a part of a group: those that stay, or the others."""
    return exp.Add(this=exp.Mul(this=cohort, expression=number(2)), expression=stays.copy())


def _raised(model: PrivacyModel, margin: int) -> PrivacyModel:
    """Return a model that asks for so many records or persons more than k."""
    return KAnonymity(model.k + margin) if isinstance(model, KAnonymity) else model
