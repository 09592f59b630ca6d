"""Release models in the process: asked in turn, until none of them fails a class more (``models.release``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sqlanon.core.models.release import NodeClasses

if TYPE_CHECKING:
    from sqlanon.core.models.base import PrivacyModel
    from sqlanon.core.models.classes import Flags, Whole


@dataclass(frozen=True, slots=True)
class SettledClasses:
    """The judgement of all models together on the classes of a node.

    Attributes:
        total: at least so many records are suppressed at every more specific node.
    """

    fails: Flags
    certain: Whole
    total: int


def settled(models: Sequence[PrivacyModel], classes: NodeClasses) -> SettledClasses:
    """Return which classes fail when release models judge them, after those that failed before."""
    total, changed = 0, True
    while changed:
        changed = False
        for model in models:
            found = model.judge_release(classes)  # type: ignore[attr-defined]  # release models have it
            total = max(total, found.total)
            certain = classes.certain if found.certain is None else np.maximum(classes.certain, found.certain)
            changed |= len(models) > 1 and bool((found.fails & ~classes.fails).any())
            classes = replace(classes, fails=classes.fails | found.fails, certain=certain)
    return SettledClasses(classes.fails, classes.certain, total)


def suppressed_alone(model: PrivacyModel, classes: NodeClasses) -> int:
    """Return how many records a release model suppresses where there is no other model."""
    nobody = np.zeros(len(classes.n), bool)
    alone = settled([model], replace(classes, fails=nobody, certain=np.zeros(len(classes.n), np.int64)))
    return int(classes.n[alone.fails].sum())
