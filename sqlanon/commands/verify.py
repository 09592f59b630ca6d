"""``sqlanon verify``: run the proof in a certificate again, and say whether it holds."""

from __future__ import annotations

import json
from pathlib import Path

from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.progress import progress
from sqlanon.commands.verbosity import say
from sqlanon.core.facts import pick
from sqlanon.core.publish.proof_file import OF_WING, read_proof
from sqlanon.core.verification import Verification, verify
from sqlanon.counts.document import CountsPolicy
from sqlanon.counts.verification import CountsVerification

COUNTS = "faults remarks cells suppressed witnesses inequalities weight lower_bound optimal"
"""What the JSON says of tables of counts, beside whether the certificate holds."""
OF_RECIPIENT = {
    "search": "It is the recipient's and holds no proof: one was searched for again and verified. "
    "Whether it commits to the operator's proof is not known without --proof FILE.",
    "file": "It is the recipient's; the proof is the one that it commits to.",
}


def execute(certificate: str, policy: str, proof: str | None, as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    loaded = read_policy(policy) if OF_WING not in read_proof(Path(certificate)) else CountsPolicy.from_file(policy)
    with progress() as watch:
        found = verify(certificate, loaded, proof=proof, watch=watch)
    if as_json:
        own = pick(found, COUNTS) if isinstance(found, CountsVerification) else pick(found)
        print(json.dumps(pick(found, "holds") | own))
    elif isinstance(found, CountsVerification):
        _print_counts(found)
    else:
        _print_verification(found)
    return 0 if found.holds else 1


def _print_counts(found: CountsVerification) -> None:
    judged = f"{found.witnesses} witnesses, {found.inequalities} inequalities judged again"
    if not found.holds:
        return _print_faults(found, judged)
    for remark in found.remarks:
        warn(remark)
    weight, lower = found.weight or 0.0, found.lower_bound or 0.0
    least = "which is the least" if found.optimal else f"and none is less than {lower:g}"
    say(
        f"The certificate holds ({judged}): {found.suppressed:,} of {found.cells:,} cells are suppressed and protected;"
    )
    say(f"  those that protect others have the weight {weight:g}, {least}.")


def _print_faults(found: Verification, judged: str) -> None:
    say(f"The certificate does not hold ({judged}):")
    for fault in found.faults:
        say(f"  {fault}")


def _print_verification(found: Verification) -> None:
    for remark in found.remarks:
        warn(remark)
    judged = f"{found.boxes} boxes, {found.nodes} nodes judged again"
    if not found.holds:
        return _print_faults(found, judged)
    if found.proof == "none":
        say(f"The certificate holds ({judged}): the chosen node loses {found.loss or 0.0:.6f}; it claims no optimum.")
        return
    loss, lower = found.loss or 0.0, found.lower_bound or 0.0
    proof = "is optimal" if found.optimal else f"is within {(loss - lower) / loss if loss else 0.0:.2%} of the optimum"
    say(f"The certificate holds ({judged}): the chosen node loses {loss:.6f} and {proof}.")
    if found.audience == "recipient":
        say(f"  {OF_RECIPIENT[found.proof]}")
