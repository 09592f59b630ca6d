"""What a person reads of utility: plain text, for the operator. It names columns, and no value."""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.assess.relations.nulls import printable
from sqlanon.assess.utility.facts import ColumnUtility, Prediction, QueryErrors, Utility

MOST_LEVELS = 3
"""A line names so many levels, those with most records."""
MOST_PAIRS = 5
"""The pairs of columns that are listed: those whose association changes most."""
ESTIMATES = {
    "contained": "lower bound: records that surely match",
    "overlapping": "upper bound: records that may match",
    "uniform": "estimate: records spread evenly over their values",
}
"""How counts are estimated from a release, by the names of the facts."""
LEARNERS = {
    "naive_bayes": "naive Bayes",
    "logistic_regression": "logistic regression",
    "random_forest": "random forest",
}


def lines(found: Utility) -> list[str]:
    """Return the text on the utility of a release, line by line."""
    counts = f"{found.records:,} records: {found.published:,} published, {found.suppressed:,} suppressed"
    excluded = f"; {found.excluded:,} more are excluded for a NULL" if found.excluded else ""
    text = [f"{counts}{excluded}. For the operator: counts are exact.", ""]
    text += _table(
        ("column", "loss", "published at level", "values", "distance", "of published", "shift"),
        [_column(column) for column in found.columns],
    )
    text += [
        "",
        "  distance: total variation between source and release, suppressed records counting as a value of",
        "  their own; of published: among the published records alone; shift: Wasserstein distance of numbers",
        "  and dates, as a share of their range.",
        "",
    ]
    text += _queries(found.queries)
    if found.association is not None:
        strongest = sorted(found.association.pairs, key=lambda pair: -pair.change)[:MOST_PAIRS]
        text += [
            "",
            "Association of two columns (Cramér's V; 1: one determines the other). Over "
            f"{len(found.association.pairs):,} pairs it changes by {found.association.mean_change:.3f} on average, by "
            f"{found.association.max_change:.3f} at most. The pairs that change most:",
        ]
        text += _table(
            ("pair", "before", "after"),
            [
                (f"{printable(pair.first)}, {printable(pair.second)}", f"{pair.before:.3f}", f"{pair.after:.3f}")
                for pair in strongest
            ],
        )
        if found.association.left_out:
            text.append(f"  left out: {', '.join(map(printable, found.association.left_out))}")
    if found.prediction is not None:
        text += ["", *_prediction(found.prediction)]
    return text


def _column(column: ColumnUtility) -> tuple[str, ...]:
    levels = sorted(column.levels, key=lambda level: -level.records)
    shown = [f"{level.level}: {level.share:.1%}" for level in levels[:MOST_LEVELS]]
    if len(levels) > MOST_LEVELS:
        shown.append(f"{len(levels) - MOST_LEVELS} more")
    return (
        printable(column.name),
        _figure(column.loss),
        ", ".join(shown) or "-",
        f"{column.values_before:,} to {column.values_after:,}",
        *(
            ("fully suppressed", "-", "-")
            if column.fully_suppressed
            else map(_figure, (column.total_variation, column.total_variation_published, column.wasserstein))
        ),
    )


def _queries(found: QueryErrors | None) -> list[str]:
    if found is None:
        return ["No random COUNT queries were asked."]
    head = (
        f"Relative error of {found.queries:,} random COUNT queries over the quasi-identifiers (seed {found.seed}; "
        f"true counts below {found.sanity_bound:g} records count as that many):"
    )
    rows = [(ESTIMATES[error.estimate], f"{error.median:.3g}", f"{error.percentile_95:.3g}") for error in found.errors]
    return [head, *_table(("answered by", "median", "95th percentile"), rows)]


def _prediction(found: Prediction) -> list[str]:
    head = (
        f"Prediction of {printable(found.target)} ({found.classes} classes) for {found.tests:,} records, of which "
        f"{found.tests_suppressed:,} are suppressed, held out from training:"
    )
    rows = [("majority guess", f"{found.majority:.1%}", "")]
    rows += [(LEARNERS[item.learner], f"{item.original:.1%}", f"{item.release:.1%}") for item in found.accuracies]
    return [head, *_table(("accuracy", "trained on the source", "on the release"), rows)]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows under their heads, the first column left, the others right."""
    table = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    return [
        "  "
        + "  ".join(cell.ljust(widths[i]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(row)).rstrip()
        for row in table
    ]


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
