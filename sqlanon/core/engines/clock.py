"""The clock of the database, which all that must agree on a moment read."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlglot import exp

from sqlanon.core.engines.base import Engine


def read_clock(engine: Engine) -> datetime:
    """Return the present time by the clock of the database, in UTC and whole seconds."""
    seconds = exp.cast(exp.Floor(this=exp.TimeToUnix(this=exp.CurrentTimestamp())), "BIGINT")
    return datetime.fromtimestamp(int(engine.run("read clock", exp.select(seconds))[0][0]), UTC)
