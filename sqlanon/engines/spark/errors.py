"""What can be said of an error of Spark: the name of its condition and its class, but never a value.

Spark's messages quote values, statements, plans and paths, and PySpark writes them to a log of its own as soon as it
makes an exception: ``quiet`` keeps its logs closed while a statement of ours runs.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j.java_gateway", "py4j.clientserver")
"""PySpark's own logs of failed queries, which quote their messages, and those of what goes to the virtual machine,
which quote statements."""
CLASSES: dict[str, str] = {
    "08": "connection exception",
    "0A": "feature not supported",
    "21": "cardinality violation",
    "22": "data exception",
    "23": "integrity constraint violation",
    "42": "syntax error or access rule violation",
    "53": "insufficient resources",
    "54": "program limit exceeded",
    "58": "system error",
    "XX": "internal error",
}
"""What the class, the first two characters of an SQLSTATE, means."""
HINTS: dict[str, str] = {
    "22": "a value does not fit the type of its column; check the column types of the source.",
    "42": "check the names, and that the session may read the source.",
    "53": "give the executors more memory (spark.executor.memory), or take more of them.",
}
DEFAULT_HINT = "run `sqlanon explain` to see the statement, and look at the logs of the driver and its executors."
CONDITION = re.compile(r"[A-Z][A-Z0-9_.]*")


def describe(error: Exception) -> tuple[str, str, str]:
    """The condition of an error (or the class of the exception), what can be said of it, and a hint."""
    condition, state = _told(error, "getCondition"), _told(error, "getSqlState")
    if condition is None or not CONDITION.fullmatch(condition):
        condition = _java_class(error) or type(error).__name__
    told = CLASSES.get((state or "")[:2], "error")
    return (
        condition,
        f"{told}; its message is withheld because it may quote a value",
        HINTS.get((state or "")[:2], DEFAULT_HINT),
    )


def _told(error: Exception, method: str) -> str | None:
    asked = getattr(error, method, None)
    try:
        answer = asked() if asked is not None else None
    except Exception:  # the answer may come from a session that is gone
        return None
    return answer if isinstance(answer, str) else None


def _java_class(error: Exception) -> str | None:
    """The class of the exception of the virtual machine that an unconverted error wraps."""
    try:
        return str(error.java_exception.getClass().getSimpleName())  # type: ignore[attr-defined]
    except Exception:
        return None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep PySpark's own logs closed, and what it says of the versions of other packages."""
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
