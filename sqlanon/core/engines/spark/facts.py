"""The capabilities of Spark, and the settings of its sessions."""

from __future__ import annotations

import re

from sqlanon.core.engines.capabilities import Capabilities, Lack
from sqlanon.core.engines.spark.dialect import DIALECT

MASTER = "local-cluster[2,1,1024]"
"""Two executors with a core and 1,024 MiB each, on this machine."""
STARTED = {
    "spark.ui.enabled": "false",
    "spark.io.encryption.enabled": "true",  # of what does not fit into memory, and of shuffles
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.executor.syncLogLevel.enabled": "true",
    "spark.sql.catalogImplementation": "in-memory",
}
"""The settings of a cluster that we start: no page and no log that would show statements or values."""
DRIVER = "-XX:TieredStopAtLevel=1"
"""The options of the driver's virtual machine. It plans, which is over before a second compilation pays."""
LOGGING = """
appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""
"""The configuration of the driver's log, from the beginning."""
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": str(64 << 20),
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",  # parquet.`/path` would be a table
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # it reads the folders 01 and 1 as one number
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""The settings of our session: no sum overflows silently, and no text depends on the user's settings."""
BATCH = 2_000_000
"""Rows of the base that the driver receives at once, of 8 bytes a word and a count: some 50 MiB. They are fewer where
the session allows less (``result_rows``)."""
MOST_RESULT = "spark.driver.maxResultSize"
"""The setting of how much the driver may receive at once: 1 GiB by default, 0 for any amount."""
UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
"""What may stand behind its number, as a power of two."""
CARRIED = 20_000_000
"""Most rows of a base that are carried to the driver unless the policy asks for it: some 500 MiB, in batches. The nodes
of a larger one are judged on the cluster."""

CAPABILITIES = Capabilities(
    name="Spark",
    dialect=DIALECT,
    lacks={
        "read_only": Lack(
            "a session that may read may write, as far as the rights of its user go.",
            "run as a user who may only read the source.",
        ),
        "transactions": Lack(
            "it creates and drops tables without transactions.", "let no other session write to the target meanwhile."
        ),
        "periods": Lack("it adds rows to a table without transactions.", "let DuckDB read its files."),
        "views": Lack("a view would read a table that anybody may replace.", "publish a table or a folder."),
        "live_views": Lack("its views are not kept for readers with other rights.", "publish a table again."),
        "roles": Lack("it knows no roles.", "set the rights of the folder or the table where it is stored."),
        "side_by_side": Lack(
            "a statement costs some tenths of a second, whatever it reads.",
            "set search: {where: local} to judge nodes in an embedded DuckDB.",
        ),
        "several_sources": Lack(
            "sources are not joined, and files of other formats not streamed, on a cluster.",
            "join the tables in a view of the session, and make that the source.",
        ),
        "keyed": Lack(
            "its plans, event logs and web pages show what statements read, and a key must stand in none of them.",
            "run the policy on Parquet files with DuckDB (engine: {name: duckdb}), or drop what needs a key.",
        ),
        "null_audit": Lack(
            "the audit of what NULLs give away has been tested on DuckDB and PostgreSQL only.",
            "run `sqlanon nulls` on the folder that was published.",
        ),
        "transformation": Lack(
            "patterns and local recoding take hundreds of statements in a row, each of which costs tenths of a second.",
            "leave out the transformation, or use a source that fits one machine.",
        ),
    },
    writes_folders=True,
    carries=CARRIED,
)


def result_rows(most: str, columns: int) -> int | None:
    """Return how many rows of whole numbers fill a third of what the driver may receive at once; None: any number.

    >>> result_rows("1g", 4), result_rows("512kb", 4), result_rows("0", 4)
    (11184810, 5461, None)
    """
    found = re.fullmatch(r"([0-9]+)([kmgtp]?)b?", most.strip().lower())
    limit = int(found[1]) << UNITS[found[2]] if found else 0  # Spark has refused what it cannot read
    return max(1, limit // (3 * 8 * columns)) if limit else None
