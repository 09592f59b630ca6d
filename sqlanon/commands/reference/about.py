"""What stands beside the tables of keys: the classes whose defaults are theirs, and sentences from docstrings."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.extensions import Extensions, found
from sqlanon.core.policy.hierarchies import WITH_ONE_VALUE, WITH_OPTIONS
from sqlanon.parameters import Parameter

Owner = Callable[..., Any] | None
"""The class that the keys of a mapping are handed to."""
HIERARCHIES: Mapping[str, Any] = {
    each.kind: each for each in (specs.FileHierarchy, *WITH_ONE_VALUE.values(), *WITH_OPTIONS.values())
}
"""The kinds of hierarchies that are built in."""


CONSTRUCTED = re.compile(r": ``[A-Z]\w+\(.*?\)``")
"""How Python writes what a docstring describes."""


def default_of(owner: Owner, name: str) -> Any:
    """Return what a class takes where a key is left out, as JSON would hold it; None where nothing can be said."""
    if owner is None or name not in (known := inspect.signature(owner).parameters):
        return None
    value = known[name].default
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, tuple):
        return list(value) or None
    return value if isinstance(value, str | int | float | bool) else None


def sentence_of(kind: Any) -> str:
    """Return the first sentence of what documents a model, a measure, a strategy or a hierarchy; empty without one."""
    own = inspect.getdoc(kind) or ""
    module = sys.modules.get(getattr(kind, "__module__", ""), None)
    whole = own if isinstance(kind, type) and hasattr(kind, "kind") else (getattr(module, "__doc__", "") or own)
    paragraph = " ".join(whole.split("\n\n")[0].split())
    return CONSTRUCTED.sub("", paragraph).replace("``", "").split(" Source:")[0]


def models_of(extensions: Extensions, *, watching: bool) -> Iterator[tuple[str, Any]]:
    """Yield the privacy models that can be named, with their classes.

    Args:
        watching: those that stand under a sensitive column; otherwise those that stand under ``privacy``.
    """
    for name in extensions.names("models"):
        kind = found(extensions.model, name)
        if kind is not None and bool(getattr(kind, "watches", False)) == watching:
            yield name, kind


def parameters_of(kind: Any) -> Sequence[Parameter]:
    """Return the parameters that a class declares."""
    return tuple(getattr(kind, "parameters", ()))
