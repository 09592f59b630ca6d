"""Parameters: the keys of a policy, of models, hierarchy builders and file formats, and how a value is judged.

A check is given a value as it was read and answers None, or what to give instead, in words for a hint; it never
repeats the value. The checks of this module also describe what passes them (``ValueCheck``): the JSON Schema of a
policy, ``sqlanon help`` and the reference of all keys come from there.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

Check = Callable[[Any], str | None]
TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
"""The JSON Schema of a text that is not empty."""
NAMES: Mapping[str, Any] = {"type": "array", "items": TEXT}
"""The JSON Schema of a list of names."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter by name.

    Attributes:
        check: returns what to give in place of a wrong value, None for a right one.
        required: it has no default.
        about: what it means, in a sentence or two.
        unit: of a number.
        example: how it is written, as a line of YAML.
        page: the page of the documentation, below ``docs``.
        default: what holds without it, in words, where the default of the class that takes it does not say so.
    """

    name: str
    check: Check
    required: bool = True
    about: str = ""
    unit: str = ""
    example: str = ""
    page: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True)
class ValueCheck:
    """A check that describes what passes it.

    Attributes:
        judge: the check.
        schema: JSON Schema (2020-12) of what passes, as far as that can express it.
        label: the type in words.
        kind: which function of this module made it; of ``parts``: what a policy has in the place of the value.
        words: of a choice: each word, and what it means.
        keys: of a mapping: its keys.
        or_nothing: null stands for a key that is left out.
        fault: what is wrong with a value that does not pass, where the kind does not say so.
        part: of a mapping: the class whose fields the keys are.
    """

    judge: Check
    schema: Mapping[str, Any]
    label: str
    kind: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[Parameter, ...] = ()
    or_nothing: bool = False
    fault: str = ""
    part: Any = None

    def __call__(self, value: Any) -> str | None:
        return self.judge(value)


def option(
    name: str, check: Check, *, about: str, unit: str = "", example: str = "", page: str = "", default: str = ""
) -> Parameter:
    """Return a parameter that may be left out."""
    return Parameter(name, check, False, about, unit, example, page, default)


def names_of(parameters: Iterable[Parameter]) -> tuple[str, ...]:
    """Return the names of parameters."""
    return tuple(parameter.name for parameter in parameters)


def find(parameters: Iterable[Parameter], name: str) -> Parameter:
    """Return the parameter of a name; KeyError if there is none."""
    for parameter in parameters:
        if parameter.name == name:
            return parameter
    raise KeyError(name)


def words_of(parameters: Iterable[Parameter], name: str) -> tuple[str, ...]:
    """Return the words that a parameter, which is a choice, may be."""
    check = find(parameters, name).check
    return tuple(check.words) if isinstance(check, ValueCheck) else ()


def or_nothing(check: ValueCheck) -> ValueCheck:
    """Return a check with which null stands for a key that is left out."""
    return replace(check, or_nothing=True)


def anything(value: Any) -> None:
    """Return None: what a value must be is checked elsewhere."""


def shaped(schema: Mapping[str, Any], label: str, check: Check = anything, *, fault: str = "") -> ValueCheck:
    """Return a check of one place of a policy, with the JSON Schema of what passes; ``fault`` is said of others."""
    return ValueCheck(check, schema, label, fault=fault)


def parts(kind: str, label: str, keys: Sequence[Parameter] = (), *, or_text: bool = False) -> ValueCheck:
    """Return the description of a value with keys of its own, which other checks judge.

    Args:
        kind: ``mapping``; ``by_name``, mappings of them by name; ``list``, a list of them; ``models``,
            ``column_models``, ``hierarchy``, ``transformation``, ``measures``, ``strategies``.
        or_text: a text may stand for the mapping.
    """
    schema = TEXT if or_text else {}
    named = kind in ("measures", "strategies")
    return ValueCheck(anything, schema, label, kind, keys=tuple(keys), or_nothing=not named)


def whole(least: int) -> ValueCheck:
    """Return a check for a whole number of at least ``least``.

    >>> whole(1)(5), whole(1)(True)
    (None, 'give a whole number of at least 1.')
    """

    def check(value: Any) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and value >= least
        return None if good else f"give a whole number of at least {least}."

    return ValueCheck(check, {"type": "integer", "minimum": least}, f"whole number of at least {least}", "whole")


def names(label: str, fault: str, hint: str, *, or_name: bool = False) -> ValueCheck:
    """Return a check for a list of names, kept as a tuple; ``or_name``: one name may stand for it."""
    schema = {"anyOf": [{"type": "string"}, NAMES]} if or_name else NAMES
    kind = "names_or_name" if or_name else "names"
    return ValueCheck(
        lambda given: None if isinstance(given, tuple) else hint, schema, label, kind, or_nothing=True, fault=fault
    )


def matching(pattern: str, label: str, fault: str, hint: str) -> ValueCheck:
    """Return a check for a text that a regular expression describes."""

    def check(value: Any) -> str | None:
        return None if isinstance(value, str) and re.fullmatch(pattern, value) else hint

    return ValueCheck(check, {"type": "string", "pattern": f"^{pattern}$"}, label, fault=fault)


def is_number(value: Any) -> bool:
    """Return True for a finite number that a float can hold, and no flag."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def number(least: float, most: float = math.inf) -> ValueCheck:
    """Return a check for a finite number in [least, most]."""

    def check(value: Any) -> str | None:
        if is_number(value) and least <= value <= most:
            return None
        limits = f"of at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        return f"give a finite number {limits}."

    return ValueCheck(check, _between(least, most), _limits(least, most), "number")


