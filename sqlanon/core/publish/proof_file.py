"""The operator's certificate: the proof of a search as compact JSON, to be run again (``sqlanon verify``).

It does not travel with a release (``recipient_certificate``): its bounds sum over all records.

Its boxes cover the lattice; each names the judged node that it rests on and what its candidates lose at least. No bound
reveals a number of records: two of them could be subtracted, and the difference is the number of records whose classes
fail at one node and pass at the other. A bound that such a number enters reads ``loss`` (at least that of the chosen
node, which is all the proof needs), or is replaced by what generalization alone costs, which is less and needs no node.
Where boxes rest on groups of attributes, the proofs of these stand there too, without any bound: a verification finds
what their nodes show.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.core.disk.writing import write_text
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Lattice, Node
from sqlanon.core.measures.base import LowerBounds
from sqlanon.core.search.base import TIE, Claim, Problem, Verdict
from sqlanon.core.search.certificate import Certificate
from sqlanon.core.search.proof import Proof
from sqlanon.errors import InputError

VERSION, RECIPIENT_VERSION = 1, 2
"""Of an operator's certificate, which is the proof, and of a recipient's, which commits to one."""
OPERATOR = "operator"
OF_WING = "certificate_of"
"""A certificate that a wing wrote, and verifies itself, names it here."""
AT_LEAST = "loss"
"""A bound that is withheld: the candidates of the box lose at least what the chosen node loses."""
OPEN = "open"
"""A bound of which nothing is said, because every number is withheld."""
GROUPS = "groups"
"""In the place of a node: the box rests on the proofs of the groups, and on the node at the end of its row."""
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class CertificateBox:
    """A box of a certificate as read: a claim, and the kind of its bound: ``number``, ``loss`` or ``open``."""

    claim: Claim
    kind: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A certificate as read. ``loss``, ``lower_bound`` and ``gap`` are None when they were withheld.

    ``groups`` has, of each partition of the attributes, per group, as positions, the boxes of its proof
    (``search.proof.GroupBounds``).
    """

    fingerprint: str
    measure: str
    aggregate: str | None
    attributes: tuple[str, ...]
    lattice: Lattice
    top: Node
    chosen: Node
    loss: float | None
    lower_bound: float | None
    gap: float | None
    optimal: bool
    lattice_size: int
    overlapping: bool
    boxes: tuple[CertificateBox, ...]
    groups: tuple[tuple[tuple[tuple[int, ...], tuple[CertificateBox, ...]], ...], ...] = ()


