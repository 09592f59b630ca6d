"""Refusals of releases in cohorts: another policy than that of the last, and the loss of most of its records."""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.policy import Policy
from sqlanon.core.publish.question import PolicyQuestion
from sqlanon.core.source.hierarchy_digests import private_digests
from sqlanon.core.source.opening import Source
from sqlanon.errors import InputError
from sqlanon.ledger.facts import EarlierRelease
from sqlanon.ledger.releases import ReleaseLedger


def refuse_beside_cohorts(ledger: ReleaseLedger) -> None:
    """Raise InputError if the last release of a source is in cohorts, which one without them would end for good."""
    if (earlier := ledger.of_source()) and earlier[-1].entry.cohorts:
        raise InputError(
            f"Release {earlier[-1].number} of the ledger was released in cohorts, and this policy asks for none: no "
            "later release could continue them.",
            hint="say ledger: {…, cohorts: {…}} as before; or take another ledger, if nobody has both releases.",
        )


def refuse_others(ledger: ReleaseLedger, policy: Policy, opened: Source) -> None:
    """Raise InputError if a release would have other columns, quasi-identifiers, models or hierarchies than the last.

    Other hierarchies are taken where somebody accepted the last release.
    """
    last, asked = ledger.of_source()[-1], PolicyQuestion.of(policy)
    entry = last.entry
    now = {"columns": [*asked.columns], "quasi-identifiers": asked.quasi_identifiers, "models": asked.models}
    then = {"columns": [*entry.columns], "quasi-identifiers": [*entry.levels], "models": [*map(dict, entry.models)]}
    if other := [name for name, own in now.items() if own != then[name]]:
        raise InputError(
            f"The policy has other {other[0]} than release {last.number}, whose cohorts it continues.",
            hint="take those of that release; or begin another ledger, if nobody has its releases.",
        )
    if entry.release not in ledger.accepted and entry.hierarchies != private_digests(opened.engine, policy):
        raise InputError(
            f"The hierarchies are not those of release {last.number}, whose cohorts this policy continues: records "
            "whose cells they change would leave for good.",
            hint="restore them; or begin another ledger, if nobody has its releases. If they gained values and nothing "
            f"else, say so: sqlanon ledger check POLICY --accept {last.number}.",
        )


def refuse_fewer_levels(last: EarlierRelease, chain: Sequence[Node], heights: Sequence[int]) -> None:
    """Raise InputError if the hierarchies lack levels of the last release."""
    if any(level >= height for node in chain for level, height in zip(node, heights, strict=True)):
        raise InputError(
            f"The hierarchies have fewer levels than release {last.number} was published at.", hint="restore them."
        )


def refuse_loss(session: Session, ledger: ReleaseLedger, lost: int, left: int) -> None:
    """Raise InputError if a release would lose more than half of the last one's records, and nobody accepted that, or
    show none at all. With other hierarchies it cannot be accepted: they are why."""
    last = ledger.of_source()[-1]
    entry = last.entry
    as_before = entry.hierarchies == private_digests(session.engine, session.policy)
    if left and (2 * lost <= entry.persons or (as_before and entry.release in ledger.accepted)):
        return
    cure = f"accept it: sqlanon ledger check POLICY --accept {last.number}"
    cure = cure if left else "withdraw the last release by hand: nobody would be left in this one"
    raise InputError(
        f"{lost} of the {entry.persons} records that release {last.number} shows would go, and no record that left "
        "comes back. Nothing was published.",
        hint=f"compare the source with that of the last release. If they did leave or change, {cure}."
        if as_before
        else "restore the hierarchies of that release.",
    )
