"""The periods that a run releases: those that have closed since the last one; of others no record is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from sqlglot import exp

from sqlanon.core.hierarchies.specs import Suppress
from sqlanon.core.policy import Policy
from sqlanon.core.policy.periods import Periods
from sqlanon.core.policy.writing import canonical, document
from sqlanon.core.publish.ledger import bounds_of
from sqlanon.core.publish.targets import Target
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, count_rows, is_null, named, table
from sqlanon.errors import InputError, NothingNewError, SourceError
from sqlanon.periods.calendar import NAME, name_of_period, next_day, open_since, read_clock, within
from sqlanon.periods.earlier import read_earlier, released_of
from sqlanon.periods.extending import RunPeriods

ASSUMPTION = (
    "Each period is judged by itself: a person with records in several periods is protected in each, and not against "
    "somebody who knows of several and puts them together. Publish one record a person, or take longer periods."
)
OPEN_TYPES = ("DATE", "TIMESTAMP")
CHOSEN_ANEW = (
    "version", "source", "files", "table", "csv", "join", "search", "quality", "output", "if_exists",
    "suppression_limit", "suppression_count",
)  # fmt: skip
"""Keys of a policy that may differ from one run to the next: the levels, models and columns are others."""


def open_periods(policy: Policy, opened: Source, target: Target | None) -> tuple[Policy, Source]:
    """Return the policy and the source of a run: the records of the closed periods that were not released yet.

    Their column holds the names of their periods.

    Raises:
        NothingNewError: no period has closed since the last run, or none has records.
        TargetError: what stands at the target was not released by such periods.
        InputError: the policy differs from that of the earlier periods.
        UnsupportedError: the engine compares no dates, or has no transactions.
    """
    periods, engine = policy.periods, opened.engine
    assert periods is not None
    engine.require("periods")
    type_name = _type_of(periods, opened)
    common = {"column": periods.column, "every": periods.every, "question": _question(policy)}
    earlier = None if target is None else read_earlier(engine, target)
    if earlier is not None and any(earlier["periods"].get(key) != value for key, value in common.items()):
        raise InputError(
            "The policy differs from that of the earlier periods in its columns, hierarchies, models or periods.",
            hint="take the earlier policy, or release to a new target: periods of two policies are not one release.",
        )
    last = None if earlier is None else str(released_of(earlier)[-1]["period"])
    first = None if last is None else next_day(periods.every, last)
    end = open_since(periods.every, read_clock(engine), periods.closes_after)
    if first is not None and first >= end:
        raise _nothing_new(last)
    name = name_of_period(periods.every, periods.column, type_name)
    listed = [named(name if item == periods.column else column(item), item) for item in opened.readable]
    records = exp.select(*listed).from_(opened.relation).where(*within(periods.column, type_name, first, end))
    engine.create("closed periods", names.PERIODS, records)
    counted = exp.select(column(periods.column)).distinct().from_(table(names.PERIODS))
    released = tuple(sorted(str(row[0]) for row in engine.run("list periods", counted)))
    if not released:
        raise _nothing_new(last)
    if any(NAME.fullmatch(each) is None for each in released):
        raise SourceError(
            f"The column {periods.column!r} holds moments of years that have not four digits.",
            hint="leave such records out in a view of the source.",
        )
    run = RunPeriods(released, common, policy.fingerprint(), earlier)
    types = {item: "VARCHAR" if item == periods.column else opened.types[item] for item in opened.readable}
    return _with_levels(policy, periods), replace(
        opened,
        relation=table(names.PERIODS),
        types=types,
        unreadable=(),
        warnings=(*opened.warnings, *_left_out(opened, periods, type_name, earlier, first), ASSUMPTION),
        periods=run,
    )


def _type_of(periods: Periods, opened: Source) -> str:
    """Return the type of the column of the periods."""
    type_name = opened.readable.get(periods.column, "")
    if not type_name.startswith(OPEN_TYPES):
        raise InputError(
            f"The column {periods.column!r} of the periods "
            + (f"has the type {type_name}, and holds no dates." if type_name else "is not in the source."),
            hint="name a column of dates or timestamps; of texts, cast it in a view of the source.",
        )
    return type_name


def _question(policy: Policy) -> str:
    """Return the SHA-256 of what all periods of a release have in common."""
    keys = {name: value for name, value in document(policy, portable=True).items() if name not in CHOSEN_ANEW}
    keys["periods"] = {name: value for name, value in keys["periods"].items() if name in ("column", "every")}
    return hashlib.sha256(json.dumps(canonical(keys), default=str, sort_keys=True).encode()).hexdigest()


def _with_levels(policy: Policy, periods: Periods) -> Policy:
    """Return the policy in which the periods are published as they are, and cost nothing."""
    others = len(policy.quasi_identifiers) > 1
    columns = (
        replace(item, hierarchy=Suppress(), max_level=0, weight=0.0 if others else item.weight)
        if item.name == periods.column
        else item
        for item in policy.columns
    )
    return replace(policy, columns=tuple(columns), periods=None)


def _left_out(
    opened: Source, periods: Periods, type_name: str, earlier: Mapping[str, Any] | None, first: date | None
) -> list[str]:
    """Return what the operator should know of records that no period publishes.

    Those without a moment are counted by the first run alone. Of late ones the net number is known: how many more
    records the released periods have than they had; a range where their account is one.
    """
    counted, name = exp.select(count_rows()).from_(opened.relation), column(periods.column)
    if earlier is None or first is None:
        missing = int(opened.engine.run("count without period", counted.where(is_null(name)))[0][0])
        text = f"{missing} records have no {periods.column!r}, and so no period: they are not published."
        return [text] if missing else []
    if periods.late == "ignore":
        return []
    query = counted.where(*within(periods.column, type_name, None, first))
    now = int(opened.engine.run("count late records", query)[0][0])
    low, high = (now - bound for bound in reversed(bounds_of(earlier["ledger"]["records"])))
    if low == high == 0:
        return []
    change = f"{low:+}" if low == high else f"{low:+} to {high:+}"
    return [f"The number of records in the released periods has changed ({change}); they stay as they are."]


def _nothing_new(last: str | None) -> NothingNewError:
    since = "" if last is None else f" since {last}"
    return NothingNewError(f"No period with records has closed{since}: nothing was written.", hint="run again later.")
