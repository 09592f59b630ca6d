"""``sqlanon check --junit --sarif --summary``: write what was found for those who read it in a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.audit.check import CheckResult
from sqlanon.commands.common import Judged, refuse_overwriting
from sqlanon.disk.writing import check_directory, write_text
from sqlanon.errors import SqlanonError, TargetError
from sqlanon.policy.paths import is_connection_text, is_file, is_url
from sqlanon.publish.ledger import coarse
from sqlanon.publish.papers import Belonging
from sqlanon.report import checked_relation
from sqlanon.report.checked_relation import CheckOutcome, RelationCheck, failing_text

K = 5
"""Counts below it are not told where the check names no k."""


@dataclass(frozen=True, slots=True)
class CheckFiles:
    """The files that a check writes.

    Attributes:
        junit, sarif: are replaced; None: not asked for.
        summary: is added to, because the steps of a job share one.
        k: counts below it are not told.
    """

    junit: str | None
    sarif: str | None
    summary: str | None
    source: str
    table: str | None
    k: int | None

    @property
    def wanted(self) -> Mapping[str, Path]:
        """The files that are asked for, by what they are."""
        named = {"JUnit file": self.junit, "SARIF file": self.sarif, "summary": self.summary}
        return {what: Path(name) for what, name in named.items() if name is not None}

    def check(self, *read: str | None) -> None:
        """Check before any work that the files can be written, and are none that the check reads.

        Raises:
            TargetError: one cannot be, or is.
        """
        refuse_overwriting([Path(name) for name in (self.source, *read) if name is not None], self.wanted)
        for path in self.wanted.values():
            check_directory(path)

    def write(self, checked: tuple[CheckResult, Judged] | None, belonging: Belonging | None) -> None:
        """Write what was found."""
        findings: list[CheckOutcome] = []
        facts: list[str] = []
        if checked is not None:
            findings += self._models(*checked)
            facts += self._facts(*checked)
        if belonging is not None:
            text = " ".join(belonging.faults)
            findings.append(CheckOutcome("papers", "release, manifest and certificate belong together", not text, text))
        self._write(findings, facts, None)

    def write_error(self, error: SqlanonError) -> None:
        """Write that nothing could be checked, and why."""
        self._write([], [], f"{type(error).__name__}: {error}")

    def _models(self, found: CheckResult, judged: Judged) -> list[CheckOutcome]:
        watched = [*([None] * (len(found.models) - len(judged.watched))), *judged.watched]
        findings = []
        for column, item in zip(watched, found.models, strict=True):
            rule = item.model.removeprefix(f"{column}: ").partition("(")[0]
            text = failing_text(item.failing_classes, item.failing_records, found.unit, self._least)
            findings.append(CheckOutcome(rule, item.model, item.holds, "" if item.holds else text))
        return findings

    def _facts(self, found: CheckResult, judged: Judged) -> list[str]:
        shown = {name: coarse(getattr(found, name), self._least) for name in ("records", "classes", "smallest_class")}
        return [
            f"{shown['records']} records in {shown['classes']} classes, the smallest has {shown['smallest_class']}.",
            *judged.lines(),
        ]

    @property
    def _least(self) -> int:
        return K if self.k is None else self.k

    def _write(self, findings: list[CheckOutcome], facts: list[str], error: str | None) -> None:
        if not self.wanted:
            return
        relation, path = _named(self.source, self.table)
        checked = RelationCheck(relation, path, findings, facts, error)
        if self.junit is not None:
            write_text(Path(self.junit), checked_relation.junit(checked))
        if self.sarif is not None:
            write_text(Path(self.sarif), checked_relation.sarif(checked))
        if self.summary is not None:
            _append(Path(self.summary), checked_relation.summary(checked))


def _named(source: str, table: str | None) -> tuple[str, str | None]:
    """Return the name of a relation, and its path below the current directory; no address, no folder outside it."""
    path = Path(source)
    if is_url(source) or (not is_file(path) and is_connection_text(source)):
        return table or "the relation", None
    absolute, here = path.absolute(), Path.cwd()
    below = absolute.relative_to(here) if absolute.is_relative_to(here) else Path(path.name)
    return path.name if table is None else f"{path.name}, {table}", below.as_posix()


def _append(path: Path, text: str) -> None:
    failure = None
    try:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        failure = error.strerror or "the system refused"
    if failure is not None:
        raise TargetError(
            f"The summary {path.name!r} could not be written ({failure}).",
            hint="check the permissions and the room on the disk.",
        )


def files_of(given: dict[str, Any]) -> CheckFiles:
    """Take the options of the files out of those of ``check``, and return them."""
    taken = {name: given.pop(name) for name in ("junit", "sarif", "summary")}
    return CheckFiles(**taken, source=given["source"], table=given["table"], k=given["k"])
