"""Parameters: what models, hierarchy builders and file formats take in a policy, and how a value is judged.

A check is given a value as it was read and answers None, or what to give instead, in words for a hint; it never
repeats the value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Check = Callable[[Any], str | None]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter by name; ``check`` returns what to give in place of a wrong value, None for a right one."""

    name: str
    check: Check
    required: bool = True


def whole(least: int) -> Check:
    """Return a check for a whole number of at least ``least``.

    >>> whole(1)(5), whole(1)(True)
    (None, 'give a whole number of at least 1.')
    """

    def check(value: Any) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and value >= least
        return None if good else f"give a whole number of at least {least}."

    return check


def is_number(value: Any) -> bool:
    """Return True for a finite number that a float can hold, and no flag."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def number(least: float, most: float = math.inf) -> Check:
    """Return a check for a finite number in [least, most]."""

    def check(value: Any) -> str | None:
        if is_number(value) and least <= value <= most:
            return None
        limits = f"of at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        return f"give a finite number {limits}."

    return check


def exact(least: float, most: float = math.inf, *, above: bool = False) -> Check:
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

    return check


def text(*, empty: bool = False) -> Check:
    """Return a check for a text, that is not empty unless ``empty`` is set."""

    def check(value: Any) -> str | None:
        if isinstance(value, str) and (value or empty):
            return None
        return "put the text in quotes." if empty else "give a text that is not empty."

    return check


def character() -> Check:
    """Return a check for one character."""
    return lambda value: None if isinstance(value, str) and len(value) == 1 else "give one character, in quotes."


def flag() -> Check:
    """Return a check for true or false."""
    return lambda value: None if isinstance(value, bool) else "say true or false."


def choice(*known: str) -> Check:
    """Return a check for one of the given words."""
    return lambda value: None if isinstance(value, str) and value in known else f"choose one of {', '.join(known)}."
