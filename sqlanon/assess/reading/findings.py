"""What was recognised of a text file: options of reading, and findings that say so with counts and no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlanon.core.facts import Facts


@dataclass(frozen=True, slots=True)
class ReadingFinding(Facts):
    """How a text file, or a column of it, is written.

    Attributes:
        column: None for the file.
        what: ``encoding``, ``delimiter``, ``title``, ``end``, ``blank_columns``, ``missing``, ``numbers``, ``dates``,
            ``words`` or ``yes_no``.
        form: in words: separators, units, formats of dates, words for NULL of a fixed list; never a value.
        records: that it is about, or lines of a title; ``misfits``: those that do not fit and stay as they are.
        question: what a person must decide; None where the evidence is clear.
        applied: it is read so; otherwise the texts stay as they are.
    """

    KEYS = "column what form records misfits applied question"
    column: str | None
    what: str
    form: str
    records: int | None = None
    misfits: int = 0
    question: str | None = None
    applied: bool = True

    @property
    def sentence(self) -> str:
        """What was found, in a line."""
        unit = ("line" if self.what == "title" else "record") + "s" * (self.records != 1)
        counts = [] if self.records is None else [f"{self.records:,} {unit}"]
        counts += [f"{self.misfits:,} do not fit and stay as they are"] if self.misfits else []
        text = self.form + (f" ({'; '.join(counts)})" if counts else "")
        return text if self.applied else f"{text}: left as it is"


@dataclass(frozen=True, slots=True)
class Recognised:
    """The options by which a text file is read, stated ones included, and what was found."""

    csv: Mapping[str, Any]
    findings: tuple[ReadingFinding, ...] = ()
