"""``ledger``: where it is written down what was released of a source to whom, so that releases are judged together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.key import Key, check_key
from sqlanon.core.policy.parts import PATH, PolicyPart, check, entry, part_of
from sqlanon.core.sqltrees.trees import normal_text
from sqlanon.parameters import NAMES, choice, flag, shaped, text, whole

ENDING = ".duckdb"
"""The ledger is a database file."""
_WORDS = choice(
    all="those of all recipients",
    none="those of its own recipient alone",
)
ALL, NONE = _WORDS.words
"""Whom a recipient may collude with, if no names are listed."""
RECIPIENTS = replace(
    shaped({"anyOf": [_WORDS.schema, NAMES]}, f"{_WORDS.label}, or a list of recipients"),
    kind="names",
    judge=lambda given: None if given and isinstance(given, tuple) else "write all, none, or [NAME, NAME].",
    fault="This is not a list of recipients.",
)
HIDDEN_ROLES = ("drop",)
"""Roles that the column of the record key may have: it is never published."""


COHORT_MODELS = ("k_anonymity", "distinct_l_diversity", "entropy_l_diversity", "recursive_l_diversity")
"""The models of a cohort that say nothing of other records, and that a union of cohorts meets if each of them does."""


@dataclass(frozen=True, slots=True)
class CohortsSpec(PolicyPart):
    """How records come and go from release to release, e.g. ``CohortsSpec(margin=5)``."""

    built = "sqlanon.CohortsSpec(margin=5)"

    margin: int = entry(
        whole(0),
        5,
        about="A cohort begins with at least so many records more than a class must hold.",
        unit="records",
        example="ledger: {file: private/ledger.duckdb, record: id, cohorts: {margin: 5}, key: {env: KEY}}",
        page="ledger.md#cohorts",
    )
    coarser_after: int | None = entry(
        whole(2),
        about="Newcomers come with every release of this number alone, in which nobody leaves; who are not enough at "
        "the levels of the first release come together at more general ones.",
        unit="releases",
        example="ledger: {file: private/ledger.duckdb, record: id, cohorts: {coarser_after: 7}, key: {env: KEY}}",
        page="ledger.md#cohorts",
        without="they come with any release, at the levels of the first",
    )
    hold: int | None = entry(
        whole(1),
        about="In how many releases at most a row is shown as it was. Then others of its cohort go with it.",
        unit="releases",
        example="ledger: {file: private/ledger.duckdb, record: id, cohorts: {hold: 30}, key: {env: KEY}}",
        page="ledger.md#cohorts",
        without="until enough of its cohort go",
    )


@dataclass(frozen=True, slots=True)
class LedgerSpec(PolicyPart):
    """A ledger of releases, e.g. ``LedgerSpec("ledger/anon_ledger.duckdb", record="case_id")``."""

    built = 'sqlanon.LedgerSpec("anon_ledger.duckdb")'
    alone = "file"
    order = ("file", "schema", "record", "recipient", "source", "key", "colludes", "hold", "cohorts")

    file: str | None = entry(
        text(),
        about="A DuckDB file, which the first release creates.",
        example="ledger: {file: private/ledger.duckdb, record: id, key: {env: KEY}}",
        kept=PATH,
    )
    schema: str | None = entry(
        text(),
        about="A schema of the source's server, in the place of a file.",
        example="ledger: {schema: anon_ledger, record: id, key: {env: KEY}}",
    )
    key: Key | None = entry(
        part_of(Key),
        about="The secret that persons are digested by, the same for every release.",
        example="ledger: {file: private/ledger.duckdb, record: id, key: {file: ledger.key}}",
        without="the policy's own key",
    )
    record: str | None = entry(
        text(),
        about="The column that identifies a record, where the policy names no entity. It is never published.",
        example="ledger: {file: private/ledger.duckdb, record: id, key: {env: KEY}}",
    )
    recipient: str | None = entry(
        text(),
        about="Who receives the release.",
        example="ledger: {file: private/ledger.duckdb, record: id, recipient: ministry, key: {env: KEY}}",
        without="a recipient who may share with all others",
    )
    colludes: str | tuple[str, ...] = entry(
        RECIPIENTS,
        ALL,
        about="With whose releases it is judged together: all, none (those of its own recipient alone), or a list of "
        "recipients.",
        example="ledger: {file: private/ledger.duckdb, record: id, recipient: A, colludes: [B, C], key: {env: KEY}}",
    )
    hold: bool = entry(
        flag(),
        False,
        about="Hold newcomers back whose joint class with earlier releases would be too small.",
        example="ledger: {file: private/ledger.duckdb, record: id, hold: true, key: {env: KEY}}",
    )
    cohorts: CohortsSpec | None = entry(
        part_of(CohortsSpec),
        about="Release the same policy again and again: records come and go in cohorts of at least k.",
        example="ledger: {file: private/ledger.duckdb, record: id, cohorts: {}, key: {env: KEY}}",
        page="ledger.md#cohorts",
        without="none: each release is planned anew",
    )
    source: str | None = entry(
        text(),
        about="The name of the source in the ledger.",
        example="ledger: {file: private/ledger.duckdb, record: id, source: hospital, key: {env: KEY}}",
        without="its path or database, with its table",
    )


def person_column(policy: Any) -> str | None:
    """Return the column that says whose a record is, by which a ledger knows the persons of several releases."""
    entity: str | None = policy.entity
    return entity if policy.ledger is None or policy.ledger.record is None else policy.ledger.record


def check_ledger(faults: Faults, policy: Any) -> None:
    """Note the faults of the ledger of a policy (``PolicyFacts``)."""
    spec: LedgerSpec | None = policy.ledger
    if spec is None:
        return
    if (spec.file is None) == (spec.schema is None):
        hint = "write ledger: ledger/anon_ledger.duckdb, or ledger: {schema: anon_ledger}."
        faults.add("ledger", "A ledger has one place: a file, or a schema of the source's server.", hint)
    if isinstance(spec.file, str) and Path(spec.file).suffix.lower() != ENDING:
        faults.add("ledger.file", "A ledger is a DuckDB file.", f"give it the ending {ENDING}.")
    _check_key(faults, policy, spec)
    _check_person(faults, policy, spec)
    _check_recipients(faults, spec)
    _check_cohorts(faults, policy, spec)
    if policy.output is not None and policy.output.kind == "live_view":
        message = (
            "A live view shows other records on every read, so that no list says whom it has shown in which class."
        )
        hint = "publish a view, a table or a file, or leave out ledger."
        faults.add("ledger", message, hint)


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
    check_key(faults, "ledger.key", spec.key)
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
    role = next((column.role for column in policy.columns if column.name == spec.record), None)
    if role is not None and role not in HIDDEN_ROLES:
        message = f"The column {spec.record!r} identifies a record, and has the role {role}."
        faults.add("ledger.record", message, "give it the role drop; to publish it too, copy it in a view.")


def _check_cohorts(faults: Faults, policy: Any, spec: LedgerSpec) -> None:
    """Note a fault where a policy asks for cohorts and for what is not published in them."""
    if spec.cohorts is None:
        return
    check(faults, "ledger.cohorts", spec.cohorts)
    others = sorted({model.type for model in policy.models} - {*COHORT_MODELS})
    refused = {
        "entity": (policy.entity is not None, "name a key of the records: ledger: {…, record: case_id}"),
        "transformation": (policy.transformation is not None, "leave out transformation"),
        "publish": (bool(policy.publish), "leave out publish"),
        "subset": (policy.subset is not None, "make a view of the subset, and name it as the table"),
        "sample": (policy.sample is not None, "leave out sample"),
        "periods": (policy.periods is not None, "leave out periods, or cohorts"),
        "like": (policy.like is not None, "leave out like: the levels of the first release are kept in any case"),
        "suppressed: redact": (policy.suppressed == "redact", "say suppressed: drop"),
        "ledger.hold": (spec.hold, "leave it out: newcomers wait in any case"),
        "ledger.recipient": (spec.recipient is not None, "give each recipient a ledger, or all the same releases"),
        "a column that is made by a key": (
            any(item.role in KEYED_ROLES for item in policy.columns), "give it the role drop",
        ),
        "with or redact": (any(item.travels or item.redact for item in policy.columns), "give it the role drop"),
        "level": (  # rows of earlier nights keep the texts that were published then
            any(item.level is not None for item in policy.columns), "make the column in a view of the source",
        ),
        f"the model {others[0]}" if others else "": (bool(others), f"use {', '.join(COHORT_MODELS)}"),
    }  # fmt: skip
    for name, (asked, hint) in refused.items():
        if asked:
            faults.add(
                "ledger.cohorts", f"Records that come and go in cohorts are not published with {name}.", f"{hint}."
            )


def _check_recipients(faults: Faults, spec: LedgerSpec) -> None:
    names = {name: getattr(spec, name) for name in ("recipient", "source")}
    blank = [name for name, given in names.items() if isinstance(given, str) and not normal_text(given)]
    for name in blank:
        faults.add(f"ledger.{name}", "This name has nothing but blanks.", "give a name, or leave the key out.")
    one_word = isinstance(spec.colludes, str)
    check(faults, "ledger", spec, beside=[*blank, "cohorts", *(["colludes"] if one_word else [])])
    if one_word:
        faults.choice("ledger.colludes", spec.colludes, (ALL, NONE))
    if spec.colludes != ALL and spec.recipient is None:
        message = "A recipient who shares with none, or with some, has a name."
        faults.add("ledger.colludes", message, "add recipient: NAME, or say colludes: all.")
