"""Numbers in words: counts, shares and probabilities as a person reads them."""

from __future__ import annotations

SPELLED = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
"""Small numbers, which are spelled out in a sentence."""


def count(number: int) -> str:
    """Return a whole number with its thousands apart: 50,000."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 record, 2 records, 3 classes, 4 entities.

    >>> counted(1, "class"), counted(2_000, "class"), counted(4, "entity")
    ('1 class', '2,000 classes', '4 entities')
    """
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"


def share(part: float) -> str:
    """Return a share as a percentage that is 0 % or 100 % only when it is none or all.

    >>> share(0.0), share(0.00001), share(0.04236), share(0.99999), share(1.0)
    ('0 %', '< 0.1 %', '4.2 %', '> 99.9 %', '100 %')
    """
    if 0 < part < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= part < 1:
        return "> 99.9 %"
    return f"{decimal(round(100 * part, 1))} %"


def probability(value: float) -> str:
    """Return a probability as one chance in many where that is exact, and otherwise as a percentage too.

    >>> probability(0.2), probability(0.41304), probability(0.0137771), probability(0.0)
    ('1 in 5', '41.3 %', '1.4 % (1 in 73)', '0 %')
    """
    if value <= 0:
        return "0 %"
    chances = 1 / value
    if abs(chances - round(chances)) < 1e-9 * chances and value < 1:
        return f"1 in {round(chances):,}"
    return share(value) if value >= 0.1 else f"{share(value)} (1 in {round(chances):,})"


def expected(number: float) -> str:
    """Return an expected number of records, which need not be whole.

    >>> expected(12458.4), expected(3.14159), expected(2.0)
    ('12,458', '3.14', '2')
    """
    return count(round(number)) if number >= 100 or number == round(number) else f"{number:.3g}"


def spelled(number: int) -> str:
    """Return a whole number as it stands in a sentence: spelled out up to twelve.

    >>> spelled(7), spelled(1_300)
    ('seven', '1,300')
    """
    return SPELLED[number] if number < len(SPELLED) else count(number)


def figure(number: float) -> str:
    """Return a loss: four decimals when it is small, and no more digits than anybody reads.

    >>> figure(0.28809), figure(0.5), figure(1234567.0), figure(812.34)
    ('0.2881', '0.5', '1,234,567', '812.3')
    """
    digits = 4 if abs(number) < 100 else 1 if abs(number) < 1000 else 0
    return decimal(round(number, digits)) if number == 0 or abs(number) >= 0.0001 else f"{number:.2g}"


def decimal(number: float) -> str:
    """Return a number with its thousands apart, and without zeros at the end: 1,234.5."""
    return trimmed(f"{number:,.6f}")


def trimmed(text: str) -> str:
    """Return a number without the zeros that end its decimals."""
    return text.rstrip("0").rstrip(".") if "." in text else text
