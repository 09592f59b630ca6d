"""A profile as text for a terminal: a table of the columns, why they look so, what to decide, what singles out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sqlanon.assess.profiling.facts import ColumnProfile, Profile, few_or, is_mixed, percent
from sqlanon.assess.profiling.proposed import ColumnLeft, Proposal
from sqlanon.assess.profiling.questions import Decision, questions_of
from sqlanon.assess.relations.nulls import printable

WIDTH = 100
LONGEST_NAME = 28
ROLES = {
    "quasi_identifier": "Quasi-identifiers: others know or find them out, and together they point to a person",
    "sensitive": "Sensitive: what others must not learn of a person",
    "identifier": "To drop: each identifies a person by itself",
    "keep": "Kept as they are",
    "drop": "Left out for other reasons",
}
"""The roles in the order of the text, with their titles."""
CONTRIBUTING = 5
"""Columns whose part in minimal uniques is named."""


def profile_lines(found: Profile, asked: Sequence[Decision] | None = None) -> list[str]:
    """Return a profile as lines of at most ``WIDTH`` characters (names of columns may be longer).

    Args:
        asked: the questions of its draft; None: there is none, and those about its roles are asked.
    """
    lines = [_head(found), *_written(found)]
    if found.preset is not None:
        lines += _wrapped(found.preset.sentence)
    if found.columns:
        lines += ["", *_table(found)]
    if found.attributes:
        lines += [
            "",
            "Columns that say the same, an attribute a line (the first one leads, the others follow from it):",
        ]
        lines += [line for item in found.attributes for line in _wrapped(printable(f"{item.sentence}."))]
    if found.not_compared:
        lines += _wrapped(
            f"{found.not_compared} columns were not compared with the others, because there are too many."
        )
    for role, title in ROLES.items():
        items = [item for item in found.with_role(role) if item.leader is None]
        if items:
            lines += ["", f"{title}:"]
            lines += [line for item in items for line in _reason(item)]
    asked = questions_of(found) if asked is None else asked
    if asked:
        lines += ["", "Decisions for you, what changes most first:"]
        for number, item in enumerate(asked, 1):
            lines += _wrapped(f"{number}. {printable(item.line)}")
    return [*lines, *_sets(found)]


def _head(found: Profile) -> str:
    what = found.source if found.table is None else f"{found.source}, table {found.table}"
    count = len(found.columns)
    text = f"{what}: {found.records:,} record{'s' * (found.records != 1)}, {count} column{'s' * (count != 1)}."
    if delimiter := found.csv.get("delimiter"):
        text += f" It is read with the delimiter {delimiter!r}."
    return text


def _written(found: Profile) -> Iterator[str]:
    """Yield how the file and its columns are written."""
    told = [item for item in found.reading if item.what != "delimiter" or "sep=" in item.form]
    if told:
        yield from ("", "How it is written (the draft says so in csv:):")
    for item in told:
        name = "" if item.column is None else f"{_shown(item.column)}: "
        yield from _wrapped(f"{name}{item.sentence}.")


def _table(found: Profile) -> Iterator[str]:
    """Yield a row a column. ``unique``: the share of the records with a value that nobody else has."""
    shown = {item.name: _shown(item.name) for item in found.columns}
    width = max(6, *map(len, shown.values()))
    yield f"  {'column':<{width}}  {'type':<9}  {'looks like':<12}  {'values':>10}  {'unique':>7}  {'empty':>7}  role"
    for item in found.columns:
        values = f"{item.distinct:,}" if item.exact else f"about {item.distinct:,}"
        missing = (item.nulls + item.empty) / item.records if item.records else 0.0
        cells = f"{reading(item):<9}  {item.looks_like.replace('_', ' '):<12}  {values:>10}"
        shares = f"{percent(item.uniqueness):>7}  {percent(missing):>7}"
        yield f"  {shown[item.name]:<{width}}  {cells}  {shares}  {item.policy_role}"


def reading(item: ColumnProfile) -> str:
    """Return what the values of a column read as, in a word or two."""
    if is_mixed(item):
        return "mixed"
    return item.reads_as if item.filled else "-"


def _reason(item: ColumnProfile) -> Iterator[str]:
    notes = []
    if item.date_format is not None and item.ambiguous:
        notes += ["Day and month may be swapped: both orders fit."]
    if item.misfits:
        kind = {"whole": "whole numbers", "number": "numbers", "date": "dates", "moment": "times"}[item.reads_as]
        notes.append(f"{item.misfits:,} of its records with a value hold no {kind}.")
    yield from _wrapped(" ".join([f"{_shown(item.name)}: {item.reason}", *notes]))


def _sets(found: Profile) -> Iterator[str]:
    """Yield which sets of columns single records out."""
    if found.sets is None:
        return
    yield from ("", "Which columns together single records out:")
    for item in found.ranking:
        yield from _wrapped(item.sentence)
    if not found.ranking:
        yield from _wrapped("No set that was looked at does.")
    minimal = found.sets.minimal
    if minimal is not None and minimal.total:
        parts = sorted(minimal.contributions.items(), key=lambda pair: -pair[1])[:CONTRIBUTING]
        named = ", ".join(f"{_shown(name)} {share:.0%}".replace("%", " %") for name, share in parts if share)
        yield from _wrapped(
            f"{minimal.records:,} records are unique by {minimal.largest} columns or fewer (minimal sample uniques); "
            f"share of their scores in which a column takes part: {named}."
        )
    yield from _wrapped(found.sets.scope())
    kept = found.kept_together
    if kept is not None and kept.uniques:
        yield from ("", "What is kept as it is:")
        yield from _wrapped(
            f"The {len(kept.columns)} columns that would be published as they are single out {percent(kept.share)} of "
            f"the records together ({kept.uniques:,} of {kept.records:,}): anyone who knows them all finds these."
        )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="      ", break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def _shown(name: str) -> str:
    text = printable(name)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _protected(name: str, item: Proposal) -> str:
    if name not in item.protected:
        return "- (left out)"
    return "in bands, with its model" if name in item.in_bands else "as it is, with its model"


def proposal_lines(proposals: Sequence[Proposal]) -> list[str]:
    """Return the proposals as a table: a row a column, a column a proposal."""
    published = [{column.name: column for column in item.columns} for item in proposals]
    rows = [["", *(item.name for item in proposals)]]
    rows += [
        [_shown(name), *(_cell(columns.get(name)) for columns in published)]
        for name in dict.fromkeys(name for columns in published for name in columns)
    ]
    rows += [
        [_shown(name), *(_protected(name, item) for item in proposals)]
        for name in dict.fromkeys(name for item in proposals for name in item.protected)
    ]
    unit = proposals[0].unit
    if any(item.left_out for item in proposals):
        rows.append(["sensitive columns left out", *(f"{len(item.left_out)}" for item in proposals)])
    rows += [
        ["left of the columns above", *(percent(item.left) for item in proposals)],
        ["loss", *(f"{item.loss:.3f}" for item in proposals)],
        [
            f"{unit} left out",
            *(_left_out(item) for item in proposals),
        ],
        [
            "records of the smallest class" if unit == "records" else "persons of the smallest class",
            *(f"{item.smallest_class:,}" if item.smallest_class else "-" for item in proposals),
        ],
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cell(column: ColumnLeft | None) -> str:
    if column is None or column.fully_suppressed:
        return "- (left out)"
    if column.values_left is None:
        return f"{len(column.levels)} levels"
    if column.values_left == column.values:
        return f"as it is ({column.values:,} values)"
    counted = f"{column.values_left:,} of {column.values:,} values"
    if column.levels == (0,):
        return f"as it is ({counted})"
    return counted if column.publishes.startswith("values ") else f"{column.publishes} ({counted})"


def _left_out(proposal: Proposal) -> str:
    """Return how many records or persons are left out, and no share that says a small count."""
    said = few_or(proposal.suppressed)
    share = percent(proposal.suppressed / max(proposal.records, 1))
    return said if said.startswith("fewer") else f"{said} ({share})"
