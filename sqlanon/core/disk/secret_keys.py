"""Reading a secret key: from a file that others cannot read, or from the environment. No message holds a byte of it."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from sqlanon.errors import InputError, instead_of

LEAST = 32
"""Bytes of a key at least: as many as the hash has."""
MOST = 4096
"""Bytes of a key at most; a larger file is something else."""
FEWEST_DIFFERENT = 8
"""Different bytes of a key at least: a random one of 32 bytes has fewer once in 10¹⁵ times, a file of zeros always."""
OTHERS = 0o007
"""Permissions of those who are neither the owner of a file nor in its group."""
MAKE_ONE = "make one with `openssl rand -hex 32 > secret.key; chmod 600 secret.key`"


def key_of_file(path: Path) -> bytes:
    """Return the key in a file: its bytes without a line break at the end.

    Raises:
        InputError: the file cannot be read, others may read or write it, or it holds no key.
    """
    where = f"The key file {path.name!r}"
    content, hint = b"", f"check the path (key: {{file: …}}), or {MAKE_ONE}."

    def unread(error: OSError) -> InputError:
        return InputError(f"{where} cannot be read: {error.strerror or 'it cannot be opened'}.", hint=hint)

    with instead_of(OSError, unread), path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_ISREG(mode):
            content = file.read(MOST + 3)
    if not stat.S_ISREG(mode):
        raise InputError(f"{where} is no file.", hint=f"{MAKE_ONE}.")
    if sys.platform != "win32" and mode & OTHERS:
        raise InputError(
            f"{where} may be read or written by everybody on this machine (its permissions are "
            f"{stat.S_IMODE(mode):04o}): a key that others know protects nobody.",
            hint="let its owner alone read it: chmod 600.",
        )
    return _checked(content, where)


def key_of_environment(name: str) -> bytes:
    """Return the key in a variable of the environment, without a line break at the end.

    Raises:
        InputError: there is none, or it holds no key.
    """
    where = f"The environment variable {name!r}"
    found = os.environ.get(name)
    if not found:
        raise InputError(
            f"{where}, which holds the key, is {'not set' if found is None else 'empty'}.",
            hint=f'set it (`export {name}="$(openssl rand -hex 32)"`), and keep the key where nobody else reads it.',
        )
    return _checked(os.fsencode(found), where)


def _checked(content: bytes, where: str) -> bytes:
    """Return a key without its line break, unless it is none."""
    key = content.removesuffix(b"\n").removesuffix(b"\r")
    if len(key) < LEAST:
        raise InputError(
            f"{where} holds {len(key)} bytes, and a key has at least {LEAST}: a short one is found by trying.",
            hint=f"{MAKE_ONE}.",
        )
    if len(key) > MOST:
        raise InputError(f"{where} holds more than {MOST} bytes, which is no key.", hint=f"{MAKE_ONE}.")
    if len(set(key)) < FEWEST_DIFFERENT:
        raise InputError(
            f"{where} holds fewer than {FEWEST_DIFFERENT} different bytes, and a random key has more.",
            hint=f"{MAKE_ONE}.",
        )
    return key
