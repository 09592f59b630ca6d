"""A report as a file, whose ending selects the form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlanon.core.disk.writing import check_directory, write_text
from sqlanon.core.policy.paths import REPORT_ENDINGS
from sqlanon.errors import TargetError

if TYPE_CHECKING:
    from sqlanon.report.view import Reported


def check_report(path: Path) -> None:
    """Check before any work that a report can be written to a file; see ``check_file``."""
    check_file(path, "report", REPORT_ENDINGS)


def check_file(path: Path, what: str, endings: Sequence[str]) -> None:
    """Check before any work that a file can be written, whose ending selects its form.

    Raises:
        TargetError: its ending is not known, or its directory cannot be written.
    """
    if path.suffix.lower() not in endings:
        raise TargetError(
            f"The {what} {path.name!r} has an ending that is not known.", hint=f"use one of {', '.join(endings)}."
        )
    if path.is_dir():
        raise TargetError(f"The {what} {path.name!r} is a folder.", hint="name a file in it.")
    check_directory(path)


def write_report(summary: Reported, path: str | Path, *, audience: str = "operator") -> None:
    """Write the report, whole or not at all; an older one is replaced.

    Args:
        audience: ``operator`` has exact counts; ``recipient`` holds no more than the release and its manifest show.

    Raises:
        InputError: there is no such audience.
        TargetError: its ending is not known, or it cannot be written.
    """
    path = Path(path)
    check_report(path)
    from sqlanon.report.document import json_report
    from sqlanon.report.html import html_report
    from sqlanon.report.markdown import markdown_report
    from sqlanon.report.text import text_report

    forms = dict(zip(REPORT_ENDINGS, (html_report, text_report, markdown_report, json_report), strict=True))
    write_text(path, forms[path.suffix.lower()](summary, audience))
