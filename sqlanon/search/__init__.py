"""Search strategies, one a file; ``STRATEGIES`` lists them by name. ``auto`` is ``box``."""

from __future__ import annotations

from collections.abc import Callable

from sqlanon.search import best_first, box, datafly, exhaustive, flash, flash_two_phase, igreedy, incognito, ola
from sqlanon.search.base import Strategy

STRATEGIES: tuple[tuple[str, Callable[..., Strategy]], ...] = (
    ("box", box.search),
    ("exhaustive", exhaustive.search),
    ("best_first", best_first.search),
    ("flash", flash.search),
    ("flash_two_phase", flash_two_phase.search),
    ("ola", ola.search),
    ("incognito", incognito.search),
    ("datafly", datafly.search),
    ("igreedy", igreedy.search),
)


def strategy_named(name: str) -> tuple[str, Callable[..., Strategy]]:
    """The strategy called ``name``, with its real name (``auto`` resolves to ``box``)."""
    wanted = "box" if name == "auto" else name
    return next(item for item in STRATEGIES if item[0] == wanted)
