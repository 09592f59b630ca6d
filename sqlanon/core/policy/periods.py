"""``periods``: records are released by closed periods, each once, beside those that were released before."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field
from datetime import date
from typing import Any, ClassVar

from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.ledger import COHORT_MODELS
from sqlanon.core.policy.output import LAKES, LENGTH, Output
from sqlanon.core.policy.parts import PolicyPart, check, entry
from sqlanon.parameters import choice, matching, text


@dataclass(frozen=True, slots=True)
class Periods(PolicyPart):
    """The periods that records are released by, e.g. ``Periods("admitted", "day", "2 days")``.

    The column is a quasi-identifier without a hierarchy: the period of a record is published in its place.
    """

    built = 'sqlanon.Periods("admitted", "day")'
    order = ("column", "every", "closes_after", "late")
    called: ClassVar[Mapping[str, str]] = {"since": "from"}

    column: str = entry(
        text(),
        MISSING,
        about="The column of dates or timestamps whose period a record belongs to: a quasi-identifier without a "
        "hierarchy, of which the period is published.",
        example="periods: {column: admitted, every: day}",
        page="lakehouse.md#closed-periods",
    )
    every: str = entry(
        choice(
            day="a day, such as 2024-01-31",
            week="a week from Monday to Sunday, named by its Monday",
            month="a month, such as 2024-01",
        ),
        "day",
        about="How long a period is, in UTC.",
        example="periods: {column: admitted, every: week}",
        page="lakehouse.md#closed-periods",
    )
    closes_after: str | None = entry(
        matching(
            LENGTH,
            "text, such as 2 days",
            "This is no length of time.",
            "write a number and minutes, hours, days or weeks: closes_after: 2 days.",
        ),
        about="How long after its end a period is closed, by the clock of the database. What arrives later is not "
        "published.",
        unit="minutes, hours, days or weeks",
        example="periods: {column: admitted, every: day, closes_after: 2 days}",
        page="lakehouse.md#closed-periods",
        without="a period is closed at its end",
    )
    late: str = entry(
        choice(
            count="a run says how many more records the released periods have by now",
            ignore="nothing is said of them, and no earlier period is read",
        ),
        "count",
        about="What is done about records that arrive after their period was released. They are never published.",
        example="periods: {column: admitted, late: ignore}",
        page="lakehouse.md#closed-periods",
    )
    since: str | None = entry(
        matching(r"\d{4}-\d\d-\d\d", "date, such as 2024-02-01", "This is no date.", "write from: 2024-02-01, say."),
        about="The first day of the first period that is released, where another target has those before it.",
        example="periods: {column: admitted, every: month, from: 2024-02-01}",
        page="lakehouse.md#closed-periods",
        without="all closed periods are released",
    )
    continued: Output | None = field(default=None, repr=False, compare=False)
    """The output of a policy whose run is only tried: its periods are continued, and nothing is written."""

    def __post_init__(self) -> None:
        if isinstance(self.since, date):  # as YAML reads it
            object.__setattr__(self, "since", self.since.isoformat())
        PolicyPart.__post_init__(self)


def check_periods(faults: Faults, policy: Any) -> None:
    """Note the faults of the periods of a policy, and what it cannot have besides (``PolicyFacts``)."""
    periods: Periods | None = policy.periods
    if periods is None:
        return
    check(faults, "periods", periods)
    if periods.since is not None and not _begins(periods.every, periods.since):
        hint = "write the first day of a month; of a week its Monday."
        faults.add("periods.from", f"No {periods.every} begins on this day.", hint)
    column = next((item for item in policy.columns if item.name == periods.column), None)
    if column is None or column.role != "quasi_identifier":
        hint = f"declare it: columns: {{{periods.column}: {{role: quasi_identifier}}}}, without a hierarchy."
        faults.add("periods.column", "The period of a record is published, so its column is a quasi-identifier.", hint)
    elif (column.hierarchy, column.min_level, column.max_level) != (None, None, None):
        faults.add(f"columns.{column.name}", "The period takes the place of this column.", "say its role alone.")
    _check_models(faults, policy)
    _check_beside(faults, policy)
    if policy.output is not None:
        _check_target(faults, policy, periods)


def _begins(every: str, text: str) -> bool:
    """Return whether a period begins on the day that a text names."""
    with suppress(TypeError, ValueError):
        day = date.fromisoformat(text)
        return {"month": day.day == 1, "week": day.weekday() == 0}.get(every, True)
    return False


def _check_models(faults: Faults, policy: Any) -> None:
    """Note models that a period cannot meet by its own records."""
    for key, model in policy.models_by_key:
        if model.type not in COHORT_MODELS:
            message = f"{model.type} is a matter of all records, and later periods are not there yet."
            faults.add(f"{key}.type", message, f"choose {' or '.join(COHORT_MODELS)}, or leave out periods.")


def _check_beside(faults: Faults, policy: Any) -> None:
    """Note the keys that a release by periods cannot have."""
    hint = "publish one record a person (a view that keeps each person's first), and leave out entity; or leave out "
    hint += "periods, and publish all of a person's records at once: privacy: [{type: profile_k, k: 5}]."
    for key, given, message, cure in (
        ("entity", policy.entity, "A person may be in several periods, which are judged one by one.", hint),
        ("like", policy.like, "The levels of the first periods are kept by themselves.", "leave out like."),
        ("ledger", policy.ledger, "A ledger records no release by periods.", "leave out ledger, or periods."),
        ("transformation", policy.transformation, "Only levels are kept from one period to the next.", "leave it out."),
        ("sample", policy.sample, "A sample is drawn of a whole source.", "leave out sample, or periods."),
        ("suppressed", policy.suppressed == "redact" or None, "A redacted record has no period.", "say drop."),
        ("if_exists", policy.if_exists == "replace" or None, "A period that was released is never written again.",
         "leave it out; for other levels choose a new target for later periods (periods: {from: …})."),
    ):  # fmt: skip
        if given is not None:
            faults.add(key, message, cure)
    for column in policy.columns:
        if column.role in ("pseudonym", "shift"):
            message = f"The role {column.role} is of one release, and links the periods that are released together."
            faults.add(f"columns.{column.name}.role", message, "give it the role drop, or leave out periods.")
    if any(asked.name == policy.periods.column for asked in policy.publish):
        faults.add("publish", "The period itself is published of its column.", "leave this column out.")


def _check_target(faults: Faults, policy: Any, periods: Periods) -> None:
    """Note a target to which no period can be added."""
    output = policy.output
    if output.kind not in ("file", "table", *LAKES):
        message = f"A {output.kind.replace('_', ' ')} is not released by periods."
        faults.add("output", message, "publish {table: …}, {file: …, partition_by: …}, {delta: …} or {iceberg: …}.")
    elif output.kind == "file" and output.partition_by[:1] != (periods.column,):
        message = "A file is not written again; each period has a folder of its own."
        faults.add("output.partition_by", message, f"write {{file: released, partition_by: [{periods.column}]}}.")
