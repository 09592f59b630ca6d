"""The ledger of a run, as the core asks for it (``core.source.recorded.OpenLedger``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlanon.core.evaluate.session import Session
from sqlanon.core.policy import Output, Policy
from sqlanon.core.source.opening import Source
from sqlanon.core.source.recorded import JudgedTogether, Recorded
from sqlanon.ledger.opening import check_apart, load_persons, policy_ledger
from sqlanon.ledger.recording import LedgerRecording, Recordable, recorded, recording_of
from sqlanon.ledger.releases import ReleaseLedger
from sqlanon.ledger.together import judge_together


@dataclass(frozen=True, slots=True)
class RunLedger:
    """The open ledger of a policy; the methods say what the core asks of it."""

    ledger: ReleaseLedger

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.ledger.warnings

    def load_persons(self, policy: Policy, opened: Source) -> None:
        load_persons(self.ledger, policy, opened)

    def judge_together(self, policy: Policy, encoded: Policy, opened: Source) -> JudgedTogether | None:
        return judge_together(self.ledger, policy, encoded, opened)

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
