"""The files that a run writes beside its release: none takes the place of what the run reads, or has published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlanon.commands.common import refuse_overwriting, warn
from sqlanon.commands.metrics import Metrics, append
from sqlanon.commands.verbosity import verbosity
from sqlanon.core.disk.writing import check_directory, write_text
from sqlanon.core.plan.release import Release
from sqlanon.core.policy import Policy
from sqlanon.core.policy.paths import same_file
from sqlanon.core.publish.papers import PAPERS
from sqlanon.core.publish.proof_file import write_proof
from sqlanon.errors import TargetError
from sqlanon.report.files import check_report
from sqlanon.report.files import write_report as write_report
from sqlanon.report.summarizing import summarize
from sqlanon.tables.policy import TablesPolicy

BESIDE = (
    "The operator's proof {!r} is in the folder of the release. It reveals more about suppressed records than the "
    "release does: keep it elsewhere. What may be handed on stands beside the release."
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
    metrics = verbosity().metrics
    beside = beside if metrics is None else {**beside, "metrics": metrics.path}
    for what, path in beside.items():
        if what == "report":
            check_report(path)
        else:
            check_directory(path)
        if folder is not None and same_file(path.absolute().parent, folder):
            raise TargetError(f"The {what} {path.name!r} would be in the release.", hint="choose another folder.")
    refuse_overwriting(taken, beside)
    if metrics is not None:
        metrics.creates = True


def write_beside(release: Release, beside: Mapping[str, Path], audience: str) -> None:
    """Write the files that a policy or an option puts beside a release: script, certificate, report."""
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
        warn_beside(path, release.output.get("file"))


def warn_beside(path: Path, released: str | None) -> None:
    """Warn where the operator's proof is in the folder of the release."""
    if released is not None and same_file(path.absolute().parent, Path(released).absolute().parent):
        warn(BESIDE.format(path.name))


def measured(path: str | None, policy: str, work: Callable[[], int]) -> int:
    """Return the exit code of a run, whose metrics are appended to a file if there is one, also where it fails.

    Raises:
        TargetError: the file is there, and is no file of metrics; nothing has been done yet.
    """
    if path is None:
        return work()
    append(Path(path), "", creates=False)
    asked = verbosity()
    metrics = asked.metrics = Metrics(Path(path), Path(policy).stem)
    code = 2
    error: BaseException | None = None
    try:
        code = work()
    except BaseException as failure:
        code, error = getattr(failure, "exit_code", 130 if isinstance(failure, KeyboardInterrupt) else 2), failure
        raise
    finally:
        asked.metrics = None
        try:
            metrics.write(code, error)
        except TargetError as second:  # the run itself has ended
            warn(f"there are no metrics of this run: {second}")
    return code


def note(document: Callable[[], Mapping[str, Any]]) -> None:
    """Take the document of a release into the metrics of the run, where there are any."""
    metrics = verbosity().metrics
    if metrics is not None:
        metrics.document = document()
