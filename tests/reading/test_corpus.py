"""Ugly files, and what a person says is right of each: options, values as they are read, questions, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest
import ugly_files

from sqlanon.assess.reading.recognition import recognise
from sqlanon.core.source.files import Reading
from sqlanon.core.source.opening import open_source
from sqlanon.errors import SourceError


def faults_of(path: Path, expected: dict[str, Any]) -> list[str]:
    """How what is read of a file differs from what is expected of it."""
    try:
        found = recognise(path, {})
        with open_source(path, None, reading=Reading(found.csv, needs_records=True, reports=False)) as opened:
            columns = list(opened.types)
            rows = opened.engine.run("rows", f"SELECT * FROM {opened.engine.render(opened.relation)}")
    except SourceError as error:
        said = f"{error.message} {error.hint}"
        if "refused" not in expected:
            return [said]
        return [f"not said: {words}" for words in expected["refused"] if words not in said]
    if "refused" in expected:
        return ["it is not refused"]
    faults = []
    if dict(found.csv) != expected["options"]:
        faults.append(f"options {found.csv}, not {expected['options']}")
    if columns != expected.get("columns", columns):
        faults.append(f"columns {columns}")
    for name, cells in expected.get("cells", {}).items():
        held = [row[columns.index(name)] for row in rows][: len(cells)] if name in columns else None
        if held != cells:
            faults.append(f"{name}: {held}, not {cells}")
    asked = [(item.column, item.question) for item in found.findings if item.question]
    wanted = expected.get("questions", [])
    faults += [f"not asked: {ask}" for ask in wanted if not any(c == ask[0] and ask[1] in q for c, q in asked)]
    faults += [f"asked: {c}, {q}" for c, q in asked if not any(c == ask[0] and ask[1] in q for ask in wanted)]
    return faults


@pytest.mark.slow
def test_the_corpus_is_read_as_a_person_would() -> None:
    names = sorted(path.name.removesuffix(".json") for path in ugly_files.CORPUS.glob("*.json"))
    assert len(names) >= 60
    wrong = {}
    for name in names:
        text = (ugly_files.CORPUS / f"{name}.json").read_text(encoding="utf-8")
        faults = faults_of(ugly_files.CORPUS / name, ugly_files.with_year(json.loads(text)))
        wrong |= {name: faults} if faults else {}
    assert not wrong, "\n".join(f"{name}: {'; '.join(faults)}" for name, faults in wrong.items())


def test_the_corpus_is_what_its_script_writes() -> None:
    written = {name: (data, json.loads(json.dumps(expected))) for name, data, expected in ugly_files.files()}
    held = {
        name: (
            (ugly_files.CORPUS / name).read_bytes(),
            json.loads((ugly_files.CORPUS / f"{name}.json").read_text("utf-8")),
        )
        for name in written
    }
    same = {name for name in written if name.endswith((".zip", ".gz"))}  # packed otherwise by other versions of zlib
    assert {name: pair for name, pair in written.items() if name not in same} == {
        name: pair for name, pair in held.items() if name not in same
    }
    assert len(list(ugly_files.CORPUS.iterdir())) == 2 * len(written)
