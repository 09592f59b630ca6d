"""Write a release down in the ledger of its policy: as pending before it takes its place, and confirmed after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.audit.joint import audit_joint
from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.compiler import members as compiler
from sqlanon.core.compiler.encoded_source import EntityColumn
from sqlanon.core.disk.digests import digest_of
from sqlanon.core.evaluate.session import Session
from sqlanon.core.interrupts import held
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models import for_source, least_count, least_size
from sqlanon.core.policy import Output
from sqlanon.core.publish.targets import place
from sqlanon.core.source.hierarchy_digests import private_digests
from sqlanon.core.source.recorded import Recorded
from sqlanon.core.sqltrees import names
from sqlanon.errors import AuditError, EngineError, InputError, UnsupportedError, system_refusals
from sqlanon.ledger.cohorts.recorded import CohortRecording, earlier_members, in_cohorts, recording_in_cohorts
from sqlanon.ledger.cohorts.state import CohortState
from sqlanon.ledger.facts import ReleaseEntry
from sqlanon.ledger.identity import kind_of_key
from sqlanon.ledger.releases import ReleaseLedger

UNCONFIRMED = (
    "The release was published, but the ledger could not record that: it lists the release as pending, which counts as "
    "published."
)


class Recordable(Protocol):
    """A plan that can be recorded."""

    catalog: Catalog

    @property
    def published_levels(self) -> tuple[tuple[int, ...], ...]:
        """Per quasi-identifier, the levels at which records are published, ascending."""


@dataclass(slots=True)
class LedgerRecording:
    """The record of one release, written step by step (``core.source.recorded.Recording``).

    Attributes:
        ledger: it is written to.
        output: where the release goes.
        describe: returns what is written down, given the digest of a file, and the numbers of classes and persons.
        members, values: who is in which class, and the digests of their sensitive values; read from the source before.
        cohorts: what is recorded of a release in cohorts beside that.
        said: what the ledger noted before.
        number: of the release in the ledger, once it is pending.
        release: its id.
    """

    ledger: ReleaseLedger
    output: Output
    describe: Callable[[str, str | None, int, int], ReleaseEntry]
    cohorts: CohortRecording | None = None
    members: pa.Table | None = None
    values: pa.Table | None = None
    state: CohortState | None = None
    said: tuple[str, ...] = ()
    release: str = field(default_factory=lambda: token_hex(16))
    number: int | None = None
    digest: str | None = None
    stands: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def person_column(self) -> str:
        """The column by which persons are known."""
        return self.ledger.person_column

    def begin(self, digest: str | None) -> None:
        """Write the release down as pending; the next step puts it in place."""
        assert self.members is not None
        classes, persons = (len(self.members.column(name).unique()) for name in ("class", "person"))
        self.digest = digest
        with held():
            entry = self.describe(self.release, digest, classes, persons)
            self.number = self.ledger.begin(entry, self.members, self.values, self.state)

    def placed(self) -> None:
        """Note that the release is at its place."""
        self.stands = True
        if self.number is None:
            return
        try:
            self.ledger.confirm(self.number)
        except InputError:
            self.warnings = (UNCONFIRMED,)
        self.warnings += tuple(note for note in self.ledger.notes if note not in self.said)

    def failed(self, error: BaseException) -> None:
        """Take a pending release back, if it is certain that it did not take its place."""
        if self.number is None or self.stands:
            return
        uncertain = isinstance(error, EngineError) and error.statement == "commit"
        if self.output.kind == "file":
            try:
                uncertain = digest_of(Path(self.output.target)) == self.digest
            except OSError as refused:
                uncertain = not isinstance(refused, FileNotFoundError)
        if not uncertain:
            with held(), suppress(InputError):  # then it stays, and counts
                self.ledger.withdraw(self.number)
                self.number = None

    def read(self, session: Session, rows: exp.Expr, claim: ReleaseClaim) -> None:
        """Read who is in which class of staged rows, which hold their persons as ``names.ENTITY``.

        Digests and numbers of classes leave the engine of the source, and nothing else.

        Raises:
            AuditError: a record key would not be listed once a record, or a joint cell with the earlier releases holds
                too few persons.
        """
        engine, policy, column_ = session.engine, session.policy, self.ledger.person_column
        continues = self.cohorts is not None and self.cohorts.base is not None  # its rows hold digests, and no keys
        entity = EntityColumn(column_, "VARCHAR" if continues else session.source.types[column_])
        numbered = compiler.numbered_rows(rows, claim.quasi_identifiers, claim.types).subquery("numbered")
        self.members = _as_loaded(engine.arrow("members of the release", compiler.members(numbered, entity)))
        if policy.entity is None and self.members.num_rows != claim.published:
            raise AuditError(
                f"The ledger would list {self.members.num_rows} persons of {claim.published} published records; "
                "nothing was published.",
                hint="work on a copy that nobody writes to, and run again.",
            )
        if earlier := earlier_members(self.ledger, session):
            own = compiler.rows_of_members(numbered, entity).subquery("members")
            size = least_size(for_source(policy.models, session.encoding.catalog))
            audit_joint(engine, earlier, own, claim.class_columns, claim.models, k=size)
        sensitive = {item.name: claim.types[item.name] for item in policy.sensitive}
        if sensitive:
            self.ledger.load_value_digests(engine, compiler.sensitive_texts(rows, sensitive))
            values = engine.arrow("values of the release", compiler.member_values(rows, entity, sensitive))
            self.values = _as_loaded(values)
            engine.drop(names.LEDGER_VALUES)
        if self.cohorts is not None:
            self.state = self.cohorts.read(session, numbered, entity, claim.types)


def refuse_other_plans(ledger: ReleaseLedger, session: Session) -> None:
    """Raise UnsupportedError if a session that began with an empty ledger has published under another policy."""
    before = {item.entry.policy_fingerprint for item in ledger.earlier()}
    if session.encoding.catalog.earlier is None and before - {session.policy.fingerprint()}:
        raise UnsupportedError(
            "A plan under another policy was published from this source since it was opened, and what the two show "
            "together was not judged.",
            hint="make a new plan, which is judged together with that release.",
        )


def refuse_unrecorded(session: Session, ledger: ReleaseLedger, output: Output) -> None:
    """Raise InputError if what stands at the target of a release is in the ledger under no release.

    It was published without the ledger, or the ledger is another one or a copy of an earlier day: nobody judges the new
    release together with it.
    """
    digest, path = None, Path(output.target)
    if output.kind == "file":
        if not path.exists():
            return
        unread = f"The target {path.name!r} cannot be read"
        with system_refusals(InputError, unread, hint="check its permissions."):
            digest = digest_of(path)
    elif not session.engine.catalog.existing(place(session.engine, output.target, session.source.target_catalog)):
        return
    if not ledger.holds_target(output, digest):
        raise InputError(
            f"The {output.kind} at the target {path.name!r} is no release of the ledger "
            f"{ledger.database.path.name!r}: it was published without it or changed since, or the ledger is missing or "
            "a copy of an earlier day.",
            hint="restore the newest copy of the ledger. If nobody has that release, move it away; if it does not "
            "matter, `sqlanon ledger check POLICY --accept state` says so.",
        )


def recording_of(
    ledger: ReleaseLedger, session: Session, plan: Recordable, output: Output, manifest: Mapping[str, Any]
) -> LedgerRecording:
    """Return the recording of a release.

    Raises:
        UnsupportedError: see ``refuse_other_plans``.
        InputError: see ``refuse_unrecorded``.
    """
    policy = session.policy
    cohorts = recording_in_cohorts(ledger, plan) if in_cohorts(policy) else None
    if cohorts is None:
        refuse_other_plans(ledger, session)
    refuse_unrecorded(session, ledger, output)
    names_ = [attribute.name for attribute in plan.catalog.attributes]
    levels = dict(zip(names_, plan.published_levels, strict=True))
    hierarchies, k = private_digests(session.engine, policy), least_count(for_source(policy.models, plan.catalog))

    def describe(release: str, digest: str | None, classes: int, persons: int) -> ReleaseEntry:
        return ReleaseEntry(
            release=release,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            source=ledger.source,
            person_column=ledger.person_column,
            recipient=ledger.recipient,
            colludes=ledger.colludes,
            policy_fingerprint=policy.fingerprint(),
            hierarchies=hierarchies,
            levels=levels,
            models=tuple(manifest["models"]),
            columns=tuple(item["name"] for item in manifest["columns"]),
            output={output.kind: output.target},
            digest=digest,
            k=k,
            classes=classes,
            persons=persons,
            person_type=kind_of_key(session.source.types[ledger.person_column]),
            person_form=ledger.person_form,
            cohorts={} if cohorts is None else cohorts.facts,
        )

    return LedgerRecording(ledger, output, describe, cohorts, said=ledger.notes)


def recorded(ledger: ReleaseLedger, recording: LedgerRecording | None) -> Recorded:
    """Return the account of a run's entry, or that it wrote none."""
    release = None if recording is None else recording.release
    earlier = [item for item in ledger.earlier() if item.entry.release != release]
    counts = None if recording is None or recording.cohorts is None else recording.cohorts.counts
    more = {} if counts is None else {"cohorts": counts.to_dict()}
    return Recorded(str(ledger.database.path), release, len(earlier), more=more)


def _as_loaded(rows: pa.Table) -> pa.Table:
    """Return rows with plain texts and whole numbers, whatever an engine gave."""
    kinds = {name: pa.int64() if name == "class" else pa.string() for name in rows.schema.names}
    return rows.cast(pa.schema(list(kinds.items())))
