"""What the name of a column says, by its words (``core/source/vocabulary.py``).

A name is cut at everything that is no letter, and where a small letter meets a capital one. Short words must be equal
to a part of the name; long ones (``LONG`` letters) may also stand within a compound, as in ``geburtsdatum``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

from sqlanon.core.source.vocabulary import KINDS, MEASURES, OF_A_NUMBER, PERSONS, RATIOS, RELATIVES

LONG = 5
"""Letters of a word that is looked for within others."""
NUMBERS_OF = ("household", "provider")
"""Kinds whose words stand alone, but for those of a number: ``hospital_id``, and not ``hospital_days``."""
_FOLDED = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l", "ı": "i", "đ": "d"}
NUMBERED = frozenset(
    word
    for person in PERSONS
    for number in ("id", "no", "nr", "num", "number", "nummer", "numero")
    for word in (person + number, number + person)
) | {f"{relative}id" for relative in RELATIVES}
"""What a column of their numbers is called: ``customer_no``, ``numero_de_client``, ``patientid``."""


def parts_of(name: str) -> tuple[str, ...]:
    """Return the words of a name in small letters of ASCII.

    >>> parts_of("Native-Country"), parts_of("dateOfBirth"), parts_of("GEBURTSDATUM_2"), parts_of("HHGröße")
    (('native', 'country'), ('date', 'of', 'birth'), ('geburtsdatum',), ('hh', 'groesse'))
    """
    cut = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])|(?<=[A-Z])(?=[A-Z][a-zäöü]{2})", " ", name)
    folded = "".join(_FOLDED.get(letter, letter) for letter in cut.casefold())
    plain = unicodedata.normalize("NFKD", folded).encode("ascii", "ignore").decode()
    return tuple(re.findall(r"[a-z]+(?:(?<=icd)10|(?<=ipv)[46]|(?<=\bcd)[48](?![0-9]))?", plain))


@cache
def kinds_of(name: str) -> tuple[str, ...]:
    """Return what a name says that its column looks like, the likeliest first."""
    numbered = speaks_of_persons(name)
    end = parts_of(name)[-1:]
    is_ratio = not RATIOS.isdisjoint(end) or not (numbered or MEASURES.isdisjoint(end))
    return tuple(
        kind
        for kind, words in KINDS.items()
        if not (is_ratio and kind == "identifier")
        if (_only_numbers(name, words) if kind in NUMBERS_OF else speaks_of(parts_of(name), words))
        or (kind == "identifier" and (numbered or _is_numbered(name)))
    )


def _is_numbered(name: str) -> bool:
    """Return whether a name ends with the word of a number: ``UR_No``, ``policy number``."""
    parts = parts_of(name)
    return len(parts) > 1 and parts[-1] in ("no", "num", "number")


def _only_numbers(name: str, words: str) -> bool:
    """Return whether a name has one of some words, and nothing besides but that it is a number."""
    parts = {*parts_of(name)}.difference(OF_A_NUMBER.split())
    known = {word.strip("=*") for word in words.split()}
    known |= {word + number for word in known for number in ("id", "no", "nr")}  # familyid
    return bool(parts) and (parts <= known or "".join(parts_of(name)) in known)


def speaks_of_persons(name: str) -> bool:
    """Return whether a column is called the person, or the number of one.

    >>> speaks_of_persons("customer_no"), speaks_of_persons("Numéro du client"), speaks_of_persons("patient_weight")
    (True, True, False)
    >>> speaks_of_persons("number_customer_service_calls")
    False
    """
    parts = [part for part in parts_of(name) if part not in ("de", "del", "du", "des", "la", "of")]
    pairs = list(pairwise(parts))
    words = {*parts, *("".join(pair) for pair in pairs if pair == pairs[-1] or pair[0] != "number")}
    return not NUMBERED.isdisjoint(words) or (len(parts) == 1 and parts[0] in PERSONS)


def speaks_of(parts: tuple[str, ...], words: str) -> bool:
    """Return whether one of some words is a part of a name, or stands within one (``core/source/vocabulary.py``)."""
    joined = (*parts, "".join(parts))
    for word in words.split():
        if "*" in word:
            ends, begins = word[0] == "*", word[-1] == "*"
            stem = word.strip("*")
            if any((ends and part.endswith(stem)) or (begins and part.startswith(stem)) for part in parts):
                return True
        elif word.lstrip("=") in joined or (len(word) >= LONG and word[0] != "=" and any(word in p for p in joined)):
            return True
    return False
