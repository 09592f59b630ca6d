"""Columns of random tables: every type of DuckDB, and values that databases, files and messages find hard.

A value is a text, which ``CAST`` makes a value of its type, or None for NULL.
"""

from __future__ import annotations

import functools
import random
import string
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

Text = str | None
CANARY = "zq"
"""How texts of people begin that no message may hold."""

NAMES = (
    "order", 'a"b', "key_0", "n", "x; DROP TABLE t", "x" * 70, "value", "level_0", "node", "source", "é ü", "a.b",
    "a b", "select", "'", "%s", "{0}", "-", "rowid", "class_0", "ß", "名前",
    "a\nb", "\\", "1", "*", "true", "a,b", "count",
    "Person", "text", "$1", "?", "k", "a/b", "<b>", "`", "[x]", "ꙮ" * 9, "İ", "null", "attribute",
)  # fmt: skip
HOSTILE = (
    "", " ", "NULL", "null", "*", "'", '"', ";", "\n", "\r\n", "\t", "\\", "é", "e\u0301",
    "𝄞", "x" * 3000, "=1+1",
    "<b>", "{{ x }}", "%s", "\u2028", "(other)", "[suppressed]", "007", "1e3", "true", "-", "a;b", "a,b", '""',
    "\ufeff",
    "N/A", "ß", "ss", "İ", "\x7f", "\u200f", "nan", "[0, 5)",
)  # fmt: skip
FIXED: dict[str, Sequence[str]] = {
    "TINYINT": ["-128", "127", "0", "1", "5", "7"],
    "SMALLINT": ["-32768", "32767", "0", "12", "13", "99"],
    "INTEGER": ["-2147483648", "2147483647", "0", "20", "21", "35", "36", "90"],
    "BIGINT": ["-9223372036854775808", "9223372036854775807", "0", "40", "41", "55"],
    "HUGEINT": ["-170141183460469231731687303715884105728", "170141183460469231731687303715884105727", "0", "3", "4"],
    "UTINYINT": ["0", "255", "7", "8"],
    "USMALLINT": ["0", "65535", "7", "8"],
    "UINTEGER": ["0", "4294967295", "7", "8"],
    "UBIGINT": ["0", "18446744073709551615", "7", "8"],
    "UHUGEINT": ["0", "340282366920938463463374607431768211455", "7"],
    "DECIMAL(4,0)": ["-9999", "9999", "0", "12", "13"],
    "DECIMAL(10,2)": ["1.50", "-0.10", "0", "99999999.99", "1.5", "2.25"],
    "DECIMAL(38,10)": ["9999999999999999999999999999.9999999999", "0.0000000001", "-1", "2"],
    "FLOAT": ["NaN", "-NaN", "Infinity", "-Infinity", "-0.0", "0.0", "0.1", "1e-38", "3.4e38", "16777217"],
    "DOUBLE": ["NaN", "-NaN", "Infinity", "-Infinity", "-0.0", "0.0", "0.1", "1e-300", "1.7e308", "9007199254740993"],
    "BOOLEAN": ["true", "false"],
    "DATE": ["2020-02-29", "0001-01-01", "9999-12-31", "1969-12-31", "2024-01-01", "2024-01-07", "infinity",
             "-infinity", "0044-03-15 (BC)", "5874897-12-31"],
    "TIMESTAMP": ["2020-02-29 12:00:01.000005", "1969-12-31 23:59:59", "2024-01-07 00:00:00", "infinity",
                  "0044-03-15 (BC) 00:00:00", "294247-01-10 04:00:54.775806"],
    "TIMESTAMPTZ": ["2020-02-29 12:00:01+02", "2024-03-31 01:30:00+00", "2024-01-01 00:30:00+01", "infinity"],
    "TIMESTAMP_S": ["2020-02-29 12:00:01", "2024-01-07 00:00:00"],
    "TIMESTAMP_MS": ["2020-02-29 12:00:01.5", "2024-01-07 00:00:00"],
    "TIMESTAMP_NS": ["2020-02-29 12:00:01.123456789", "2024-01-07 00:00:00"],
    "TIME": ["00:00:00", "24:00:00", "12:34:56.789", "23:59:59.999999"],
    "TIMETZ": ["00:00:00+00", "12:00:00+15:59", "12:00:00-03:30"],
    "INTERVAL": ["1 month", "30 days", "0 seconds", "-1 year 3 days"],
    "UUID": ["00000000-0000-0000-0000-000000000001", "80000000-0000-0000-0000-000000000000",
             "ffffffff-ffff-ffff-ffff-ffffffffffff"],
    "BLOB": ["", "\\x00", "\\xFF\\xFE", "abc", "\\x27"],
    "BIT": ["0", "1", "0101", "111111111"],
    "INTEGER[]": ["[]", "[1, 2]", "[NULL]"],
    "STRUCT(a INTEGER)": ["{'a': 1}", "{'a': NULL}"],
    "MAP(VARCHAR, INTEGER)": ["{x=1}", "{}"],
}  # fmt: skip
NESTED = tuple(name for name in FIXED if "[" in name or name.startswith(("STRUCT", "MAP")))
NOT_IN_PARQUET = ("HUGEINT", "UHUGEINT", "INTERVAL", "BIT", "TIMETZ", "TIMESTAMP_S", "TIMESTAMP_NS", "UUID")
"""Types that DuckDB writes to Parquet as another one."""
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT")
NUMBERS = (*WHOLE, "DECIMAL(4,0)", "DECIMAL(10,2)", "DECIMAL(38,10)", "FLOAT", "DOUBLE")
DAYS = ("DATE", "TIMESTAMP")


