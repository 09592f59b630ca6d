"""How many random cases the tests look at.

By default so many that the suite takes some minutes on two cores; ``SQLANON_EFFORT=10 python -m pytest`` looks at ten
times as many.
"""

from __future__ import annotations

import os

EFFORT = float(os.environ.get("SQLANON_EFFORT", "1"))


def cases(count: int) -> int:
    """``count`` cases, times the effort."""
    return max(1, round(count * EFFORT))
