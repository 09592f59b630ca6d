"""Digests by which a later release finds that a hierarchy, or the entity, means the same; whoever reads a manifest
cannot test a guess of values by them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlanon.core.engines.base import Engine
from sqlanon.core.hierarchies import specs
from sqlanon.core.hierarchies.specs import FileHierarchy, TableHierarchy, Zip3
from sqlanon.core.policy import Column, Policy
from sqlanon.core.policy.writing import canonical, document, written_hierarchy
from sqlanon.core.source.lookups import table_rows
from sqlanon.core.source.packing import MeasuredColumn
from sqlanon.core.source.release_key import ReleaseKey
from sqlanon.errors import HierarchyError

BY_NAME = ("file", "table")
"""Keys of a hierarchy that say where its content stands, and not what it is."""

WITHOUT_VALUES = (
    specs.Ages, specs.Codes, specs.Dates, specs.FrequentValues, specs.Intervals, specs.Prefix, specs.Redact,
    specs.Suppress, specs.Zip3,
)  # fmt: skip
"""Hierarchies that are computed: how a policy writes them says nothing of the values of its source."""
CONTEXT = "sqlanon manifest"
"""The keys of digests are derived with it, so that they are the same for every release, and those of no pseudonym."""
HIERARCHIES, ENTITY = "hierarchies", "entity_digest"
"""Keys of a manifest, and the purposes of the keys of their digests."""


def manifest_digests(engine: Engine, columns: Mapping[str, MeasuredColumn], policy: Policy) -> dict[str, Any]:
    """Return the digests of a manifest: of the hierarchies of quasi-identifiers, by their name, and of the entity.

    A hierarchy is digested as its content and the options it is read by; a width that follows from the values is one of
    these. It is a SHA-256 where it holds no values. Where it may list those of the source, it is an HMAC under a key
    that is derived from the policy's, because anybody could test guesses by a SHA-256; without a key it is left out.

    Raises:
        EngineError, HierarchyError, OSError: a hierarchy cannot be read again.
        InputError: the policy's key cannot be read.
    """
    found = {}
    for name, spec in ((name, own.spec) for name, own in columns.items() if not own.item.sensitive):
        listed = _is_read(spec) or not isinstance(spec.hierarchy, WITHOUT_VALUES)
        if spec.hierarchy is not None and (policy.key is not None or not listed):
            content = _content(engine, spec)
            found[name] = _keyed(policy, HIERARCHIES, content) if listed else hashlib.sha256(content).hexdigest()
    return {HIERARCHIES: found, **entity_digest(policy)}


def entity_digest(policy: Policy) -> dict[str, str]:
    """Return the digest of the name of the entity, as a manifest holds it; nothing without a key, or an entity.

    Raises:
        InputError: the policy's key cannot be read.
    """
    return {} if None in (policy.key, policy.entity) else {ENTITY: _keyed(policy, ENTITY, str(policy.entity).encode())}


def _keyed(policy: Policy, purpose: str, content: bytes) -> str:
    assert policy.key is not None
    return hmac.digest(ReleaseKey(policy.key.secret(), CONTEXT).key_for(purpose), content, "sha256").hex()


def private_digests(engine: Engine, policy: Policy) -> dict[str, str]:
    """Return the SHA-256 of the hierarchies of quasi-identifiers, for a file that no reader of a release has.

    It is that of its file or table, or of how the policy writes it.
    """
    written = document(policy, portable=True)["columns"]
    return {
        spec.name: content_digest(engine, spec) or _digest(written[spec.name]["hierarchy"])
        for spec in policy.quasi_identifiers
        if spec.hierarchy is not None
    }


def content_digest(engine: Engine, spec: Column) -> str | None:
    """Return the SHA-256 of the file or table that a column's hierarchy reads; None where it reads none.

    Where it cannot be read, this is a word that no digest equals.
    """
    if not _is_read(spec):
        return None
    try:
        return hashlib.sha256(_read_content(engine, spec)).hexdigest()
    except (OSError, HierarchyError):
        return "unreadable"


def _is_read(spec: Column) -> bool:
    """Return whether the content of a column's hierarchy stands in a file or a table."""
    return _file(spec) is not None or isinstance(spec.hierarchy, TableHierarchy)


def _read_content(engine: Engine, spec: Column) -> bytes:
    """Return the content that a hierarchy reads; of a table its rows, in an order that no storage decides.

    Raises:
        EngineError, HierarchyError, OSError: it cannot be read.
    """
    if isinstance(spec.hierarchy, TableHierarchy):
        return json.dumps(sorted(map(json.dumps, table_rows(engine, spec.hierarchy.table, spec.name)))).encode()
    file = _file(spec)
    return b"" if file is None else file.read_bytes()


def _file(spec: Column) -> Path | None:
    if isinstance(spec.hierarchy, FileHierarchy):
        return spec.hierarchy.path
    return spec.hierarchy.populations if isinstance(spec.hierarchy, Zip3) else None


def _digest(keys: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(canonical(keys), default=str).encode()).hexdigest()


def _content(engine: Engine, spec: Column) -> bytes:
    assert spec.hierarchy is not None
    keys = written_hierarchy(spec.hierarchy, portable=True)
    options = canonical({key: value for key, value in keys.items() if key not in BY_NAME})
    return json.dumps(options, default=str).encode() + _read_content(engine, spec)
