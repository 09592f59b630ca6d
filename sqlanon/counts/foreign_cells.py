"""What a cell of a table made elsewhere says: a count, bounds of one, a mark of suppression, or something else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlanon.errors import InputError

Bounds = tuple[float, float]
"""The least and the greatest value that a cell may have by what it shows; equal ones are a count."""
HIDDEN: Bounds = (0.0, math.inf)
MARKED = """
    x xx xxx * ** *** .. ... … : c (c) [c] d (d) [d] s (s) [s] [x] (x) na n/a n.a. n.a # ## ~ / • † ‡ null nan none
    suppressed (suppressed) [suppressed] hidden masked confidential redacted geheim secret"""
MARKS = frozenset(MARKED.split())
"""Marks of suppression that need no naming, in small letters."""
DASHES = frozenset("-–—−")
"""Marks that are 0 in some offices, and suppressed in others."""
WORDS = """
    total,totals,all,overall,sum,together,gesamt,insgesamt,summe,alle,zusammen,gesamtsumme,ensemble,tous,toutes,totale,
    tutti,tutte,todos,todas,suma,totaal,allen,alla,samtliga,totalt,yhteensä,razem,ogółem,celkem,összesen,spolu,итого,
    всего,合計,総数,합계,总计,_t,grand total,both sexes,i alt,all persons,total général,everyone"""
TOTALS = frozenset(word.strip() for word in WORDS.split(","))
BROAD = re.compile(r"(all|alle|tous les|toutes les|todos los|total) (?!other|andere)")
NUMBER = r"(\d{1,3}(?:[.,'’   \u202f]\d{3})+|\d+(?:[.,]0{1,2})?)"
NOTE = r"(?:\s*(?:\([a-z]{1,2}\)|\[\w{1,2}\]|[*†‡§¹²³⁴⁵⁶⁷⁸⁹]+)|\s+[a-z]\)?)?"
BELOW = r"(?:<|under|below|less than|fewer than|unter|weniger als|moins de|menos de|meno di|minder dan|färre än)"
UP_TO = r"(?:<=|≤|=<|up to|at most|höchstens|bis zu|au plus|hasta|max\.?)"
FORMS = {
    name: re.compile(form + NOTE)
    for name, form in {
        "count": NUMBER,
        "up to": rf"{UP_TO}\s*{NUMBER}",
        "below": rf"{BELOW}\s*{NUMBER}",
        "between": rf"{NUMBER}\s*(?:-|–|—|to|bis|à|hasta)\s*{NUMBER}",
        "from": rf"(?:>=|≥|at least|mindestens|au moins)\s*{NUMBER}|{NUMBER}\s*\+",
        "above": rf"(?:>|over|above|more than|über|mehr als|plus de)\s*{NUMBER}",
        "part": r"-?\d[\d.,]*\s*%|%\s*\d[\d.,]*|-?\d*[.,]\d+",
    }.items()
}


@dataclass(frozen=True, slots=True)
class AskedOfTable:
    """What the operator names of a table made elsewhere: the options of ``check_counts``, and what they mean."""

    by: tuple[str, ...] = ()
    count: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    mark: tuple[str, ...] = ()
    rounded: int | None = None
    marks: Mapping[str, Bounds] = field(init=False)
    sums: Mapping[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        found = {}
        for text in self.mark:
            name, _, stands = text.rpartition("=") if "=" in text[1:] else (text, "", "")
            kind, bounds = kind_of(stands, {}) if stands else ("mark", HIDDEN)
            if kind not in ("mark", "count", "bound"):
                raise InputError("A mark stands for no count.", hint="write --mark x, --mark '-=0' or --mark 'c=1-4'.")
            found[plain_text(name).casefold()] = bounds
        object.__setattr__(self, "marks", found)
        sums = [text.partition("=") for text in self.total if "=" in text]
        object.__setattr__(self, "sums", {name: tuple(parts.split(",")) for name, _, parts in sums})

    def totals(self, labels: Sequence[str]) -> list[str]:
        """Return the categories that may be the total of a dimension, by their names."""
        folded = {label: re.sub(NOTE + "$", "", label.casefold()).rstrip(" :") for label in labels}
        if named := [plain_text(text).casefold() for text in self.total if "=" not in text]:
            return [label for label in labels if {label.casefold(), folded[label]} & {*named}]
        return [label for label in labels if folded[label] in TOTALS] or [
            label for label in labels if BROAD.match(folded[label])
        ]


MOST = 10**12
"""A greater number is no count: solvers do not tell it from the one beside it."""


def plain_text(value: object) -> str:
    """Return a value as a text without spaces around and several within."""
    whole = isinstance(value, float) and value.is_integer()
    return "" if value is None else " ".join(str(int(value) if whole else value).split())  # type: ignore[call-overload]


def kind_of(text: str, marks: Mapping[str, Bounds]) -> tuple[str, Bounds]:
    """Return what a text says, and the bounds of its count.

    The kinds are ``count``, ``bound``, ``mark``, ``dash`` and ``blank``, ``part`` (a percentage, or no whole number)
    and ``text``.

    >>> kind_of("1 234*", {}), kind_of("< 5", {}), kind_of("1–4", {}), kind_of("..", {})[0], kind_of("5.5 %", {})[0]
    (('count', (1234.0, 1234.0)), ('bound', (0.0, 4.0)), ('bound', (1.0, 4.0)), 'mark', 'part')
    >>> kind_of("9007199254740993", {})[0]
    'text'
    """
    folded = text.casefold()
    if folded in marks:
        low, high = marks[folded]
        return ("mark" if math.isinf(high) and not low else "count" if low == high else "bound"), (low, high)
    if not text or text in DASHES or folded in MARKS:
        return ("blank" if not text else "dash" if text in DASHES else "mark"), HIDDEN
    inner = folded[1:-1] if folded[0] + folded[-1] in ("()", "[]") else folded
    for name, form in FORMS.items():
        found = form.fullmatch(folded if name == "count" else inner)
        if found is None:
            continue
        if name == "part":
            return "part", HIDDEN
        first, *rest = (_number(number) for number in found.groups() if number is not None)
        if max(first, *rest, 0) > MOST or (name == "between" and rest[0] <= first):
            break
        if name == "count":
            return "count", (first, first)
        ranges = {"up to": (0.0, first), "below": (0.0, first - 1), "from": (first, math.inf)}
        return "bound", ranges.get(name, (first, rest[0]) if rest else (first + 1, math.inf))
    return "text", HIDDEN


def _number(text: str) -> float:
    return float(re.sub(r"\D", "", re.sub(r"[.,]0{1,2}$", "", text)))


def is_decimal(texts: Sequence[str]) -> bool:
    """Return whether points or commas of a column are decimal ones, though single texts might be thousands.

    >>> is_decimal(["1.234", "0.512"]), is_decimal(["1.234", "512"])
    (True, False)
    """
    return any(re.fullmatch(r"0[.,]\d+|-?\d+[.,](?!0+$)\d{1,2}|\d{4,}[.,]\d+", text) for text in texts)
