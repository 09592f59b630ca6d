"""``ledger``: where it is written down what was released of a source to whom, so that releases are judged together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.key import KEYS as OWN_KEYS
from sqlanon.core.policy.key import Key, check_key, parse_key, written_key
from sqlanon.core.policy.plain import set_plain
from sqlanon.core.sqltrees.trees import normal_text
from sqlanon.parameters import NAMES, choice, flag, names_of, option, or_nothing, parts, shaped, text

_WORDS = choice(
    all="those of all recipients",
    none="those of its own recipient alone",
)
KEYS = (
    option(
        "file",
        or_nothing(text()),
        about="A DuckDB file, which the first release creates.",
        example="ledger: {file: private/ledger.duckdb, record: id, key: {env: KEY}}",
    ),
    option(
        "schema",
        or_nothing(text()),
        about="A schema of the source's server, in the place of a file.",
        example="ledger: {schema: anon_ledger, record: id, key: {env: KEY}}",
    ),
    option(
        "key",
        parts("mapping", "mapping", OWN_KEYS),
        about="The secret that persons are digested by, the same for every release.",
        example="ledger: {file: private/ledger.duckdb, record: id, key: {file: ledger.key}}",
        default="the policy's own key",
    ),
    option(
        "record",
        or_nothing(text()),
        about="The column that identifies a record, where the policy names no entity. It is never published.",
        example="ledger: {file: private/ledger.duckdb, record: id, key: {env: KEY}}",
    ),
    option(
        "recipient",
        or_nothing(text()),
        about="Who receives the release.",
        example="ledger: {file: private/ledger.duckdb, record: id, recipient: ministry, key: {env: KEY}}",
        default="a recipient who may share with all others",
    ),
    option(
        "colludes",
        shaped({"anyOf": [_WORDS.schema, NAMES]}, f"{_WORDS.label}, or a list of recipients"),
        about="With whose releases it is judged together: all, none (those of its own recipient alone), or a list of "
        "recipients.",
        example="ledger: {file: private/ledger.duckdb, record: id, recipient: A, colludes: [B, C], key: {env: KEY}}",
    ),
    option(
        "hold",
        flag(),
        about="Hold newcomers back whose joint class with earlier releases would be too small.",
        example="ledger: {file: private/ledger.duckdb, record: id, hold: true, key: {env: KEY}}",
    ),
    option(
        "source",
        or_nothing(text()),
        about="The name of the source in the ledger.",
        example="ledger: {file: private/ledger.duckdb, record: id, source: hospital, key: {env: KEY}}",
        default="its path or database, with its table",
    ),
)
ENDING = ".duckdb"
"""The ledger is a database file."""
ALL, NONE = "all", "none"
"""Whom a recipient may collude with, if no names are listed."""
HIDDEN_ROLES = ("drop",)
"""Roles that the column of the record key may have: it is never published."""


@dataclass(frozen=True, slots=True)
class LedgerSpec:
    """A ledger of releases, e.g. ``LedgerSpec("ledger/anon_ledger.duckdb", record="case_id")``.

    Attributes:
        file: a DuckDB file, which the first release creates.
        schema: a schema of the source's server, in its place.
        key: the secret that persons are digested by; None takes the policy's own.
        record: the column that identifies a record, where the policy names no entity.
        recipient: who receives the release; None is one who may collude with everybody.
        colludes: with whose releases it is judged together: those of ``all`` recipients, of the named ones, or
            (``none``) of its own recipient alone.
        hold: newcomers whose joint class would be too small are held back.
        source: the name of the source in the ledger; None takes its path or database, with its table.
    """

    file: str | None = None
    schema: str | None = None
    key: Key | None = None
    record: str | None = None
    recipient: str | None = None
    colludes: str | tuple[str, ...] = ALL
    hold: bool = False
    source: str | None = None

    def __post_init__(self) -> None:
        set_plain(self)
        if isinstance(self.colludes, list):
            object.__setattr__(self, "colludes", tuple(self.colludes))


def parse_ledger(faults: Faults, value: Any) -> LedgerSpec | None:
    """Return the ledger of a document; a text means a file, None that there is none."""
    if value is None:
        return None
    if isinstance(value, str):
        return LedgerSpec(value)
    keys = faults.mapping("ledger", value, names_of(KEYS))
    if isinstance(keys.get("key"), Mapping):
        keys["key"] = parse_key(faults, keys["key"])
    if isinstance(keys.get("colludes"), list):
        keys["colludes"] = tuple(keys["colludes"])
    return LedgerSpec(**keys)


def check_ledger(faults: Faults, policy: Any) -> None:
    """Note the faults of the ledger of a policy (``PolicyFacts``)."""
    spec: LedgerSpec | None = policy.ledger
    if spec is None:
        return
    _check_place(faults, spec)
    _check_key(faults, policy, spec)
    _check_person(faults, policy, spec)
    _check_recipients(faults, spec)
    if not isinstance(spec.hold, bool):
        faults.add("ledger.hold", "This is neither true nor false.", "write hold: true, or leave it out.")
    if policy.output is not None and policy.output.kind == "live_view":
        message = (
            "A live view shows other records on every read, so that no list says whom it has shown in which class."
        )
        hint = "publish a view, a table or a file, or leave out ledger."
        faults.add("ledger", message, hint)


def _check_place(faults: Faults, spec: LedgerSpec) -> None:
    given = [name for name in ("file", "schema") if getattr(spec, name) is not None]
    if len(given) != 1:
        hint = "write ledger: ledger/anon_ledger.duckdb, or ledger: {schema: anon_ledger}."
        faults.add("ledger", "A ledger has one place: a file, or a schema of the source's server.", hint)
    for name in given:
        faults.text(f"ledger.{name}", getattr(spec, name))
    if isinstance(spec.file, str) and Path(spec.file).suffix.lower() != ENDING:
        faults.add("ledger.file", "A ledger is a DuckDB file.", f"give it the ending {ENDING}.")


def _check_key(faults: Faults, policy: Any, spec: LedgerSpec) -> None:
    """Note a fault unless there is one key by which persons are digested, the same for every release."""
    if spec.key is None:
        if policy.key is None:
            hint = "add key: {file: secret.key}, or ledger: {…, key: {file: ledger.key}}."
            faults.add("ledger", "The persons of a ledger are digested by a key.", hint)
        return
    if not isinstance(spec.key, Key):
        faults.add("ledger.key", "This is not a key.", "write {file: ledger.key}, or {env: LEDGER_KEY}.")
        return
    check_key(faults, spec.key)
    if spec.key.context is not None:
        faults.add("ledger.key.context", "A ledger has one key for all releases.", "leave context out.")


def _check_person(faults: Faults, policy: Any, spec: LedgerSpec) -> None:
    """Note a fault unless one column, which is not published, says whose a record is."""
    if spec.record is None:
        if policy.entity is None:
            message = "Nothing says which records of two releases are of one person."
            hint = "name the column that identifies a record: ledger: {…, record: case_id}, or that of persons: entity."
            faults.add("ledger", message, hint)
        return
    if policy.entity is not None:
        message = f"The policy names persons, by {policy.entity!r}."
        faults.add("ledger.record", message, "leave record out, or entity.")
    if not faults.text("ledger.record", spec.record):
        return
    role = next((column.role for column in policy.columns if column.name == spec.record), None)
    if role is not None and role not in HIDDEN_ROLES:
        message = f"The column {spec.record!r} identifies a record, and has the role {role}."
        faults.add("ledger.record", message, "give it the role drop; to publish it too, copy it in a view.")


def _check_recipients(faults: Faults, spec: LedgerSpec) -> None:
    for name in ("recipient", "source"):
        given = getattr(spec, name)
        if isinstance(given, str) and not normal_text(given):  # an empty one too
            faults.add(f"ledger.{name}", "This name has nothing but blanks.", "give a name, or leave the key out.")
        else:
            faults.value(f"ledger.{name}", given, KEYS)
    if isinstance(spec.colludes, str):
        faults.choice("ledger.colludes", spec.colludes, (ALL, NONE))
    elif not isinstance(spec.colludes, tuple) or not spec.colludes:
        faults.add("ledger.colludes", "This is not a list of recipients.", "write all, none, or [NAME, NAME].")
    else:
        for number, name in enumerate(spec.colludes):
            faults.text(f"ledger.colludes[{number}]", name)
    if spec.colludes != ALL and spec.recipient is None:
        message = "A recipient who shares with none, or with some, has a name."
        faults.add("ledger.colludes", message, "add recipient: NAME, or say colludes: all.")


def written_ledger(spec: LedgerSpec, *, portable: bool) -> dict[str, Any]:
    """Return the keys of a policy file; ``portable`` leaves out folders."""
    keys: dict[str, Any] = {}
    for name in ("file", "schema", "record", "recipient", "source"):
        if getattr(spec, name) is not None:
            keys[name] = getattr(spec, name)
    if portable and spec.file is not None:
        keys["file"] = Path(spec.file).name
    if spec.key is not None:
        keys["key"] = written_key(spec.key, portable=portable)
    if spec.colludes != ALL:
        keys["colludes"] = list(spec.colludes) if isinstance(spec.colludes, tuple) else spec.colludes
    return keys | ({"hold": True} if spec.hold else {})
