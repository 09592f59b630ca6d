"""The files that a run writes beside its release: none takes the place of what the run reads, or has published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlanon.commands.common import refuse_overwriting, warn
from sqlanon.core.disk.writing import check_directory, write_text
from sqlanon.core.plan.release import Release
from sqlanon.core.policy import Policy
from sqlanon.core.policy.paths import same_file
from sqlanon.core.publish.papers import PAPERS
from sqlanon.core.publish.proof_file import write_proof
from sqlanon.errors import TargetError
from sqlanon.report.files import check_report, write_report
from sqlanon.report.summarizing import summarize
from sqlanon.tables.policy import TablesPolicy

BESIDE = (
    "The operator's proof {!r} is in the folder of the release. It reveals more about suppressed records than the "
    "release does: keep it elsewhere, and hand on the certificate beside the release instead."
)


def taken_by(policy: Policy | TablesPolicy, diff: str | None = None) -> tuple[Path, ...]:
    """Return the files of a run: those that it reads, the earlier manifest, the release with its papers."""
    taken = [*policy.read_files, *([Path(diff)] if diff is not None else [])]
    if policy.output is not None and policy.output.kind in ("file", "folder"):
        taken += [Path(policy.output.target + ending) for ending in ("", *PAPERS)]
    return tuple(taken)


def check_beside(taken: Sequence[Path], beside: Mapping[str, Path], *, folder: Path | None = None) -> None:
    """Check that nothing beside a release is written over a file of the run, or over another of its kind.

    Args:
        folder: that of the release, in which nothing else may be.

    Raises:
        TargetError: it would be; nothing has been done yet.
    """
    for what, path in beside.items():
        if what == "report":
            check_report(path)
        else:
            check_directory(path)
        if folder is not None and same_file(path.absolute().parent, folder):
            raise TargetError(f"The {what} {path.name!r} would be in the release.", hint="choose another folder.")
    refuse_overwriting(taken, beside)


def write_beside(release: Release, beside: Mapping[str, Path], audience: str) -> None:
    """Write what a policy or an option puts beside a release: script, certificate, report."""
    if "script" in beside:
        write_text(beside["script"], release.sql)
    if "certificate" in beside:
        _write_certificate(beside["certificate"], release)
    if "report" in beside:
        write_report(summarize(release), beside["report"], audience=audience)


def _write_certificate(path: Path, release: Release) -> None:
    document = release.proof
    if document is None:
        reason = "has a proof that cannot be run again" if release.certificate.optimal else "has proven nothing"
        warn(f"{release.certificate.strategy} {reason}, so there is no certificate.")
    else:
        write_proof(document, path)
        released = release.output.get("file")
        if released is not None and same_file(path.absolute().parent, Path(released).absolute().parent):
            warn(BESIDE.format(path.name))
