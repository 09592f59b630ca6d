"""The periods that a run releases: those that have closed since the last one; of others no record is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from sqlglot import exp

from sqlanon.core.engines.clock import read_clock
from sqlanon.core.hierarchies.specs import Suppress
from sqlanon.core.policy import Policy
from sqlanon.core.policy.periods import Periods
from sqlanon.core.publish.ledger import bounds_of
from sqlanon.core.publish.question import digest_of_question
from sqlanon.core.publish.targets import Target
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, count_rows, named, table
from sqlanon.errors import InputError, NothingNewError, SourceError
from sqlanon.periods.calendar import NAME, ZONED, name_of_period, open_since, within, without_period
from sqlanon.periods.earlier import begin_anew, first_open, read_earlier
from sqlanon.periods.extending import RunPeriods

ASSUMPTION = (
    "Each period is judged by itself: a person with records in several periods is protected in each, and not against "
    "somebody who knows of several and puts them together. Publish one record a person, or take longer periods."
)
BEGINS = (
    "This run begins a release: it publishes {} periods. Where another target has some of them, whoever reads both "
    "targets subtracts one from the other, and finds late records alone. Give each reader one of them only, or begin "
    "after the last period of the other (periods: {{from: {}, …}})."
)
OPEN_TYPES = ("DATE", "TIMESTAMP")


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
    engine.capabilities.require("periods")
    type_name = _type_of(periods, opened)
    output = policy.output or periods.continued
    if target is None and output is not None:
        target = Target.of(opened, policy, output)
    common = {"column": periods.column, "every": periods.every, "type": _kind(type_name)}
    common |= {"from": periods.since} if periods.since else {}
    partition_by = [] if output is None else list(output.partition_by)
    asked = replace(policy, periods=Periods(periods.column, periods.every))
    common["question"] = digest_of_question(asked, partition_by=partition_by)
    earlier = None if target is None else read_earlier(engine, target)
    if earlier is not None:
        _compare(common, earlier)
    since = None if periods.since is None else date.fromisoformat(periods.since)
    first = since if earlier is None else first_open(earlier)
    last = None if earlier is None else str(earlier["periods"]["through"])
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
    ancient = exp.select(count_rows()).from_(opened.relation).where(*within(periods.column, type_name, None, date.min))
    early = first is None and not type_name.endswith("_NS")  # nanoseconds do not reach the year 1
    if any(NAME.fullmatch(each) is None for each in released) or (
        early and int(engine.run("count before the year 1", ancient)[0][0])
    ):
        raise SourceError(
            f"The column {periods.column!r} holds moments before the year 1, or of years that have not four digits.",
            hint="leave such records out in a view of the source.",
        )
    run = RunPeriods(released, (end - timedelta(days=1)).isoformat(), common, policy.fingerprint(), earlier)
    notes = [BEGINS.format(len(released), end)] if earlier is None and len(released) > 1 else []
    types = {item: "VARCHAR" if item == periods.column else opened.types[item] for item in opened.readable}
    return _with_levels(policy, periods), replace(
        opened,
        relation=table(names.PERIODS),
        types=types,
        unreadable=(),
        warnings=(*opened.warnings, *_left_out(opened, periods, type_name, earlier, since), *notes, ASSUMPTION),
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


def _kind(type_name: str) -> str:
    """Return the kind of a type, of which each takes other days for those of a moment."""
    return "date" if type_name == "DATE" else "with time zone" if type_name == ZONED else "without time zone"


def _compare(common: Mapping[str, str], earlier: Mapping[str, Any]) -> None:
    """Refuse a policy or a column that is another than that of the earlier periods."""
    before = {name: earlier["periods"].get(name) for name in ("column", "every", "type", "from", "question")}
    other = [name for name, value in before.items() if common.get(name) != value]
    if not other:
        return
    of_type = f"The column {common['column']!r} was of the type {before['type']}, and now is {common['type']}: records "
    raise InputError(
        of_type + "would be of another day than they were released with."
        if other == ["type"]
        else "The policy differs from that of the earlier periods in its columns, hierarchies, models, periods or "
        "partitions.",
        hint=f"restore it; or {begin_anew(earlier)}: periods of two policies are not one release.",
    )


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
    opened: Source, periods: Periods, type_name: str, earlier: Mapping[str, Any] | None, since: date | None
) -> list[str]:
    """Return the warnings of records that no period publishes.

    Those without a moment are counted by the first run alone. Of late ones the net number is known: how many more
    records the released periods have than they had; a range where their account is one.
    """
    counted = exp.select(count_rows()).from_(opened.relation)
    if earlier is None:
        missing = int(
            opened.engine.run("count without period", counted.where(without_period(periods.column, type_name)))[0][0]
        )
        text = f"{missing} records have no {periods.column!r}, or one at infinity, and so no period: they are not "
        text += "published."
        return [text] if missing else []
    if periods.late == "ignore":
        return []
    query = counted.where(*within(periods.column, type_name, since, first_open(earlier)))
    now = int(opened.engine.run("count late records", query)[0][0])
    low, high = (now - bound for bound in reversed(bounds_of(earlier["ledger"]["records"])))
    if low == high == 0:
        return []
    change = f"{low:+}" if low == high else f"{low:+} to {high:+}"
    text = f"The number of records in the released periods has changed ({change}); they stay as they are."
    return [f"{text} Records that moved to a later period are released twice." if low < 0 else text]


def _nothing_new(last: str | None) -> NothingNewError:
    since = "" if last is None else f" since {last}"
    return NothingNewError(f"No period with records has closed{since}: nothing was written.", hint="run again later.")
