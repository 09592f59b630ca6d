"""The keys of a column, and of the columns that travel with it."""

from __future__ import annotations

from sqlanon.parameters import (
    Parameter,
    choice,
    number,
    option,
    or_nothing,
    parts,
    shaped,
    text,
    whole,
    words_of,
)

LARGEST = 1e9
"""Of weights and information losses: beyond, their products and sums would overflow."""
MOST_DAYS = 36_500
"""Days by which dates are shifted at most: a hundred years."""
_DAYS = {"type": "integer", "minimum": 1, "maximum": MOST_DAYS}
UNCOVERED = choice(
    error="the run ends, and names a query that lists such values",
    top="such a value is published as the root of the hierarchy, *",
    suppress="a record with such a value is left out",
)
_ROLE = choice(
    quasi_identifier="an attacker may know it; it is generalized along its hierarchy",
    sensitive="an attacker must not learn it; it is published as it is and protected by its models",
    keep="published as it is; it must not identify persons",
    drop="not published",
    pseudonym="of the entity: a keyed pseudonym, which links the records of a person",
    shift="dates, shifted by one number of days a person",
)

TRAVEL_KEYS = (
    Parameter(
        "column",
        text(),
        about="The quasi-identifier.",
        example="columns: {district: {role: keep, with: {column: region}}}",
    ),
    option(
        "level",
        or_nothing(whole(0)),
        about="The highest level of its hierarchy at which the column is published.",
        unit="levels of the hierarchy; 0 is the value itself",
        example="columns: {district: {role: keep, with: {column: region, level: 1}}}",
        default="the highest level that the column follows from",
    ),
)
"""Keys of ``with``."""
COLUMN_KEYS = (
    Parameter(
        "role",
        _ROLE,
        about="What the column is, and so what becomes of it.",
        example="columns: {length_of_stay: {role: keep}}",
    ),
    option(
        "hierarchy",
        parts("hierarchy", "one kind of hierarchy with its options, or the path of a file", or_text=True),
        about="What a value may be generalized to, level by level. A quasi-identifier needs one (only patterns do "
        "without); a sensitive column needs one for a hierarchical distance.",
        example="columns: {age: {role: quasi_identifier, hierarchy: {intervals: {width: 5, fanouts: [2, 2]}}}}",
        page="policy.md#columns",
    ),
    option(
        "min_level",
        or_nothing(whole(0)),
        about="The lowest level that the search uses. Of quasi-identifiers.",
        unit="levels of the hierarchy; 0 is the value itself",
        example="columns: {zip: {role: quasi_identifier, hierarchy: {zip3: {}}, min_level: 1}}",
    ),
    option(
        "max_level",
        or_nothing(whole(0)),
        about="The highest level that the search uses, a limit on generalization. Of quasi-identifiers.",
        unit="levels of the hierarchy; 0 is the value itself",
        example="columns: {age: {role: quasi_identifier, hierarchy: {intervals: {width: 5}}, max_level: 1}}",
        default="the highest level of the hierarchy",
    ),
    option(
        "weight",
        number(0, LARGEST),
        about="The importance of the column for measures that add up over columns (ANON: priority).",
        example="columns: {age: {role: quasi_identifier, hierarchy: {intervals: {width: 5}}, weight: 2}}",
        page="policy.md#measures",
    ),
    option(
        "uncovered",
        or_nothing(UNCOVERED),
        about="What becomes of values of this column that its hierarchy does not list, or cannot read.",
        example="columns: {age: {role: quasi_identifier, hierarchy: {intervals: {width: 5}}, uncovered: top}}",
        page="hierarchies.md#what-they-cannot-read",
        default="the policy's own uncovered",
    ),
    option(
        "models",
        parts("column_models", "a privacy model, or a list of them"),
        about="The privacy models that watch a sensitive column, which needs one at least.",
        example="columns: {diagnosis: {role: sensitive, models: [{type: t_closeness, t: 0.3}]}}",
        page="policy.md#privacy-models",
    ),
    option(
        "days",
        or_nothing(shaped(_DAYS, f"whole number from 1 to {MOST_DAYS}")),
        about="By how many days a date is shifted at most, to either side. The role shift needs it; all shifted "
        "columns have the same.",
        unit="days",
        example="columns: {admission_date: {role: shift, days: 180}}",
        page="policy.md#dates-that-still-work",
    ),
    option(
        "keep_weekday",
        shaped({"type": "boolean"}, "true or false"),
        about="Shift dates by whole weeks, so that a Sunday stays one. Of the role shift.",
        example="columns: {admission_date: {role: shift, days: 180, keep_weekday: true}}",
        page="policy.md#dates-that-still-work",
    ),
    option(
        "with",
        parts("mapping", "the name of a quasi-identifier, or a mapping", TRAVEL_KEYS, or_text=True),
        about="The quasi-identifier that a column with the role keep travels with: the column is blank wherever that "
        "is generalized beyond what the column says.",
        example="columns: {district: {role: keep, with: region}}",
        page="policy.md#columns-that-travel-with-another",
    ),
)
"""Keys of a column."""

ROLES = words_of(COLUMN_KEYS, "role")
