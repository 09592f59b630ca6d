"""How well a column is predicted by the others: learnt from the source, and learnt from the release.

A naive Bayes, in the engine: by the product of the shares of each category in each class, with Laplace smoothing.
"""

from __future__ import annotations

from sqlanon.assess.utility.facts import Accuracy, Prediction
from sqlanon.core.compiler import compared_records as compiler
from sqlanon.core.engines.base import Engine
from sqlanon.core.sqltrees import names

NAIVE_BAYES = "naive_bayes"


def prediction(
    engine: Engine, columns: tuple[str, ...], target: str, *, learner_seed: int | None = None
) -> Prediction | None:
    """Return how well a compared column is predicted by the others; None without others, or records to test.

    ``names.COMPARED`` holds the records with the class of the target; ``names.PARTED`` holds them, when this returns,
    with what each part is used for.

    Args:
        learner_seed: also ask the learners of scikit-learn, with this seed; None: naive Bayes alone.
    """
    features = [number for number, name in enumerate(columns) if name != target]
    engine.drop(names.PARTED)
    engine.create("parts of records", names.PARTED, compiler.parted(len(columns)), replayed=False)
    rows = [tuple(int(value) for value in row) for row in engine.run("parts of records", compiler.part_counts())]
    train, train_released = ([(row[0], row[i]) for row in rows if row[i]] for i in (1, 2))
    tests, gone = sum(row[3] for row in rows), sum(row[4] for row in rows)
    if not features or not tests or not train:
        return None
    guess = most_frequent(train)
    majority = next((row[3] for row in rows if row[0] == guess), 0)
    original = _right(engine, features, train, released=False)
    released = 0
    if train_released:
        fallback = most_frequent(train_released)
        released = _right(engine, features, train_released, released=True)
        released += next((row[4] for row in rows if row[0] == fallback), 0)
    learnt: tuple[Accuracy, ...] = ()
    if learner_seed is not None:
        from sqlanon.assess.utility.learners import accuracies

        learnt = accuracies(engine, len(columns), features, seed=learner_seed)
    return Prediction(
        target=target,
        features=tuple(columns[number] for number in features),
        classes=len(rows),
        training=sum(n for _, n in train),
        training_released=sum(n for _, n in train_released),
        tests=tests,
        tests_suppressed=gone,
        majority=majority / tests,
        accuracies=(Accuracy(NAIVE_BAYES, original / tests, released / tests), *learnt),
    )


def most_frequent(classes: list[tuple[int, int]]) -> int:
    """Return the class with most records, the first of several."""
    return min(classes, key=lambda item: (-item[1], item[0]))[0]


def _right(engine: Engine, features: list[int], priors: list[tuple[int, int]], *, released: bool) -> int:
    """Return how many records of the test a naive Bayes guesses right."""
    query = compiler.likelihoods(features, released=released)
    engine.drop(names.LIKELIHOODS)
    engine.create("likelihoods", names.LIKELIHOODS, query, replayed=False)
    try:
        [(right,)] = engine.run("guesses", compiler.right_guesses(features, priors, released=released))
        return int(right)
    finally:
        engine.drop(names.LIKELIHOODS)
