"""The types of CSV columns that are more than texts: those that a policy names, and those that a builder needs.

A value is a text until then, so that what is published unchanged keeps its leading zeros, signs and final zeros. Of the
types that all values of a column have, one is taken whose text is the text of the file, if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies.specs import Ages, Dates, Intervals, lists_its_values
from sqlanon.core.policy import Policy
from sqlanon.core.sqltrees.data_types import INTEGERS, NUMBERS
from sqlanon.core.sqltrees.trees import column, count_if, is_null, named, not_null, or_zero, when
from sqlanon.errors import SourceError

WHOLE = r"\s*[+-]?[0-9]+\s*"
NUMBER = r"(?i)\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|nan|inf(inity)?)\s*"
FIXED = r"[+-]?[0-9]+\.[0-9]+"
DAY = r"\s*[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}\s*"
MOMENT = r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:.*"
FOUR_DIGITS = r".*[0-9]{4}.*"
DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d", "%Y.%m.%d")
TIMES = ("", " %H:%M", " %H:%M:%S")
WORDS = {"number": "numbers", "date": "dates"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a column has to be read as.

    Attributes:
        kind: ``number``, ``date``, ``order`` (a number or a date, if all values are one), or the name of a type.
        exact: its values are published, so that their texts must not change.
        lenient: it stays a text if not all values are of the kind; those that are not are uncovered.
    """

    kind: str
    exact: bool = False
    lenient: bool = False


def wanted_types(policy: Policy) -> dict[str, Wanted]:
    """Return what the columns of a policy have to be read as, where a builder or a distance needs more than a text."""
    wanted = {}
    for spec in policy.columns:
        exact = spec.role != "quasi_identifier" and spec.level is None
        ordered = any(model.parameters.get("distance") == "ordered" for model in spec.models)
        if isinstance(spec.hierarchy, Intervals):
            lenient = policy.uncovered_of(spec) != "error"
            wanted[spec.name] = Wanted("number", exact=exact, lenient=lenient)
        elif isinstance(spec.hierarchy, Dates | Ages) and spec.hierarchy.format is None:
            wanted[spec.name] = Wanted("date", exact=exact)
        elif spec.role == "shift" or spec.name == getattr(policy.periods, "column", None):
            wanted[spec.name] = Wanted("date")
        elif ordered and not lists_its_values(spec.hierarchy):
            wanted[spec.name] = Wanted("order", exact=True)
    return wanted


