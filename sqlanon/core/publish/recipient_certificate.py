"""The certificate that travels with a release: what was proven and for which release, and no number of the proof.

The proof itself (``proof_file``) is for the operator: its bounds sum over all records, the suppressed ones included, so
that their values can be computed from it. The recipient's certificate commits to it instead: it holds HMAC-SHA-256 of
the proof under a random key of 32 bytes, which stands in the proof alone. Who gets the proof can see that it is the
one; nobody can test a guess of the source, for which the digest of a proof without a key would do.

Its content follows from the policy, the release and the manifest, but for the commitment, which is random:
``tests/publish/test_worlds.py`` counts the source tables that it would exclude.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from secrets import token_hex
from typing import Any

from sqlanon.core.publish.proof_file import OPERATOR, RECIPIENT_VERSION, digest

KEY = "commitment_key"
"""The key of an operator's proof that holds the random key of its commitment."""
COMMITMENT = "proof_hmac_sha256"
RELEASE = "release_sha256"
OF_THE_POLICY = (
    "policy_fingerprint", "question_fingerprint", "measure", "aggregate", "strategy", "lattice_size",
    "attributes", "bottom", "top", "chosen",
)  # fmt: skip
"""What the certificate takes from the proof: it follows from the policy and the published levels."""
OF_THE_MANIFEST = ("optimal", "loss", "gap")
"""What it takes from the manifest's certificate, which withholds what the release does not show."""


def is_recipients(document: Mapping[str, Any]) -> bool:
    """Return whether a certificate is a recipient's."""
    return document.get("certificate_version") == RECIPIENT_VERSION


def sealed(proof: Mapping[str, Any]) -> dict[str, Any]:
    """Return a proof with the random key of its commitment, for the operator."""
    document = {**proof, "audience": OPERATOR, KEY: token_hex(32)}
    return {**document, "sha256": digest(document)}


def recipient_document(proof: Mapping[str, Any], public: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recipient's certificate of a sealed proof, yet without its release.

    Args:
        public: the manifest's certificate.
    """
    return {
        "certificate_version": RECIPIENT_VERSION,
        "audience": "recipient",
        **{key: proof[key] for key in OF_THE_POLICY},
        **{key: public[key] for key in OF_THE_MANIFEST},
        COMMITMENT: commitment(proof),
        "versions": dict(proof["versions"]),
    }


def recipient_text(document: Mapping[str, Any], release: str | None) -> str:
    """Return the text of a recipient's certificate; ``release`` is the SHA-256 of the file that it travels with."""
    named = {**document, RELEASE: release}
    return json.dumps({**named, "sha256": digest(named)}, indent=2, ensure_ascii=False) + "\n"


def commitment(proof: Mapping[str, Any]) -> str:
    """Return HMAC-SHA-256 (hex) of a sealed proof under its own key; of one without a key, an empty text."""
    key = proof.get(KEY)
    if not isinstance(key, str) or len(key) != 64:
        return ""
    kept = {name: value for name, value in proof.items() if name not in ("sha256", KEY)}
    return hmac.digest(key.encode(), json.dumps(kept, sort_keys=True).encode(), "sha256").hex()


def commits_to(certificate: Mapping[str, Any], proof: Mapping[str, Any]) -> bool:
    """Return whether a recipient's certificate was written together with a proof."""
    found = commitment(proof)
    stated = certificate.get(COMMITMENT)
    return bool(found) and isinstance(stated, str) and hmac.compare_digest(found.encode(), stated.encode())
