"""The option ``--csv`` of commands that take a source: the keys ``csv`` of a policy, as they are typed in a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from sqlanon.commands.guarded import concealing
from sqlanon.core.policy.csv_columns import texts_of
from sqlanon.core.policy.documents import parse_document
from sqlanon.core.policy.sources import CSV_OPTIONS, csv_options
from sqlanon.errors import InputError
from sqlanon.parameters import ValueCheck, find, names_of

NAMES = names_of(CSV_OPTIONS)
NEXT = re.compile(rf",\s*(?=(?:{'|'.join(NAMES)})=)")
"""What stands between two pairs; a comma before anything else belongs to a value, such as the delimiter itself."""
IN_POLICY = re.compile(r"csv: \{((?:[^{}]|\{[^{}]*\})*)\}")
"""The key ``csv`` in a hint."""
KEY = re.compile(rf"(?:^|, )({'|'.join(NAMES)}): ")


def read_csv_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the options of CSV files that ``--csv key=value,…`` gives, as a policy has them under ``csv``.

    ``null`` may be given several times, a word each. Messages from now on name ``--csv`` in place of the key.

    Raises:
        InputError: one is no pair, or is given twice with two values.
        PolicyError: one is not known, or cannot be used.
    """
    concealing(with_option)
    found: dict[str, Any] = {}
    for pair in (pair for text in texts for pair in NEXT.split(text)):
        name, separator, text = pair.partition("=")
        name = name.strip()
        if not separator:
            raise InputError("A part of --csv has no value.", hint=f"write key=value with the keys {', '.join(NAMES)}.")
        value = _value(name, text)
        if name == "null" and name in found:
            found[name] = [*texts_of(found[name]), value]
            continue
        if found.setdefault(name, value) != value:
            raise InputError(
                f"--csv names {name} twice.", hint="name it once; --delimiter and --no-header name it too."
            )
    return csv_options(found)


def _value(name: str, text: str) -> Any:
    """Return a value: of a key that is a text as it stands, of others as YAML reads it."""
    check = find(CSV_OPTIONS, name).check if name in NAMES else None
    if not isinstance(check, ValueCheck) or check.schema.get("type") not in ("integer", "boolean", "object"):
        return text.replace("\\t", "\t")
    return parse_document(text.encode(), f"The value of {name} in --csv")


def with_option(message: str) -> str:
    """Return a message that names the option ``--csv`` in place of the key ``csv``.

    >>> with_option("say csv: {delimiter: ';', skip: 2}."), with_option("csv: {encoding: latin-1}")
    ("say --csv 'delimiter=;,skip=2'.", '--csv encoding=latin-1')
    """
    return IN_POLICY.sub(lambda match: f"--csv {shlex.quote(_typed(match[1]))}", message)


def _typed(pairs: str) -> str:
    parts = KEY.split(pairs)[1:]
    return ",".join(f"{name}={value.strip(chr(39))}" for name, value in zip(parts[::2], parts[1::2], strict=True))
