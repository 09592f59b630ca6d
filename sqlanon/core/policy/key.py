"""``key``: where the secret stands by which pseudonyms are made and dates are shifted. The policy never holds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.core.disk.secret_keys import key_of_environment, key_of_file
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.plain import set_plain
from sqlanon.parameters import names_of, option, or_nothing, text

KEYS = (
    option(
        "file",
        or_nothing(text()),
        about="A file that holds the key: 32 bytes at least, and readable by its owner alone.",
        example="key: {file: secret.key}",
    ),
    option(
        "env",
        or_nothing(text()),
        about="A variable of the environment that holds the key, in the place of a file.",
        example="key: {env: STUDY_KEY}",
    ),
    option(
        "context",
        or_nothing(text()),
        about="A name for releases that shall be linkable: under one key and one context a person has one pseudonym in "
        "all of them.",
        example="key: {file: secret.key, context: study-1}",
        default="none: each release has pseudonyms of its own",
    ),
)


@dataclass(frozen=True, slots=True)
class Key:
    """A secret of at least 32 bytes: ``Key(file="secret.key")`` or ``Key(env="STUDY_KEY")``.

    Attributes:
        file, env: a file, or a variable of the environment; one of the two.
        context: releases under one key and one context give a person one pseudonym, so that they can be linked. None:
            every release has pseudonyms of its own.
    """

    file: str | None = None
    env: str | None = None
    context: str | None = None

    def __post_init__(self) -> None:
        set_plain(self)

    def secret(self) -> bytes:
        """Return the key.

        Raises:
            InputError: there is none, it is too short, or others may read its file.
        """
        return key_of_file(Path(self.file)) if self.file is not None else key_of_environment(self.env or "")


def parse_key(faults: Faults, value: Any) -> Key | None:
    """Return the key of a document; None without one."""
    return None if value is None else Key(**faults.mapping("key", value, names_of(KEYS)))


def check_key(faults: Faults, key: Key) -> None:
    """Note the faults of where a key stands; whether it is there is found when it is read."""
    given = [name for name in ("file", "env") if getattr(key, name) is not None]
    if len(given) != 1:
        hint = "write {file: secret.key}, or {env: STUDY_KEY}."
        faults.add("key", "A key has one place: a file, or the environment.", hint)
    for name in (*given, *(["context"] if key.context is not None else [])):
        faults.text(f"key.{name}", getattr(key, name))


def written_key(key: Key, *, portable: bool) -> dict[str, str]:
    """Return the keys of a policy file; ``portable`` leaves out the folder."""
    file = key.file if key.file is None or not portable else Path(key.file).name
    pairs = (("file", file), ("env", key.env), ("context", key.context))
    return {name: value for name, value in pairs if value is not None}
