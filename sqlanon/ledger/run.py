"""The ledger of a run, as the core asks for it (``core.source.recorded.OpenLedger``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.core.evaluate.session import Session
from sqlanon.core.policy import Output, Policy
from sqlanon.core.policy.ledger import person_column
from sqlanon.core.policy.paths import same_file
from sqlanon.core.source.opening import Source
from sqlanon.core.source.recorded import JudgedTogether, Recorded
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.ledger.cohorts.continuing import continued_plan
from sqlanon.ledger.cohorts.plan import CohortPlan
from sqlanon.ledger.cohorts.recorded import check_continued, in_cohorts, refuse_moved
from sqlanon.ledger.cohorts.refusing import refuse_beside_cohorts
from sqlanon.ledger.facts import OF_COUNTS
from sqlanon.ledger.identity import source_name
from sqlanon.ledger.recording import LedgerRecording, Recordable, recorded, recording_of
from sqlanon.ledger.releases import ReleaseLedger
from sqlanon.ledger.together import judge_together

BESIDE = (
    "The ledger is in the folder of the release, and links the releases of every person. Give it a folder of its own "
    "that only you can open (ledger: private/anon_ledger.duckdb), and hand on the release, never its folder."
)


COUNTS = "The ledger holds tables of counts, with which a release of records is not judged."


@dataclass(frozen=True, slots=True)
class RunLedger:
    """The open ledger of a policy; the methods say what the core asks of it."""

    ledger: ReleaseLedger

    @property
    def warnings(self) -> tuple[str, ...]:
        database = self.ledger.database
        has_counts = database.attached and any(name.startswith(OF_COUNTS) for name in database.facts())
        return (*self.ledger.warnings, *([COUNTS] if has_counts else []))

    def load_persons(self, policy: Policy, opened: Source) -> None:
        load_persons(self.ledger, policy, opened)

    def judge_together(self, policy: Policy, encoded: Policy, opened: Source) -> JudgedTogether | None:
        if not in_cohorts(policy):
            refuse_beside_cohorts(self.ledger)
            return judge_together(self.ledger, policy, encoded, opened)
        if self.ledger.of_source():
            check_continued(self.ledger, policy, opened)
        else:
            refuse_moved(self.ledger, policy)
        return None

    def next_plan(self, session: Session) -> CohortPlan | None:
        if not in_cohorts(session.policy) or not self.ledger.of_source():
            return None
        return continued_plan(session, self.ledger)

    def check_apart(self, policy: Policy, output: Output | None) -> tuple[str, ...]:
        return check_apart(policy, output)

    def recording(
        self, session: Session, plan: Recordable, output: Output, manifest: Mapping[str, Any]
    ) -> LedgerRecording:
        return recording_of(self.ledger, session, plan, output, manifest)

    def recorded(self, recording: LedgerRecording | None) -> Recorded:
        return recorded(self.ledger, recording)

    def close(self) -> None:
        self.ledger.close()


def ledger_of_run(policy: Policy, opened: Source, given: object) -> RunLedger:
    """Open and lock the ledger of a policy that has one: see ``policy_ledger``."""
    return RunLedger(policy_ledger(policy, opened, given))


def policy_ledger(policy: Policy, opened: Source, given: object) -> ReleaseLedger:
    """Open and lock the ledger of a policy that has one. The columns of the source are not looked at yet.

    Args:
        given: the source that the run was given; None: the policy's.

    Raises:
        UnsupportedError: the engine, or this version, cannot keep such a ledger.
        InputError: see ``ReleaseLedger.open``.
    """
    spec = policy.ledger
    assert spec is not None
    opened.engine.capabilities.require("keyed")
    check_apart(policy, policy.output)
    if spec.file is None:
        raise UnsupportedError(
            "This version keeps no ledger in a schema of a server.",
            hint="name a file of yours, for a source on a server too: ledger: {file: private/anon_ledger.duckdb}.",
        )
    key = spec.key or policy.key
    person = person_column(policy)
    assert key is not None and person is not None  # the policy was checked
    path = Path(spec.file)
    read = [*policy.read_files, *(file for file, *_ in opened.stamps)]
    if sum(same_file(path, file) for file in read) > 1 or (opened.path is not None and same_file(path, opened.path)):
        raise InputError(f"The ledger {path.name!r} is a file that the run reads.", hint="choose another name.")
    return ReleaseLedger.open(
        path,
        key,
        source=source_name(policy, opened, given),
        person_column=person,
        recipient=spec.recipient,
        colludes=spec.colludes,
    )


def check_apart(policy: Policy, output: Output | None) -> tuple[str, ...]:
    """Return a warning if the ledger is in the folder of a release.

    Raises:
        InputError: it is the release itself, or in it.
    """
    if policy.ledger is None or policy.ledger.file is None or output is None or output.kind != "file":
        return ()
    ledger, release = Path(policy.ledger.file).resolve(), Path(output.target).resolve()
    if ledger == release or release in ledger.parents:
        raise InputError(
            f"The ledger {ledger.name!r} is what the release is to be written to.",
            hint="give the ledger a folder of its own.",
        )
    return (BESIDE,) if ledger.parent == release.parent else ()


def load_persons(ledger: ReleaseLedger, policy: Policy, source: Source) -> None:
    """Load the persons of a source that was checked, with their digests.

    Raises:
        InputError: some records have no person, two records have one key, or keys had another type before.
    """
    kind = source.types[ledger.person_column]
    ledger.check_persons(source.engine, source.relation, kind, once=policy.entity is None)
    ledger.load_persons(source.engine, source.relation, kind)
