"""By what a ledger knows a source and its records again."""

from __future__ import annotations

from urllib.parse import urlsplit

from sqlanon.core.policy import Policy
from sqlanon.core.policy.paths import is_url
from sqlanon.core.source.opening import Source
from sqlanon.errors import InputError

USUAL_SCHEMAS = ("main", "public")
"""Schemas that need not stand before the name of a table."""
WHOLE_NUMBERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "INT", "INT2", "INT4", "INT8", "SERIAL", "BIGSERIAL",
)  # fmt: skip
"""Types whose values read alike, whatever their width; with a U before them, unsigned."""
TEXT_KEYS = "text"
"""What ``kind_of_key`` calls texts."""
TEXTS = ("VARCHAR", "TEXT", "CHAR", "CHARACTER", "CHARACTER VARYING", "BPCHAR", "STRING")


def source_name(policy: Policy, opened: Source, given: object) -> str:
    """Return the name of the source of a run; nothing in it is a password.

    Args:
        given: the source that the run was given; None: the policy's.

    Raises:
        InputError: it is in memory, and the policy names it not.
    """
    if policy.ledger is not None and policy.ledger.source is not None:
        return policy.ledger.source
    url = policy.source if given is None else given
    if given is None and policy.files:
        return " ".join(sorted(policy.patterns.absolute()))
    if opened.path is not None:
        place = str(opened.path.resolve())
    elif isinstance(url, str) and is_url(url):
        parts = urlsplit(url)
        place = f"{parts.hostname or ''}:{parts.port or ''}{parts.path}"
    elif opened.frame is not None:
        raise InputError(
            f"The source is no file and no database ({opened.frame}): a ledger would not know it again.",
            hint="name what it is read from, the same in every run: ledger: {…, source: discharges}.",
        )
    else:
        files = [file for _, file, _ in opened.engine.catalog.databases() if file is not None]
        if len(files) != 1:
            raise InputError(
                "The source is an open connection, which a ledger would not know again.",
                hint="name it: ledger: {…, source: discharges}.",
            )
        place = files[0]
    table = [part for part in (policy.table or "").split(".") if part.casefold() not in USUAL_SCHEMAS]
    return " ".join([place, ".".join(table).casefold()]).strip()


def kind_of_key(type_name: str) -> str:
    """Return the kind of a record key's type: equal keys of one kind have one canonical text, hence one digest.

    Whole numbers of all widths are one kind, and so are texts; every other type is a kind of its own, because 5 reads
    ``5.0`` as a DOUBLE and ``5.00`` as a DECIMAL.
    """
    name = type_name.upper()
    base = name.split("(")[0].strip()
    if base.removeprefix("U") in WHOLE_NUMBERS:
        return "integer"
    return TEXT_KEYS if base in TEXTS else name
