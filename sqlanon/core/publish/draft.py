"""A release that is about to be written: what every kind of target needs of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim, audit_copies, audit_release
from sqlanon.core.engines.base import Engine
from sqlanon.core.publish.papers import Papers
from sqlanon.core.publish.targets import Target
from sqlanon.errors import SourceChangedError


@dataclass(frozen=True, slots=True)
class Draft:
    """The rows, what they claim, and the last look at the source.

    Attributes:
        query: the statement that is written.
        claim: what is audited in the written rows; its types are those that are written.
        copied: the rows that the written ones must be a copy of, as texts; None where the claim says all.
        verify_source: raises SourceChangedError; called last, before the release is put in place.
        target: where the release goes.
        papers: what travels beside a file.
        further: an audit beside those of the claim, of what was written; raises AuditError.
        sorted: the statement reads sorted rows.
    """

    query: exp.Query
    claim: ReleaseClaim
    copied: exp.Expr | None
    verify_source: Callable[[], None]
    target: Target
    papers: Papers | None = None
    further: Callable[[Engine, exp.Expr], None] | None = None
    sorted: bool = False

    def writing(self, engine: Engine) -> AbstractContextManager[None]:
        """Write sorted rows in one thread, so that a release that is written again has the same bytes."""
        return engine.side_by_side() if self.sorted else nullcontext()

    def compare(self, engine: Engine, written: exp.Expr, earlier: Callable[[], exp.Expr]) -> None:
        """Compare a file or folder as it was written with the one at its place, if it will replace that.

        Raises:
            RepeatError, NothingNewError: see ``Replacing.compare``.
        """
        path = Path(self.target.output.target)
        replacing = self.target.replacing
        if replacing is not None and path.exists():
            from sqlanon.core.publish.replaced import ReplacedRelease

            known = ReplacedRelease.beside(path, None if self.papers is None else self.papers.manifest)
            before = replacing.rows(engine, earlier, self.claim)
            replacing.compare(engine, before, written, self.claim, known)

    def last_look(self, digest: str | None = None) -> None:
        """Write down that the release is about to take its place, and verify the source; called last before it does.

        Args:
            digest: the SHA-256 of a file.
        """
        if self.target.recorder is not None:
            self.target.recorder.begin(digest)
        self.verify_source()

    def placed(self) -> None:
        """Note that the release is at its place."""
        if self.target.recorder is not None:
            self.target.recorder.placed()

    def audit(self, engine: Engine, relation: exp.Expr) -> None:
        """Audit what was written.

        Raises:
            SourceChangedError: another number of rows was written than the plan has.
            AuditError: the rows do not hold what the release claims.
        """
        with engine.journal.phase("auditing"):
            self._audit(engine, relation)

    def _audit(self, engine: Engine, relation: exp.Expr) -> None:
        count = exp.select(exp.Count(this=exp.Star())).from_(relation.copy())
        rows, planned = int(engine.run("count written rows", count)[0][0]), self.claim.published + self.claim.redacted
        if rows != planned:
            raise SourceChangedError(
                f"{rows} rows were written where the plan has {planned}: the source changed between planning and "
                "publication.",
                hint="work on a copy that nobody writes to, and run again; nothing was published.",
            )
        audit_release(engine, relation, self.claim)
        if self.copied is not None:
            audit_copies(engine, relation, self.copied, self.claim)
        if self.further is not None:
            self.further(engine, relation)
