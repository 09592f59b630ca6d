"""Conversions between values of SQLite, whose columns hold any type, and Arrow, policies and texts of hierarchies.

The canonical text of a value goes by the value, not by its column: a text is itself, a whole number its digits, a
float the shortest text that reads back as the same number (with a point or an exponent, as in DuckDB). So the number 5
and the text '5' in one column are one value. Bytes (BLOB) have no canonical text.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sqlanon.core.engines.rendering import INSTEAD
from sqlanon.core.engines.sqlite import dialect
from sqlanon.core.engines.sqlite.dialect import LARGEST, OVERFLOW
from sqlanon.core.sqltrees.trees import CASED, HEX_NUMBER, HMAC, NORMAL, SHIFTED, normal_text
from sqlanon.errors import UnsupportedError

WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
TRUE = ("true", "t", "yes", "y", "1")
FALSE = ("false", "f", "no", "n", "0")
DECLARED = (
    (pa.types.is_boolean, "BOOLEAN"), (pa.types.is_floating, "DOUBLE"), (pa.types.is_date, "DATE"),
    (pa.types.is_timestamp, "TIMESTAMP"), (pa.types.is_binary, "BLOB"), (pa.types.is_large_binary, "BLOB"),
)  # fmt: skip
"""The types that columns of working tables are declared with, besides whole numbers (BIGINT) and TEXT."""
BYTES, UNREADABLE = "bytes", "unreadable"
"""The reasons for which a function refuses a value, besides ``OVERFLOW``."""


def type_word(declared: str, affinity: str = "") -> str:
    """Return the word of policies for the declared type of a column, by SQLite's rules of affinity.

    Args:
        declared: the type in the table's definition; may be empty.
        affinity: the type of a query's column that has no declared type.
    """
    name = (declared or affinity).upper().split("(")[0].strip()
    if name in ("DATE", "TIME", "BOOLEAN", "UUID", "TIMESTAMP WITH TIME ZONE"):
        return name
    if name in ("BOOL", "DATETIME", "TIMESTAMP"):
        return {"BOOL": "BOOLEAN"}.get(name, "TIMESTAMP")
    if "INT" in name:
        return "BIGINT"
    if not name or any(part in name for part in ("CHAR", "CLOB", "TEXT")):
        return "VARCHAR"
    return "BLOB" if "BLOB" in name else "DOUBLE"


@dataclass(slots=True)
class Functions:
    """The functions of a session, and the reason why one of them refused a value, which SQLite does not pass on.

    Attributes:
        refused: ``overflow``, ``bytes`` or ``unreadable``; None when no function refused.
        interrupted: whether the user stopped a function.
    """

    refused: str | None = None
    interrupted: bool = False
    parsers: dict[str, Callable[[Any], Any]] = field(default_factory=dict)

    def register(self, create: Callable[..., Any]) -> None:
        """Create the functions in a connection, by its ``create_function``."""
        for name, arguments, function in (
            (dialect.TEXT, 1, self._text),
            (dialect.CAST, 2, self._cast),
            (dialect.TRY_CAST, 2, self._try_cast),
            (dialect.LENGTH, 1, lambda value: None if value is None else len(str(value))),
            (dialect.KEY, -1, lambda *values: repr(values)),
            (dialect.MATCHES, 2, _matches),
            (HMAC, 3, _hmac),
            (NORMAL, 1, lambda text: None if text is None else normal_text(text)),
            (CASED, 1, lambda text: None if text is None else normal_text(text, cased=True)),
            ("SPLIT_PART", 3, _split_part),
            ("TRANSLATE", 3, _translate),
            (HEX_NUMBER, 1, lambda digits: None if digits is None else int(digits[:15], 16)),
            (SHIFTED, 2, _shifted),
        ):
            create(name, arguments, self._notice_interrupts(function), deterministic=True)
        create(dialect.REFUSE, 1, self._refuse)  # of constants too only where it is reached

    def register_mathematics(self, create: Callable[..., Any]) -> None:
        """Create the functions that a SQLite without mathematics lacks; they give NULL where they are not defined."""
        for name, function in (("LN", math.log), ("SQRT", math.sqrt), ("CEIL", math.ceil), ("FLOOR", math.floor)):
            create(name, 1, self._notice_interrupts(_defined(function)), deterministic=True)

    def _notice_interrupts(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def noticed(*values: Any) -> Any:
            try:
                return function(*values)
            except KeyboardInterrupt:
                self.interrupted = True
                raise

        return noticed

    def _refuse(self, reason: str) -> Any:
        self.refused = reason
        raise ValueError(reason)

    def _text(self, value: Any) -> str | None:
        if isinstance(value, bytes):
            self._refuse(BYTES)
        if isinstance(value, float):
            return repr(value + 0.0)  # -0.0 reads like 0.0
        return value if value is None or isinstance(value, str) else str(value)

    def _cast(self, value: Any, wanted: str) -> Any:
        """Return the value in a type of policies; refuse it if it does not read as one."""
        result = self._try_cast(value, wanted)
        if result is None and value is not None:
            self._refuse(OVERFLOW if isinstance(value, float) and wanted == "BIGINT" else UNREADABLE)
        return result

    def _try_cast(self, value: Any, wanted: str) -> Any:
        if value is None or isinstance(value, bytes):
            return None
        parse = self.parsers.get(wanted)
        if parse is None:
            parse = self.parsers.setdefault(wanted, parser(wanted))
        try:
            return parse(value)
        except (ValueError, OverflowError):
            return None


def _matches(pattern: str, value: Any) -> int | None:
    """Return 1 if a part of a text matches a pattern, otherwise 0; SQLite calls it for ``value REGEXP pattern``."""
    return None if value is None else int(re.search(pattern, str(value)) is not None)


def _hmac(inner: str, outer: str, text: str | None) -> str | None:
    """Return the keyed hash of a text from the two blocks of a key, as hexadecimal digits."""
    if text is None:
        return None
    first = hashlib.sha256(bytes.fromhex(inner) + text.encode()).digest()
    return hashlib.sha256(bytes.fromhex(outer) + first).hexdigest()


def _shifted(value: str | None, days: int | None) -> str | None:
    """Return the text of a date or time so many days later: 2024-01-31, with whatever follows."""
    if value is None or days is None:
        return None
    day = datetime.date.fromisoformat(value[:10]) + datetime.timedelta(days=days)
    return day.isoformat() + value[10:]


def _defined(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def defined(value: Any) -> Any:
        try:
            return None if value is None else function(value)
        except ValueError:
            return None

    return defined


def parser(wanted: str) -> Callable[[Any], Any]:
    """Return a function that reads a value as a type of policies.

    It returns None, or raises ValueError, if the value does not read as that type.
    """
    name = wanted.upper().split("(")[0].strip()
    if name in ("FLOAT", "REAL", "DOUBLE", "DECIMAL"):
        return _number
    if name == "BOOLEAN":
        return _truth
    if name == "DATE":
        return lambda value: _iso(value, datetime.date.fromisoformat)
    if name.startswith("TIMESTAMP"):
        return lambda value: _iso(value, datetime.datetime.fromisoformat)
    if name == "TIME":
        return lambda value: _iso(value, datetime.time.fromisoformat)
    if "INT" in name:
        return _whole
    return str


def _whole(value: Any) -> int | None:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    if isinstance(value, str) and not WHOLE.fullmatch(value):
        return None
    number = int(value)
    return number if -LARGEST - 1 <= number <= LARGEST else None


def _number(value: Any) -> float | int | None:
    """Return a number as SQLite keeps it in a column of numbers: whole if it is written so."""
    if isinstance(value, str) and WHOLE.fullmatch(value):
        return _whole(value)
    number = value if isinstance(value, int) else float(value)
    return None if math.isnan(number) else number


def _truth(value: Any) -> int | None:
    if isinstance(value, str):
        text = value.strip().lower()
        return 1 if text in TRUE else 0 if text in FALSE else None
    return int(value != 0)


def _iso(value: Any, parse: Callable[[str], Any]) -> str | None:
    """Return the text of a moment, if it is one."""
    if not isinstance(value, str):
        return None
    parse(value)
    return value


def stored(value: Any) -> Any:
    """Return a value of Arrow as SQLite stores it: dates, times and decimals as texts, truth values as 0 and 1.

    Raises:
        UnsupportedError: a whole number is beyond 64 bits.
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else str(value)
    if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
        raise UnsupportedError("A whole number does not fit the 64 bits that SQLite has.", hint=INSTEAD)
    if isinstance(value, float) and math.isnan(value):
        raise UnsupportedError("SQLite has no NaN: it would become NULL.", hint="leave NaN out, or write it as text.")
    if value is None or isinstance(value, int | float | str | bytes):
        return value
    return value.isoformat(" ") if isinstance(value, datetime.datetime) else str(value)


