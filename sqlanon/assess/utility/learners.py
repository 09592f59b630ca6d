"""Learners of scikit-learn (``pip install 'sqlanon[ml]'``): codes of categories come into the process, never values.

A row is a combination of categories with how many records have it, as ``names.PARTED`` holds them. That is as much as
records without their values: it is done only where the caller asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sqlanon.assess.utility.facts import Accuracy
from sqlanon.assess.utility.released import Flags, Whole
from sqlanon.core.compiler import compared_records as compiler
from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.columns import numpy_column
from sqlanon.errors import UnsupportedError

MOST_ROWS = 300_000
"""More combinations are refused: they would not fit into the memory of a laptop as features."""
TREES = 100
"""Of a random forest."""
STEPS = 300
"""Of a logistic regression, at most."""


def check_learners() -> None:
    """Raise UnsupportedError, before any work, if scikit-learn is not installed."""
    _learners(0)


def _learners(seed: int) -> dict[str, Callable[[], Any]]:
    try:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise UnsupportedError(
            "scikit-learn is not installed, which the learners besides naive Bayes are from.",
            hint="pip install 'sqlanon[ml]', or ask without ml.",
        ) from None
    return {
        "logistic_regression": lambda: LogisticRegression(max_iter=STEPS),
        "random_forest": lambda: RandomForestClassifier(n_estimators=TREES, random_state=seed % 2**32, n_jobs=1),
    }


def accuracies(engine: Engine, count: int, features: list[int], *, seed: int) -> tuple[Accuracy, ...]:
    """Return the accuracies of each learner on the records of ``names.PARTED``, as ``prediction`` tests them.

    Args:
        count: of the compared columns.

    Raises:
        UnsupportedError: scikit-learn is not installed, or there are too many combinations.
    """
    learners = _learners(seed)
    data = engine.arrow("parts of records", compiler.parts(count))
    if data.num_rows > MOST_ROWS:
        raise UnsupportedError(
            f"There are {data.num_rows:,} combinations of categories, and learners in this process take {MOST_ROWS:,}.",
            hint="ask without ml: naive Bayes is computed in the engine.",
        )
    table = np.column_stack([numpy_column(data.column(item.name)).astype(np.int64) for item in data.schema])
    guess, n, tests = table[:, -3], table[:, -2], table[:, -1]
    before, after = table[:, features], table[:, [count + feature for feature in features]]
    released = table[:, count] != compiler.GONE
    everything = np.ones(len(table), bool)
    found = []
    for name, make in learners.items():
        original = _right(make, before, (guess, n - tests, tests), everything)
        found.append(Accuracy(name, original, _right(make, after, (guess, n - tests, tests), released)))
    return tuple(found)


def _right(make: Callable[[], Any], cells: Whole, counts: tuple[Whole, Whole, Whole], usable: Flags) -> float:
    """Return the share of the test that a learner guesses right; what is not usable is guessed by the majority.

    Args:
        counts: per row its class, its records for training, and for the test.
    """
    from sklearn.preprocessing import OneHotEncoder

    guess, training, tests = counts
    learnt = usable & (training > 0)
    if not learnt.any():
        return 0.0
    classes, sizes = np.unique(guess[learnt], return_inverse=True)
    most = classes[np.bincount(sizes, weights=training[learnt]).argmax()]
    guesses = np.full(len(guess), most)
    asked = usable & (tests > 0)
    if len(classes) > 1 and asked.any():
        coded = OneHotEncoder(handle_unknown="ignore").fit(cells[learnt])
        learner = make().fit(coded.transform(cells[learnt]), guess[learnt], sample_weight=training[learnt])
        guesses[asked] = learner.predict(coded.transform(cells[asked]))
    return float(tests[guesses == guess].sum() / tests.sum())
