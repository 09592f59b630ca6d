"""A recipient's report shows what the release and its manifest show, and no more; in every form."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import sqlanon as sqlanon_command
from effort import scaled
from policies import document_of
from reports import full_report, utility_by_hand
from tables import text_table

import sqlanon
from sqlanon.assess.relations.nulls import NullAudit
from sqlanon.assess.risk.facts import RiskComparison
from sqlanon.assess.risk.figures import assess
from sqlanon.assess.risk.question import RiskQuestion
from sqlanon.core.audit.judged_columns import JudgedColumn
from sqlanon.core.publish.ledger import Entities, Ledger
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.sizes.histogram import SizeHistogram
from sqlanon.report.document import json_report
from sqlanon.report.failures import summarize_failure
from sqlanon.report.html import html_report
from sqlanon.report.markdown import markdown_report
from sqlanon.report.recipient import coarse_parts, for_recipient
from sqlanon.report.summarizing import summarize
from sqlanon.report.summary import (
    AttributeSummary,
    ClassSizes,
    ModelSummary,
    RecodingSummary,
    RuleSummary,
    RunSummary,
    SearchSummary,
)
from sqlanon.report.text import text_report

NOW = "2026-01-02T03:04:05Z"
FORMS: dict[str, Callable[..., str]] = {
    "html": html_report, "md": markdown_report, "txt": text_report, "json": json_report,
}  # fmt: skip
FEW = 5
OUTLIER = "Zz7outlierQ"


def forms(run: RunSummary) -> dict[str, str]:
    return {name: form(run, "recipient") for name, form in FORMS.items()}


KINDS: dict[str, dict[str, Any]] = {
    "full domain": {},
    "redacted nothing": {"nulls": "basic"},
    "patterns": {"transformation": {"type": "patterns", "patterns": [[], ["a"]]}},
    "local recoding": {"transformation": {"type": "local_recoding", "hold": 0, "nodes": [{"a": 0}, {"a": 1}]}},
}


def source_policy(**keys: Any) -> sqlanon.Policy:
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"suppress": {}}} for name in "abc"}
    if "transformation" not in keys:
        columns = {name: {**column, "max_level": 1 if name == "a" else 0} for name, column in columns.items()}
    columns["d"] = {"role": "keep"}
    return sqlanon.Policy.from_dict(
        document_of({**columns, "e": "drop"}, keys, k=FEW, table="t", suppression_limit=1, quality={"measure": "loss"})
    )


def published_rows(rng: random.Random) -> list[tuple[str, ...]]:
    rows = []
    for a in "xy":
        for b in rng.sample("pqrs", 2):
            size = rng.randrange(FEW, 4 * FEW)
            rows += [(a, b, "v", rng.choice("mnop"), f"id{rng.random()}") for _ in range(size)]
    return rows


def summary_of(rows: list[tuple[Any, ...]], policy: sqlanon.Policy) -> tuple[RunSummary, dict[str, Any], Any]:
    with duckdb.connect() as connection:
        text_table(connection, list("abcde"), rows)
        with sqlanon.anonymize(connection, policy) as release:
            written = sorted(map(str, release.to_arrow().to_pylist()))
            return summarize(release, now=NOW), release.manifest, written


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(scaled(8)))
def test_sources_of_the_same_release_and_manifest_give_the_same_report(kind: str, seed: int) -> None:
    """What was suppressed or excluded differs in number and in values, and no form tells how."""
    rng, policy = random.Random(seed), source_policy(**KINDS[kind])
    rows, reports, releases = published_rows(rng), [], []
    for few in rng.sample(range(1, FEW), 2):
        missing = None if policy.nulls == "basic" else OUTLIER
        outliers = [(f"{OUTLIER}{i}{few}", missing, f"w{i % 2}", "m", "z") for i in range(few)]
        run, manifest, written = summary_of(rng.sample([*rows, *outliers], len(rows) + few), policy)
        shown = forms(run)
        assert run.ledger is not None and run.ledger.suppressed + run.ledger.excluded == few
        assert not any(OUTLIER in text for text in shown.values())
        # the search may judge more nodes of a source than of another, which the manifest shows: not a number of records
        manifest["certificate"]["evaluated"] = manifest["policy_fingerprint"] = 0
        reports.append({name: re.sub(r"\b\d+ of \d+\b|\"evaluated\": \d+", "", text) for name, text in shown.items()})
        releases.append((written, {key: manifest[key] for key in ("ledger", "certificate", "columns")}))
    assert releases[0] == releases[1]
    assert reports[0] == reports[1]


K = 1_000_000
SMALL = [104_729, 224_737, 350_377, 479_909, 611_953, 746_773, 882_377, 999_983]
"""Counts below K; no two of them, nor their differences or sums, look like anything else in a report."""


def secretive(**changes: Any) -> RunSummary:
    """A run whose every small count is a number that nothing else in a report is."""
    failing, nobody, excluded = SMALL[0], SMALL[1], SMALL[2]
    published = 7_000_000
    suppressed, question = failing + nobody, RiskQuestion(("sex", "age"), k=K)
    records = published + suppressed + excluded
    judged = JudgedColumn("d", "keep", "text", SMALL[3], SMALL[4], SMALL[5], most=SMALL[6])
    keys: dict[str, Any] = {
        "when": NOW,
        "source": "people-secret.duckdb",
        "table": "people-secret",
        "versions": (("sqlanon", "1"),),
        "fingerprint": "ab" * 32,
        "settings": (("subset (δ-presence)", "file secret.csv"),),
        "columns": (("secret-name", "drop"), ("d", "keep")),
        "attributes": (
            AttributeSummary("sex", "h", 1.0, 2, (0,), "ungeneralized", SMALL[7], SMALL[3], 0.123457),
            AttributeSummary("age", "h", 1.0, 4, (2,), "intervals of width 10", SMALL[5], SMALL[6], 0.223457),
        ),
        "models": (ModelSummary(f"k_anonymity(k={K})", SMALL[4]),),
        "measure": "loss",
        "aggregate": "arithmetic_mean",
        "k": K,
        "least": K,
        "allowed": suppressed + 17,
        "ledger": Ledger(
            records, published, suppressed, excluded, {"failing_class": failing, "uncovered": nobody, "null": excluded},
            3, 2_000_000, 3_000_000,
        ),
        "sizes": (
            ClassSizes(65_536, 131_071, 0, 0, 1, failing),
            ClassSizes(1_048_576, 2_097_151, 2, 4_000_000, 1, SMALL[3]),
            ClassSizes(2_097_152, 4_194_303, 1, 3_000_000),
        ),
        "certificate": Certificate("loss", "arithmetic_mean", 0.987123, 0.987123, 0.0, True, "box", 6, 8),
        "public_certificate": {"loss": 0.987123},
        "proof": "Proven optimal: no version that meets the policy loses less.",
        "search": SearchSummary("box", 6, 8, 40, 1, (("base", 4),), (("secret statistic", 3.0),)),
        "seconds": (("secret phase", 123.456),),
        "output": (("file", "released.parquet"),),
        "warnings": (f"secret: {SMALL[3]} records.",),
        "beside": ((judged, (SMALL[3], SMALL[7])),),
        "asked": (("left out", "secret-name"), ("who is counted", "records")),
        "risk": RiskComparison(
            assess(SizeHistogram.of([(SMALL[0], 3), (SMALL[1], 1), (2_000_000, 2)]), question),
            assess(SizeHistogram.of([(2_000_000, 2), (3_000_000, 1)], suppressed=suppressed), question),
        ),
        "utility": replace(utility_by_hand("secret value"), suppressed=SMALL[5], records=SMALL[6]),
        "promised": ("This.",),
        "not_promised": ("That.",),
        "null_words": ("NULL is NULL.",),
    }  # fmt: skip
    return RunSummary(**{**keys, **changes})


def spellings(number: int) -> set[str]:
    return {str(number), f"{number:,}"}


@pytest.mark.parametrize("form", FORMS)
def test_no_form_holds_a_small_count_or_what_gives_one_back(form: str) -> None:
    run = secretive()
    assert run.ledger is not None
    text = FORMS[form](run, "recipient").replace("<wbr>", "")
    hidden = set(SMALL) | {a + b for a, b in combinations(SMALL, 2)} | {abs(a - b) for a, b in combinations(SMALL, 2)}
    hidden |= {run.ledger.records, run.ledger.records - run.ledger.excluded, run.allowed or 0}
    hidden -= {run.ledger.suppressed}  # not small; its parts are
    for number in hidden:
        assert not any(spelled in text for spelled in spellings(number)), number
        wholes = (run.ledger.records, run.ledger.published, 7_000_000 + run.ledger.suppressed) if number < K else ()
        for whole in wholes:
            part = 100 * number / whole
            assert not any(f">{part:.{digits}f} %" in text for digits in (1, 2, 3)), (number, whole)
            assert f'"{part:.3f}%"' not in text and f'"{round(part, 3)}%"' not in text
    for word in ("secret", "12.3 %", "65.9 %", "0.9871", "0.1235", "0.2235", "abab", "123.4", "2 min", "03:04"):
        assert word not in text, word
    assert "7,000,000" in text or "7000000" in text
    assert "&lt;1000000" in text or "<1000000" in text.replace("\\", "")


def test_risk_is_that_of_the_release_alone() -> None:
    run = full_report()
    assert run.risk is not None
    found = for_recipient(run)
    assert {figure.key for figure in found.risk} >= {"prosecutor_highest", "prosecutor_average", "separation"}
    assert all(figure.value == run.risk.after[figure.key].value for figure in found.risk)
    assert not {figure.key for figure in found.risk} & {"marketer", "journalist_highest"}
    assert "of_all" not in json_report(run, "recipient")
    assert not for_recipient(full_report(counts_entities=True)).risk
    for text in forms(run).values():
        assert "Before" not in text


def test_the_operator_is_told_all_of_it() -> None:
    for form in FORMS.values():
        text = form(secretive())
        assert "104,729" in text or "104729" in text
        assert "secret" in text


def test_every_form_says_first_for_whom_it_is() -> None:
    for audience, words in (("operator", "For the operator: "), ("recipient", "For the recipient: ")):
        for name, form in FORMS.items():
            text = form(secretive(), audience)
            assert words in text.replace("\\", ""), (name, audience)
            assert text.replace("\\", "").index(words) < text.index("7,000,000" if name != "json" else "7000000")
    with pytest.raises(sqlanon.InputError, match="audience"):
        html_report(secretive(), "everybody")


def test_a_share_and_a_bar_are_drawn_where_nothing_is_hidden() -> None:
    ledger = Ledger(100, 93, 7, 0, {"failing_class": 7, "uncovered": 0, "null": 0}, 9, 5, 30)
    certificate = Certificate("loss", "arithmetic_mean", 0.19, 0.19, 0.0, True, "box", 6, 8)
    run = secretive(ledger=ledger, least=5, k=5, sizes=(), beside=(), certificate=certificate, public_certificate=None)
    for text in forms(run).values():
        assert "93" in text and "0.19" in text
    assert "93 %" in text_report(run, "recipient") and "7 %" in text_report(run, "recipient")


@pytest.mark.parametrize("k", [2, 3, 5])
def test_parts_of_kept_columns_leave_a_choice(k: int) -> None:
    """No text leaves a single number, or a single difference below k, open."""
    published = 14
    ledger = Ledger(published, published, 0, 0, {"failing_class": 0, "uncovered": 0, "null": 0}, 2, k, 9)
    told: dict[str, list[tuple[int, int]]] = {}
    for few in range(published + 1):
        for alone in range(few + 1):
            told.setdefault(json.dumps(coarse_parts((alone, few), ledger, k)), []).append((alone, few))
    for text, pairs in told.items():
        for what in ([a for a, _ in pairs], [f for _, f in pairs], [f - a for a, f in pairs]):
            assert len(set(what)) > 1 or what[0] >= k or (what[0] == 0), (text, pairs)


def test_persons_with_many_records_hide_their_records() -> None:
    reasons = {"failing_class": 9, "uncovered": 0, "null": 0}
    ledger = Ledger(100, 91, 9, 0, reasons, 3, 20, 40, Entities(20, 18, 2, 0, 5))
    judged = JudgedColumn("d", "keep", "text", 9, 90, 8)
    run = secretive(ledger=ledger, least=5, k=5, counts_entities=True, sizes=(), beside=((judged, (7, 9)),))
    found = for_recipient(run)
    assert found.hides and found.ledger is not None and found.ledger["records"] is None
    assert (found.beside[0].alone, found.beside[0].few) == ("some", "some")
    for text in forms(run).values():
        assert "not shown" in text or '"records": null' in text


def test_rules_have_no_order_for_a_recipient() -> None:
    rules = tuple(RuleSummary(f"level {i}", 2_000_000 + i, 1, 2_000_000, 2_000_000) for i in (3, 1, 2))
    for order in (rules, rules[::-1]):
        run = secretive(recoding=RecodingSummary("local_recoding", order, (("loss of the best single node", "0.31"),)))
        assert [rule.description for rule in for_recipient(run).rules] == ["level 1", "level 2", "level 3"]
        for text in forms(run).values():
            assert "0.31" not in text and "for the operator alone" not in text


def test_nulls_make_up_whole_classes_or_are_coarse() -> None:
    nothing: Any = None
    audit = NullAudit(
        100, 5, 20, {"a": 3, "b": 0, "c": 20, "d": 97}, 1, nothing, (), None, None, None,
    )  # fmt: skip
    assert for_recipient(secretive(nulls=audit, least=5)).nulls == {"a": "<5", "b": 0, "c": 20, "d": "<=100"}


def test_a_failed_run_has_nothing_for_a_recipient() -> None:
    error = sqlanon.NoSolutionError("It would suppress 104729 records.", hint="raise 350377.", nearest=None)
    run = summarize_failure(source_policy(), error, now=NOW)
    for name, form in FORMS.items():
        text = form(run, "recipient")
        assert "Nothing was published." in text, name
        assert "104729" not in text and "350377" not in text and "NoSolutionError" not in text


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMS)
def test_the_command_writes_a_report_for_whom_it_is_asked_to(ending: str, tmp_path: Path) -> None:
    rows = [("x", "p", "v", "m", "i")] * 12 + [("y", "q", "v", "m", "j")] * 2
    with duckdb.connect(str(tmp_path / "s.duckdb")) as connection:
        text_table(connection, list("abcde"), rows)
    policy = {**source_policy().to_dict(), "source": str(tmp_path / "s.duckdb")}
    (tmp_path / "p.json").write_text(json.dumps(policy))
    for audience, notice in (("operator", "For the operator"), ("recipient", "For the recipient")):
        report = tmp_path / f"{audience}.{ending}"
        done = sqlanon_command("run", tmp_path / "p.json", "--report", report, "--audience", audience)
        assert done.returncode == 0, done.stderr
        text = report.read_text(encoding="utf-8")
        assert notice in text and ("s.duckdb" in text) == (audience == "operator")
    done = sqlanon_command("run", tmp_path / "p.json", "--report", tmp_path / "r.md", "--audience", "nobody")
    assert done.returncode == 2