def proof_document(
    certificate: Certificate,
    proof: Proof,
    problem: Problem,
    *,
    chosen: Node,
    judged: Mapping[Node, Verdict],
    withheld: bool,
    fingerprints: Mapping[str, str],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """Return the document, ready for JSON.

    Its lower bound is the least that it shows, which may be less than was proven.

    Args:
        judged: the verdicts of the nodes that the proof rests on. Of a node that is missing nothing is shown.
        fingerprints: ``policy_fingerprint``, of the whole policy, and ``question_fingerprint``, of what is proven.
        withheld: the loss would reveal a small count: no number that it could be computed from is shown.
    """
    catalog, lattice = problem.catalog, problem.lattice
    shown = [_shown(claim, certificate.loss, problem, judged, withheld=withheld) for claim in proof.claims]
    proven = certificate.coarsened()
    if not withheld:
        lower = min([certificate.loss, *(bound for _, bound in shown if isinstance(bound, float))])
        proven = replace(certificate, lower_bound=lower, gap=_gap(certificate.loss, lower)).to_dict()
    groups = proof.groups if any(claim.by_groups for claim, _ in shown) else ()
    nodes = _number_nodes([claim for claim, _ in shown], *(own for partition in groups for own in partition.values()))
    parts = [
        [
            [list(columns), [_row(claim, None if claim.bound is None else OPEN, nodes, catalog) for claim in claims]]
            for columns, claims in partition.items()
        ]
        for partition in groups
    ]
    volume = sum(Lattice(claim.bottom, claim.top).size for claim in proof.claims)
    document = {
        "certificate_version": VERSION,
        **fingerprints,
        **proven,
        "attributes": [attribute.name for attribute in catalog.attributes],
        "bottom": _text(lattice.bottom, catalog),
        "top": _text(lattice.top, catalog),
        "useful_top": _text(proof.top, catalog),
        "chosen": _text(chosen, catalog),
        "overlapping": volume != Lattice(lattice.bottom, proof.top).size,
        "nodes": [_text(node, catalog) for node in nodes],
        "boxes": [_row(claim, bound, nodes, catalog) for claim, bound in shown],
        **({GROUPS: parts} if groups else {}),
        "versions": dict(versions),
    }
    return {**document, "sha256": digest(document)}


def _number_nodes(*claims: Sequence[Claim]) -> dict[Node, int]:
    """Return the nodes that claims rest on, numbered in their order."""
    resting = [node for own in claims for claim in own for node in (claim.witness, claim.below) if node is not None]
    return {node: number for number, node in enumerate(dict.fromkeys(resting))}


def _row(claim: Claim, bound: float | str | None, nodes: Mapping[Node, int], catalog: Catalog) -> list[Any]:
    """Return a box of the document: its ends, the node that it rests on, its bound, and a second node if it has one."""
    rests_on = GROUPS if claim.by_groups else None if claim.witness is None else nodes[claim.witness]
    row = [_text(claim.bottom, catalog), _text(claim.top, catalog), rests_on, bound]
    also = claim.witness if claim.by_groups else claim.below
    return row if also is None else [*row, nodes[also]]


def _shown(
    claim: Claim, loss: float, problem: Problem, judged: Mapping[Node, Verdict], *, withheld: bool
) -> tuple[Claim, float | str | None]:
    """Return a claim as the file shows it, and its bound: no number that a number of suppressed records enters."""
    if claim.bound is None:
        return claim, None
    enough = loss - TIE * abs(loss)
    closed = claim.bound >= enough
    if withheld:
        return (claim, AT_LEAST) if closed else (replace(claim, witness=None, below=None, by_groups=False), OPEN)
    uncovered = problem.catalog.uncovered
    verdict = judged.get(claim.witness) if claim.witness is not None else None
    suppresses = claim.witness is not None and (verdict is None or verdict.suppressed != uncovered)
    if claim.below is None and not suppresses and not claim.by_groups:
        return claim, claim.bound
    alone = problem.measure.bound(claim.bottom, None, LowerBounds(uncovered))
    if closed and alone < enough:
        return claim, AT_LEAST
    return replace(claim, witness=None, below=None, bound=alone, by_groups=False), alone


def _gap(loss: float, lower: float) -> float:
    return (loss - lower) / loss if loss else 0.0


def digest(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of all but the digest: it detects damage, not intent."""
    kept = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def write_proof(document: Mapping[str, Any], path: Path) -> None:
    """Write the certificate, whole or not at all; a new file is its owner's alone.

    Raises:
        TargetError: the directory cannot be written.
    """
    write_text(path, proof_text(document))


def proof_text(document: Mapping[str, Any]) -> str:
    """Return the text of a certificate: a line a key, and a line a box, so that two of them can be compared."""
    texts = {key: json.dumps(value, ensure_ascii=False) for key, value in document.items() if key != "boxes"}
    lines = [f"  {json.dumps(key)}: {text}" for key, text in texts.items()]
    if "boxes" in document:
        boxes = ",\n".join("    " + json.dumps(row, separators=(",", ":")) for row in document["boxes"])
        lines.append('  "boxes": [\n' + boxes + "\n  ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_proof(path: Path) -> dict[str, Any]:
    """Return the document of a certificate file.

    Raises:
        InputError: there is no such file, or it is no certificate.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):  # ValueError: no UTF-8, or a path that no file can have
        text = None
    if text is None:
        raise InputError(f"The certificate {path.name!r} cannot be read.", hint="check the path.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    versions = (VERSION, RECIPIENT_VERSION)
    if not isinstance(document, dict) or not (OF_WING in document or document.get("certificate_version") in versions):
        raise InputError(
            f"{path.name!r} is no certificate of version {VERSION} or {RECIPIENT_VERSION}.",
            hint="give the file that `sqlanon run` wrote beside the manifest, or with --certificate.",
        )
    return document


def stated(document: Mapping[str, Any], catalog: Catalog) -> Statement:
    """Return the content of a certificate, for the catalog of its policy.

    Raises:
        InputError: it is not well formed, or is about other columns.
    """
    try:
        attributes = tuple(document["attributes"])
        if attributes != tuple(attribute.name for attribute in catalog.attributes):
            raise ValueError("other quasi-identifiers")
        nodes = [_node(text, catalog) for text in document["nodes"]]
        return Statement(
            fingerprint=str(document["policy_fingerprint"]),
            measure=str(document["measure"]),
            aggregate=document["aggregate"],
            attributes=attributes,
            lattice=Lattice(_node(document["bottom"], catalog), _node(document["top"], catalog)),
            top=_node(document["useful_top"], catalog),
            chosen=_node(document["chosen"], catalog),
            loss=_number(document["loss"]),
            lower_bound=_number(document["lower_bound"]),
            gap=_number(document["gap"]),
            optimal=document["optimal"] is True,
            lattice_size=_index(document["lattice_size"]),
            overlapping=document["overlapping"] is True,
            boxes=tuple(_box(row, nodes, catalog) for row in document["boxes"]),
            groups=tuple(
                tuple(
                    (tuple(map(_index, columns)), tuple(_box(row, nodes, catalog) for row in rows))
                    for columns, rows in partition
                )
                for partition in document.get(GROUPS, ())
            ),
        )
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        pass
    raise InputError(
        "The certificate is not well formed, or it is about other quasi-identifiers than the policy.",
        hint="give the policy that it was written for, and the certificate as it was written.",
    )


def _box(row: Sequence[Any], nodes: Sequence[Node], catalog: Catalog) -> CertificateBox:
    bottom, top, rests_on, bound, *more = row
    by_groups = rests_on == GROUPS
    also = nodes[_index(more[0])] if more else None
    kind = bound if bound in (AT_LEAST, OPEN) else "number"
    claim = Claim(
        bottom=_node(bottom, catalog),
        top=_node(top, catalog),
        witness=also if by_groups else None if rests_on is None else nodes[_index(rests_on)],
        below=None if by_groups else also,
        bound=_number(bound) if kind == "number" else -math.inf,
        by_groups=by_groups,
    )
    return CertificateBox(claim, kind)


def _index(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("not an index")
    index: int = value
    return index


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a number")
    if not math.isfinite(value):
        raise ValueError("not finite")
    return float(value)


def _short(catalog: Catalog) -> bool:
    return all(attribute.height <= len(DIGITS) for attribute in catalog.attributes)


def _text(node: Node, catalog: Catalog) -> str:
    """Return the levels of a node, a character each; with commas where a hierarchy has more levels than digits."""
    return "".join(DIGITS[level] for level in node) if _short(catalog) else ",".join(map(str, node))


def _node(text: str, catalog: Catalog) -> Node:
    if not isinstance(text, str):
        raise ValueError("not a node")
    parts = [DIGITS.index(digit) for digit in text] if _short(catalog) else [int(part) for part in text.split(",")]
    node = tuple(parts)
    if len(node) != len(catalog.attributes):
        raise ValueError("not a node")
    if any(not 0 <= level < a.height for level, a in zip(node, catalog.attributes, strict=True)):
        raise ValueError("no such level")
    return node
