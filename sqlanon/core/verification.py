"""The verification of a certificate: its proof is run again, by other means than those of the search.

A recipient's certificate holds no proof. That of the operator, which it commits to, is given with it; or the search is
made again, and what it proves is verified like any other proof.

The boxes are held against the lattice (``proof.first_gap``). The nodes that they rest on are judged from the original
values of the source and the lookups, with statements that a person can read (``compiler.readable_nodes``), many by one.
Neither masks nor grains, snapshots, the evaluator, the judging statement (``sql/judge``) or any strategy take part.

What is shared defines the claim: the policy, the choice of the records that take part, the hierarchies as loaded into
lookups, the files of ``sql/model`` (how many classes a model of the whole release suppresses is found anew,
``evaluate.verified_sizes``), the formulas of the measures, and the arithmetic from the counts of a node to its
verdict (``search.verdicts``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlanon.core.anonymizer import plan
from sqlanon.core.disk.digests import digest_of
from sqlanon.core.doors import behind, has_door
from sqlanon.core.engines.journal import Step, Watcher
from sqlanon.core.evaluate.problem import build_problem
from sqlanon.core.policy import Policy, PolicyLike, SearchOptions, as_policy
from sqlanon.core.publish.papers import CERTIFICATE
from sqlanon.core.publish.proof_file import OF_WING, digest, read_proof
from sqlanon.core.publish.recipient_certificate import RELEASE, commits_to, is_recipients
from sqlanon.core.source.columns import check_columns
from sqlanon.core.source.encoding import encode_source
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.verifying import Verification as Verification
from sqlanon.core.verifying import Verifier
from sqlanon.errors import InputError, UnsupportedError

OTHER_POLICY = (
    "The certificate was created for another policy: quasi-identifiers, sensitive columns, levels, weights, models, "
    "limits or measure differ from those of this one. Nothing was judged."
)


CLAIMED = (
    "question_fingerprint", "measure", "aggregate", "optimal", "lattice_size", "attributes", "bottom", "top", "chosen",
)  # fmt: skip
"""The claims of a recipient's certificate about a proof, which the proof must make too."""
OPERATOR, RECIPIENT = "operator", "recipient"


def verify(
    certificate: str | Path,
    policy: PolicyLike | object,
    source: object = None,
    *,
    proof: str | Path | None = None,
    watch: Watcher | None = None,
) -> Verification:
    """Run the proof in a certificate file again; that of a recipient's certificate is given, or searched for again.

    Args:
        policy: that of the release; of a certificate of counts, its document.
        source: what ``plan`` takes; None is the policy's own.
        proof: the operator's certificate that a recipient's commits to.
        watch: as for ``plan``.

    Raises:
        InputError and its children: the certificate, the policy, a hierarchy or the source is unusable.
        NoSolutionError: nothing can meet the policy, so that there is nothing to certify.
    """
    if not isinstance(getattr(policy, "policy", policy), Policy | str | os.PathLike | Mapping):
        as_policy(policy)  # raises: it is no document of a wing either
    document = _read(certificate)
    if (wing := document.get(OF_WING)) is not None:
        if proof is not None or not has_door(door := f"certificate {wing}"):
            raise InputError("The certificate is of a kind that this cannot verify.", hint="leave out --proof.")
        verified: Verification = behind(door)(document, policy, source, watch=watch)
        return verified
    policy = as_policy(policy)
    if policy.periods is not None:
        raise UnsupportedError(
            "The proof of a release by periods is about the records of the periods that were closed then.",
            hint="check the release itself: sqlanon check RELEASE --qi COLUMN,… --k 5 --manifest.",
        )
    of_recipient = is_recipients(document)
    if proof is not None and not of_recipient:
        raise InputError(
            "The certificate is the operator's: it holds its proof.", hint="leave out --proof, or give the recipient's."
        )
    result = Verification(audience=RECIPIENT if of_recipient else OPERATOR)
    if document.get("question_fingerprint", asked := policy.question_fingerprint()) != asked:
        result.faults.append(OTHER_POLICY)
        return result
    if not of_recipient:
        return _verified(result, document, policy, source, watch)
    path = Path(certificate)
    _check_recipients(result, document, path)
    if proof is None:
        result.proof = "search" if document.get("optimal") is True else "none"
        if result.holds:
            _verified(result, _proven_again(document, policy, source, watch), policy, source, watch)
        return result
    result.proof, given = "file", _read(proof)
    if not commits_to(document, given):
        result.blame("The proof is not the one that the certificate commits to.")
    elif any(given.get(key) != document.get(key) for key in CLAIMED):
        result.blame("The certificate says something else than the proof that it commits to.")
    else:
        _verified(result, given, policy, source, watch)
    return result


def _read(path: object) -> dict[str, Any]:
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"This is no path of a certificate, but of the type {type(path).__name__}.", hint="give its path."
        )
    return read_proof(Path(path))


def _check_recipients(result: Verification, document: Mapping[str, Any], path: Path) -> None:
    """Check a recipient's certificate against itself and the release beside it, if that is there.

    Raises:
        InputError: it is not well formed.
    """
    if missing := set(CLAIMED) - document.keys():
        raise InputError(
            f"The certificate is not well formed: it does not say {', '.join(sorted(missing))}.",
            hint="give the certificate as it was written beside the release.",
        )
    if document.get("sha256") != digest(document):
        result.blame("The certificate was changed after it was written: its digest differs.")
    release = path.with_name(path.name.removesuffix(CERTIFICATE))
    if path.name.endswith(CERTIFICATE) and release.exists() and digest_of(release) != document.get(RELEASE):
        result.blame(f"The certificate is of another release than {release.name!r}, or that was changed.")


def _proven_again(document: Mapping[str, Any], policy: Policy, source: object, watch: Watcher | None) -> dict[str, Any]:
    """Return what a recipient's certificate claims, with a proof that is searched for now if it claims one.

    What the policy limits of its search, and where it publishes, is of no account; nor is its ledger, for a release
    that was judged together with earlier ones has no certificate.
    """
    claimed: dict[str, Any] = {key: document.get(key) for key in (*CLAIMED, "policy_fingerprint", "loss", "gap")}
    bare: dict[str, Any] = {
        "lower_bound": None,
        "useful_top": document.get("top"),
        "overlapping": True,
        "nodes": [],
        "boxes": [],
    }
    if document.get("optimal") is True:
        anew = replace(policy, search=SearchOptions(where=policy.search.where), output=None, report=None, ledger=None)
        with plan(source, anew, watch=watch) as found:
            proven = found.proof_document or {}
        bare |= {key: proven[key] for key in bare if key in proven} | {"lower_bound": None}
    whole = {**claimed, **bare}
    return {**whole, "sha256": digest(whole)}


def _verified(
    result: Verification, document: dict[str, Any], policy: Policy, source: object, watch: Watcher | None
) -> Verification:
    """Verify the proof in a document against the source."""
    if watch is not None:
        watch(Step("reading"))
    opened = open_policy_source(source, policy)
    opened.engine.journal.watched_by(watch)
    try:
        check_columns(policy, opened)
        opened.engine.journal.report("encoding")
        encoding = encode_source(opened.engine, opened.relation, policy, opened.readable, numbered=True)
        problem, models = build_problem(opened.engine, encoding, policy)
        return Verifier(opened.engine, encoding, policy, problem, models, result).run(document)
    finally:
        opened.engine.close()
