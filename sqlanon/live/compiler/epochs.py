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
withdrawn for the number of those who stay alone, and who stays is not asked for these values: one that changed is shown
as it was. Newcomers are judged once, as soon as they are enough, and stay away for good if they fail (``failed``). So
which groups there are, and when, is the same whatever the values are, but for those of records that are never shown.
Hence all ways to assign the values of a group to its records have the same states: their odds stay what they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE
from sqlanon.core.models.base import PrivacyModel
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    aliased,
    both,
    canonical,
    column,
    count_distinct,
    count_rows,
    equal,
    is_null,
    named,
    not_null,
    number,
    or_zero,
    union_all,
    when,
)
from sqlanon.live.compiler.cohorts import Cohorts, nothing
from sqlanon.live.compiler.live import live_view
from sqlanon.live.compiler.live_models import LiveView, in_source, taking_part

Lookups = Mapping[str, exp.Expr]
"""By column."""


@dataclass(frozen=True, slots=True)
class EpochView:
    """A live view with an epoch, and the tables that it stands on.

    Attributes:
        view: what it would publish without an epoch.
        record: the column of the source that is the key of its records.
        shown, left: the relations of the rows that are shown, and of the records that were.
        places: the nodes at which groups are shown: of each the lookups of its quasi-identifiers; None: no group is.
        start: the first of them at which newcomers come; the others are of chains before it was planned anew.
    """

    view: LiveView
    record: str
    shown: exp.Expr
    left: exp.Expr
    places: tuple[Lookups | None, ...]
    start: int = 0

    @property
    def cohorts(self) -> Cohorts:
        """The groups in which records come and go."""
        view = self.view
        return Cohorts(
            published=view.published,
            quasi=tuple(item.name for item in view.quasi),
            models=view.models,
            persons=view.entity is not None,
            sensitive=view.sensitive,
            collation=view.collation,
            shown=self.shown,
            left=self.left,
        )

    @property
    def newcomers_at(self) -> range:
        """The places at which newcomers come."""
        return range(self.start, len(self.places))

    def select(self) -> exp.Select:
        """Return the SELECT of the view: the rows of the epoch, shuffled, and nothing of the source."""
        rows = exp.select(*map(column, self.view.published)).from_(self.shown.copy())
        return rows.order_by(exp.Uuid(), copy=False).offset(0, copy=False)

    def first(self) -> exp.Select:
        """Return the rows of the first state: those of the view at this moment, each class a group."""
        cells = [*self.view.published, names.RECORD, names.PERSON]
        group = named(self.cohorts.class_number(), names.COHORT)
        own = [named(number(0), names.NODE_PLACE), named(nothing(), names.SINCE)]
        rows = self._rows(self.places[0] or {}, self.view.models)
        return exp.select(*map(column, cells), group, *own).from_(rows.subquery("present"))

    def present(self) -> exp.Query:
        """Return the rows of the source as they would be shown at each place, suppressed classes too; a record of one
        row each."""
        return union_all([self._present(place, at) for place, at in enumerate(self.places) if at is not None])

    def _present(self, place: int, lookups: Lookups) -> exp.Select:
        rows = exp.select("*", named(exp.Window(this=count_rows(), partition_by=[column(names.RECORD)]), "copies"))
        rows = rows.from_(self._rows(lookups, ()).subquery("rows"))
        cells = [*self.view.published, names.RECORD, names.PERSON]
        wanted = both([equal(column("copies"), number(1)), not_null(column(names.RECORD))])
        own = named(number(place), names.NODE_PLACE)
        return exp.select(*map(column, cells), own).from_(rows.subquery("present")).where(wanted)

    def not_shown(self) -> exp.Select:
        """Return one row about the records of the source that take part and are not shown: how many they are, and their
        persons, and how many may come later."""
        view = self.view
        key = in_source(self.record)
        persons = count_rows() if view.entity is None else count_distinct(in_source(view.entity))
        wanted = [is_null(column(names.RECORD, "shown")), *taking_part(view)]
        waiting = or_zero(exp.Sum(this=when(is_null(column(names.RECORD, "left")), number(1), number(0))))
        counts = (named(count_rows(), "records"), named(persons, "persons"), named(waiting, "waiting"))
        rows = exp.select(*counts).from_(aliased(view.source, SOURCE))
        for relation, alias in ((self.shown, "shown"), (self.left, "left")):
            known = equal(column(names.RECORD, alias), key.copy())
            rows = rows.join(aliased(relation, alias), on=known, join_type="left")
        return rows.where(both(wanted))

    def _rows(self, lookups: Lookups, models: Sequence[PrivacyModel]) -> exp.Select:
        """Return the rows of the view at a node under some models, with records and persons (without an entity:
        records). Where other nodes of the chain publish texts, a value of the source is its text."""
        view = self.view
        quasi = tuple(replace(item, lookup=lookups.get(item.name)) for item in view.quasi)
        texts = {
            item.name: item.type
            for item in quasi
            if item.lookup is None and view.published[item.name] == "VARCHAR" and "ENUM(" not in item.type.upper()
        }
        published = {self.record: "", **view.published, **texts}  # a type that casts nothing
        asked = replace(
            view,
            quasi=quasi,
            models=tuple(models),
            published=published,
            shuffled=False,
            with_entities=view.entity is not None,
        )
        person = names.ENTITY if view.entity is not None else self.record
        cells = [named(canonical(n, texts[n]), n) if n in texts else column(n) for n in view.published]
        own = [named(column(self.record), names.RECORD), named(column(person), names.PERSON)]
        return exp.select(*cells, *own).from_(live_view(asked).subquery("rows"))
