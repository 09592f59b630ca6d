"""A release and its papers belong together: the manifest holds the SHA-256 of the release and of its certificate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.core.disk.digests import digest_of
from sqlanon.core.publish.recipient_certificate import recipient_text
from sqlanon.errors import InputError, system_refusals

MANIFEST = ".manifest.json"
"""A file release has its manifest beside it: the file's name with this ending."""
CERTIFICATE = ".certificate.json"
"""A file release has the recipient's certificate beside it: the file's name with this ending."""
PAPERS = (MANIFEST, CERTIFICATE)
DIGESTS = "sha256"
"""The key of a manifest that holds the digests of ``release`` and, if there is one, ``certificate``."""


@dataclass(frozen=True, slots=True)
class Papers:
    """What describes a release.

    Attributes:
        manifest: its document, yet without digests.
        certificate: the recipient's, yet without the digest of the release; or None.
    """

    manifest: Mapping[str, Any]
    certificate: Mapping[str, Any] | None = None

    def of(self, release: Path) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the manifest of a written release, and the texts of its papers by their endings."""
        digests = {"release": digest_of(release)}
        texts = {}
        if self.certificate is not None:
            texts[CERTIFICATE] = recipient_text(self.certificate, digests["release"])
            digests["certificate"] = hashlib.sha256(texts[CERTIFICATE].encode()).hexdigest()
        document = {**self.manifest, DIGESTS: digests}
        return document, {MANIFEST: json.dumps(document, indent=2, ensure_ascii=False) + "\n", **texts}


@dataclass(frozen=True, slots=True)
class Belonging:
    """Whether a release and its papers belong together; ``faults`` says in sentences why not."""

    release: Path
    manifest: Path
    sha256: str
    faults: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether they do."""
        return not self.faults


def check_papers(release: Path, manifest: Path | None = None) -> Belonging:
    """Compare a release and its certificate with the digests in its manifest.

    Args:
        manifest: by default the file beside the release.

    Raises:
        InputError: one cannot be read, or the manifest holds no digests.
    """
    manifest = manifest or release.with_name(release.name + MANIFEST)
    digests = _digests(manifest)
    found = _digest(release, "release")
    faults = []
    if found != digests["release"]:
        faults.append(f"{manifest.name} is of another release, or {release.name} was changed.")
    certificate = release.with_name(release.name + CERTIFICATE)
    if certificate.exists() and "certificate" not in digests:
        faults.append(f"{certificate.name} is of another release: the manifest names no certificate.")
    elif "certificate" in digests and not certificate.exists():
        faults.append(f"{certificate.name} is missing.")
    elif "certificate" in digests and _digest(certificate, "certificate") != digests["certificate"]:
        faults.append(f"{certificate.name} is not the certificate that the manifest names.")
    return Belonging(release, manifest, found, tuple(faults))


def paper_beside(release: Path, ending: str = MANIFEST) -> dict[str, Any] | None:
    """Return the document that stands beside a release; None where none can be read."""
    return paper_at(release.with_name(release.name + ending))


def paper_at(path: Path) -> dict[str, Any] | None:
    """Return the document of a file of JSON; None where none can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _digest(path: Path, what: str) -> str:
    with system_refusals(InputError, f"The {what} {path.name!r} cannot be read", hint="check the path."):
        return digest_of(path)


def _digests(manifest: Path) -> Mapping[str, str]:
    """Return the digests of a manifest.

    Raises:
        InputError: it cannot be read, or holds none.
    """
    document: Any = None
    reason = None
    try:
        document = json.loads(manifest.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror
    except (ValueError, RecursionError):
        reason = "it is no JSON"
    if reason is not None:
        raise InputError(
            f"The manifest {manifest.name!r} cannot be read ({reason}).",
            hint="give the file that `sqlanon run` wrote beside the release: --manifest FILE.",
        )
    digests = document.get(DIGESTS) if isinstance(document, dict) else None
    if not isinstance(digests, dict) or not isinstance(digests.get("release"), str):
        raise InputError(
            f"The manifest {manifest.name!r} does not hold the digest of its release.",
            hint="it was written by an older version; run the policy again.",
        )
    return digests
