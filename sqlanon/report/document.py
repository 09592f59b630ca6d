"""The report as JSON: its facts for programs, and its sentences for people."""

from __future__ import annotations

import json
from typing import Any

from sqlanon.core.facts import pick
from sqlanon.report import blocks
from sqlanon.report.view import Reported, view_of
from sqlanon.version import VERSION

REPORT_VERSION = 1


def report_document(run: Reported, audience: str = "operator") -> dict[str, Any]:
    """Return the report of a run as a JSON document; ``facts`` are numbers, ``sections`` are words.

    ``facts`` of the operator are ``RunSummary.to_dict``, those of a recipient ``RecipientSummary.to_dict``.
    """
    view = view_of(run, audience)
    return {
        "report_version": REPORT_VERSION,
        "sqlanon_version": VERSION,
        **pick(view, "audience notice title when headline"),
        "proof": view.proof or None,
        **pick(view, "warnings facts"),
        "sections": [
            {"key": section.key, "title": section.title, "sentences": _sentences(section)} for section in view.sections
        ],
    }


def json_report(run: Reported, audience: str = "operator") -> str:
    """Return the report of a run as the text of a JSON document."""
    return json.dumps(report_document(run, audience), ensure_ascii=False, indent=2) + "\n"


def _sentences(section: blocks.Section) -> list[str]:
    sentences: list[str] = []
    for block in section.blocks:
        match block:
            case blocks.Sentence():
                sentences.append(block.text)
            case blocks.Listing():
                sentences += block.items
            case blocks.Table() | blocks.Sizes() | blocks.ComparedSizes() | blocks.Pictures():
                sentences += [block.caption] if block.caption else []
    return sentences
