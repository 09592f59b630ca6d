"""The columns of a plan that are made by a key: pseudonyms and shifted dates, made while the release is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from sqlanon.core.audit.keyed import KeyedClaim
from sqlanon.core.compiler.encoded_source import EncodedSource
from sqlanon.core.compiler.keyed import PSEUDONYM, SHIFT, KeyedColumns
from sqlanon.core.engines.replay import temporary_table
from sqlanon.core.evaluate.session import Session
from sqlanon.core.policy import Policy
from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.policy.keyed import WEEK, shift_of
from sqlanon.core.source.release_key import ReleaseKey, dropping, note_release_key
from sqlanon.core.sqltrees import names
from sqlanon.errors import UnsupportedError

CONTEXT = (
    "Pseudonyms and shifts of dates are those of every release under this key and context: anyone who has several of "
    "them puts the records of a person together, and no privacy model has judged them together. Leave context out "
    "where releases need not be linked."
)


def keyed_columns(session: Session) -> KeyedColumns | None:
    """Return the columns that are made by a key; None where there are none."""
    policy, source = session.policy, session.encoding.source
    roles = {item.name: item.role for item in policy.columns if item.role in KEYED_ROLES}
    if not roles or source.entity is None:
        return None
    window = shift_of(policy)
    return KeyedColumns(
        entity=source.entity,
        pseudonyms=tuple(name for name, role in roles.items() if role == "pseudonym"),
        shifted={name: session.encoding.types[name] for name, role in roles.items() if role == "shift"},
        shift=None if window is None or window.days is None else (window.days, window.keep_weekday),
    )


def without_keyed(session: Session, types: dict[str, str]) -> dict[str, str]:
    """Return columns with their types, without those that are made by a key."""
    keyed = keyed_columns(session)
    return types if keyed is None else {name: kind for name, kind in types.items() if name not in keyed.columns}


def keyed_source(session: Session, published: Mapping[str, str]) -> tuple[EncodedSource, dict[str, str]]:
    """Return the source that the published rows are read from, and by which of its columns those by key are shown.

    Args:
        published: the columns, with their types. Where none is made by a key, they are read from the source itself.
    """
    source, keyed = session.encoding.source, keyed_columns(session)
    if keyed is None or not published.keys() & set(keyed.columns):
        return source, {}
    return replace(source, relation=keyed.joined(source.relation)), keyed.shown


def claim_of_keyed(session: Session) -> KeyedClaim | None:
    """Return the claim of a release on the columns that are made by a key; None where there are none."""
    keyed = keyed_columns(session)
    if keyed is None:
        return None
    days, keep_weekday = keyed.shift or (0, False)
    return KeyedClaim(
        pseudonym=next(iter(keyed.pseudonyms), None),
        shifted=tuple(keyed.originals.items()),
        days=days,
        step=WEEK if keep_weekday else 1,
    )


@contextmanager
def keyed_persons(session: Session) -> Iterator[None]:
    """Let a statement read the pseudonyms and days of the persons of a new release, until the context ends.

    The key is read, derived with a salt of its own and loaded here, and dropped before the context is entered.

    Raises:
        InputError: the policy's key cannot be read.
        EngineError: the database refused a statement.
    """
    keyed, policy, engine = keyed_columns(session), session.policy, session.engine
    if keyed is None or policy.key is None:
        yield
        return
    with ReleaseKey.of(policy.key).loaded(engine, [PSEUDONYM, SHIFT]):
        engine.create("pseudonyms", names.KEYED, keyed.persons(session.encoding.source.relation), replayed=False)
    with dropping(engine, names.KEYED):
        yield


def refuse_scripts(session: Session) -> None:
    """Raise UnsupportedError where earlier releases are judged together with: a script would hold their persons."""
    if session.encoding.catalog.earlier is not None:
        raise UnsupportedError(
            "What is judged together with earlier releases rests on their persons, whom no other session knows.",
            hint="leave out ledger to see the statements of the policy alone.",
        )


def note_keyed(session: Session) -> None:
    """Let the replayable script create the persons with their pseudonyms, from a key that it does not hold.

    Raises:
        UnsupportedError: see ``refuse_scripts``.
    """
    refuse_scripts(session)
    keyed, replay = keyed_columns(session), session.engine.replay
    if keyed is None or any(name == "pseudonyms" for name, _ in replay):
        return
    note_release_key(session.engine)
    replay.append(("pseudonyms", temporary_table(names.KEYED, keyed.persons(session.encoding.source.relation))))


def keyed_warnings(policy: Policy, types: Mapping[str, str]) -> tuple[str, ...]:
    """Return the warnings of releases that can be linked, and of dates that undo a shift.

    Args:
        types: of the columns of the source.
    """
    linked = policy.key is not None and policy.key.context is not None
    warnings = [CONTEXT] if linked and any(item.role in KEYED_ROLES for item in policy.columns) else []
    kept = [
        repr(item.name)
        for item in policy.columns
        if item.role in ("keep", "sensitive") and types[item.name].upper().startswith(("DATE", "TIMESTAMP"))
    ]
    if kept and shift_of(policy) is not None:
        warnings.append(
            f"Dates are published as they are beside dates that are shifted: {', '.join(kept)}. Where both are of one "
            "event, or of events that follow each other, they reveal by how many days each person's dates are shifted. "
            "Shift them too, or drop them."
        )
    return tuple(warnings)