@dataclass
class Column:
    """A column of a source: its values by record, as canonical texts, and where they come from."""

    name: str
    type: str
    pool: list[Text]
    values: list[Text]
    kind: str = "mixed"
    """What a text column holds: ``mixed``, ``zip``, ``code``, ``country``, ``word``, ``date``, ``whole``."""


@functools.lru_cache(maxsize=100_000)
def canonical(type_name: str, text: Text) -> Text:
    """Return the text that DuckDB gives a value; 0.0 for -0.0."""
    if text is None or type_name == "VARCHAR":
        return text
    zero = " + 0" if type_name in ("FLOAT", "DOUBLE") else ""
    quoted = text.replace("'", "''")
    found = _plain().execute(f"SELECT CAST(CAST('{quoted}' AS {type_name}){zero} AS VARCHAR)").fetchone()
    assert found is not None
    return "nan" if found[0] == "-nan" else found[0]


@functools.cache
def _plain() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def random_text(rng: random.Random) -> str:
    """Return a text of people that no message may hold, or one that files and statements find hard."""
    if rng.random() < 0.45:
        return rng.choice(HOSTILE)
    word = "".join(rng.choices(string.ascii_lowercase, k=8))
    return CANARY + word + rng.choice(["", "", "'", '"', "\n", ";", "é", " ", "\\", "%"])


def text_pool(rng: random.Random) -> tuple[str, list[str]]:
    """Return what a text column holds, and values of it."""
    kind = rng.choice(["mixed", "mixed", "word", "zip", "code", "country", "date", "whole"])
    size = rng.randint(1, 8)
    if kind == "zip":
        return kind, [f"{rng.randint(0, 99999):05}" for _ in range(size)]
    if kind == "code":
        return kind, [f"{rng.choice('AEIJ')}{rng.randint(0, 99):02}.{rng.randint(0, 9)}" for _ in range(size)]
    if kind == "country":
        return kind, rng.sample(["AT", "DE", "FR", "France", "USA", "CH", "nl", "zz", "Peru"], min(size, 8))
    if kind == "date":
        return kind, [f"{rng.randint(1930, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}" for _ in range(size)]
    if kind == "whole":
        return kind, [str(rng.randint(-50, 130)) for _ in range(size)]
    if kind == "word":
        return kind, [CANARY + "".join(rng.choices(string.ascii_lowercase, k=6)) for _ in range(size)]
    return kind, [random_text(rng) for _ in range(size)]


def random_column(rng: random.Random, name: str, size: int, types: Sequence[str]) -> Column:
    """Return a column of ``size`` values of one of some types."""
    type_name = rng.choice(types)
    kind = "mixed"
    if type_name == "VARCHAR":
        kind, texts = text_pool(rng)
    elif type_name in WHOLE and rng.random() < 0.7:
        texts = [str(rng.randint(0, 110)) for _ in range(rng.randint(1, 8))]
    elif type_name == "DATE" and rng.random() < 0.7:
        texts = [f"{rng.randint(1930, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}" for _ in range(6)]
    elif type_name.startswith("ENUM"):
        texts = ["ok", "q", "", "é"]
    else:
        texts = rng.sample(FIXED[type_name], rng.randint(1, min(6, len(FIXED[type_name]))))
    pool: list[Text] = list(dict.fromkeys(canonical(type_name, text) for text in texts))
    if rng.random() < 0.3:
        pool.append(None)
    weights = [rng.random() ** 2 + 0.02 for _ in pool]
    return Column(name, type_name, pool, rng.choices(pool, weights, k=size), kind)
