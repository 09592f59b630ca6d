"""What can be reported of an error of Spark: the name of its condition and its class, but never a value.

Spark's messages quote values, statements, plans and paths, and PySpark writes them to a log of its own as soon as it
creates an exception: ``quiet`` keeps its logs closed while a statement of ours runs.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sqlanon.core.engines.spark.facts import MOST_RESULT
from sqlanon.core.engines.sqlstate import WITHHELD, error_class

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j.java_gateway", "py4j.clientserver")
"""PySpark's logs of failed queries, which quote messages, and of calls to the virtual machine, which quote SQL."""
HINTS: dict[str, str] = {
    "22": "a value does not fit the type of its column; check the column types of the source.",
    "42": "check the names, and that the session may read the source.",
    "53": "give the executors more memory (spark.executor.memory), or take more of them.",
}
DEFAULT_HINT = "run `sqlanon explain` to see the statement, and look at the logs of the driver and its executors."
CONDITION = re.compile(r"[A-Z][A-Z0-9_.]*")


def describe(error: Exception) -> tuple[str, str, str]:
    """Return the condition of an error (or the class of the exception), what can be reported of it, and a hint."""
    condition, state = _answer(error, "getCondition"), _answer(error, "getSqlState")
    if condition is None or not CONDITION.fullmatch(condition):
        condition = _java_class(error) or type(error).__name__
    if MOST_RESULT in str(error):
        reason = "the driver may not receive so large a result"
        return condition, reason, f"raise {MOST_RESULT} and spark.driver.memory (engine: {{settings: …}})."
    return condition, f"{error_class(state)}; {WITHHELD}", HINTS.get((state or "")[:2], DEFAULT_HINT)


def _answer(error: Exception, method: str) -> str | None:
    """Return the answer of a method of an error, if it has that method and answers with a text."""
    asked = getattr(error, method, None)
    try:
        answer = asked() if asked is not None else None
    except Exception:  # the answer may come from a session that is gone
        return None
    return answer if isinstance(answer, str) else None


def _java_class(error: Exception) -> str | None:
    """Return the class of the virtual machine's exception that an unconverted error wraps."""
    try:
        return str(error.java_exception.getClass().getSimpleName())  # type: ignore[attr-defined]
    except Exception:
        return None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PySpark's own logs closed, and its warnings about the versions of other packages."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
            yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
