"""``partition_by``: a release that is a folder of Parquet files, in folders that are named by its values."""

from __future__ import annotations

import re
from pathlib import Path

from sqlanon.core.policy.facts import Output, PolicyFacts
from sqlanon.core.policy.faults import Faults

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Names of columns that are the names of folders as they are. Readers pass over those that begin with . or _."""
ENDINGS = ("", ".parquet")
"""Of the folder."""


def check_partitions(faults: Faults, output: Output) -> None:
    """Note the faults of the columns that partition a release, each by itself."""
    key, names = "output.partition_by", output.partition_by
    if not isinstance(names, tuple):
        faults.add(key, "This is not a list of columns.", "write [region, year].")
        return
    if not names:
        return
    if output.kind != "file":
        faults.add(key, "Only a file is partitioned.", "leave it out, or publish a file: output: {file: released, …}.")
        return
    texts = [name for number, name in enumerate(names) if faults.text(f"{key}[{number}]", name)]
    if len({name.casefold() for name in texts}) < len(texts):
        faults.add(key, "This names a column twice.", "name each column once.")
    for name in texts:
        if not PLAIN.fullmatch(name):
            hint = "take columns whose names are letters of ASCII, digits, - . and _ alone, and begin with one of the "
            hint += "first two."
            faults.add(key, f"The name {name!r} cannot stand in the name of a folder.", hint)
    if isinstance(output.target, str) and Path(output.target).suffix.lower() not in ENDINGS:
        hint = "name a folder without an ending: {file: released, partition_by: […]}."
        faults.add("output.file", "A partitioned release is a folder of Parquet files, and has another ending.", hint)


def check_partitions_fit(faults: Faults, policy: PolicyFacts, output: Output) -> None:
    """Note what partitions a release and is no text of a quasi-identifier, and what a policy cannot have besides."""
    if output.kind != "file" or not isinstance(output.partition_by, tuple) or not output.partition_by:
        return
    key = "output.partition_by"
    quasi = {column.name for column in policy.quasi_identifiers}
    numbers = {publish.name for publish in policy.publish if publish.instead is not None}
    for name in output.partition_by:
        if name not in quasi:
            message = f"The column {name!r} is no quasi-identifier. The name of a folder is a released value."
            faults.add(key, message, f"choose among {', '.join(map(repr, sorted(quasi))) or 'quasi-identifiers'}.")
        elif name in numbers:
            message = f"The column {name!r} is published as a number, and not as its generalized text."
            faults.add(key, message, "write the number beside it, as a list: publish: {…: [low, high]}.")
    if all(column.name in output.partition_by or column.role == "drop" for column in policy.columns):
        faults.add(key, "No column is left for the files in the folders.", "partition by fewer columns.")
    if policy.ledger is not None:
        faults.add(key, "A ledger records no partitioned release.", "leave out ledger, or partition_by.")
