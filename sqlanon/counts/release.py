"""The result of a release of counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from sqlanon.core.facts import Facts
from sqlanon.core.publish.frames import Frames
from sqlanon.core.publish.proof_file import write_proof
from sqlanon.counts.certificate import counts_certificate
from sqlanon.counts.counting import Counted
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.protecting import Protection

UNITS = {"entity": "persons (entities)", "record": "records"}
"""What a count counts, in words."""


@dataclass(frozen=True, slots=True)
class CountsRelease(Facts, Frames):
    """Protected tables of counts, for the operator: the rows may be handed on, the rest may not.

    Attributes:
        rows: the released rows, as they were published; ``long`` are the same in their long form.
        reasons: why the cell of each row of that is suppressed; empty where it is shown.
        protection: which cells are suppressed, and how that was found and audited.
        records, left_out: of the source; records with a NULL are left out under the match ``basic``.
        query: the SQL that counted.
        counted: the cells with their true values.
    """

    KEYS = (
        "tables unit method threshold cells suppressed=protection.suppressed_cells unsafe=protection.unsafe "
        "complementary=protection.complementary system=protection.system optimal=protection.optimal "
        "weight=protection.weight lower_bound=protection.lower_bound gap=protection.gap how=protection.how "
        "records left_out by_dimension output statements seconds warnings"
    )
    DIGITS = 6

    policy: CountsPolicy
    rows: pa.Table = field(repr=False)
    long: pa.Table = field(repr=False)
    reasons: tuple[str, ...] = field(repr=False)
    protection: Protection = field(repr=False)
    cells: int
    by_dimension: Mapping[str, Mapping[str, int]]
    records: int
    left_out: int
    query: str = field(repr=False)
    manifest: Mapping[str, Any] = field(repr=False)
    counted: Counted = field(repr=False)
    output: Mapping[str, str]
    statements: int
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return [each.name for each in self.policy.tables]

    @property
    def proof(self) -> dict[str, Any] | None:
        """The operator's certificate, for ``sqlanon.verify``, not to be handed on; None of rounded counts, or noise."""
        if self.protection.evidence is None or self.policy.rules.round is not None:
            return None
        versions = self.manifest["versions"]
        return counts_certificate(self.protection, self.counted, self.policy.fingerprint(), versions)

    def write_proof(self, path: str | Path) -> None:
        """Write the operator's certificate, whole or not at all; a new file is its owner's alone.

        Raises:
            UnsupportedError: there is none.
            TargetError: the directory cannot be written.
        """
        self.policy.check_certified()
        write_proof(self.proof or {}, Path(path))

    @property
    def unit(self) -> str:
        """What a count counts: ``entity`` or ``record``."""
        return self.policy.unit

    @property
    def method(self) -> str:
        """What makes cells safe: ``suppress`` or ``keys``."""
        return self.policy.rules.method

    @property
    def threshold(self) -> int:
        """The least count that is safe."""
        return self.policy.rules.threshold

    def to_arrow(self) -> pa.Table:
        """Return the released rows."""
        return self.rows
