"""The manifest: what travels with a release. Names and counts; no values, no paths, no small counts.

Of a file it holds the digests too, when that is written (``papers``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlanon.lattice.catalog import Catalog
from sqlanon.models import least_size
from sqlanon.policy import Policy
from sqlanon.publish.ledger import Ledger
from sqlanon.search.certificate import Certificate


def manifest(
    policy: Policy,
    catalog: Catalog,
    *,
    levels: Sequence[Sequence[int]],
    rules: Sequence[Mapping[str, Any]] | None,
    ledger: Ledger,
    certificate: Certificate,
    output: Mapping[str, str],
    versions: Mapping[str, str],
) -> dict[str, Any]:
    """Return the document, ready for JSON.

    Counts below k, the least size of a class that the models allow, are coarsened (``Ledger.coarsened``). Where one is,
    the loss and its bound are withheld, because they would reveal it (``Certificate.coarsened``).

    Args:
        levels: per quasi-identifier, the levels at which records are published.
        rules: what each rule publishes, in an order without meaning; None when one node publishes all records.
        output: kind -> target; of a file only its name is shown.
    """
    k = least_size(policy.models)
    columns = [column for column in policy.columns if column.role != "drop"]
    published: dict[str, dict[str, Any]] = {
        a.name: {"level": own[0], "height": a.height} if len(own) == 1 else {"levels": list(own), "height": a.height}
        for a, own in zip(catalog.attributes, levels, strict=True)
    }
    return {
        "manifest_version": 1,
        "policy_fingerprint": policy.fingerprint(),
        "models": [
            *(_plain({"type": m.type, **dict(m.parameters)}) for m in policy.privacy),
            *(_plain({"type": m.type, "column": c.name, **m.parameters}) for c in policy.columns for m in c.models),
        ],
        "columns": [described for c in columns for described in _described(policy, c.name, c.role, published)],
        **({} if rules is None else {"rules": [dict(rule) for rule in rules]}),
        **({} if ledger.entities is None else {"entity": True}),
        "ledger": ledger.coarsened(k),
        "certificate": certificate.coarsened() if ledger.hides(k) else certificate.to_dict(),
        "output": {kind: Path(name).name if kind == "file" else name for kind, name in output.items()},
        "versions": dict(versions),
    }


def _described(
    policy: Policy, name: str, role: str, published: Mapping[str, dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield a column of the policy, and those that stand beside it: the value that each holds, and of which column."""
    instead = {asked.name: asked.instead for asked in policy.publish if asked.instead}
    own = {"value": instead[name]} if name in instead else {}
    yield {"name": name, "role": role} | published.get(name, {}) | own
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
