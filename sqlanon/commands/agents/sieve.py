"""What answers may contain of counts: none below k, and none that differs from its whole by fewer than k.

An agent passes on what it reads, and asks as often as it likes. So counts are rounded to multiples of k, and shares are
made of what is rounded; numbers in messages are left out. No count is told from another below k, zero included.

Names are texts of others. A message has ``‹name›`` in their place, and they stand in a list beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import floor

import sqlglot
from sqlglot import exp

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\s?%)?(?!\w)")
"""A number in a sentence that is no part of a name."""
PLACES = 2
"""Digits after the point of a share or a loss."""
QUOTED = re.compile(r"""(?<!\w)(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")(?!\w)""")
"""A text in quotes, as Python writes it in a message; an apostrophe after a letter begins none."""
REFUSED = re.compile(r"(refused the statement '[^']*' \(\w+): .*\)\.", re.DOTALL)
"""What a database said of a statement, which may hold texts of a view."""
NAME = "‹name›"
LONGEST = 80
"""Characters of a name that are shown."""


@dataclass(frozen=True, slots=True)
class Sieve:
    """Lets through what counts at least k records; k at least 2."""

    k: int

    def count(self, n: float | None, whole: float | None = None) -> int | str | None:
        """Return a count, rounded to a multiple of k; ``<k`` if it is smaller, ``>N-k`` if fewer than k are left.

        Zero reads ``<k``, and all of them ``>N-k``: otherwise the texts would mean "a few, and not none".

        Args:
            whole: what it is a part of, and may not be subtracted from.
        """
        if n is None:
            return None
        if n < self.k:
            return f"<{self.k}"
        if whole is not None and whole - n < self.k:
            return f">{self._rounded(whole) - self.k}"
        return self._rounded(n)

    def size(self, n: int | None) -> int | str | None:
        """Return the least size of classes, rounded down to a multiple of k, so that no class is smaller than shown.

        It is rounded for it is part of the class that other columns make, and the difference may be small.
        """
        return None if n is None else self.rounded_down(n) or f"<{self.k}"

    def kinds(self, n: int, whole: float | None = None, *, small: bool) -> int | str | None:
        """Return a number of classes, or of values; of few, where some are ``small``, only that they are few.

        Whoever knows how many combinations are common would learn how many are not.

        Args:
            whole: the records.
            small: fewer than k records have one of them.
        """
        few = self.k**2
        return f"<{few}" if small and n < few else self.count(n, whole)

    def rounded_down(self, n: int) -> int:
        """Return the largest multiple of k that is at most n."""
        return n // self.k * self.k

    def share(self, part: float | None, whole: float | None) -> float | str | None:
        """Return part / whole, both as ``count`` returns them, with two digits; a text where it returns no number."""
        if part is None or whole is None:
            return None
        told = self.count(part, whole)
        if isinstance(told, str) or told is None:
            return f"{told} of {self.count(whole)}"
        return round(told / max(self._rounded(whole), 1), PLACES)

    def mean(self, value: float | None, n: float) -> float | None:
        """Return a mean over n records, rounded down to steps of .01, or of 2 k / n where they are wider.

        It is rounded down so that what fewer than k records add to nothing stays nothing.
        """
        if value is None or not n:
            return None
        step = max(0.1**PLACES, 2 * self.k / n)
        told: float = round(floor(round(value / step, 9)) * step, PLACES)
        return told

    def _rounded(self, n: float) -> int:
        return int(n / self.k + 0.5) * self.k


def without_numbers(message: str) -> str:
    """Return a message without its numbers, which may be small counts."""
    return NUMBER.sub("…", message)


def shown(name: str) -> str:
    """Return a name as answers show it: in one line, and cut where it is long."""
    line = "".join(letter if letter.isprintable() else "?" for letter in name)
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def names_apart(message: str, given: Iterable[str]) -> tuple[str, list[str]]:
    """Return a message with ``‹name›`` in the place of each text of others, and these texts, as ``shown``.

    What a database said of a statement is left out.

    Args:
        given: the texts of the question, which are taken out without quotes too.
    """
    found: list[str] = []

    def taken(match: re.Match[str]) -> str:
        found.append(shown(match[0].strip("'\"")))
        return NAME

    told = QUOTED.sub(taken, REFUSED.sub(r"\1).", message))
    for text in sorted((text for text in given if text.strip()), key=len, reverse=True):
        told = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", taken, told)
    return told, list(dict.fromkeys(found))


def without_values(sql: str) -> str:
    """Return a statement of DuckDB with ``'…'`` in place of each text, and ``?`` of each number that is measured.

    A text may be a value, and so may a number; other numbers are exact counts of distinct values. 0 and 1 are shown
    where the statement has them whatever is measured: neither in VALUES nor for an attribute. What reads alike then
    stands once: rows, and branches of a CASE, which takes the attributes of one number together.
    """
    tree = sqlglot.parse_one(sql, read="duckdb")
    branches = [item for item in tree.find_all(exp.If) if _is_of_attributes(item)]
    measured = {
        id(literal) for item in (*branches, *tree.find_all(exp.Values)) for literal in item.find_all(exp.Literal)
    }
    for literal in list(tree.find_all(exp.Literal)):
        if literal.is_string:
            literal.replace(exp.Literal.string("…"))
        elif (literal.this not in ("0", "1") or id(literal) in measured) and not literal.find_ancestor(exp.DataType):
            literal.replace(exp.Placeholder())
    for branch in branches:
        branch.set("this", exp.EQ(this=exp.column("attribute", quoted=True), expression=exp.Placeholder()))
    for choice in tree.find_all(exp.Case):
        choice.set("ifs", list(dict.fromkeys(choice.args["ifs"])))
    for identifier in tree.find_all(exp.Identifier):
        identifier.set("this", shown(identifier.name))
    for rows in tree.find_all(exp.Values):
        rows.set("expressions", list(dict.fromkeys(rows.expressions)))
    return tree.sql(dialect="duckdb", pretty=True, comments=False)


def _is_of_attributes(branch: exp.If) -> bool:
    """Return whether a branch of a CASE is taken by the number of an attribute alone."""
    return {found.name for found in branch.this.find_all(exp.Column)} == {"attribute"}