def _between(least: float, most: float, above: bool = False) -> dict[str, Any]:
    bounds = {"exclusiveMinimum" if above else "minimum": least, "maximum": most}
    return {"type": "number", **{name: bound for name, bound in bounds.items() if math.isfinite(bound)}}


def _limits(least: float, most: float, above: bool = False) -> str:
    if most == math.inf:
        return f"number above {least:g}" if above else f"number of at least {least:g}"
    return f"number above {least:g}, at most {most:g}" if above else f"number from {least:g} to {most:,.10g}"


def exact(least: float, most: float = math.inf, *, above: bool = False) -> ValueCheck:
    """Return a check for a number that is compared exactly: with 18 decimals its products with counts fit 128 bits.

    ``above`` leaves out ``least`` itself.
    """
    within = number(least, most)

    def check(value: Any) -> str | None:
        hint = within(value)
        if hint is None and above and value <= least:
            return f"give a number above {least:g}."
        exponent = Decimal(str(value)).as_tuple().exponent if hint is None else 0
        return "give at most 18 decimals." if isinstance(exponent, int) and exponent < -18 else hint

    return ValueCheck(check, _between(least, most, above), _limits(least, most, above), "exact")


def suggest(value: object, known: Iterable[str], otherwise: str = "choose one of {}.") -> str:
    """Return a hint for a name that is none of the known ones: the one that is most like it, or all of them.

    >>> suggest("interval", ["dates", "intervals"]), suggest(7, ["dates", "intervals"])
    ("did you mean 'intervals'?", 'choose one of dates, intervals.')
    """
    names = [*known]
    close = difflib.get_close_matches(value, names, 1) if isinstance(value, str) else []
    return f"did you mean {close[0]!r}?" if close else otherwise.format(", ".join(names))


def text(*, empty: bool = False) -> ValueCheck:
    """Return a check for a text, that is not empty unless ``empty`` is set."""

    def check(value: Any) -> str | None:
        if isinstance(value, str) and (value or empty):
            return None
        if isinstance(value, list | tuple):
            return "give one text only; a list of texts is not taken."
        return "put the text in quotes." if empty else "give a text that is not empty."

    if empty:
        return ValueCheck(check, {"type": "string"}, "text, also an empty one")
    return ValueCheck(check, TEXT, "text", "text")


def character() -> ValueCheck:
    """Return a check for one character."""

    def check(value: Any) -> str | None:
        return None if isinstance(value, str) and len(value) == 1 else "give one character, in quotes."

    return ValueCheck(check, {"type": "string", "minLength": 1, "maxLength": 1}, "one character")


def flag() -> ValueCheck:
    """Return a check for true or false."""

    def check(value: Any) -> str | None:
        return None if isinstance(value, bool) else "say true or false."

    return ValueCheck(check, {"type": "boolean"}, "true or false", "flag")


def choice(*known: str, **described: str) -> ValueCheck:
    """Return a check for one of the given words; those that are named say what they mean.

    >>> choice("drop", error="the run ends")("refuse")
    'choose one of drop, error.'
    """
    words = {**dict.fromkeys(known, ""), **described}

    def check(value: Any) -> str | None:
        return None if isinstance(value, str) and value in words else suggest(value, words)

    return ValueCheck(check, {"enum": list(words)}, "one of " + ", ".join(words), "choice", words)
