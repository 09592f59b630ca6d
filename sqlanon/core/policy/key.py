"""``key``: where the secret stands by which pseudonyms are made and dates are shifted. The policy never holds it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlanon.core.disk.secret_keys import key_of_environment, key_of_file
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import PATH, PolicyPart, check, entry
from sqlanon.parameters import text


@dataclass(frozen=True, slots=True)
class Key(PolicyPart):
    """A secret of at least 32 bytes: ``Key(file="secret.key")`` or ``Key(env="STUDY_KEY")``."""

    built = 'sqlanon.Key(file="secret.key")'

    file: str | None = entry(
        text(),
        about="A file that holds the key: 32 bytes at least, and readable by its owner alone.",
        example="key: {file: secret.key}",
        kept=PATH,
    )
    env: str | None = entry(
        text(),
        about="A variable of the environment that holds the key, in the place of a file.",
        example="key: {env: STUDY_KEY}",
    )
    context: str | None = entry(
        text(),
        about="A name for releases that shall be linkable: under one key and one context a person has one pseudonym in "
        "all of them.",
        example="key: {file: secret.key, context: study-1}",
        without="none: each release has pseudonyms of its own",
    )

    def secret(self) -> bytes:
        """Return the key.

        Raises:
            InputError: there is none, it is too short, or others may read its file.
        """
        return key_of_file(Path(self.file)) if self.file is not None else key_of_environment(self.env or "")


def check_key(faults: Faults, place: str, given: Key) -> None:
    """Note the faults of where a key stands; whether it is there is found when it is read."""
    if (given.file is None) == (given.env is None):
        hint = "write {file: secret.key}, or {env: STUDY_KEY}."
        faults.add(place, "A key has one place: a file, or the environment.", hint)
    check(faults, place, given)
