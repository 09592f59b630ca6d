"""The manifest: what travels with a release. Names and counts; no values, no paths, no small counts.

Of a file it holds the digests too, when that is written (``papers``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sqlanon.core.hierarchies.specs import Suppress, lists_its_values
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models import for_source, least_count
from sqlanon.core.policy import Column, Policy
from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.policy.output import PATHS
from sqlanon.core.publish.ledger import Ledger, in_steps
from sqlanon.core.publish.openlineage import manifest_facets
from sqlanon.core.search.certificate import Certificate

OF_COUNTS = ("precision", "discernibility", "average_class_size", "weighted_information_loss", "height")
"""Measures whose loss follows from the levels, the published classes and the number of suppressed records."""
OF_LEAVES = "loss"
"""A measure whose loss follows from these and the hierarchies, where they list their values."""
NO_LEVELS: Mapping[str, dict[str, Any]] = MappingProxyType({})
TO_READERS = (
    "An earlier release of nearly the same records may exist. Whoever has both can subtract one from the other: "
    "records that came or went between them may then stand alone or among few, with all that is published of them."
)
"""What the manifest of a release that may repeat another says (its key ``repeats``)."""


def manifest(
    policy: Policy,
    catalog: Catalog,
    *,
    levels: Sequence[Sequence[int]],
    recoding: Mapping[str, Any],
    ledger: Ledger,
    certificate: Certificate,
    output: Mapping[str, str],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """Return the document, ready for JSON.

    Counts below k, the least size of a class that the models allow, are coarsened (``Ledger.coarsened``). Where one is,
    the loss is withheld, because it would reveal it (``Certificate.coarsened``), and so it is where it does not follow
    from the release (``tells_loss``). No other number of the search travels (``Certificate.for_recipients``).

    Args:
        levels: per quasi-identifier, the levels at which records are published.
        recoding: ``rules``, what each publishes, in an order without meaning, and of local recoding ``hold``, the share
            of the records that chance held back; nothing when one node publishes all records.
        output: kind -> target; of a file only its name is shown.
    """
    k = least_count(for_source(policy.models, catalog))
    published: dict[str, dict[str, Any]] = {
        a.name: {"level": own[0], "height": a.height} if len(own) == 1 else {"levels": list(own), "height": a.height}
        for a, own in zip(catalog.attributes, levels, strict=True)
    }
    for name, records in catalog.at_root.items():
        published[name]["at_root"] = in_steps(records, k) if ledger.entities is None else "some"
    document = {
        "manifest_version": 1,
        "policy_fingerprint": policy.fingerprint(),
        **asked_of(policy, published),
        **_plain(recoding),
        "ledger": ledger.coarsened(k),
        "certificate": public_certificate(policy, certificate, ledger, k),
        "output": {kind: Path(name).name if kind in PATHS else name for kind, name in output.items()},
        "versions": dict(versions),
    }
    return {**document, "openlineage": manifest_facets(document)}


def asked_of(policy: Policy, published: Mapping[str, dict[str, Any]] = NO_LEVELS) -> dict[str, Any]:
    """Return what a manifest holds of the policy itself.

    Args:
        published: what is added to a quasi-identifier, as its level.
    """
    columns = [column for column in policy.columns if column.role != "drop"]
    return {
        "models": models_of(policy),
        "columns": [described for c in columns for described in _described(policy, c, published)],
        **({} if policy.entity is None else {"entity": True}),
        "handling": handling_of(policy),
    }


def models_of(policy: Policy) -> list[dict[str, Any]]:
    """Return the privacy models of a policy as a manifest holds them."""
    return [
        *(_plain({"type": m.type, **dict(m.parameters)}) for m in policy.privacy),
        *(_plain({"type": m.type, "column": c.name, **m.parameters}) for c in policy.columns for m in c.models),
    ]


def handling_of(policy: Policy) -> dict[str, Any]:
    """Return how a policy treats missing and uncovered values and suppressed records, as a manifest holds it."""
    uncovered = {column.name: policy.uncovered_of(column) for column in policy.quasi_identifiers}
    return {"nulls": policy.nulls, "suppressed": policy.suppressed, "uncovered": uncovered}


def public_certificate(policy: Policy, certificate: Certificate, ledger: Ledger, k: int) -> dict[str, Any]:
    """Return what a release's readers may know of its certificate; ``k`` is the least size of a class."""
    tells = not ledger.hides(k) and tells_loss(policy, certificate.measure)
    return certificate.for_recipients() if tells else certificate.coarsened()


def tells_loss(policy: Policy, measure: str) -> bool:
    """Return whether a loss follows from the release, its levels, the hierarchies and the number of suppressed records.

    Otherwise it reveals what the release does not: ``non_uniform_entropy`` how often the original values
    occur, ``loss`` how many of them a computed hierarchy was given, suppressed ones included. (A hierarchy of one level
    above the values costs nothing or all, however many they are.)
    """
    if measure != OF_LEAVES:
        return measure in OF_COUNTS
    found = [column.hierarchy for column in policy.quasi_identifiers]
    return all(spec is None or isinstance(spec, Suppress) or lists_its_values(spec) for spec in found)


def _described(policy: Policy, given: Column, published: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a column of the policy, and those that stand beside it: the value that each holds, and of which column."""
    name, role = given.name, given.role
    window = {"days": given.days, "keep_weekday": given.keep_weekday} if role == "shift" else {}
    linked = policy.key is not None and policy.key.context is not None
    by_key = {**window, "differs_by_release": not linked} if role in KEYED_ROLES else {}
    instead = {asked.name: asked.instead for asked in policy.publish if asked.instead}
    own = {"value": instead[name]} if name in instead else {}
    travels: dict[str, Any] = {} if given.travels is None else {"with": given.travels.column}
    travels |= {"redacted": True} if given.redact else {}
    if given.level is not None:
        from sqlanon.core.hierarchies.wording import describe_level  # few policies need it

        travels |= {"generalized": describe_level(given.hierarchy, given.level, None)}
    yield {"name": name, "role": role} | travels | published.get(name, {}) | own | by_key
    for asked in policy.publish:
        if asked.name == name and not asked.instead:
            yield from (
                {"name": column, "role": "companion", "of": name, "value": value}
                for column, value in asked.columns.items()
            )


def _plain(value: Any) -> Any:
    """Return ``value`` for JSON; a path, also one under the key ``file``, is cut to its name."""
    if isinstance(value, Mapping):
        return {
            str(key): Path(item).name if key == "file" and isinstance(item, str) else _plain(item)
            for key, item in value.items()
        }
    if isinstance(value, Path):
        return value.name
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
