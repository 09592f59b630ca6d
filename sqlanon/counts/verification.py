"""The verification of a certificate of counts: what it claims is judged anew from the source, apart from the search.

Nothing of the search takes part, neither its programs, cuts and heuristics nor its relations. What is shared defines
the claim: the document, the counting of cells and their numbers, and which cells are unsafe. ``judging`` has the proof.
The rows that the suppression makes of the source are audited, and those that were written must be the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.policy.paths import is_database
from sqlanon.core.publish.proof_file import digest
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import open_source
from sqlanon.core.verifying import Verification
from sqlanon.counts.certificate import VERSION, cells_digest
from sqlanon.counts.counting import Counted, count_cells
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.judging import Judge, Stated
from sqlanon.counts.released import released_rows
from sqlanon.counts.written import audit_written
from sqlanon.errors import AuditError, InputError, SourceError


@dataclass(slots=True)
class CountsVerification(Verification):
    """The result of verifying a certificate of counts.

    Attributes:
        cells, suppressed: of the tables.
        witnesses, inequalities: how many were checked.
        weight: of the complementary cells; ``lower_bound`` is what they weigh at least.
    """

    cells: int = 0
    suppressed: int = 0
    witnesses: int = 0
    inequalities: int = 0
    weight: float | None = None


def verify_counts(
    document: Mapping[str, Any], policy: object, source: object = None, *, watch: Watcher | None = None
) -> CountsVerification:
    """Verify the certificate of a release of counts against its source; behind the door of ``sqlanon.verify``.

    Raises:
        InputError and its children: the certificate, the document or the source is unusable.
        SearchStoppedError: the time limit came before the least weight was known.
    """
    asked, result = CountsPolicy.of(policy), CountsVerification()
    asked.check_certified()
    if type(document.get("certificate_version")) is not int or document["certificate_version"] != VERSION:
        raise InputError(
            f"This is no certificate of counts of version {VERSION}.", hint="verify it with the version that wrote it."
        )
    if document.get("sha256") != digest(document):
        result.blame("The certificate was changed after it was written: its digest differs.")
    if document.get("policy_fingerprint") != asked.fingerprint():
        result.blame(
            "The certificate is of another document: tables, rules or what is read differ. Nothing was judged."
        )
        return result
    if watch is not None:
        watch(Step("reading"))
    with open_policy_source(source, asked.policy) as opened:
        opened.engine.journal.watched_by(watch)
        opened.engine.journal.report("counting")
        counted = count_cells(opened, asked)
    if document.get("cells_sha256") != cells_digest(counted):
        result.blame("The source has other cells than when the certificate was written. Nothing was judged.")
        return result
    stated = Stated.of(document, counted.grid, asked.rules.joint)
    judge = Judge(counted, asked, stated, result.blame)
    result.cells, result.suppressed = len(judge.shown), len(stated.suppressed)
    result.witnesses, result.inequalities = len(stated.witnesses), len(stated.cuts)
    result.weight, result.lower_bound = judge.run()
    result.optimal = stated.optimal and result.holds
    if result.holds:
        _check_release(counted, asked, stated, result)
    return result


def _check_release(counted: Counted, asked: CountsPolicy, stated: Stated, result: CountsVerification) -> None:
    """Check that what was written is the suppression of the certificate, and safe to a reader."""
    suppressed = np.zeros(len(counted.grid), bool)
    suppressed[sorted(stated.suppressed)] = True
    rows, output = released_rows(counted, asked, suppressed), asked.policy.output
    of_cells = [own for own in stated.witnesses if own and max(own) < len(counted.grid)]
    witnesses = [(np.array([*own], np.int64), np.array([*own.values()], np.float64)) for own in of_cells]
    try:
        audit_written(rows, counted, asked, [witnesses])
    except AuditError as error:
        result.blame(error.message)
    if output is None or output.kind != "file" or not Path(output.target).exists():
        result.remarks.append(
            "There is no released file here: the table was judged that the source and these cells make."
        )
        return
    path, is_same = Path(output.target), False
    with suppress(SourceError), open_source(path, "release" if is_database(path.name) else None) as written:
        there = written.engine.arrow("released rows", exp.select("*").from_(written.relation))
        is_same = there.column_names == rows.column_names and _plain(there, rows) == _plain(rows, rows)
    if not is_same:
        result.blame("The released file holds another table than the suppression of the certificate makes.")


def _plain(rows: pa.Table, like: pa.Table) -> Counter[tuple[Any, ...]]:
    """Return rows in any order, as each format has them: an empty text is none."""

    def plain(value: Any, kind: pa.DataType) -> Any:
        if value is None or value == "":
            return None
        return str(value) if kind == pa.string() else str(value).lower() if kind == pa.bool_() else float(value)

    columns = [[plain(value, field.type) for value in rows.column(field.name).to_pylist()] for field in like.schema]
    return Counter(zip(*columns, strict=True))