@dataclass(frozen=True, slots=True)
class Conversion:
    """How texts become values of a type: what they look like, and the format of dates."""

    type_name: str
    pattern: str | None = None
    format: str | None = None

    def of(self, name: str) -> exp.Expr:
        """Return the value of a column of texts; NULL where a text is none."""
        text: exp.Expr = column(name)
        if self.format is not None:
            moment = exp.Anonymous(this="TRY_STRPTIME", expressions=[text, exp.Literal.string(self.format)])
            value: exp.Expr = exp.cast(moment, self.type_name)
        else:
            value = exp.TryCast(this=text, to=exp.DataType.build(self.type_name, dialect="duckdb"))
        return value if self.pattern is None else when(_matches(name, self.pattern), value, exp.null())

    def misfits(self, name: str) -> exp.Expr:
        """Return the condition that a text is no value of the type."""
        return exp.and_(not_null(column(name)), is_null(self.of(name)))

    def rewritten(self, name: str) -> exp.Expr:
        """Return the condition that a value reads otherwise than its text."""
        return exp.NullSafeNEQ(this=exp.cast(self.of(name), "VARCHAR"), expression=column(name))

    @property
    def title(self) -> str:
        """The type, with the format of its dates."""
        return self.type_name if self.format is None else f"{self.type_name} ({self.format})"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A column with values that are not of the type that is wanted: how many, and what they would have to be."""

    name: str
    conversion: Conversion
    wanted: str
    count: int


def named_conversion(type_name: str, date_format: str | None, timestamp_format: str | None) -> Conversion:
    """Return the conversion to a type that a policy names."""
    if type_name == "DATE":
        return Conversion(type_name, None if date_format else DAY, date_format)
    if type_name.startswith("TIMESTAMP"):
        return Conversion(type_name, None, timestamp_format)
    return Conversion(type_name, WHOLE if type_name in INTEGERS else None)


def is_read_as(type_name: str) -> bool:
    """Return True for numbers and dates, as which the texts of a subset are compared with a source that has them."""
    return type_name.split("(", maxsplit=1)[0] in (*NUMBERS, "DATE", "TIMESTAMP")


def find_conversions(
    engine: Engine,
    relation: exp.Expr,
    wanted: Mapping[str, Wanted],
    date_format: str | None,
    timestamp_format: str | None,
) -> tuple[dict[str, Conversion], dict[str, int], list[Misfit]]:
    """Return how the columns of a relation of texts are converted, how many texts that changes, and what does not fit.

    A column that is wanted in order and has neither numbers nor dates stays a text.

    Raises:
        SourceError: dates fit several formats by which they differ, or a text that is published would change.
    """
    found: dict[str, Conversion] = {}
    changed: dict[str, int] = {}
    misfits: list[Misfit] = []
    for name, want in wanted.items():
        candidates = _candidates(engine, relation, name, want, date_format, timestamp_format)
        counts = _counts(engine, relation, name, candidates)
        fitting = [
            (rewritten, item) for item, (misfit, rewritten) in zip(candidates, counts, strict=True) if not misfit
        ]
        if not fitting and want.kind == "date" and not (date_format or timestamp_format):
            fitting = [(0, item) for item in _formats(engine, relation, name)]
        if not fitting:
            if want.kind != "order" and not want.lenient:
                place = min(range(len(candidates)), key=lambda number: counts[number][0])
                misfits.append(Misfit(name, candidates[place], WORDS.get(want.kind, want.kind), counts[place][0]))
            continue
        changed[name], found[name] = min(fitting, key=lambda pair: pair[0] > 0)
        if changed[name] and want.exact:
            raise SourceError(
                f"Column {name!r} is needed as {found[name].title}, but {changed[name]} of its texts would be "
                "published otherwise than they stand in the file.",
                hint=f"say csv: {{types: {{{name}: {found[name].type_name}}}}} to accept that, or write them alike.",
            )
    return found, changed, misfits


def _candidates(
    engine: Engine, relation: exp.Expr, name: str, want: Wanted, date_format: str | None, timestamp_format: str | None
) -> list[Conversion]:
    """Return the conversions that serve, the best first."""
    numbers = [Conversion("BIGINT", WHOLE), Conversion("DOUBLE", NUMBER)]
    dates = [Conversion("DATE", DAY), Conversion("TIMESTAMP", MOMENT)]
    if date_format or timestamp_format:
        given = (("DATE", date_format), ("TIMESTAMP", timestamp_format))
        dates = [Conversion(kind, None, written) for kind, written in given if written]
    if want.kind in ("number", "order"):
        fixed = when(_matches(name, FIXED), column(name), exp.null())
        places = exp.Length(this=exp.Anonymous(this="SPLIT_PART", expressions=[fixed, _text("."), exp.convert(2)]))
        query = exp.select(or_zero(exp.Max(this=places)), or_zero(exp.Max(this=exp.Length(this=column(name)))))
        scale, length = engine.run("places of decimals", query.from_(relation.copy()))[0]
        if 0 < scale <= 18 and length <= 38:
            numbers.append(Conversion(f"DECIMAL({18 if length <= 18 else 38}, {scale})", FIXED))
        return numbers if want.kind == "number" else [*numbers, *dates]
    if want.kind == "date":
        return dates
    return [named_conversion(want.kind, date_format, timestamp_format)]


def _counts(engine: Engine, relation: exp.Expr, name: str, candidates: Sequence[Conversion]) -> list[tuple[int, int]]:
    """Return, for each conversion, how many texts are no value, and how many values read otherwise."""
    counts = [count_if(condition) for item in candidates for condition in (item.misfits(name), item.rewritten(name))]
    row = engine.run("types of texts", exp.select(*counts).from_(relation.copy()))[0]
    return list(zip(map(int, row[::2]), map(int, row[1::2]), strict=True))


def _formats(engine: Engine, relation: exp.Expr, name: str) -> list[Conversion]:
    """Return the format that all texts of a column fit, if there is one.

    Raises:
        SourceError: several do, and they read other dates.
    """
    formats = [
        Conversion("TIMESTAMP" if time else "DATE", FOUR_DIGITS, day + time) for time, day in product(TIMES, DAYS)
    ]
    distinct = exp.select(column(name)).distinct().from_(relation.copy()).subquery("texts")
    counts = _counts(engine, distinct, name, formats)
    fitting = [item for item, (misfits, _) in zip(formats, counts, strict=True) if not misfits]
    if len(fitting) > 1:
        differ = [
            named(count_if(exp.NullSafeNEQ(this=fitting[0].of(name), expression=other.of(name))), other.format or "")
            for other in fitting[1:]
        ]
        if any(engine.run("formats of dates", exp.select(*differ).from_(distinct))[0]):
            written = ", ".join(str(item.format) for item in fitting)
            raise SourceError(
                f"The dates of column {name!r} fit several formats ({written}), which read other dates.",
                hint="say which one: csv: {date_format: …} (timestamp_format with a time of day).",
            )
    return fitting[:1]


def _matches(name: str, pattern: str) -> exp.Expr:
    return exp.Anonymous(this="REGEXP_FULL_MATCH", expressions=[column(name), _text(pattern)])


def _text(text: str) -> exp.Expr:
    return exp.Literal.string(text)
