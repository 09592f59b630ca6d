"""The options ``--csv`` and ``--read`` of commands that take a source: how files are read, as in a policy, but typed in
a shell. A text of ``--read`` begins with the name of a format: ``excel:sheet=Patients,skip=2``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from sqlanon.commands.guarded import concealing
from sqlanon.core.policy.csv_columns import texts_of
from sqlanon.core.policy.documents import parse_document
from sqlanon.core.policy.extensions import FORMATS, NOTHING
from sqlanon.core.policy.sources import CSV_OPTIONS, csv_options, format_options
from sqlanon.errors import InputError
from sqlanon.parameters import Parameter, ValueCheck, find, names_of, suggest

OF_FORMAT = re.compile(r"\s*(\w+):(.*)", re.DOTALL)
"""A text of ``--read``; those of ``--csv`` have no colon before the first equals sign."""
KEYS = "|".join({*names_of(CSV_OPTIONS), *(name for each in FORMATS for name in names_of(each.options))})
IN_POLICY = re.compile(rf"\b(csv|{'|'.join(each.name for each in FORMATS)}): \{{((?:[^{{}}]|\{{[^{{}}]*\}})*)\}}")
"""Such a key in a hint."""
KEY = re.compile(rf"(?:^|, )({KEYS}): ")


def read_csv_options(texts: Sequence[str]) -> dict[str, Any]:
    """Return the options of CSV files that ``--csv key=value,…`` gives, as a policy has them under ``csv``.

    ``null`` may be given several times, a word each. Messages from now on name ``--csv`` in place of the key.

    Raises:
        InputError: one is no pair, or is given twice with two values.
        PolicyError: one is not known, or cannot be used.
    """
    concealing(with_option)
    return csv_options(_pairs((text for text in texts if not OF_FORMAT.match(text)), CSV_OPTIONS, "--csv"))


def read_format_options(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the options of other formats that ``--read name:key=value,…`` gives, as a policy has them; raises as
    ``read_csv_options``.
    """
    concealing(with_option)
    given: dict[str, list[str]] = {}
    for found in filter(None, map(OF_FORMAT.match, texts)):
        given.setdefault(found[1], []).append(found[2])
    names = NOTHING.names("formats")
    if unknown := [name for name in given if name not in names]:
        raise InputError(f"--read names no format {unknown[0]!r}.", hint=suggest(unknown[0], names))
    known = {name: NOTHING.format(name).options for name in given}
    return format_options({name: _pairs(texts, known[name], f"--read {name}:…") for name, texts in given.items()})


def _pairs(texts: Iterable[str], known: Sequence[Parameter], option: str) -> dict[str, Any]:
    names = names_of(known)
    between = re.compile(rf",\s*(?=(?:{'|'.join(names)})=)")  # a comma before anything else belongs to a value
    pairs: dict[str, Any] = {}
    for pair in (pair for text in texts for pair in between.split(text)):
        name, separator, text = pair.partition("=")
        name = name.strip()
        if not separator:
            raise InputError(
                f"A part of {option} has no value.", hint=f"write key=value with the keys {', '.join(names)}."
            )
        value = _value(name, text, known, option)
        if name == "null" and name in pairs:
            pairs[name] = [*texts_of(pairs[name]), value]
            continue
        if pairs.setdefault(name, value) != value:
            raise InputError(
                f"{option} names {name} twice.", hint="name it once; --delimiter and --no-header name it too."
            )
    return pairs


def _value(name: str, text: str, known: Sequence[Parameter], option: str) -> Any:
    """Return a value: of a key that is a text as it stands, of others as YAML reads it."""
    check = find(known, name).check if name in names_of(known) else None
    kinds = ("integer", "number", "boolean", "object")
    if not isinstance(check, ValueCheck) or check.schema.get("type") not in kinds:
        return text.replace("\\t", "\t")
    return parse_document(text.encode(), f"The value of {name} in {option}")


def with_option(message: str) -> str:
    """Return a message that names the option ``--csv`` in place of the key ``csv``, and ``--read`` of those of formats.

    >>> with_option("say csv: {delimiter: ';', skip: 2}."), with_option("csv: {encoding: latin-1}")
    ("say --csv 'delimiter=;,skip=2'.", '--csv encoding=latin-1')
    >>> with_option("say excel: {sheet: NAME}.")
    'say --read excel:sheet=NAME.'
    """
    return IN_POLICY.sub(lambda match: _option(match[1], shlex.quote(_typed(match[2]))), message)


def _option(name: str, typed: str) -> str:
    return f"--csv {typed}" if name == "csv" else f"--read {name}:{typed}"


def _typed(pairs: str) -> str:
    parts = KEY.split(pairs)[1:]
    return ",".join(f"{name}={value.strip(chr(39))}" for name, value in zip(parts[::2], parts[1::2], strict=True))
