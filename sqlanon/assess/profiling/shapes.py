"""The shapes of values as regular expressions that DuckDB, PostgreSQL and SQLite (Python) read alike.

They use anchors, groups, classes of ASCII and a few letters, and counts alone. A value is judged in the database; only
the shares come back.
"""

from __future__ import annotations

from sqlanon.assess.profiling.looks import FORMATS
from sqlanon.assess.profiling.vocabulary import VOCABULARY
from sqlanon.core.source.known import CLEAR

SHAPES: dict[str, str] = {
    "blank": r"^[ \t]*$",
    "whole": r"^ *[+-]?[0-9]+ *$",
    "number": r"^ *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)? *$",
    "point_zero": r"^ *[+-]?[0-9]*\.0+ *$",
    "one_place": r"^ *[+-]?[0-9]*\.[0-9] *$",
    "two_places": r"^ *[+-]?[0-9]*\.[0-9][0-9] *$",
    "comma_number": r"^ *[+-]?[0-9]+(\.[0-9]{3})*,[0-9]+ *$",
    "email": r"^[^@ ]+@[^@ ]+\.[A-Za-z]{2,}$",
    "url": r"^(https?://|www\.)[^ ]+$",
    "ip": r"^(([0-9]{1,3}\.){3}[0-9]{1,3}|([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|[0-9A-Fa-f:]*::[0-9A-Fa-f:]+)$",
    "uuid": r"^[0-9A-Fa-f]{8}-?([0-9A-Fa-f]{4}-?){3}[0-9A-Fa-f]{12}$",
    "phone": r"^((\+|00)[1-9][0-9 ()./-]{6,18}|0[1-9][0-9 ()/-]{5,16}|\(?[0-9]{3}\)?[ .-][0-9]{3}[ .-][0-9]{4})$",
    "ssn": r"^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    "iban": r"^[A-Z]{2}[0-9]{2} ?([0-9A-Z]{4} ?){2,7}[0-9A-Z]{0,4}$",
    "icd10": r"^[A-TV-Z][0-9][0-9AB](\.[0-9A-Z]{1,4}|[0-9]{1,2})?[-+*!]?$",
    "atc": r"^[ABCDGHJLMNPRSV][0-9]{2}[A-Z]([A-Z]([0-9]{2})?)?$",
    "five_digits": r"^[0-9]{5}$",
    "zip_plus_four": r"^[0-9]{5}-[0-9]{4}$",
    "four_digits": r"^[0-9]{4}$",
    "postcode": (
        r"^([A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]"
        r"|[0-9]{4} ?[A-Z]{2}|[A-Z]{1,2}-[0-9]{4,5}|[0-9]{2}-[0-9]{3})$"
    ),
    "year": r"^(18|19|20)[0-9]{2}$",
    "coordinates": r"^(POINT ?)?[ (]*-?[0-9]{1,3}\.[0-9]+ *[,;/ ] *-?[0-9]{1,3}\.[0-9]+[ )]*$",
    "country_code": r"^[A-Z]{2,3}$",
    "yes_or_no": r"^(true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|ja|Ja|nein|Nein|[YyNnTtFfJj01])$",
    "words": r"^[^ ]+( +[^ ]+){4,}",
    "capital_words": "^[A-ZÀ-Þ][A-Za-zÀ-ÿ'.-]*( [A-Za-zÀ-ÿ'.-]+){0,3}(, [A-ZÀ-Þ][A-Za-zÀ-ÿ' .-]*)?$",
    "full_name": (
        r"^(((Dr|Prof|Mr|Mrs|Ms|Herr|Frau)\.? )+|[A-ZÀ-Þ][a-zà-ÿ'-]+ )([A-ZÀ-Þ]\. )?[A-ZÀ-Þ][a-zà-ÿ'-]+"
        r"( [A-ZÀ-Þ][a-zà-ÿ'-]+){0,2}$"
    ),
    "titled": (
        r"^((PD|Dr|Prof|Mr|Mrs|Ms|Mme|Herr|Frau|Dott|Dra|Sig|Sra?)\.? +)+[A-ZÀ-Þ][A-Za-zÀ-ÿ' .-]+$"
        r"|^[A-ZÀ-Þ][A-Za-zÀ-ÿ' .,-]+,? (MD|DO|RN|NP|DDS|PhD|M\.D\.|Ph\.D\.)$"
    ),
    "date_like": r"^[0-9]{1,4}[-/. ]([0-9]{1,2}|[A-Za-z]{3,9})[-/., ]+[0-9]{2,4}([ T].*)?$",
    "round": "^ *[+-]?[0-9]+0 *$",
    "code": r"^[A-Za-z0-9][A-Za-z0-9_./-]*$",
    "moment": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}",
    **{f"holds {shape}": pattern for shape, pattern in CLEAR.items()},
    **{f"words of {topic}": pattern for topic, (_, pattern) in VOCABULARY.items()},
    **{f"date {written}": pattern for written, pattern in FORMATS.items()},
}  # fmt: skip
"""Name of a shape -> pattern of the values that have it."""
READ_BY = ("whole", "point_zero", "number", "moment", *(shape for shape in SHAPES if shape.startswith("date ")))
"""The shapes of numbers and dates, which a column can be read by."""
