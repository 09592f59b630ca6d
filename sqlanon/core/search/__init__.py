"""Search strategies, one a file; ``STRATEGIES`` lists them by name. ``auto`` is ``box``."""

from __future__ import annotations

from sqlanon.core.search import (
    anon,
    best_first,
    box,
    datafly,
    exhaustive,
    flash,
    flash_two_phase,
    igreedy,
    incognito,
    ola,
)
from sqlanon.core.search.base import Search

STRATEGIES: tuple[tuple[str, Search], ...] = (
    ("box", box.search),
    ("exhaustive", exhaustive.search),
    ("best_first", best_first.search),
    ("flash", flash.search),
    ("flash_two_phase", flash_two_phase.search),
    ("ola", ola.search),
    ("incognito", incognito.search),
    ("anon", anon.search),
    ("datafly", datafly.search),
    ("igreedy", igreedy.search),
)