def declared(kind: pa.DataType) -> str:
    """Return the type that a column of a working table is declared with."""
    if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0):
        return "BIGINT"
    return next((word for is_such, word in DECLARED if is_such(kind)), "TEXT")


def arrow_column(values: Sequence[Any], kind: str) -> pa.Array:
    """Return a column of Arrow of the type ``kind``, or of texts if a value has another type."""
    types = {type(value) for value in values if value is not None}
    if types <= {int} and (types or kind in ("BIGINT", "BOOLEAN")):
        return pa.array(values, pa.int64())
    if types <= {float} and (types or kind == "DOUBLE"):
        return pa.array(values, pa.float64())
    if kind == "DOUBLE" and types == {int, float} and all(isinstance(v, float) or abs(v or 0) < 2**53 for v in values):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if types == {bytes}:
        return pa.array(values, pa.binary())
    texts = Functions()
    return pa.array([texts._text(value) for value in values], pa.string())


def _translate(text: str | None, signs: str, others: str) -> str | None:
    """Return a text with each of some signs replaced by the one in its place, as DuckDB and PostgreSQL do."""
    return None if text is None else text.translate(str.maketrans(signs, others))


def _split_part(text: str | None, separator: str, place: int) -> str | None:
    """Return a part of a text, the first at 1; the empty text beyond the last."""
    parts = [] if text is None else text.split(separator)
    return None if text is None else parts[place - 1] if place <= len(parts) else ""
