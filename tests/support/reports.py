"""Runs that are summarized by hand, for the tests of what a report says of them."""

from typing import Any

from policies import diverse, document_of, intervals

import sqlanon
from sqlanon.assess.risk.facts import RiskComparison
from sqlanon.assess.risk.figures import assess
from sqlanon.assess.risk.question import RiskQuestion
from sqlanon.assess.utility.facts import (
    Accuracy,
    Association,
    Bucket,
    ColumnUtility,
    LevelShare,
    PairAssociation,
    Prediction,
    QueryError,
    QueryErrors,
    Utility,
)
from sqlanon.core.audit.judged_columns import JudgedColumn
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sizes.histogram import SizeHistogram
from sqlanon.report.story import asked, meaning_of_nulls, not_promised, promised
from sqlanon.report.summary import (
    AttributeSummary,
    ClassSizes,
    ModelSummary,
    RecodingSummary,
    RuleSummary,
    RunSummary,
    SearchSummary,
)
from sqlanon.report.wording import describe_proof

NOW = "2026-01-02T03:04:05Z"
HOSTILE = [
    "<script>alert(1)</script>",
    "a\"b'c&amp;",
    "x" * 70,
    "שלום עולם",
    "evil\u202egnp.exe",
    "名前" * 20,
    "order; DROP TABLE y --",
]


def made_by_hand(**changes: Any) -> RunSummary:
    facts: dict[str, Any] = {
        "when": NOW,
        "source": "people.duckdb",
        "table": "people",
        "versions": (("sqlanon", "1"), ("duckdb", "2")),
        "fingerprint": "ab" * 32,
        "settings": (("suppression limit", "10 % of the records"), ("strategy", "auto")),
        "columns": (("name", "drop"), ("disease", "sensitive")),
        "attributes": (
            AttributeSummary("sex", "one level above the values", 1.0, 2, (0,), "ungeneralized", 2, 2, 0.07),
            AttributeSummary("age", "intervals of width 5, 10", 2.0, 4, (2,), "intervals of width 10", 80, 9, 0.25),
        ),
        "models": (ModelSummary("k_anonymity(k=3)", 7), ModelSummary("disease: distinct_l_diversity(l=2)", 4)),
        "measure": "loss",
        "aggregate": "arithmetic_mean",
        "k": 3,
        "allowed": 10,
        "ledger": Ledger(105, 93, 7, 5, {"failing_class": 7, "uncovered": 0, "null": 5}, 12, 3, 20),
        "sizes": (
            ClassSizes(1, 1, 0, 0, 3, 3),
            ClassSizes(2, 3, 4, 12, 2, 4),
            ClassSizes(4, 7, 5, 25),
            ClassSizes(8, 15, 2, 36),
            ClassSizes(16, 31, 1, 20),
        ),
        "certificate": Certificate("loss", "arithmetic_mean", 0.19, 0.19, 0.0, True, "box", 6, 8),
        "proof": "Proven optimal: no version that meets the policy loses less.",
        "search": SearchSummary("box", 6, 8, 40, 1, (("base", 4), ("snapshot 1,2", 2))),
        "seconds": (("encode", 0.3), ("search", 0.1), ("publish", 75.0)),
        "output": (("file", "released.parquet"),),
        "warnings": ("Something to know.",),
    }
    return RunSummary(**{**facts, **changes})


def recoded_by_hand(kind: str, **changes: Any) -> RunSummary:
    """A run by patterns or local recoding, as a release of it is summarized."""
    patterns = kind == "patterns"
    top = "fully suppressed (*)"
    attributes = (
        AttributeSummary("sex", "one level above the values", 1.0, 2, (0, 1), f"ungeneralized or {top}", 2),
        AttributeSummary("town", "one level above the values", 1.0, 2, (0,), "ungeneralized", 7, 7),
        AttributeSummary("age", "intervals of width 5", 2.0, 4, (0, 2, 3), f"ungeneralized, two things or {top}", 80),
    )
    rules = (
        RuleSummary("suppresses sex" if patterns else "sex 1", 40, 6, 3, 11),
        RuleSummary("suppresses age" if patterns else "age 2", 36, 4, 4, 18),
        RuleSummary("suppresses sex, age" if patterns else "sex 1, age 3", 17, 2, 5, 12),
    )
    facts = {
        "patterns": (("patterns that publish records", "3"), ("suppressed cells", "131"), ("usefulness", "1.375")),
        "local_recoding": (("nodes that publish records", "3"), ("loss of the best single node", "0.31")),
    }
    keys: dict[str, Any] = {
        "attributes": attributes,
        "models": (ModelSummary("k_anonymity(k=3)"), ModelSummary("disease: distinct_l_diversity(l=2)")),
        "measure": "loss",
        "sizes": (
            ClassSizes(2, 3, 4, 12),
            ClassSizes(4, 7, 5, 25),
            ClassSizes(8, 15, 2, 36),
            ClassSizes(16, 31, 1, 20),
        ),
        "certificate": (
            Certificate("suppressed_cells", None, 0.44, None, None, False, "patterns_greedy", 5, 8)
            if patterns
            else Certificate("loss", "arithmetic_mean", 0.21, None, None, False, "local_recoding", 6, 16)
        ),
        "search": (
            SearchSummary("patterns_greedy", 5, 8, 40, 0, ())
            if patterns
            else SearchSummary("local_recoding", 6, 16, 240, 1, (), (("candidates", 280.0),))
        ),
        "recoding": RecodingSummary(kind, rules, facts[kind]),
        "warnings": ("It is open to a refinement attack.",),
    }
    keys["proof"] = describe_proof(keys["certificate"])
    return made_by_hand(**{**keys, **changes})


