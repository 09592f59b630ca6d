"""What ``sqlanon check`` found, for those who read it in a pipeline: JUnit, SARIF and a summary in Markdown.

None holds a value of a record or the address of a database, and a count below k reads ``<k``: a file of a pipeline is
read by more people than its operator.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from lxml import etree

from sqlanon.core.publish.ledger import coarse, is_small
from sqlanon.report.markdown import escaped
from sqlanon.report.wording import visible
from sqlanon.version import VERSION

TOOL = "sqlanon"
HOME = "https://github.com/sqlanon/sqlanon"
SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "sqlanonCheck/v1"
NOT_CHECKED = "not-checked"
"""The rule of a check that could not be made."""


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """What came of one test.

    Attributes:
        rule: the type of the model, or ``papers``.
        test: the model with its parameters and its column.
        holds: whether the relation meets it.
        text: why it does not, in a sentence; empty where it holds.
    """

    rule: str
    test: str
    holds: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class RelationCheck:
    """A check of a relation.

    Attributes:
        relation: its name, without a path and without an address.
        path: where it stands below the current directory, with ``/``; None of a database on a server.
        facts: what was counted, and which columns were judged, a sentence each.
        error: why nothing could be checked; None if it could.
    """

    relation: str
    path: str | None
    findings: Sequence[CheckOutcome]
    facts: Sequence[str] = ()
    error: str | None = None

    @property
    def holds(self) -> bool:
        """Whether it was checked and nothing fails."""
        return self.error is None and all(finding.holds for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The outcome in a few words."""
        return "could not be checked" if self.error is not None else "holds" if self.holds else "does not hold"


def failing_text(classes: int, members: int, whole: int, unit: str, k: int) -> str:
    """Return how much of a relation fails a model; a count of fewer than k is not shown.

    Members are rounded to multiples of k, because those that are left over, or fail one model and not another, may be
    fewer than k.

    >>> failing_text(7, 19, 90, "records", 5), failing_text(1, 3, 90, "records", 5)
    ('7 classes (about 20 records) fail.', '<5 classes (<5 records) fail.')
    >>> failing_text(18, 88, 90, "records", 5)
    '18 classes (>85 records) fail.'
    """
    if is_small(members, k):
        told = f"<{k}"
    elif whole - members < k:
        told = f">{whole - k}"
    else:
        told = f"about {int(members / k + 0.5) * k}"
    return f"{coarse(classes, k)} classes ({told} {unit}) fail."


def _literal(text: str) -> str:
    r"""Return a text for SARIF, where braces are places for arguments and brackets begin a link.

    >>> _literal("[x](https://y) {0}")
    '\\[x\\](https://y) {{0}}'
    """
    shown = visible(text).replace("{", "{{").replace("}", "}}")
    return re.sub(r"([\\\[\]])", r"\\\1", shown)


def junit(checked: RelationCheck) -> str:
    """Return the check as JUnit XML: a test case for each model, an error if nothing could be checked."""
    cases = list(checked.findings)
    counts = {
        "tests": str(len(cases) + (checked.error is not None)),
        "failures": str(sum(not case.holds for case in cases)),
        "errors": str(int(checked.error is not None)),
    }
    root = etree.Element("testsuites", {"name": f"{TOOL} check", **counts})
    suite = etree.SubElement(root, "testsuite", {"name": visible(checked.relation), "skipped": "0", **counts})
    named = {"classname": f"{TOOL}.check.{visible(checked.relation)}"}
    for case in cases:
        element = etree.SubElement(suite, "testcase", {"name": visible(case.test), **named})
        if not case.holds:
            failure = etree.SubElement(element, "failure", {"type": case.rule, "message": visible(case.text)})
            failure.text = "\n".join(visible(line) for line in [case.text, *checked.facts])
    if checked.error is not None:
        element = etree.SubElement(suite, "testcase", {"name": "check", **named})
        error = etree.SubElement(element, "error", {"type": NOT_CHECKED, "message": visible(checked.error)})
        error.text = visible(checked.error)
    text: bytes = etree.tostring(root, pretty_print=True, xml_declaration=True, encoding="UTF-8")
    return text.decode()


def sarif(checked: RelationCheck) -> str:
    """Return the check as SARIF 2.1.0: a result for each model that does not hold, and none where all do.

    A check that could not be made has a notification and no results: ``executionSuccessful`` is false.
    """
    rules = list(dict.fromkeys(finding.rule for finding in checked.findings))
    invocation: dict[str, Any] = {"executionSuccessful": checked.error is None}
    if checked.error is not None:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "descriptor": {"id": NOT_CHECKED}, "message": {"text": _literal(checked.error)}}
        ]
    driver = {
        "name": TOOL,
        "version": VERSION,
        "semanticVersion": VERSION,
        "informationUri": HOME,
        "rules": [_rule(rule) for rule in rules],
        "notifications": [
            {"id": NOT_CHECKED, "shortDescription": {"text": "The relation could not be checked."}},
        ],
    }
    results = [_result(checked, finding, rules) for finding in checked.findings if not finding.holds]
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"{TOOL}/{visible(checked.relation)}/"},
        "invocations": [invocation],
        "columnKind": "utf16CodeUnits",
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: str) -> dict[str, Any]:
    what = (
        "A release, its manifest and its certificate belong together."
        if rule == "papers"
        else f"Every class of the relation meets {rule}."
    )
    return {
        "id": rule,
        "name": rule,
        "shortDescription": {"text": what},
        "helpUri": f"{HOME}/blob/main/docs/{'commands' if rule == 'papers' else 'policy'}.md",
        "defaultConfiguration": {"level": "error"},
    }


def _result(checked: RelationCheck, finding: CheckOutcome, rules: Sequence[str]) -> dict[str, Any]:
    """Return a result; its fingerprint stays as long as the same test fails of the same relation."""
    location: dict[str, Any] = {"logicalLocations": [{"name": visible(checked.relation), "kind": "resource"}]}
    if checked.path is not None:
        artifact = {"uri": quote(checked.path), "uriBaseId": "%SRCROOT%"}
        location["physicalLocation"] = {"artifactLocation": artifact, "region": {"startLine": 1}}
    same = json.dumps([checked.relation, finding.rule, finding.test])
    return {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "kind": "fail",
        "level": "error",
        "message": {"text": _literal(f"{finding.test} does not hold: {finding.text}")},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: hashlib.sha256(same.encode()).hexdigest()},
    }


def summary(checked: RelationCheck) -> str:
    """Return the check as a section of Markdown, for the summary of a job."""
    return "\n".join(_summary(checked)) + "\n"


def _summary(checked: RelationCheck) -> Iterator[str]:
    yield f"### {TOOL} check: {escaped(checked.relation)} {checked.verdict}"
    yield ""
    if checked.error is not None:
        yield escaped(checked.error)
        yield ""
        return
    yield "| test | verdict | |"
    yield "| --- | --- | --- |"
    for finding in checked.findings:
        verdict = "holds" if finding.holds else "**does not hold**"
        yield f"| {escaped(finding.test)} | {verdict} | {escaped(finding.text)} |"
    yield ""
    for fact in checked.facts:
        yield f"- {escaped(fact)}"
    if checked.facts:
        yield ""
