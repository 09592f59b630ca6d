"""Keyed hashes of values, where they are: pseudonyms, and the days by which the dates of a person are shifted.

``hmac(text)`` is HMAC-SHA-256 of the UTF-8 of a canonical text, as 64 hexadecimal digits. Its key stands in a working
table (``names.RELEASE_KEY``), a row a purpose, so that no statement holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import SOURCE, EntityColumn
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import (
    HEX_NUMBER,
    HMAC,
    SHIFTED,
    aliased,
    bigint,
    canonical,
    column,
    equal,
    named,
    number,
    own_text,
    table,
)

PSEUDONYM, SHIFT, MEMBER, MEMBER_VALUE = "pseudonym", "shift", "ledger member", "ledger value"
"""Purposes of keys."""
NANOSECONDS_OF_DAY = 86_400 * 10**9
DIGITS = 32
"""Hexadecimal digits of a pseudonym: 128 bits, of which two persons among 10¹² agree once in 10¹⁴ times."""


def keyed_hash(text: exp.Expr, keys: str) -> exp.Expr:
    """Return HMAC-SHA-256 of a text as 64 lower-case hexadecimal digits; of NULL, NULL.

    Args:
        keys: the relation that holds the key of the purpose, one row (``release_key``).
    """
    inner, outer = (column(name, keys) for name in names.KEY_COLUMNS[1:])
    return exp.Anonymous(this=HMAC, expressions=[inner, outer, text])


def release_key(purpose: str, alias: str) -> exp.Subquery:
    """Return the one row of the key of a purpose, to be cross-joined."""
    rows = exp.select(*map(column, names.KEY_COLUMNS[1:])).from_(table(names.RELEASE_KEY))
    rows = rows.where(equal(column(names.KEY_COLUMNS[0]), exp.Literal.string(purpose)))
    return rows.subquery(exp.to_identifier(alias, quoted=True))


def pseudonym(text: exp.Expr, keys: str) -> exp.Expr:
    """Return the pseudonym of a canonical text: the first 32 digits of its keyed hash; of NULL, NULL.

    Args:
        keys: the alias of the ``release_key`` of the purpose.
    """
    return exp.Substring(this=keyed_hash(text, keys), start=number(1), length=number(DIGITS))


def shift_days(text: exp.Expr, keys: str, *, days: int, keep_weekday: bool) -> exp.Expr:
    """Return by how many days the dates of a person are shifted: any number of -days to days, 0 too, equally likely.

    60 bits of the hash are divided by the number of choices, of which no probability is off by more than 2⁻⁴⁰.

    Args:
        keep_weekday: only whole weeks.
    """
    step = 7 if keep_weekday else 1
    most = days // step
    hashed = exp.Anonymous(this=HEX_NUMBER, expressions=[keyed_hash(text, keys)])
    choice = exp.Mod(this=hashed, expression=number(2 * most + 1))
    moved = exp.paren(exp.Sub(this=exp.paren(choice), expression=number(most)))
    return exp.Mul(this=moved, expression=number(step)) if step > 1 else moved


def persons_by_key(
    relation: exp.Expr, entity: EntityColumn, purpose: str, *, form: str = "", as_compared: bool = False
) -> exp.Select:
    """Return the persons of a relation: ``value``, the text of the entity, and ``pseudonym``, of a key's purpose.

    Whom the database takes for one person has one row: what is hashed is the first of the texts that are equal to the
    value, byte by byte.

    Args:
        form: ``NORMAL`` or ``CASED``: hash this form of the text; ``exact`` is the pseudonym of the text as it stands.
        as_compared: ``value`` is what ``entity.compared()`` is, and not its text.
    """
    own, text = entity.compared(), canonical(entity.name, entity.type)
    first = text if entity.is_plain else exp.Min(this=text)
    texts = exp.select(named(own, "value"), named(first, "text")).from_(relation.copy()).group_by(own.copy())
    value = own_text("value", entity.type, "texts") if entity.is_plain and not as_compared else column("value", "texts")
    as_it_stands = column("text", "texts")
    known = exp.Anonymous(this=form, expressions=[as_it_stands]) if form else as_it_stands
    found = exp.select(named(value, "value"), named(pseudonym(known, "own"), "pseudonym"))
    if form:
        found = found.select(named(pseudonym(as_it_stands.copy(), "own"), "exact"))
    return found.from_(texts.subquery("texts")).join(release_key(purpose, "own"), join_type="cross")


@dataclass(frozen=True, slots=True)
class KeyedColumns:
    """The columns of a release that are made by a key.

    Attributes:
        entity: the column of the person that a record is of.
        pseudonyms: columns that hold the pseudonym of the person.
        shifted: columns of dates, with their types.
        shift: by how many days at most they are shifted, and whether by whole weeks; None without any.
    """

    entity: EntityColumn
    pseudonyms: tuple[str, ...] = ()
    shifted: Mapping[str, str] = field(default_factory=dict)
    shift: tuple[int, bool] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names."""
        return (*self.pseudonyms, *self.shifted)

    @property
    def shown(self) -> dict[str, str]:
        """The columns of the joined source that hold what is published, by the names of the release."""
        return {name: names.keyed(place) for place, name in enumerate(self.columns)}

    @property
    def originals(self) -> dict[str, str]:
        """The columns of staged rows that hold the dates as they were, by the names of the release."""
        return {name: names.original(place) for place, name in enumerate(self.columns) if name in self.shifted}

    def persons(self, relation: exp.Expr) -> exp.Select:
        """Return the persons of a relation: ``value``, ``pseudonym`` and, where dates are shifted, ``days``.

        Whom the database takes for one person has one row: ``value`` compares as the column does, and what is hashed
        is the first of the texts that are equal to it, byte by byte.
        """
        query = persons_by_key(relation, self.entity, PSEUDONYM)
        if self.shift is not None:
            days, keep_weekday = self.shift
            moved = shift_days(column("text", "texts"), "of_dates", days=days, keep_weekday=keep_weekday)
            query = query.select(named(moved, "days"), copy=False)
            query = query.join(release_key(SHIFT, "of_dates"), join_type="cross", copy=False)
        return query

    def joined(self, source: exp.Expr) -> exp.Expr:
        """Return a source joined with its persons (``names.KEYED``): its columns, and what is ``shown`` of them."""
        values: dict[str, exp.Expr] = {name: column("pseudonym", "keyed") for name in self.pseudonyms}
        for name, kind in self.shifted.items():
            values[name] = _moved(column(name, "records"), column("days", "keyed"), kind)
        everything = exp.Column(this=exp.Star(), table=exp.to_identifier("records", quoted=True))
        shown = [named(values[name], alias) for name, alias in self.shown.items()]
        return (
            exp.select(everything, *shown)
            .from_(aliased(source, "records"))
            .join(
                table(names.KEYED, "keyed"),
                on=equal(self.entity.text("records"), column("value", "keyed")),
                join_type="left",
            )
            .subquery(SOURCE)
        )


def _moved(value: exp.Expr, days: exp.Expr, kind: str) -> exp.Expr:
    """Return a date or time so many days later, in its own type."""
    if kind != "TIMESTAMP_NS":
        return exp.cast(exp.Anonymous(this=SHIFTED, expressions=[value, days]), data_type(kind))
    elapsed = exp.Mul(this=bigint(days), expression=exp.Literal.number(NANOSECONDS_OF_DAY))
    moment = exp.Add(this=exp.Anonymous(this="EPOCH_NS", expressions=[value]), expression=elapsed)
    return exp.Anonymous(this="MAKE_TIMESTAMP_NS", expressions=[moment])  # an interval has microseconds