def hostile() -> RunSummary:
    attributes = tuple(
        AttributeSummary(name, f"file {name}", 1.0, 3, (1,), f"level 1 of 2 of the file {name}", 9, 4, 0.5)
        for name in HOSTILE
    )
    return made_by_hand(
        table=HOSTILE[0],
        source=HOSTILE[1],
        attributes=attributes,
        columns=tuple((name, "keep") for name in HOSTILE),
        models=tuple(ModelSummary(f"{name}: distinct_l_diversity(l=2)", 0) for name in HOSTILE),
        settings=(("subset (δ-presence)", f"column {HOSTILE[0]}"),),
        output=(("table", HOSTILE[2]),),
        warnings=tuple(HOSTILE),
    )


def risk_by_hand() -> RiskComparison:
    """The figures of 105 records, of which 93 are published."""
    question = RiskQuestion(("sex", "age"), k=3)
    before = SizeHistogram.of([(1, 12), (2, 9), (4, 10), (35, 1)])
    after = SizeHistogram.of([(3, 4), (5, 5), (18, 2), (20, 1)], suppressed=12)
    return RiskComparison(assess(before, question), assess(after, question))


def utility_by_hand(label: str = "") -> Utility:
    """What is left of two columns; ``label`` stands where a published value would."""
    buckets = (
        Bucket("range", label, 3, 60, 55, 0.6, 0.55),
        Bucket("value", label, 1, 33, 31, 0.33, 0.31),
        Bucket("null", "NULL", 1, 4, 4, 0.04, 0.04),
        Bucket("other", "other values", 2, 3, 3, 0.03, 0.03),
        Bucket("suppressed", "suppressed", 0, 0, 7, 0.0, 0.07),
    )
    levels = (LevelShare(0, 50, 0.5), LevelShare(2, 43, 0.43))
    columns = tuple(
        ColumnUtility(
            name, "quasi_identifier", name == "age", 0.25, "loss", levels, 7, 0.07, 80, 9, 0.1234, 0.0567,
            0.05 if name == "age" else None, 0.01 if name == "age" else None, buckets, 2,
        )
        for name in ("sex", "age")
    )  # fmt: skip
    errors = (
        QueryError("contained", 1.0, 1.0, 0.9), QueryError("overlapping", 2.5, 17.6, 5.3),
        QueryError("uniform", 0.131, 0.659, 0.21),
    )  # fmt: skip
    pairs = (PairAssociation("sex", "age", 0.2, 0.3), PairAssociation("age", "disease", 0.9, 0.4))
    prediction = Prediction("disease", ("sex", "age"), 9, 70, 65, 30, 2, 0.3, (Accuracy("naive_bayes", 0.6, 0.5),))
    return Utility(
        100, 93, 7, 5, 3, columns, QueryErrors(200, 1, 10.0, ("sex", "age"), errors),
        association=Association(pairs, 0.3, 0.5), prediction=prediction,
    )  # fmt: skip


def full_report(**changes: Any) -> RunSummary:
    """A run with every part of the story."""
    policy = sqlanon.Policy.from_dict(
        document_of(
            {"sex": "suppress", "age": intervals(5), "name": "drop", "disease": diverse(2), "stay": "keep"},
            k=3,
            suppression_limit=0.1,
        )
    )
    judged = (
        (JudgedColumn("disease", "sensitive", "text", 9, 105, 2), (1, 20)),
        (JudgedColumn("stay", "keep", "number", 31, 105, 11, whole=True, most=20, determines={"age": 0.85}), (40, 41)),
    )
    keys: dict[str, Any] = {
        "columns": (("name", "drop"), ("disease", "sensitive"), ("stay", "keep")),
        "asked": asked(policy),
        "promised": promised(policy),
        "not_promised": not_promised(policy),
        "null_words": meaning_of_nulls(policy),
        "least": 3,
        "beside": judged,
        "risk": risk_by_hand(),
        "utility": utility_by_hand(),
    }
    return made_by_hand(**{**keys, **changes})
