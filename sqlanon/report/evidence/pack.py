"""The verb: run a policy, and write what shows a reviewer how safe and how good its release is, as a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlanon.core.engines.journal import Watcher
from sqlanon.core.facts import Facts
from sqlanon.core.plan.planned import Planned
from sqlanon.core.policy import PolicyLike, as_policy
from sqlanon.errors import InputError, Interrupted, SqlanonError
from sqlanon.report.evidence.attacks import attacks
from sqlanon.report.evidence.folder import SUMS, check_pack_folder, sha256_of, sums_of, write_pack
from sqlanon.report.evidence.papers import Material, pack_texts
from sqlanon.report.evidence.recount import recount
from sqlanon.report.evidence.release import PUBLISHED, Evidenced, evidenced, refuse_live
from sqlanon.report.summarizing import summarize
from sqlanon.report.view import check_audience

ALREADY = "The release itself was published before."


@dataclass(frozen=True, slots=True)
class EvidencePack(Facts):
    """A pack that was written.

    Attributes:
        came: how the release came to it: ``published``, ``found`` (it was there), ``described`` (nothing was written).
        release: its name; None where nothing was written.
        release_sha256: of a file.
        files: name -> SHA-256, of every file of the pack.
        outcomes: attack -> ``no_finding``, ``needs_review``, ``not_applicable`` or ``not_run``.
        warnings: what the user should know of the release.
    """

    KEYS = "folder audience came release release_sha256 files attacks=outcomes warnings"
    folder: Path
    audience: str
    came: str
    release: str | None
    release_sha256: str | None
    files: Mapping[str, str]
    outcomes: Mapping[str, str]
    warnings: tuple[str, ...]


def evidence(
    source: object,
    policy: PolicyLike,
    *,
    to: str | os.PathLike[str],
    audience: str = "recipient",
    watch: Watcher | None = None,
) -> EvidencePack:
    """Run a policy and write an evidence pack: documents, attacks, limits and annexes, in a folder.

    The policy is run as ``anonymize`` runs it. A file release that is there already is left as it is, unless the policy
    says ``if_exists: replace``: it must belong to its papers and to the policy, which is planned again.

    Args:
        source: as for ``anonymize``; None takes the policy's.
        to: the folder, which appears as a whole or not at all. One that is there is replaced only if it is a pack and
            the policy says ``if_exists: replace``.
        audience: ``recipient`` coarsens counts below k; ``operator`` has exact ones.

    Raises:
        SqlanonError: as ``anonymize`` does; no folder is left behind. If the release was published before, a note of
            the error says so.
        AuditError: the release, read again, does not hold what its papers say.
        InputError: there is no such audience, or the release that is there does not belong to the policy.
        TargetError: the folder cannot be written.
    """
    policy = as_policy(policy)
    check_audience(audience)
    if not isinstance(to, str | os.PathLike):
        raise InputError("This is no path of a folder.", hint='say to="evidence", say.')
    folder = Path(to)
    check_pack_folder(folder, policy)
    refuse_live(policy)
    with evidenced(source, policy, watch=watch, prepare=_measure) as found:
        published = found.came == PUBLISHED
        try:
            return _written(found, folder, audience)
        except KeyboardInterrupt:
            if not published:
                raise
            raise Interrupted(ALREADY, published=True) from None
        except SqlanonError as error:
            if published:
                error.add_note(ALREADY)
            raise


def _measure(plan: Planned) -> None:
    """Measure what reads the source, before a publication into its database."""
    plan.audit_source()


def _written(found: Evidenced, folder: Path, audience: str) -> EvidencePack:
    """Write the pack of a release."""
    release = found.release
    found.release.plan.engine.journal.report("auditing")
    tried = attacks(release, recount(found), for_operator=audience == "operator")
    material = Material.of(found, summarize(release), tried, audience)
    texts = pack_texts(material)
    write_pack(folder, texts, replaces=release.plan.policy.if_exists == "replace")
    files = {name: sha256_of(text) for name, text in texts.items()} | {SUMS: sha256_of(sums_of(texts))}
    return EvidencePack(
        folder=folder,
        audience=audience,
        came=found.came,
        release=next(iter(release.manifest["output"].values()), None),
        release_sha256=material.digest,
        files=dict(sorted(files.items())),
        outcomes={attack.key: attack.outcome for attack in tried},
        warnings=release.warnings,
    )
