"""The statements that bring a live view with an epoch to its next state: groups come as a whole and go as a part.

The view shows the rows of a table, with their records and their groups (``names.COHORT``): the records that came to one
class at one moment. At the end of an epoch, from one reading of the source (``names.PRESENT``):

- ``fates``: which of the records that are shown are still so in the source; ``sql/epoch/remaining.sql`` decides by the
  parts of each group that meet the models by themselves (``passing``) which stay;
- ``newcomers``: records that were never shown, by their class, without the classes that lost records just now. A class
  of them that meets the models by itself comes, as a group.

Why two states, or any number, single nobody out: let the history of a record be the states in which it was shown, and
its class. Records of one history are what is left of one group, a part that left one group at one moment, or were never
shown: for a record that left does not come back, and a row that is shown does not change. Groups meet the models when
they come, a part that leaves meets them, and so does the part that it leaves behind. So whoever follows every row
through all states finds for each history nobody, or records that meet the models. A class of one state is a union of
groups, and meets the models because each of them does.

Where models judge sensitive values, what is decided must not depend on them: who knows who came and who left would see
by what happened which of them passed, as in the minimality attack (Wong, Fu, Wang and Pei, VLDB 2007). A group of nine
with flu and one with gout that is withdrawn when one leaves says who had gout. So a group is then never divided, and
withdrawn for the number of those who stay alone; newcomers are judged once, as soon as they are enough, and stay away
for good if they fail (``failed``). So which groups there are, and when, is the same whatever the values are, but for
those of records that are never shown. Hence all ways to assign the values of a group to its records have the same
states: their odds stay what they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE
from sqlanon.core.models import least_size
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.models.k_anonymity import KAnonymity
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.binding import bind
from sqlanon.core.sqltrees.trees import (
    aliased,
    both,
    column,
    count_distinct,
    count_rows,
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
from sqlanon.live.compiler.live import FrozenColumn, LiveView, SensitiveColumn, live_view
from sqlanon.live.compiler.live_models import in_source, taking_part


@dataclass(frozen=True, slots=True)
class EpochView:
    """What a live view with an epoch stands on.

    Attributes:
        view: what it would publish without an epoch.
        record: the column of the source that is the key of its records.
        shown, left: the relations of the rows that are shown, and of the records that were.
    """

    view: LiveView
    record: str
    shown: exp.Expr
    left: exp.Expr

    @property
    def watched(self) -> list[str]:
        """The columns that the models look at, each once."""
        return list(dict.fromkeys(m.column for m in self.view.models if m.column is not None))

    @property
    def by_size(self) -> bool:
        """Whether the models judge how large a class is and nothing else."""
        return all(isinstance(model, KAnonymity) for model in self.view.models)

    def select(self) -> exp.Select:
        """Return the SELECT of the view: the rows of the epoch, shuffled, and nothing of the source."""
        rows = exp.select(*map(column, self.view.published)).from_(self.shown.copy())
        return rows.order_by(exp.Uuid(), copy=False).offset(0, copy=False)

    def first(self) -> exp.Select:
        """Return the rows of the first state: those of the view at this moment, each class a group."""
        cells = map(column, self.view.published)
        group = named(self._class_number(), names.COHORT)
        own = map(column, (names.RECORD, names.PERSON))
        return exp.select(*cells, *own, group).from_(self._rows(self.view.models).subquery("present"))

    def present(self) -> exp.Select:
        """Return the rows of the source as they would be shown, suppressed classes too; a record of one row each."""
        rows = exp.select("*", named(exp.Window(this=count_rows(), partition_by=[column(names.RECORD)]), "copies"))
        rows = rows.from_(self._rows(()).subquery("rows"))
        cells = [*self.view.published, names.RECORD, names.PERSON]
        wanted = both([equal(column("copies"), number(1)), not_null(column(names.RECORD))])
        return exp.select(*map(column, cells)).from_(rows.subquery("present")).where(wanted)

    def fates(self) -> exp.Select:
        """Return the records that are shown, their groups, whether the source has them so still, and their part."""
        compared = (*self.view.published, names.PERSON)
        agree = [same(self._text(name, "was"), self._text(name, "present")) for name in compared]
        stays = when(both([not_null(column(names.RECORD, "present")), *agree]), number(1), number(0))
        part = exp.Add(this=exp.Mul(this=column(names.COHORT, "was"), expression=number(2)), expression=stays)
        cells = [column(name, "was") for name in (*self.watched, names.RECORD, names.PERSON, names.COHORT)]
        return (
            exp.select(*cells, named(stays.copy(), "stays"), named(part, names.PART))
            .from_(aliased(self.shown, "was"))
            .join(
                table(names.PRESENT, "present"),
                on=equal(column(names.RECORD, "present"), column(names.RECORD, "was")),
                join_type="left",
            )
        )

    def passing(self, relation: exp.Expr, *, margin: int = 0) -> exp.Query:
        """Return the parts (``names.PART``) of a relation that meet the models by themselves.

        Args:
            margin: so many records or persons more than k are asked for.
        """
        raised = [_raised(model, margin) for model in self.view.models]
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

    def _least(self, margin: int) -> KAnonymity:
        """Return the model that asks for k and the margin, and for no fewer records than could pass."""
        k = max(model.k for model in self.view.models if isinstance(model, KAnonymity)) + margin
        return KAnonymity(k if self.view.entity is not None else max(k, least_size(self.view.models)))

    def _judged(self, relation: exp.Expr, models: Sequence[PrivacyModel]) -> exp.Query:
        watched = {model.column for model in models}
        judged = LiveView(
            source=relation,
            quasi=(FrozenColumn(names.PART, "BIGINT", None),),
            published={names.PART: "BIGINT"},
            models=tuple(models),
            entity=names.PERSON if self.view.entity is not None else None,
            shuffled=False,
            collation=self.view.collation,
            sensitive=tuple(SensitiveColumn(i.name, i.type) for i in self.view.sensitive if i.name in watched),
        )
        return exp.select(column(names.PART)).distinct().from_(live_view(judged).subquery("judged"))

    def newcomers(self) -> exp.Select:
        """Return the rows that may come, by their classes (``names.PART``, from 1).

        They were never shown, and their class lost nobody at this moment (``names.GONE``).
        """
        cells = [*self.view.published, names.RECORD, names.PERSON]
        kinds = []
        for relation, goes in ((table(names.PRESENT, "rows"), 0), (table(names.GONE, "rows"), 1)):
            kinds.append(exp.select(*[column(n, "rows") for n in cells], named(number(goes), "goes")).from_(relation))
        for position, relation in enumerate((self.shown, self.left)):
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
        numbered = exp.select("*", named(self._class_number(), names.PART)).from_(union_all(kinds).subquery("both"))
        losing = exp.Window(this=exp.Max(this=column("goes")), partition_by=[column(names.PART)])
        judged = exp.select("*", named(losing, "losing")).from_(numbered.subquery("numbered"))
        rows = exp.select(*map(column, cells), column(names.PART)).from_(judged.subquery("judged"))
        return rows.where(equal(column("losing"), number(0)))

    def coming(self, first: int) -> exp.Select:
        """Return the rows of the groups that come, numbered from ``first``."""
        cells = [column(name, "rows") for name in (*self.view.published, names.RECORD, names.PERSON)]
        group = exp.Add(this=column(names.PART, "rows"), expression=number(first))
        return (
            exp.select(*cells, named(group, names.COHORT))
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

    def not_shown(self) -> exp.Select:
        """Return one row about the records of the source that take part and are not shown: they, and their persons."""
        view = self.view
        key = in_source(self.record)
        persons = count_rows() if view.entity is None else count_distinct(in_source(view.entity))
        known = equal(column(names.RECORD, "shown"), key)
        wanted = [is_null(column(names.RECORD, "shown")), *taking_part(view)]
        rows = exp.select(named(count_rows(), "records"), named(persons, "persons")).from_(aliased(view.source, SOURCE))
        return rows.join(aliased(self.shown, "shown"), on=known, join_type="left").where(both(wanted))

    def remaining(self) -> exp.Select:
        """Return the records that stay; see ``sql/epoch/remaining.sql``."""
        return bind("epoch/remaining.sql", relations={"fates": table(names.FATES), "passing": table(names.PASSING)})

    def counts(self) -> exp.Select:
        """Return how many records came, went and are held; see ``sql/epoch/counts.sql``."""
        return bind("epoch/counts.sql", relations={"fates": table(names.FATES), "shown": self.shown})

    def _rows(self, models: Sequence[PrivacyModel]) -> exp.Select:
        """Return the rows of the view under some models, with records and persons (without an entity: records)."""
        view = self.view
        published = {self.record: "", **view.published}  # a type that casts nothing
        asked = replace(
            view, models=tuple(models), published=published, shuffled=False, with_entities=view.entity is not None
        )
        person = names.ENTITY if view.entity is not None else self.record
        cells = [column(name) for name in view.published]
        own = [named(column(self.record), names.RECORD), named(column(person), names.PERSON)]
        return exp.select(*cells, *own).from_(live_view(asked).subquery("rows"))

    def _text(self, name: str, relation: str | None = None) -> exp.Expr:
        """Return a published cell as it reads, compared as such."""
        cell: exp.Expr = exp.cast(column(name, relation), "VARCHAR")
        if self.view.collation is None:
            return cell
        return exp.Collate(this=cell, expression=exp.to_identifier(self.view.collation, quoted=True))

    def _class_number(self) -> exp.Expr:
        """Return the number of the class of a row, from 1."""
        cells = [self._text(item.name) for item in self.view.quasi]
        if not cells:
            return exp.cast(number(1), "BIGINT")
        ordered = [exp.Ordered(this=cell, nulls_first=False) for cell in cells]
        return exp.cast(exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=ordered)), "BIGINT")


def _raised(model: PrivacyModel, margin: int) -> PrivacyModel:
    """Return a model that asks for so many records or persons more than k."""
    return KAnonymity(model.k + margin) if isinstance(model, KAnonymity) else model
