"""``sqlanon check --junit --sarif --summary``: write what was found for those who read it in a pipeline."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.commands.agents.sieve import without_numbers
from sqlanon.commands.common import Judged, refuse_overwriting
from sqlanon.commands.standard_streams import STANDARD
from sqlanon.core.audit.check import CheckResult
from sqlanon.core.disk.writing import check_directory, write_text
from sqlanon.core.policy.paths import is_connection_text, is_file, is_url
from sqlanon.core.publish.ledger import coarse
from sqlanon.core.publish.papers import PAPERS, Belonging
from sqlanon.errors import InputError, SqlanonError, TargetError, system_refusals
from sqlanon.report import checked_relation
from sqlanon.report.checked_relation import CheckOutcome, RelationCheck, failing_text

K = 5
"""Counts below it are withheld where the check names no k."""
QUOTED = re.compile(r"""(['"])([^'"\n]*[/\\][^'"\n]*)\1""")
"""A path in a message."""
UNFINISHED = "The check did not come to its end."


@dataclass(frozen=True, slots=True)
class CheckFiles:
    """The files that a check writes.

    Attributes:
        junit, sarif: are replaced; None: not asked for.
        summary: is added to, because the steps of a job share one; ``-`` is standard output.
        least: counts below it are withheld.
    """

    junit: str | None
    sarif: str | None
    summary: str | None
    source: str
    table: str | None
    least: int = K

    @property
    def wanted(self) -> Mapping[str, Path]:
        """The files that are asked for, by what they are."""
        named = {"JUnit file": self.junit, "SARIF file": self.sarif, "summary": self.summary}
        return {what: Path(name) for what, name in named.items() if name is not None and name != STANDARD}

    @property
    def printed(self) -> bool:
        """Whether the summary takes the place of what a check prints."""
        return self.summary == STANDARD

    def begin(self, *read: str | None) -> None:
        """Check before any work that the files can be written, and are none that the check reads.

        Until the check ends they say that it did not, so that those of an earlier check are not taken for its own.

        Raises:
            TargetError: one cannot be, or is; or is a paper of the release.
        """
        papers = [] if is_url(self.source) else [self.source + ending for ending in PAPERS]
        named = [name for name in (self.source, *papers, *read) if name is not None]
        refuse_overwriting(map(Path, named), self.wanted)
        for path in self.wanted.values():
            check_directory(path)
        self._write_results(RelationCheck(*_named(self.source, self.table), [], (), UNFINISHED))

    def write(self, checked: tuple[CheckResult, Judged] | None, belonging: Belonging | None) -> None:
        """Write the findings."""
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
        """Write that nothing could be checked, and why; without numbers, which may be small counts, and folders."""
        self._write([], [], f"{type(error).__name__}: {without_numbers(_without_folders(str(error)))}")

    def _models(self, result: CheckResult, judged: Judged) -> list[CheckOutcome]:
        watched = [*([None] * (len(result.models) - len(judged.watched))), *judged.watched]
        findings = []
        for column, item in zip(watched, result.models, strict=True):
            rule = item.model.removeprefix(f"{column}: ").partition("(")[0]
            whole = result.records if result.entities is None else result.entities
            text = failing_text(item.failing_classes, item.failing_records, whole, result.unit, self.least)
            findings.append(CheckOutcome(rule, item.model, item.holds, "" if item.holds else text))
        return findings

    def _facts(self, result: CheckResult, judged: Judged) -> list[str]:
        shown = {name: coarse(getattr(result, name), self.least) for name in ("records", "classes", "smallest_class")}
        unit = "records" if result.entities is None else "entities"
        classes = f"{shown['records']} records in {shown['classes']} classes"
        return [
            f"{classes}, the smallest has {shown['smallest_class']} {unit}.",
            *judged.lines(),
        ]

    def _write(self, findings: list[CheckOutcome], facts: list[str], error: str | None) -> None:
        checked = RelationCheck(*_named(self.source, self.table), findings, facts, error)
        self._write_results(checked)
        if self.printed:
            print(checked_relation.summary(checked), end="")
        elif self.summary is not None:
            _append(Path(self.summary), checked_relation.summary(checked))

    def _write_results(self, checked: RelationCheck) -> None:
        if self.junit is not None:
            write_text(Path(self.junit), checked_relation.junit(checked))
        if self.sarif is not None:
            write_text(Path(self.sarif), checked_relation.sarif(checked))


def _named(source: str, table: str | None) -> tuple[str, str | None]:
    """Return the name of a relation, and its path below the current directory; no address, no folder outside it."""
    path = Path(source)
    if source == STANDARD or is_url(source) or (not is_file(path) and is_connection_text(source)):
        return table or ("standard input" if source == STANDARD else "the relation"), None
    absolute, here = Path(os.path.abspath(path)), Path.cwd()
    below = absolute.relative_to(here) if absolute.is_relative_to(here) else Path(absolute.name)
    name = absolute.name
    return name if table is None else f"{name}, {table}", below.as_posix()


def _without_folders(message: str) -> str:
    """Return a message with the last part alone of each path in it.

    >>> _without_folders("There is no file 'a.csv' in '/srv/secret'."), _without_folders("'../in/a.csv'")
    ("There is no file 'a.csv' in '…/secret'.", "'…/a.csv'")
    """

    def name_alone(match: re.Match[str]) -> str:
        last = re.split(r"[/\\]", match[2].rstrip("/"))[-1]
        return f"{match[1]}…/{last}{match[1]}"

    return QUOTED.sub(name_alone, message)


def _append(path: Path, text: str) -> None:
    hint = "check the permissions and the room on the disk."
    with (
        system_refusals(TargetError, f"The summary {path.name!r} could not be written", hint=hint),
        path.open("ab+") as file,
    ):
        if file.tell() and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
            text = f"\n{text}"  # a heading begins its line
        file.write(text.encode())


def files_of(given: dict[str, Any]) -> CheckFiles:
    """Take the options of the files out of those of ``check``, and return them.

    Raises:
        InputError: standard output is asked for two things.
    """
    taken = {name: given.pop(name) for name in ("junit", "sarif", "summary")}
    if taken["summary"] == STANDARD and given["as_json"]:
        raise InputError(
            "Standard output holds either the summary or the JSON document.",
            hint="leave out --json, or name a file: --summary check.md.",
        )
    return CheckFiles(**taken, source=given["source"], table=given["table"])
