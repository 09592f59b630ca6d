"""The documents of a pack: facts as JSON, and the same in words as Markdown, from templates beside this module."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sqlanon.core.hierarchies.wording import describe_level
from sqlanon.core.models import least_count
from sqlanon.core.policy import Policy
from sqlanon.core.policy.output import IN_DATABASE
from sqlanon.core.policy.representatives import CLASS_MEAN
from sqlanon.core.publish.papers import DIGESTS
from sqlanon.core.publish.proof_file import proof_text
from sqlanon.core.search.certificate import Certificate
from sqlanon.report.evidence.attacks import Attack, attacks_not_tried
from sqlanon.report.evidence.catalogs import catalog
from sqlanon.report.evidence.folder import INDEX, SUMS, VERSION, sha256_of
from sqlanon.report.evidence.measures import risk_paper, utility_paper
from sqlanon.report.evidence.policy_paper import policy_paper
from sqlanon.report.evidence.release import DESCRIBED, FOUND, Evidenced
from sqlanon.report.evidence.safe_harbor import ReviewedColumn, checklist
from sqlanon.report.markdown import escaped
from sqlanon.report.recipient import RecipientSummary, for_recipient
from sqlanon.report.story import IDENTITY
from sqlanon.report.summary import RunSummary
from sqlanon.report.wording import NO_NEARNESS, ROLES, count, describe_proof, figure, share, shown

ANNEXES = (
    "annex-a-hipaa-expert-determination",
    "annex-b-hipaa-safe-harbor",
    "annex-c-motivated-intruder",
    "annex-d-nist-sp-800-188",
)
"""The annexes, which are Markdown alone: they are filled in by hand."""


@dataclass(frozen=True, slots=True)
class Material:
    """What the documents are made of.

    Attributes:
        run: the facts of the run, exact.
        attacks: as the audience may read them.
        visible: what a recipient may read of the run; None for the operator.
    """

    evidenced: Evidenced
    run: RunSummary
    attacks: tuple[Attack, ...]
    audience: str
    visible: RecipientSummary | None

    @classmethod
    def of(cls, evidenced: Evidenced, run: RunSummary, attacks: tuple[Attack, ...], audience: str) -> Material:
        """Return the material of a pack for an audience."""
        return cls(evidenced, run, attacks, audience, None if audience == "operator" else for_recipient(run))

    @property
    def policy(self) -> Policy:
        """The policy of the run."""
        return self.evidenced.release.plan.policy

    @property
    def for_operator(self) -> bool:
        """Whether the pack is exact."""
        return self.visible is None

    @property
    def digest(self) -> str | None:
        """The SHA-256 of a file release."""
        digest: str | None = self.evidenced.release.manifest.get(DIGESTS, {}).get("release")
        return digest


def pack_texts(material: Material) -> dict[str, str]:
    """Return the texts of all papers by the names of their files, all but the sums."""
    documents = _documents(material)
    context = _context(material, documents)
    texts = {f"{name}.json": _json(document) for name, document in documents.items()}
    texts |= {f"{name}.md": _markdown(name, context) for name in (*documents, *ANNEXES)}
    if (certificate := _certificate(material)) is not None:
        texts[f"certificate.{material.audience}.json"] = certificate
    words = catalog("words")["papers"]
    names = {name: "certificate" if name.startswith("certificate.") else name for name in texts}
    names |= {name: name for name in ("README.md", INDEX, "hashes.md", SUMS)}
    order = [*words]
    files = sorted(names, key=lambda name: (order.index(names[name]), name))
    listed = [{"file": name, "holds": words[names[name]]} for name in files]
    texts["README.md"] = _markdown("README", {**context, "files": listed})
    hashes = {
        "evidence_version": VERSION,
        **context["mark"],
        "release": context["release"],
        "files": {name: sha256_of(texts[name]) for name in sorted(texts)},
    }
    texts[INDEX] = _json(hashes)
    texts["hashes.md"] = _markdown("hashes", {**context, "hashes": hashes})
    return texts


def _certificate(material: Material) -> str | None:
    """Return the certificate of an audience: the operator's is the proof, the recipient's that beside the release."""
    release, beside = material.evidenced.release, material.evidenced.certificate
    if material.for_operator:
        return None if release.proof is None else proof_text(release.proof)
    return beside if beside is not None else release.recipient_certificate


def _documents(material: Material) -> dict[str, dict[str, Any]]:
    """Return the documents as JSON, each marked with its audience."""
    run, release = material.run, material.evidenced.release
    mark = _mark(material)
    exact = {"exact_ledger": release.ledger.to_dict()} if material.for_operator else {}
    return {
        "manifest": {**mark, **exact, **release.manifest},
        "policy": {
            **mark,
            "fingerprint": release.manifest["policy_fingerprint"],
            "policy": policy_paper(material.policy, for_operator=material.for_operator),
        },
        "proof": {**mark, **_proof(material)},
        "risk": {**mark, **risk_paper(run, material.visible)},
        "utility": {**mark, **utility_paper(run, material.visible)},
        "attacks": {
            **mark,
            "tried": [attack.to_dict() for attack in material.attacks],
            "not_tried": [dict(item) for item in attacks_not_tried()],
        },
        "limitations": {
            **mark,
            "promised": list(run.promised),
            "not_promised": list(run.not_promised),
            "nulls_mean": list(run.null_words),
            "limitations": _limitations(material),
        },
    }


def _mark(material: Material) -> dict[str, Any]:
    """Return what every document begins with: its audience, and what it is not."""
    words = catalog("words")
    return {"audience": material.audience, "notice": words["notices"][material.audience], "status": words["status"]}


def _proof(material: Material) -> dict[str, Any]:
    release = material.evidenced.release
    certified = dict(release.manifest["certificate"])
    certificate = release.certificate if material.for_operator else None
    if certificate is not None:
        certified = certificate.to_dict()
    has_file = release.proof is not None
    return {
        "certificate": certified,
        "in_words": proof_in_words(certified),
        "certificate_file": f"certificate.{material.audience}.json" if has_file else None,
    }


def proof_in_words(certified: Mapping[str, Any]) -> str:
    """Return in one sentence what a certificate proves; of one that withholds its loss, only what that allows."""
    if not certified["optimal"] and certified["gap"] is None and certified["evaluated"] is None:
        return NO_NEARNESS
    loss = 0.0 if certified["loss"] is None else certified["loss"]
    return describe_proof(Certificate(**{**certified, "loss": loss}))


def _limitations(material: Material) -> list[str]:
    """Return the limitations that hold of a run, in the order of their catalog."""
    policy, manifest = material.policy, material.evidenced.release.manifest
    came, output = material.evidenced.came, material.evidenced.release.output
    certified = manifest["certificate"]
    holds = {
        "not_written": came == DESCRIBED,
        "found": came == FOUND,
        "in_database": any(kind in IN_DATABASE for kind in output),
        "no_k_anonymity": not any(model.type in IDENTITY for model in policy.privacy),
        "identifying": bool(policy.accept),
        "class_mean": any(CLASS_MEAN in asked.columns.values() for asked in policy.publish),
        "kept": any(column.role in ("keep", "sensitive") for column in policy.columns),
        "entity": policy.entity is not None,
        "no_entity": policy.entity is None,
        "transformation": policy.transformation is not None,
        "redacted": policy.suppressed == "redact",
        "basic": policy.nulls == "basic",
        "not_optimal": not certified["optimal"],
        "loss_withheld": certified["loss"] is None and not material.for_operator,
        "recipient": not material.for_operator,
        "operator": material.for_operator,
    }
    listed = catalog("limitations")["limitations"]
    return [item["text"] for item in listed if "when" not in item or holds[item["when"]]]


def _columns(material: Material) -> tuple[ReviewedColumn, ...]:
    """Return the columns with how they are published; those that are left out are for the operator alone."""
    described = {attribute.name: attribute.description or "" for attribute in material.run.attributes}
    at_level = {c.name: c for c in material.policy.columns if c.level is not None}
    described |= {name: describe_level(c.hierarchy, c.level or 0, None) for name, c in at_level.items()}
    return tuple(
        ReviewedColumn(column.name, column.role, described.get(column.name) or ROLES.get(column.role, column.role))
        for column in material.policy.columns
        if material.for_operator or column.role != "drop"
    )


def _context(material: Material, documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the templates are given."""
    evidenced, run = material.evidenced, material.run
    output = evidenced.release.manifest["output"]
    name = next(iter(output.values()), None)
    columns = _columns(material)
    visible = material.visible
    return {
        "mark": _mark(material),
        "day": run.when[:10],
        "versions": evidenced.release.manifest["versions"],
        "release": {
            "name": name,
            "kind": next(iter(output), None),
            "sha256": material.digest,
            "came": evidenced.came,
            "came_in_words": catalog("words")["came"][evidenced.came],
        },
        "k": least_count(material.policy.models),
        "asked": run.asked if visible is None else visible.asked,
        "models": [model.label for model in run.models],
        "ledger": run.ledger.to_dict()
        if visible is None and run.ledger is not None
        else evidenced.release.manifest["ledger"],
        "columns": columns,
        "quasi": [column for column in columns if column.role == "quasi_identifier"],
        "checklist": checklist(columns),
        "outcomes": catalog("attacks")["outcomes"],
        "outcome_of": {attack.key: catalog("attacks")["outcomes"][attack.outcome] for attack in material.attacks},
        "as_yaml": _indented(documents["policy"]["policy"]),
        **documents,
    }


def _indented(document: Mapping[str, Any]) -> Markup:
    """Return a document as a block of code: each line is indented, and none can end the block."""
    text = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True, width=110)
    return Markup("\n".join(f"    {line}" for line in text.splitlines()))


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


def _markdown(name: str, context: Mapping[str, Any]) -> str:
    return _environment().get_template(f"{name}.md.j2").render(context).rstrip("\n") + "\n"


@cache
def _environment() -> Environment:
    """Return the environment of the templates, in which whatever a template prints is shown as it is."""
    environment = Environment(
        loader=PackageLoader("sqlanon.report.evidence", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else escaped(str(value)),
    )
    environment.filters.update(count=count, figure=figure, share=share, shown=shown, listed=_listed)
    return environment


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
